// The queues on the embedded server.
import type { Container } from '@azure/cosmos';
import { describe, expect, it } from 'vitest';
import { FULL_RANGE, type FeedRange } from '../../../src/cosmos/ranges.ts';
import { Meter } from '../../../src/cosmos/budget/charge-meter.ts';
import { effectivePartitionKey } from '../../../src/cosmos/effective-partition-key.ts';
import { DeferredQueues } from '../../../src/engine/deferred/deferred.ts';
import { CosmosDeferredStore } from '../../../src/engine/deferred/cosmos-store.ts';
import { drainNext } from '../../../src/engine/deferred/drain.ts';
import { registeredOf } from '../../../src/engine/deferred/registered.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import { emulate } from '../../emulator/emulate.ts';

const change = (lsn: number, key = 'k'): Change => ({
  container: 'Orders',
  type: 'order',
  tenant: 'a',
  key: [key],
  id: `o${lsn}`,
  version: { epoch: 1, lsn, etag: `"${lsn}"` },
  at: 0,
  op: 'upsert',
});
const changes = (from: number, to: number): Change[] =>
  Array.from({ length: to - from }, (_, at) => change(from + at, `k${at}`));

async function stage() {
  const { container } = await emulate();
  const meter = new Meter();
  let tokens = 0;
  const open = (position: number, range: FeedRange = FULL_RANGE): Promise<DeferredQueues> => {
    const fence = { kind: 'lease', tenure: {}, signal: new AbortController().signal, assert: () => undefined } as const;
    return DeferredQueues.open(
      {
        store: new CosmosDeferredStore(container, { pipeline: 'p', source: 'Orders' }, fence, meter),
        range,
        token: `t${(tokens += 1)}`,
        hashOf: (key) => effectivePartitionKey(key, 'Hash', 2),
        confirm: () => Promise.resolve(),
      },
      position,
    );
  };
  return { container, meter, open };
}

/** The lsns that come out, in order. */
async function drained(deferred: DeferredQueues, position = Infinity): Promise<number[]> {
  const lsns: number[] = [];
  const again = (item: { version: { lsn: number } }) => Promise.resolve(change(item.version.lsn));
  const apply = (some: readonly Change[]) => Promise.resolve(void lsns.push(...some.map(({ version }) => version.lsn)));
  while ((await drainNext(deferred, 'a', position, { again, apply })) === 'drained');
  return lsns;
}

const ids = async (container: Container): Promise<string[]> =>
  (await container.items.query<string>('SELECT VALUE c.id FROM c').fetchAll()).resources.toSorted();

describe('a queue', () => {
  it('a queue gives changes back in their order, and leaves only its register', async () => {
    const { container, open } = await stage();
    const deferred = await open(0);
    await deferred.defer('a', changes(1, 251));
    await deferred.defer('a', changes(251, 300));
    expect(deferred.tenants).toEqual(['a']);
    expect(await drained(deferred)).toEqual(changes(1, 300).map(({ version }) => version.lsn));
    expect(deferred.tenants).toEqual([]);
    expect(await ids(container)).toEqual(['register']);
  });

  it('a queue holds back what is above the watermark', async () => {
    const { open } = await stage();
    const deferred = await open(0);
    await deferred.defer('a', changes(1, 11));
    expect(await drained(deferred, 4)).toEqual([1, 2, 3, 4]);
    expect(deferred.holds('a')).toBe(true);
    expect(await drained(deferred, 10)).toEqual([5, 6, 7, 8, 9, 10]);
    expect(deferred.holds('a')).toBe(false);
  });

  it('a queue writes nothing for a window in which nothing is deferred', async () => {
    const { container, open } = await stage();
    await open(0);
    expect(await ids(container)).toEqual([]);
  });

  it('a queue passes to the next tenure up to its position, and refuses the one before', async () => {
    const { open } = await stage();
    const before = await open(0);
    await before.defer('a', changes(1, 21));
    const after = await open(15);
    await expect(before.defer('a', changes(21, 23))).rejects.toMatchObject({
      code: 'overtaken',
      retryable: true,
    });
    expect(after.holds('a')).toBe(true);
    await after.defer('a', changes(16, 23));
    expect(await drained(after)).toEqual(changes(1, 23).map(({ version }) => version.lsn));
  });

  it('a queue passes to the tenures of both parts when its range is split, each its own keys', async () => {
    const { container, open } = await stage();
    const whole = await open(0);
    await whole.defer('a', changes(1, 101));
    const left = await open(100, { min: '', max: '20' });
    const right = await open(100, { min: '20', max: 'FF' });
    await expect(whole.defer('a', changes(101, 102))).rejects.toMatchObject({ code: 'overtaken' });
    const [one, other] = [await drained(left), await drained(right)];
    expect(one.length).toBeGreaterThan(20);
    expect(other.length).toBeGreaterThan(20);
    expect([...one, ...other].toSorted((a, b) => a - b)).toEqual(changes(1, 101).map(({ version }) => version.lsn));
    expect(await ids(container)).toEqual(['register']);
  });

  it('a queue shows others what waits, without a claim', async () => {
    const { container, open } = await stage();
    const registered = registeredOf(container, { pipeline: 'p', source: 'Orders' }, new AbortController().signal);
    expect(await registered.queues()).toEqual([]);
    const deferred = await open(0);
    await deferred.defer('a', changes(1, 251));
    expect(await registered.waiting()).toEqual([{ ...FULL_RANGE, tenant: 'a', bundles: 3, oldest: 0 }]);
    const lsns: number[] = [];
    for await (const items of registered.changes()) lsns.push(...items.map(({ version }) => version.lsn));
    expect(lsns).toEqual(changes(1, 251).map(({ version }) => version.lsn));
    await drained(deferred);
    expect(await registered.queues()).toEqual([]);
    expect(await registered.waiting()).toEqual([]);
  });

  it('a queue costs a fraction of a request unit for each change that is deferred and removed again', async () => {
    const { meter, open } = await stage();
    const deferred = await open(0);
    for (let page = 0; page < 10; page++) await deferred.defer('a', changes(page * 1_000, (page + 1) * 1_000));
    const charged = meter.charge / 10_000;
    await drained(deferred);
    expect(charged).toBeLessThan(0.2);
    expect(meter.charge / 10_000).toBeLessThan(0.5);
  });
});
