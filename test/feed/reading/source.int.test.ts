import type { Container, OperationInput } from '@azure/cosmos';
import { describe, expect, it, test, vi } from 'vitest';
import { Meter } from '../../../src/cosmos/budget/charge-meter.ts';
import type { FeedRange } from '../../../src/cosmos/ranges.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import type { SourceContainer } from '../../../src/feed/reading/mapper.ts';
import { openSource } from '../../../src/feed/reading/open-source.ts';
import { CosmosChangeSource } from '../../../src/feed/reading/source.ts';
import { emulate, HASH_KEY } from '../../emulator/emulate.ts';
import { ManualClock } from '../../support/clock.ts';

const go = new AbortController().signal;
const ALL: FeedRange = { min: '', max: 'FF' };
const ITEMS: SourceContainer = { name: 'c', keyPaths: [['pk']], types: new Map([['item', {}]]) };

const ridOf = async (container: Container): Promise<string> => (await container.read()).resource?._rid ?? '';
const rangesOf = async (container: Container): Promise<FeedRange[]> =>
  (await container.getFeedRanges()).map(({ minInclusive, maxExclusive }) => ({ min: minInclusive, max: maxExclusive }));

async function feed({ partitions = 1, pageSize = 1_000 } = {}) {
  const stage = await emulate({ throughput: 6_000 * partitions });
  const rid = await ridOf(stage.container);
  const meter = new Meter();
  const open = (size = pageSize) =>
    new CosmosChangeSource(stage.container, rid, ITEMS, { epoch: 1, meter, pageSize: size });
  const put = (id: string, more: object = {}) => stage.container.items.upsert({ id, pk: id, type: 'item', ...more });
  return { ...stage, open, put, meter, source: open() };
}

/** Pages until the feed has nothing new. */
async function drain(source: CosmosChangeSource, range = ALL, from = ''): Promise<{ pages: Change[][]; next: string }> {
  const pages: Change[][] = [];
  for (let position = from; ;) {
    const page = await source.read(range, position, go);
    if (page.next === position) return { pages, next: position };
    position = page.next;
    if (page.changes.length > 0) pages.push([...page.changes]);
  }
}

const ids = (pages: readonly (readonly Change[])[]): string[] => pages.flat().map(({ id }) => id);
const numbers = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, n) => `d${from + n}`);

