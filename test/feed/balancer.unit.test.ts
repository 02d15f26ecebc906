import { assert, infiniteStream, integer, nat, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leasesToTake } from '../../src/feed/balancer.ts';
import type { Lease } from '../../src/feed/lease.ts';

const lease = (n: number, owner: string | null): Lease => ({
  id: `l${n}`,
  token: String(n),
  range: { min: String(n), max: String(n + 1) },
  owner,
  etag: `"${n}"`,
});

const owned = (...owners: (string | null)[]): Lease[] => owners.map((owner, n) => lease(n, owner));
const take = (leases: Lease[], host: string, expired: string[] = []): string[] =>
  leasesToTake(leases, { host, expired: new Set(expired) }).map(({ id }) => id);

describe('which leases a host takes', () => {
  it('takes all that are free when it is alone', () => {
    expect(take(owned(null, null, null), 'a')).toEqual(['l0', 'l1', 'l2']);
  });

  it('takes its share of the free ones at once when there are others', () => {
    expect(take(owned('b', 'b', null, null, null), 'a')).toEqual(['l2', 'l3', 'l4']);
    expect(take(owned('b', 'b', 'b', null), 'a')).toEqual(['l3']);
  });

  it('takes what nobody renewed any more, several at once, and counts its owner out', () => {
    expect(take(owned('dead', 'dead', 'dead', 'dead'), 'a', ['l0', 'l1', 'l2', 'l3'])).toHaveLength(4);
    expect(take(owned('dead', 'dead', 'b', 'b'), 'a', ['l0', 'l1'])).toEqual(['l0', 'l1']);
  });

  it('prefers an expired lease to a stolen one', () => {
    expect(take(owned('b', 'b', 'b', 'b', 'dead'), 'a', ['l4'])).toEqual(['l4']);
  });

  it('steals one at a time, from the largest owner', () => {
    expect(take(owned('b', 'b', 'b', 'b', 'c'), 'a')).toEqual(['l3']);
  });

  it('takes nothing once it has its share, and nothing when there is nothing to gain', () => {
    expect(take(owned('a', 'a', 'b'), 'a')).toEqual([]);
    expect(take(owned('b'), 'a')).toEqual([]);
    expect(take([], 'a')).toEqual([]);
  });

  it('leaves its own expired leases alone: they are no gain', () => {
    expect(take(owned('a', 'a'), 'a', ['l0', 'l1'])).toEqual([]);
  });
});

describe('hosts taking turns in any order', () => {
  const histories = record({
    leases: integer({ min: 0, max: 40 }),
    hosts: integer({ min: 1, max: 9 }),
    /** Who owned what before: a live host, nobody, or a dead one. */
    before: infiniteStream(integer({ min: -4, max: 8 })),
    turns: infiniteStream(nat()),
  });

  it('come to rest with no host above ceil(leases ÷ hosts) and none two below it', () => {
    assert(
      property(histories, ({ leases: count, hosts, before, turns }) => {
        const names = Array.from({ length: hosts }, (_, n) => `h${n}`);
        const expired = new Set<string>();
        let leases = Array.from({ length: count }, (_, n) => {
          const owner = before.next().value;
          if (owner < -2) return lease(n, null);
          if (owner < 0) {
            expired.add(`l${n}`);
            return lease(n, `dead${-owner}`);
          }
          return lease(n, names[owner % hosts] ?? null);
        });
        const target = Math.ceil(count / hosts);
        const atRest = (): boolean => names.every((name) => leasesToTake(leases, { host: name, expired }).length === 0);
        for (let rounds = 0; !atRest(); rounds++) {
          expect(rounds, 'rounds until nobody wants anything').toBeLessThan(100 * (count + 1));
          // In any order, but everybody comes round.
          const host = names[(rounds + (turns.next().value % 2)) % hosts] ?? '';
          const taken = new Set(leasesToTake(leases, { host, expired }).map(({ id }) => id));
          const stolen = leases.filter(({ id, owner }) => taken.has(id) && owner !== null && !expired.has(id));
          expect(stolen.length).toBeLessThanOrEqual(1);
          expect(stolen.length * taken.size, 'steals come alone').toBe(stolen.length);
          for (const id of taken) expired.delete(id);
          leases = leases.map((one) => (taken.has(one.id) ? { ...one, owner: host } : one));
        }
        for (const name of names) {
          const mine = leases.filter(({ owner }) => owner === name).length;
          expect(mine).toBeLessThanOrEqual(target);
          expect(mine).toBeGreaterThanOrEqual(Math.max(0, target - 1));
        }
        expect(leases.every(({ owner }) => owner !== null && !owner.startsWith('dead'))).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
