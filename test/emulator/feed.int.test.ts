import { ChangeFeedStartFrom } from '@azure/cosmos';
import type { ChangeFeedIteratorOptions, Container } from '@azure/cosmos';
import { expect, test, vi } from 'vitest';
import { emulate, HASH_KEY, refusal, TWO_LEVELS } from './emulate.ts';

interface Entry {
  readonly id: string;
  readonly n?: number;
  readonly _lsn: number;
}

/** Reads to the first 304; returns the pages and the continuation. */
async function drain(
  container: Container,
  options: ChangeFeedIteratorOptions,
): Promise<{ pages: Entry[][]; token: string }> {
  const iterator = container.items.getChangeFeedIterator<Entry>(options);
  const pages: Entry[][] = [];
  for (;;) {
    const page = await iterator.readNext();
    if (page.statusCode === 304) return { pages, token: page.continuationToken };
    pages.push(page.result);
  }
}

const beginning = ChangeFeedStartFrom.Beginning();

test('the feed has the newest version of each item once, in order, and forgets what was deleted', async () => {
  const { container } = await emulate();
  for (const id of ['1', '2', '3']) await container.items.create({ id, pk: 'a', n: 0 });
  await container.item('1', 'a').patch([{ op: 'set', path: '/n', value: 1 }]);
  await container.item('2', 'a').delete();
  const { pages, token } = await drain(container, { changeFeedStartFrom: beginning, maxItemCount: 1 });
  expect(pages.map((page) => page.map(({ id, n }) => [id, n]))).toEqual([[['3', 0]], [['1', 1]]]);
  expect(pages.flat()[0]!._lsn).toBeLessThan(pages.flat()[1]!._lsn);
  // A delete alone is no entry; a rewrite without change is.
  await container.item('3', 'a').delete();
  await container.items.upsert({ id: '1', pk: 'a', n: 1 });
  const again = await drain(container, { changeFeedStartFrom: ChangeFeedStartFrom.Continuation(token) });
  expect(again.pages.flat().map(({ id }) => id)).toEqual(['1']);
});

test('a batch is one lsn, which pages never cut', async () => {
  const { container } = await emulate();
  for (let b = 0; b < 3; b++) {
    await container.items.batch(
      Array.from({ length: 10 }, (_, i) => ({
        operationType: 'Create' as const,
        resourceBody: { id: `${b}-${i}`, pk: 'a' },
      })),
      'a',
    );
  }
  const { pages } = await drain(container, { changeFeedStartFrom: beginning, maxItemCount: 4 });
  expect(pages.map((page) => page.length)).toEqual([10, 10, 10]);
  for (const page of pages) expect(new Set(page.map(({ _lsn }) => _lsn)).size).toBe(1);
  const orders = pages.map((page) => page.map(({ id }) => id.split('-')[1]).join(''));
  expect(orders).not.toEqual(orders.map(() => '0123456789'));
});

test('ranges, sub-ranges, keys and prefixes each see their own', async () => {
  const { container } = await emulate({
    partitionKey: TWO_LEVELS,
    throughput: 18_000,
  });
  for (let i = 0; i < 60; i++) await container.items.create({ id: String(i), t: `t${i % 6}`, u: i % 2 });
  const all = new Set(Array.from({ length: 60 }, (_, i) => String(i)));
  const ranges = await container.getFeedRanges();
  expect(ranges).toHaveLength(3);
  const seen = (
    await Promise.all(
      ranges.map((range) => drain(container, { changeFeedStartFrom: ChangeFeedStartFrom.Beginning(range) })),
    )
  ).flatMap(({ pages }) => pages.flat().map(({ id }) => id));
  expect(seen).toHaveLength(60);
  expect(new Set(seen)).toEqual(all);
  const of = async (key: unknown): Promise<string[]> => {
    const { pages } = await drain(container, {
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(key as never),
      maxItemCount: 3,
    });
    return pages.flat().map(({ id }) => id);
  };
  expect(await of(['t3', 1])).toEqual(['3', '9', '15', '21', '27', '33', '39', '45', '51', '57']);
  expect(await of(['t4', 1])).toEqual([]);
  expect(await of(['t4'])).toEqual(['4', '10', '16', '22', '28', '34', '40', '46', '52', '58']);
});