describe('reading', () => {
  it('a source gives everything from the beginning, range by range, in order, each with its version', async () => {
    const { container, put, open } = await feed({ partitions: 4, pageSize: 3 });
    for (const id of numbers(0, 40)) await put(id);
    const found: string[] = [];
    for (const range of await rangesOf(container)) {
      const { pages } = await drain(open(), range);
      const lsns = pages.flat().map(({ version }) => version.lsn);
      expect(lsns).toEqual(lsns.toSorted((a, b) => a - b));
      expect(pages.every((page) => page.length <= 3)).toBe(true);
      found.push(...ids(pages));
    }
    expect(found.toSorted()).toEqual(numbers(0, 40).toSorted());
  });

  it('a source goes on from the position of any page, by any reader', async () => {
    const { put, open } = await feed({ pageSize: 4 });
    for (const id of numbers(0, 20)) await put(id);
    const found: string[] = [];
    let position = '';
    for (let size = 1; found.length < 20; size++) {
      const page = await open(size).read(ALL, position, go);
      found.push(...page.changes.map(({ id }) => id));
      position = page.next;
    }
    expect(found).toEqual(numbers(0, 20));
  });

  it('a source reads its container once, whatever pages and keys are asked for', async () => {
    const { container, put, emulator } = await feed();
    for (const id of numbers(0, 6)) await put(id);
    const { source } = await openSource(container);
    const before = emulator.stats().requests['colls.get'] ?? 0;
    for (const most of [1, 2, 4]) await source.read(ALL, '', go, most);
    const found: string[] = [];
    for (const id of numbers(0, 6))
      for await (const { changes } of source.ofKey(ALL, [id], undefined, 10, go))
        found.push(...changes.map((one) => one.id));
    expect(found).toEqual(numbers(0, 6));
    expect((emulator.stats().requests['colls.get'] ?? 0) - before).toBe(1);
  });

  it('a source repeats a page that is asked for again, though it had gone on', async () => {
    const { put, source } = await feed();
    for (const id of numbers(0, 3)) await put(id);
    const first = await source.read(ALL, '', go);
    await source.read(ALL, first.next, go);
    const again = await source.read(ALL, '', go);
    expect(again.changes).toEqual(first.changes);
    expect(again.next).toBe(first.next);
  });

  it('a source never cuts what one transaction wrote, whatever the page size', async () => {
    const { container, open } = await feed();
    for (let batch = 0; batch < 3; batch++) {
      const operations = numbers(0, 7).map((id): OperationInput => ({
        operationType: 'Create',
        resourceBody: { id: `${batch}-${id}`, pk: 'a', type: 'item' },
      }));
      await container.items.batch(operations, 'a');
    }
    const { pages } = await drain(open(2));
    expect(pages.map((page) => page.length)).toEqual([7, 7, 7]);
    for (const page of pages) expect(new Set(page.map(({ version }) => version.lsn)).size).toBe(1);
  });

  it('a source leaves out documents of other types, and still moves past them', async () => {
    const { put, source } = await feed();
    await put('x', { type: 'other' });
    await put('y', { type: 'millrace.contribution' });
    const page = await source.read(ALL, '', go);
    expect(page.changes).toEqual([]);
    expect(page.next).not.toBe('');
    await put('z');
    expect(ids((await drain(source, ALL, page.next)).pages)).toEqual(['z']);
  });

  it('a source counts requests and their fractions of RU, and says when it read', async () => {
    const { put, source, meter } = await feed();
    await put('a');
    const before = performance.now();
    const page = await source.read(ALL, '', go);
    expect(page.readAt).toBeGreaterThanOrEqual(before);
    expect(page.charge).toBeGreaterThan(0);
    expect(meter).toMatchObject({ requests: 1, charge: page.charge, writes: 0 });
  });
});

describe('at the end of the feed', () => {
  it('the position stays, also when it is read again and by somebody else', async () => {
    const { put, source, open } = await feed();
    await put('a');
    const { next } = await drain(source);
    for (const reader of [source, source, open()]) {
      expect(await reader.read(ALL, next, go)).toMatchObject({ changes: [], next });
    }
    await put('b');
    expect(ids([(await open().read(ALL, next, go)).changes])).toEqual(['b']);
    expect(ids([(await source.read(ALL, next, go)).changes])).toEqual(['b']);
  });

  it('an empty range has a position too, never the empty one', async () => {
    const { source, put } = await feed();
    const { next } = await source.read(ALL, '', go);
    expect(next).toMatch(/^"\d+"$/);
    await put('a');
    expect(ids([(await source.read(ALL, next, go)).changes])).toEqual(['a']);
  });
});

describe('a start', () => {
  it('a start now is before everything written afterwards, and after everything before', async () => {
    const { put, source, open } = await feed();
    await put('before');
    const position = await source.resolve(ALL, 'now', go);
    await put('after');
    expect(ids((await drain(open(), ALL, position)).pages)).toEqual(['after']);
  });

  it('a start now is a position of each range by itself', async () => {
    const { container, put, source } = await feed({ partitions: 3 });
    for (const id of numbers(0, 30)) await put(id);
    const starts = await Promise.all(
      (await rangesOf(container)).map(async (range) => ({ range, from: await source.resolve(range, 'now', go) })),
    );
    for (const id of numbers(30, 60)) await put(id);
    const found: string[] = [];
    for (const { range, from } of starts) found.push(...ids((await drain(source, range, from)).pages));
    expect(found.toSorted()).toEqual(numbers(30, 60));
  });

  it('a start at a time is before the first change since, all of its transaction included', async () => {
    const { container, put, source } = await feed();
    await put('old');
    // Times are told to the second.
    const second = Math.floor(Date.now() / 1_000) + 1;
    await vi.waitUntil(() => Date.now() >= second * 1_000, { timeout: 30_000, interval: 10 });
    const twins = ['t1', 't2'].map((id): OperationInput => ({
      operationType: 'Create',
      resourceBody: { id, pk: 'a', type: 'item' },
    }));
    await container.items.batch(twins, 'a');
    await put('new');
    const position = await source.resolve(ALL, new Date(second * 1_000), go);
    const found = ids((await drain(source, ALL, position)).pages);
    expect(found.toSorted()).toEqual(['new', 't1', 't2']);
  });

  it('a start at a time long ago is the beginning, at one to come the present', async () => {
    const { put, source } = await feed();
    await put('a');
    const long = await source.resolve(ALL, new Date(0), go);
    expect(ids((await drain(source, ALL, long)).pages)).toEqual(['a']);
    const ahead = await source.resolve(ALL, new Date(Date.now() + 3_600_000), go);
    await put('b');
    expect(ids((await drain(source, ALL, ahead)).pages)).toEqual(['b']);
  });
});

