// What a process knows of erasures, and for how long. ERASE-S2.
import { expect, it } from 'vitest';
import { type ErasureRecord, digestOf } from '../../../src/engine/erasures/record.ts';
import { ErasureWatch } from '../../../src/engine/erasures/watch.ts';
import { ManualClock } from '../../support/clock.ts';

const record = (tenant: string, salt = 'salt'): ErasureRecord => ({
  id: `of-${tenant}`,
  salt,
  digest: digestOf(salt, tenant),
  at: '2026-01-01T00:00:00Z',
  state: 'stopping',
});

/** Answers as the test says, and counts the reads. */
function stored(...records: ErasureRecord[]) {
  const state = { records, reads: 0, fails: false };
  const read = (): Promise<readonly ErasureRecord[]> => {
    state.reads += 1;
    return state.fails ? Promise.reject(new Error('No answer')) : Promise.resolve(state.records);
  };
  return { state, read };
}

it('a watch of erasures knows the tenants of all records, also under several salts, and no change without a tenant', async () => {
  const watch = new ErasureWatch(stored(record('a'), record('b', 'other')), {});
  const erased = await watch.current();
  expect(['a', 'b', 'c', undefined].map((tenant) => erased(tenant)?.id)).toEqual([
    'of-a',
    'of-b',
    undefined,
    undefined,
  ]);
});

it('a watch of erasures reads again once a reading is as old as its refresh, and not before', async () => {
  const clock = new ManualClock();
  const records = stored();
  const watch = new ErasureWatch(records, { refreshMs: 2_000, clock });
  const isErased = async (): Promise<boolean> => (await watch.current())('a') !== undefined;
  expect(await isErased()).toBe(false);
  records.state.records = [record('a')];
  clock.advance(1_999);
  expect([await isErased(), records.state.reads]).toEqual([false, 1]);
  clock.advance(1);
  expect([await isErased(), records.state.reads]).toEqual([true, 2]);
});

it('a watch of erasures answers nothing when it can’t read, rather than what it read before', async () => {
  const clock = new ManualClock();
  const records = stored();
  const watch = new ErasureWatch(records, { refreshMs: 2_000, clock });
  await watch.current();
  records.state.fails = true;
  clock.advance(2_000);
  await expect(watch.current()).rejects.toThrow('No answer');
  records.state.fails = false;
  await expect(watch.current()).resolves.toBeTypeOf('function');
});
