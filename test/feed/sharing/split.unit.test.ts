import { describe, expect, test } from 'vitest';
import type { FeedRange } from '../../../src/cosmos/ranges.ts';
import { type Lease, LeaseLost, type LeaseStore } from '../../../src/feed/leases/lease.ts';
import { gapsOf, isHalfSplit, lastSeen, splitLease } from '../../../src/feed/sharing/split.ts';

const range = (min: string, max: string): FeedRange => ({ min, max });
const lease = (of: FeedRange, position?: string): Lease => ({
  id: `P..${of.min}-${of.max}`,
  token: `${of.min}-${of.max}`,
  range: of,
  owner: 'me',
  etag: '"1"',
  ...(position === undefined ? {} : { position }),
});

/** Leases in memory, and what was done to them in order. */
class Store implements LeaseStore {
  readonly done: string[] = [];
  readonly leases: Lease[];
  readonly #physical: FeedRange[];
  /** Another host takes the parent before this operation. */
  stolenBefore: string | undefined;

  constructor(leases: Lease[], physical: FeedRange[]) {
    this.leases = leases;
    this.#physical = physical;
  }

  async #note(what: string): Promise<void> {
    if (what === this.stolenBefore) throw new LeaseLost('P', 'another host wrote it');
    this.done.push(what);
  }

  prepare = (): Promise<void> => Promise.resolve();
  release = (): Promise<void> => Promise.resolve();
  acquire = (of: Lease): Promise<Lease> => Promise.resolve(of);
  list = (): Promise<Lease[]> => Promise.resolve(this.leases);
  ranges = (): Promise<FeedRange[]> => Promise.resolve(this.#physical);

  async renew(of: Lease): Promise<Lease> {
    await this.#note('write the parent');
    return of;
  }
  read = (): Promise<undefined> => Promise.resolve(undefined);
  async create(of: FeedRange, position: string | undefined): Promise<boolean> {
    await this.#note(`create ${of.min}-${of.max} at ${position}`);
    return true;
  }
  takeOver = (of: Lease): Promise<Lease> => Promise.resolve(of);
  handOver = (): Promise<void> => Promise.resolve();
  async remove(): Promise<void> {
    await this.#note('delete the parent');
  }
}

/** No one can tell how far the parts are. */
const silent = (): Promise<undefined> => Promise.resolve(undefined);

const whole = range('', 'FF');
const parts = [range('', '7F'), range('7F', 'FF')];

describe('a split (PROC-L5)', () => {
  test('a split writes the parent before each child, gives each child its position, and deletes the parent last', async () => {
    const store = new Store([lease(whole, '"9"')], parts);
    expect(await splitLease(store, lease(whole, '"9"'), silent)).toBeUndefined();
    expect(store.done).toEqual([
      'write the parent',
      'write the parent',
      'create -7F at "9"',
      'write the parent',
      'create 7F-FF at "9"',
      'delete the parent',
    ]);
  });

  test('a split that was left half done is finished: what lies inside is cover, what lies around is not', async () => {
    const half = [lease(whole, '"9"'), lease(range('', '7F'), '"30"'), lease(range('', 'FFFF'), '"1"')];
    const store = new Store(half, parts);
    await splitLease(store, half[0] ?? lease(whole), silent);
    expect(store.done.filter((what) => what.startsWith('create'))).toEqual(['create 7F-FF at "9"']);
    expect(half.map((one) => isHalfSplit(one, half))).toEqual([true, false, true]);
  });

  test('a split stops where another host has taken the parent meanwhile, which then stays', async () => {
    const store = new Store([lease(whole)], parts);
    store.stolenBefore = 'create 7F-FF at undefined';
    await expect(splitLease(store, lease(whole), silent)).rejects.toBeInstanceOf(LeaseLost);
    expect(store.done).not.toContain('delete the parent');
  });

  test('a split of a range that is one partition, or a part of one, keeps the lease', async () => {
    for (const physical of [[whole], [range('', '1F'), range('1F', 'FF')]]) {
      const kept = lease(range('1F', 'FF'), '"9"');
      const store = new Store([kept], physical);
      expect(await splitLease(store, kept, silent)).toBe(kept);
      expect(store.done).toEqual(['write the parent']);
    }
  });
});

describe('a lease that was made twice', () => {
  const twin = (id: string, position?: string): Lease => ({ ...lease(whole, position), id });

  test('a lease that was made twice keeps the one with the smaller id, once the other has read what it has yet to read', async () => {
    const [a, b] = [twin('a', '"5"'), twin('b', '"9"')];
    expect([isHalfSplit(a, [a, b]), isHalfSplit(b, [a, b])]).toEqual([false, true]);
    const store = new Store([a, b], parts);
    expect(await splitLease(store, b, silent)).toBeUndefined();
    expect(store.done).toEqual(['write the parent', 'delete the parent']);
  });

  test('a lease that was made twice keeps both while the smaller id is ahead: what lies between would be skipped', () => {
    const [a, b] = [twin('a', '"9"'), twin('b', '"5"')];
    expect([isHalfSplit(a, [a, b]), isHalfSplit(b, [a, b])]).toEqual([false, false]);
  });
});

test('a range without a lease goes on where the narrowest lease around it was last seen', () => {
  expect(gapsOf([lease(range('', '3F')), lease(range('7F', 'FF'))])).toEqual([range('3F', '7F')]);
  const seen = [lease(whole, '"3"'), lease(range('', '7F'), '"8"'), lease(range('7F', 'FF'), '"9"')];
  expect(lastSeen(range('3F', '7F'), seen)).toBe(seen[1]);
  expect(lastSeen(range('3F', '9F'), seen)).toBe(seen[0]);
  expect(lastSeen(whole, seen.slice(1))).toBeUndefined();
});
