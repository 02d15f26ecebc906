// What is behind counts once over all leases, however often their ranges were split before it was read.
import { describe, expect, it, vi } from 'vitest';
import { LagEstimator } from '../../../src/feed/processor/lag-estimator.ts';
import { lsnOf } from '../../../src/feed/reading/position.ts';
import { leaseStage } from '../lease-stage.ts';
import { BRISK, hostOf, numbers, write } from '../processor-stage.ts';

const until = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 20_000, interval: 5 });

async function stage() {
  const { store, emulator, monitored } = await leaseStage();
  const path = `${monitored.database.id}/${monitored.id}`;
  const rid = (await monitored.read()).resource?._rid ?? '';
  const estimator = new LagEstimator({ container: monitored, rid, start: 'beginning' });
  const watching = store('watching');
  const leases = () => watching.list();
  const lags = async (): Promise<number> => {
    let sum = 0;
    for (const lease of await leases()) {
      const lag = await estimator.lagOf(lease);
      if (!lag.known) throw new Error(lag.why);
      sum += lag.changes;
    }
    return sum;
  };
  /** A host that handles nothing makes leases of the parts, and stops. */
  const takeUp = async (name: string): Promise<void> => {
    const { processor } = await hostOf(name, monitored, store(name), {
      handle: () => Promise.reject(new Error('not now')),
    });
    await processor.start();
    const parts = (await monitored.getFeedRanges()).map(({ minInclusive }) => minInclusive);
    await until(async () =>
      expect((await leases()).map(({ range }) => range.min).toSorted()).toEqual(parts.toSorted()),
    );
    await processor.stop();
  };
  return { emulator, monitored, path, store, estimator, leases, lags, takeUp };
}

describe('the lag of all leases together', () => {
  it('the lag of all leases together is the same before a split and after it, and after a second one', async () => {
    const { emulator, monitored, path, lags, leases, takeUp } = await stage();
    await write(monitored, numbers(0, 200));
    await takeUp('a');
    expect(await lags()).toBe(200);
    emulator.split(path);
    await takeUp('b');
    const near = (expected: number) => (sum: number) => Math.abs(sum - expected) <= 4;
    expect(await lags()).toSatisfy(near(200));
    await write(monitored, numbers(200, 240));
    expect(await lags(), 'what is written to a part is its own').toSatisfy(near(240));
    emulator.split(path);
    await takeUp('c');
    expect(await lags()).toSatisfy(near(240));
    emulator.split(path);
    await takeUp('d');
    expect(await lags()).toSatisfy(near(240));
    expect(
      (await leases()).every(({ position }) => position === undefined),
      'nothing was read',
    ).toBe(true);
  });

  it('the lag of all leases together is that of what a running host says of its leases', async () => {
    const { emulator, monitored, path, store, estimator, takeUp } = await stage();
    await write(monitored, numbers(0, 100));
    await takeUp('a');
    emulator.split(path);
    const { processor } = await hostOf('b', monitored, store('b'), {
      handle: () => Promise.reject(new Error('not now')),
    });
    await processor.start();
    // The lease that was split is listed until its work has ended, beside the first of its children.
    const children = await until(() => {
      const { leases } = processor.status();
      expect(leases.map(({ shared }) => shared?.length)).toEqual([1, 1]);
      return leases;
    });
    const lags = await Promise.all(children.map((lease) => estimator.lagOf(lease)));
    await processor.stop();
    expect(lags).toMatchObject([
      { changes: 50 },
      { changes: expect.toSatisfy((n: number) => n === 49 || n === 50) as number },
    ]);
  });

  it('the lag of all leases together is zero once a host has read everything, and nothing is noted any more', async () => {
    const { emulator, monitored, path, store, leases, lags, takeUp } = await stage();
    await write(monitored, numbers(0, 60));
    await takeUp('a');
    emulator.split(path);
    await takeUp('b');
    expect((await leases()).map(({ shared }) => shared)).toEqual([[{ lsn: 60, parts: 2 }], [{ lsn: 60, parts: 2 }]]);
    await write(monitored, numbers(60, 80));
    const { processor } = await hostOf('c', monitored, store('c'), { timings: { ...BRISK, acquireMs: 10 } });
    await processor.start();
    await until(async () => expect(await lags()).toBe(0));
    await processor.stop();
    const left = await leases();
    expect(left.every(({ position }) => lsnOf(position) > 60)).toBe(true);
    expect(left.map(({ shared }) => shared)).toEqual([undefined, undefined]);
  });
});