describe('trouble', () => {
  it('a reading that was left behind takes nothing away from the next reader', async () => {
    const { put, source } = await feed({ pageSize: 2 });
    for (const id of numbers(0, 40)) await put(id);
    const found: string[] = [];
    for (let position = ''; ;) {
      const abandoned = source.read(ALL, position, go);
      const page = await source.read(ALL, position, go);
      await abandoned;
      if (page.next === position) break;
      found.push(...page.changes.map(({ id }) => id));
      position = page.next;
    }
    expect(found).toEqual(numbers(0, 40));
  });

  it('throttling and failing requests lose nothing and repeat nothing', async () => {
    const { put, source, meter, emulator } = await feed({ pageSize: 3 });
    for (const id of numbers(0, 40)) await put(id);
    emulator.faults({ throttle: 0.3, failBefore: 0.2 });
    expect(ids((await drain(source)).pages)).toEqual(numbers(0, 40));
    expect(meter.throttled).toBeGreaterThan(0);
  });

  it('waiting to try again ends with the signal', async () => {
    const { source, emulator } = await feed();
    emulator.faults({ throttle: 1 });
    const stop = new AbortController();
    const reading = source.read(ALL, '', stop.signal);
    stop.abort(new Error('stopped'));
    await expect(reading).rejects.toThrow('stopped');
  });
});

test('a container made again refuses the positions of the old one, which would skip its first changes', async () => {
  const { container, database, put, source } = await feed();
  for (const id of numbers(0, 5)) await put(id);
  const { next } = await drain(source);
  await container.delete();
  await database.containers.create({ id: 'c', partitionKey: HASH_KEY });
  await put('first');
  // By the iterator that is under way, by a new one, and by one that would begin again.
  await expect(source.read(ALL, next, go)).rejects.toMatchObject({ code: 'container-replaced' });
  await expect(source.read(ALL, next, go)).rejects.toThrow('not for the current container');
  await expect(source.resolve(ALL, 'now', go)).rejects.toMatchObject({ code: 'container-replaced' });
  const anew = new CosmosChangeSource(container, await ridOf(container), ITEMS, { epoch: 2 });
  expect((await drain(anew)).pages.flat()).toMatchObject([{ id: 'first', version: { epoch: 2 } }]);
});

test('a feed that lost what lies before the position is read no further, once it can’t be a lagging replica', async () => {
  const { emulator, container, put } = await feed();
  emulator.faults({ historyMs: 60_000 });
  for (const id of numbers(0, 5)) await put(id);
  const clock = new ManualClock();
  const raised: number[] = [];
  const onBehind = async (): Promise<void> => void raised.push(clock.now());
  const source = new CosmosChangeSource(container, await ridOf(container), ITEMS, {
    epoch: 1,
    clock,
    behindMs: 10_000,
    onBehind,
  });
  const { next } = await drain(source);
  emulator.failover('d/c', 60_000);
  expect((await source.read(ALL, next, go)).next).toBe(next);
  clock.advance(9_999);
  await source.read(ALL, next, go);
  clock.advance(1);
  await expect(source.read(ALL, next, go)).rejects.toMatchObject({
    code: 'feed-behind',
    hint: expect.stringContaining('Rewind') as string,
  });
  expect(raised).toHaveLength(1);
});
