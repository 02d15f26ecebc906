import { ChangeFeedPolicy, ChangeFeedRetentionTimeSpan } from '@azure/cosmos';
import { describe, expect, it } from 'vitest';
import { type EstimatorOptions, LagEstimator } from '../../../src/feed/processor/lag-estimator.ts';
import { emulate } from '../../emulator/emulate.ts';

const WHOLE = { min: '', max: 'FF' };

async function stage(partitions = 1, options: Partial<EstimatorOptions> = {}) {
  const retention = { changeFeedPolicy: new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10)) };
  const { emulator, container } = await emulate({
    throughput: 6_000 * partitions,
    ...(options.mode === 'all-versions' ? retention : {}),
  });
  const { resource } = await container.read();
  const estimator = new LagEstimator({ container, rid: resource?._rid ?? '', ...options });
  const write = async (from: number, to: number) => {
    for (let n = from; n < to; n++) await container.items.upsert({ id: `d${n}`, pk: `k${n}` });
  };
  const lag = (position?: string, range = WHOLE) => estimator.lagOf({ range, position });
  return { emulator, container, estimator, write, lag, path: 'd/c' };
}

describe('the lag of a lease', () => {
  it('the lag of a lease is the number of writes behind its position, and the age of the oldest of them', async () => {
    const { write, lag, emulator } = await stage(1, {
      clock: { now: () => Date.now() + 90_000, monotonic: () => 0, sleep: async () => {} },
    });
    await write(0, 10);
    expect(await lag('"4"')).toMatchObject({ known: true, changes: 6 });
    const behind = await lag('"9"');
    if (!behind.known) throw new Error(behind.why);
    expect(behind.changes).toBe(1);
    expect(behind.ageMs).toBeGreaterThanOrEqual(89_000);
    expect(behind.ageMs).toBeLessThan(120_000);
    expect(behind.charge).toBeGreaterThan(0);
    expect(await lag('"10"')).toMatchObject({ known: true, changes: 0, ageMs: 0 });
    await write(10, 11);
    expect(await lag('"10"')).toMatchObject({ changes: 1 });
    expect(emulator.stats().requests['replace'], 'nothing was written').toBeUndefined();
  });

  it('the lag of a lease of a range where nothing was ever written is zero', async () => {
    const { lag } = await stage(2);
    expect(await lag('"0"', { min: '', max: '20000000000000000000000000000000' })).toMatchObject({ changes: 0 });
  });

  it('the lag of a lease without a position is unknown, unless its host is known to begin at the beginning', async () => {
    const { lag, write } = await stage();
    await write(0, 3);
    expect(await lag()).toEqual({ known: false, why: expect.stringContaining('only its host knows') as string });
    const ours = await stage(1, { start: 'beginning' });
    expect(await ours.lag()).toMatchObject({ known: true, changes: 0 });
    await ours.write(0, 3);
    expect(await ours.lag()).toMatchObject({ known: true, changes: 3 });
  });

  it('the lag of a lease of a range that was split is that of its parts together', async () => {
    const { lag, write, emulator, path } = await stage();
    await write(0, 20);
    emulator.split(path);
    expect(await lag('"20"')).toMatchObject({ changes: 0 });
    await write(20, 30);
    const after = await lag('"20"');
    if (!after.known) throw new Error(after.why);
    expect(after.changes).toBe(10);
    emulator.split(path);
    expect(await lag('"20"')).toMatchObject({ known: true });
  });

  it('the lag of a lease of a part of a merged partition is found, and at most too high', async () => {
    const { lag, write, emulator, path } = await stage(2);
    await write(0, 20);
    emulator.merge(path);
    const part = { min: '', max: '20000000000000000000000000000000' };
    const found = await lag('"0"', part);
    if (!found.known) throw new Error(found.why);
    expect(found.changes).toBeGreaterThan(0);
    expect(await lag('"1000000"', part)).toMatchObject({ known: false });
  });

  it('the lag of a lease in the all-versions feed counts deletions too', async () => {
    const { lag, write, container } = await stage(1, { mode: 'all-versions' });
    await write(0, 5);
    expect(await lag('"5"')).toMatchObject({ changes: 0 });
    await container.item('d0', 'k0').delete();
    expect(await lag('"5"')).toMatchObject({ known: true, changes: 1 });
  });

  it('the lag of a lease that can’t be told says why', async () => {
    const { lag, container, write } = await stage();
    await write(0, 3);
    expect(await lag('"9"')).toEqual({
      known: false,
      why: expect.stringMatching(/ahead of the feed, which is at 3/) as string,
    });
    expect(await lag('"x"')).toEqual({ known: false, why: expect.stringContaining('is not a number') as string });
    expect(await lag('"1"', { min: 'FF', max: 'FFF' })).toEqual({
      known: false,
      why: expect.stringContaining('no range') as string,
    });
    await container.delete();
    expect(await lag('"1"')).toEqual({ known: false, why: 'the container c doesn’t exist any more' });
  });
});