test('the feed starts now, or at a time', async () => {
  const { container } = await emulate();
  await container.items.create({ id: 'before', pk: 'a' });
  const now = await drain(container, { changeFeedStartFrom: ChangeFeedStartFrom.Now() });
  expect(now.pages).toEqual([]);
  await container.items.create({ id: 'after', pk: 'a' });
  const ids = async (start: ChangeFeedStartFrom): Promise<string[]> =>
    (await drain(container, { changeFeedStartFrom: start, maxItemCount: 1 })).pages.flat().map(({ id }) => id);
  expect(await ids(ChangeFeedStartFrom.Continuation(now.token))).toEqual(['after']);
  expect(await ids(ChangeFeedStartFrom.Time(new Date(Date.now() - 60_000)))).toEqual(['before', 'after']);
  expect(await ids(ChangeFeedStartFrom.Time(new Date(Date.now() + 60_000)))).toEqual([]);
});

test('the feed of a key follows its writes and a failover, and a time finds what a clock that goes back wrote', async () => {
  const { emulator, container } = await emulate({}, { faults: { historyMs: 60_000 } });
  const of = async (start: ChangeFeedStartFrom): Promise<string> =>
    (await drain(container, { changeFeedStartFrom: start, maxItemCount: 1 })).pages
      .flat()
      .map(({ id, n }) => `${id}${n}`)
      .join(' ');
  const whole = (): Promise<string> => of(ChangeFeedStartFrom.Beginning('a'));
  const begun = Date.now();
  const at = (seconds: number): Date => new Date(begun + seconds * 1_000);
  const since = (seconds: number): Promise<string> => of(ChangeFeedStartFrom.Time(at(seconds), 'a'));
  const put = (id: string, n: number, pk = 'a') => container.items.upsert({ id, pk, n });
  vi.useFakeTimers({ toFake: ['Date'], now: begun });
  try {
    await put('x', 1);
    await put('y', 1);
    await put('z', 1, 'b');
    expect(await whole()).toBe('x1 y1');
    vi.setSystemTime(at(20));
    await put('x', 2);
    expect(await whole()).toBe('y1 x2');
    vi.setSystemTime(at(5));
    await put('w', 1);
    expect(await whole()).toBe('y1 x2 w1');
    expect([await since(0), await since(2), await since(10)]).toEqual(['y1 x2 w1', 'x2 w1', 'x2']);
    vi.setSystemTime(at(40));
    await container.item('w', 'a').delete();
    expect(await whole()).toBe('y1 x2');
    await put('x', 3);
    emulator.failover('d/c', 10_000);
    expect(await whole()).toBe('y1 x2 w1');
  } finally {
    vi.useRealTimers();
  }
});

test('a large page ends at about 4 MB, and a small one costs as its reads', async () => {
  const { container } = await emulate();
  for (let i = 0; i < 7; i++) await container.items.create({ id: String(i), pk: 'a', pad: 'x'.repeat(1_000_000) });
  const { pages } = await drain(container, { changeFeedStartFrom: beginning, maxItemCount: 1000 });
  expect(pages.map((page) => page.length)).toEqual([4, 3]);
  const { headers } = await container.items
    .getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Now() })
    .readNext();
  expect(headers['x-ms-request-charge']).toBe('1');
});

test('a container made again starts over, and an old continuation is refused', async () => {
  const { container, database } = await emulate();
  await container.items.create({ id: '1', pk: 'a' });
  const { token } = await drain(container, { changeFeedStartFrom: beginning });
  await container.delete();
  await database.containers.create({ id: 'c', partitionKey: HASH_KEY });
  const options = { changeFeedStartFrom: ChangeFeedStartFrom.Continuation(token) };
  expect((await refusal(drain(container, options))).message).toContain('not for the current container');
});
