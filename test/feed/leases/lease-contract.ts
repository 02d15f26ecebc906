import { describe, expect, it } from 'vitest';
import type { FeedRange } from '../../../src/cosmos/ranges.ts';
import { type Lease, LeaseLost, type LeaseStore } from '../../../src/feed/leases/lease.ts';

export interface ContractStage {
  /** A host of its own over the same leases. */
  readonly store: (host: string) => LeaseStore;
  /** Splits the first physical partition; resolves with the ranges there are then. */
  readonly split: () => Promise<readonly FeedRange[]>;
}

const go = new AbortController().signal;
const some = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error('It is not there');
  return value;
};
const byRange = (ranges: readonly FeedRange[]) => ranges.map(({ min, max }) => `${min}-${max}`).toSorted();

/** What every lease store promises its processor, whatever it keeps its leases in. */
export function leaseContract(what: string, stage: (partitions: number) => Promise<ContractStage>): void {
  describe(`${what} as a lease store`, () => {
    const prepared = async (partitions = 1) => {
      const { store, split } = await stage(partitions);
      const [a, b] = [store('a'), store('b')];
      await a.prepare(go);
      const only = async (of: LeaseStore): Promise<Lease> => some((await of.list())[0]);
      return { store, split, a, b, only };
    };

    it('a lease store makes a free lease without a position for each physical partition, once for all hosts', async () => {
      const { a, b } = await prepared(3);
      await Promise.all([a.prepare(go), b.prepare(go)]);
      const listed = await b.list();
      expect(byRange(listed.map(({ range }) => range))).toEqual(byRange(await a.ranges()));
      expect(listed).toHaveLength(3);
      expect(listed.every(({ owner, position }) => owner === null && position === undefined)).toBe(true);
    });

    it('a lease store remembers when it was first prepared', async () => {
      const { a, b } = await prepared();
      const first = await a.initializedAt?.();
      expect(first).toBeInstanceOf(Date);
      await b.prepare(go);
      expect(await b.initializedAt?.()).toEqual(first);
    });

    it('a lease store gives a free lease to one host only, as it was seen', async () => {
      const { a, b, only } = await prepared();
      const [seenByA, seenByB] = [await only(a), await only(b)];
      expect(await a.acquire(seenByA)).toMatchObject({ owner: 'a' });
      expect(await b.acquire(seenByB)).toBeUndefined();
    });

    it('a lease store stores positions, hands them to the next owner, and fences the one before', async () => {
      const { a, b, only } = await prepared();
      const mine = await a.renew(some(await a.acquire(await only(a))), '"5"');
      const theirs = some(await b.acquire(await only(b)));
      expect(theirs).toMatchObject({ owner: 'b', position: '"5"' });
      await expect(a.renew(mine, '"9"')).rejects.toBeInstanceOf(LeaseLost);
      expect(await a.read(mine)).toEqual(theirs);
      await expect(a.release(mine)).rejects.toBeInstanceOf(LeaseLost);
      expect(await only(b)).toMatchObject({ owner: 'b', position: '"5"' });
    });

    it('a lease store lets a lease be taken from a live owner though that one wrote it since, at its newest position', async () => {
      const { a, b, only } = await prepared();
      const mine = some(await a.acquire(await only(a)));
      const seen = await only(b);
      const renewed = await a.renew(mine, '"7"');
      expect(await b.acquire(seen)).toBeUndefined();
      expect(await b.acquire(seen, 'owner')).toMatchObject({ owner: 'b', position: '"7"' });
      await expect(a.renew(renewed)).rejects.toBeInstanceOf(LeaseLost);
      expect(await b.acquire(seen, 'owner'), 'no longer that owner’s').toBeUndefined();
    });

    it('a lease store says of a stolen lease from whom, until that one has answered how far it came', async () => {
      const { a, b, only } = await prepared();
      const mine = await a.renew(some(await a.acquire(await only(a))), '"7"');
      const theirs = some(await b.acquire(await only(b), 'owner'));
      expect(theirs).toMatchObject({ owner: 'b', takenFrom: { owner: 'a', tenure: mine.tenure } });
      expect(theirs.tenure).not.toBe(mine.tenure);
      await b.handOver(theirs, '"99"');
      expect((await b.renew(theirs)).takenFrom, 'only its former owner answers').toEqual(theirs.takenFrom);
      await a.handOver(mine, '"9"');
      await a.handOver(mine, '"8"');
      const answered = await only(b);
      expect(answered).toMatchObject({ owner: 'b', tenure: theirs.tenure, position: '"9"' });
      expect(answered.takenFrom).toBeUndefined();
      expect((await b.renew(answered, '"10"')).position).toBe('"10"');
    });

    it('a lease store keeps what a part of a split has in common with the others, until its position has passed it', async () => {
      const { a, b, only, split } = await prepared();
      const parent = some(await a.acquire(await only(a)));
      const [range] = await split();
      await a.ranges();
      const [early, late] = [
        { lsn: 40, parts: 4 },
        { lsn: 100, parts: 2 },
      ];
      expect(await a.create(some(range), '"5"', parent, [early, late])).toBe(true);
      await a.remove(parent);
      expect(await only(b)).toMatchObject({ owner: null, position: '"5"', shared: [early, late] });
      const mine = some(await a.acquire(await only(a)));
      expect(await a.renew(mine, '"39"')).toMatchObject({ tenure: mine.tenure, shared: [early, late] });
      const theirs = some(await b.acquire(await only(b), 'owner'));
      expect(theirs).toMatchObject({ owner: 'b', takenFrom: { owner: 'a' }, shared: [early, late] });
      await a.handOver(mine, '"50"');
      const renewed = await b.renew(await b.takeOver(await only(b)), '"50"');
      expect(renewed).toMatchObject({ tenure: theirs.tenure, shared: [late] });
      await b.release(renewed);
      expect(await only(a)).toMatchObject({ owner: null, position: '"50"', shared: [late] });
      const passed = await a.renew(some(await a.acquire(await only(a))), '"100"');
      expect(passed.shared).toBeUndefined();
      expect((await only(b)).shared).toBeUndefined();
    });

    it('a lease store lets no host answer any more once the lease was taken over', async () => {
      const { a, b, only } = await prepared();
      const mine = await a.renew(some(await a.acquire(await only(a))), '"7"');
      const theirs = await b.takeOver(some(await b.acquire(await only(b), 'owner')));
      expect(theirs).toMatchObject({ owner: 'b', position: '"7"' });
      expect(theirs.takenFrom).toBeUndefined();
      await a.handOver(mine, '"9"');
      expect((await b.renew(theirs)).position).toBe('"7"');
    });

    it('a lease store keeps from whom a lease was stolen over a release, and steals it only as it was listed', async () => {
      const { store, a, b, only } = await prepared();
      const c = store('c');
      const mine = some(await a.acquire(await only(a)));
      const seen = await only(c);
      const theirs = some(await b.acquire(await only(b), 'owner'));
      expect(await c.acquire(seen, 'owner')).toBeUndefined();
      await b.release(theirs);
      const third = some(await c.acquire(await only(c)));
      expect(third).toMatchObject({ owner: 'c', takenFrom: { owner: 'a', tenure: mine.tenure } });
      await a.handOver(mine, '"5"');
      expect(await only(c)).toMatchObject({ owner: 'c', tenure: third.tenure, position: '"5"' });
    });

    it('a lease store renews without touching the position, and frees without touching it', async () => {
      const { a, b, only } = await prepared();
      let lease = await a.renew(some(await a.acquire(await only(a))), '"3"');
      lease = await a.renew(lease);
      expect(lease.position).toBe('"3"');
      await a.release(lease);
      expect(await only(b)).toMatchObject({ owner: null, position: '"3"' });
    });

    it('a lease store never stores an empty position', async () => {
      const { a, only } = await prepared();
      const lease = some(await a.acquire(await only(a)));
      await expect((async () => a.renew(lease, ''))()).rejects.toMatchObject({ code: 'position-empty' });
      expect((await only(a)).position).toBeUndefined();
    });

    it('a lease store takes part in a split: children at the position given, made once, and the parent gone', async () => {
      const { a, b, only, split } = await prepared();
      const parent = await a.renew(some(await a.acquire(await only(a))), '"8"');
      const parts = await split();
      expect(byRange(await a.ranges())).toEqual(byRange(parts));
      for (const part of parts) await a.create(part, parent.position);
      await b.ranges();
      for (const part of parts) await b.create(part, undefined);
      await a.remove(parent);
      const listed = await b.list();
      expect(byRange(listed.map(({ range }) => range))).toEqual(byRange(parts));
      expect(listed.map(({ position, owner }) => [position, owner])).toEqual(parts.map(() => ['"8"', null]));
      await expect(a.renew(parent)).rejects.toBeInstanceOf(LeaseLost);
      expect(await a.acquire(parent)).toBeUndefined();
      await expect(a.release(parent)).rejects.toBeInstanceOf(LeaseLost);
    });

    it('a lease store deletes no lease that another host wrote since it was listed, and says that it is lost', async () => {
      const { a, b, only } = await prepared();
      const listed = await only(a);
      const theirs = some(await b.acquire(await only(b)));
      await expect(a.remove(listed)).rejects.toThrow(LeaseLost);
      expect(await only(a)).toMatchObject({ owner: 'b' });
      await b.remove(theirs);
      expect(await a.list()).toEqual([]);
    });

    it('a lease store fills the part of a range that no lease covers, and nothing else', async () => {
      const { store, split, a, only } = await prepared();
      const parts = await split();
      const parent = some(await a.acquire(await only(a)));
      await a.ranges();
      await a.create(some(parts[0]), '"2"');
      await a.remove(parent);
      await store('c').prepare(go);
      const listed = await a.list();
      expect(byRange(listed.map(({ range }) => range))).toEqual(byRange(parts));
      expect(listed.map(({ position = 'none' }) => position).toSorted((x, y) => x.localeCompare(y))).toEqual([
        '"2"',
        'none',
      ]);
    });
  });
}
