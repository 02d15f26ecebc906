import { assert, infiniteStream, integer, nat, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Balance, balance } from '../../../src/feed/sharing/balancer.ts';
import type { Lease } from '../../../src/feed/leases/lease.ts';

const lease = (n: number, owner: string | null): Lease => ({
  id: `l${n}`,
  token: String(n),
  range: { min: String(n), max: String(n + 1) },
  owner,
  etag: `"${n}"`,
});

const owned = (...owners: (string | null)[]): Lease[] => owners.map((owner, n) => lease(n, owner));
/** Whatever is in the host's name and writes on is looked after. */
const taken = (leases: Lease[], host: string, expired: ReadonlySet<string>, more: Partial<Balance> = {}): string[] => {
  const supervised = new Set(leases.filter(({ id, owner }) => owner === host && !expired.has(id)).map(({ id }) => id));
  return balance(leases, { host, supervised, expired, ...more })
    .filter(({ decision }) => decision === 'take' || decision === 'steal')
    .map(({ lease: { id } }) => id);
};
const take = (leases: Lease[], host: string, expired: string[] = [], more: Partial<Balance> = {}): string[] =>
  taken(leases, host, new Set(expired), more);

describe('which leases a host takes', () => {
  it('a host takes all that are free when it is alone', () => {
    expect(take(owned(null, null, null), 'a')).toEqual(['l0', 'l1', 'l2']);
  });

  it('a host takes its share of the free ones at once when there are others', () => {
    expect(take(owned('b', 'b', null, null, null), 'a')).toEqual(['l2', 'l3', 'l4']);
    expect(take(owned('b', 'b', 'b', null), 'a')).toEqual(['l3']);
  });

  it('a host takes what no host renewed any more, several at once, and counts its owner out', () => {
    expect(take(owned('dead', 'dead', 'dead', 'dead'), 'a', ['l0', 'l1', 'l2', 'l3'])).toHaveLength(4);
    expect(take(owned('dead', 'dead', 'b', 'b'), 'a', ['l0', 'l1'])).toEqual(['l0', 'l1']);
  });

  it('a host prefers an expired lease to a stolen one', () => {
    expect(take(owned('b', 'b', 'b', 'b', 'dead'), 'a', ['l4'])).toEqual(['l4']);
  });

  it('a host steals one at a time, from the largest owner', () => {
    expect(take(owned('b', 'b', 'b', 'b', 'c'), 'a')).toEqual(['l3']);
  });

  it('a host takes nothing once it has its share, and nothing when there is nothing to gain', () => {
    expect(take(owned('a', 'a', 'b'), 'a')).toEqual([]);
    expect(take(owned('b'), 'a')).toEqual([]);
    expect(take([], 'a')).toEqual([]);
  });

  it('a host takes back what it gave up once that has expired, and not before, whatever its share', () => {
    expect(take(owned('a', 'a'), 'a', ['l0'])).toEqual(['l0']);
    expect(take(owned('a', 'b'), 'a', [], { supervised: new Set() })).toEqual([]);
  });

  it('a host leaves for others what it gave up as nothing came of it, and steals another meanwhile', () => {
    const standingBack = new Set(['l0']);
    expect(take(owned('a', 'a'), 'a', ['l0'], { standingBack })).toEqual([]);
    expect(take(owned('b', 'b', 'b', 'a'), 'a', [], { standingBack: new Set(['l2']) })).toEqual(['l1']);
    expect(take(owned(null, 'b', 'b', 'b'), 'a', [], { standingBack })).toEqual(['l3']);
  });

  it('a host takes what no host took for long, above its share too, and not above its most', () => {
    const [leases, left] = [owned('sick', 'sick', 'a'), new Set(['l0'])];
    expect(take([...leases, lease(3, 'a')], 'a', ['l0'])).toEqual([]);
    expect(take([...leases, lease(3, 'a')], 'a', ['l0'], { left })).toEqual(['l0']);
    expect(take([...leases, lease(3, 'a')], 'a', ['l0'], { left, most: 2 })).toEqual([]);
  });

  it('a host steals nothing that is being handed over', () => {
    expect(take(owned('b', 'b', 'b', 'b'), 'a', [], { handedOver: new Set(['l3']) })).toEqual(['l2']);
  });

  it('a host takes what is in its name when it starts', () => {
    expect(take(owned('a', 'a', 'b', null), 'a', [], { supervised: new Set(), starting: true })).toEqual(['l0', 'l1']);
  });

  it('a host takes never more than its most, and up to its least though others have less', () => {
    expect(take(owned(null, null, null), 'a', [], { most: 2 })).toEqual(['l0', 'l1']);
    expect(take(owned('b', 'b'), 'a', [], { least: 2 })).toEqual(['l1']);
    expect(take(owned('a', null, 'b'), 'a', [], { least: 2 })).toEqual(['l1']);
    expect(take(owned('a', 'b'), 'a', [], { least: 2, most: 1 })).toEqual([]);
    const starting = { starting: true, supervised: new Set<string>(), most: 1 };
    expect(take(owned('a', 'a'), 'a', [], starting)).toEqual(['l0']);
  });

  it('the balancer says of every lease what it does about it, and why', () => {
    const leases = owned('a', 'b', 'b', 'b', 'c');
    const decisions = balance(leases, { host: 'a', supervised: new Set(['l0']), expired: new Set() });
    expect(decisions.map(({ lease: { id }, sighting, decision, why }) => [id, sighting, decision, why])).toEqual([
      ['l0', 'supervised', 'keep', 'this host manages it'],
      ['l1', 'live', 'leave', 'this host steals one lease at a time'],
      ['l2', 'live', 'leave', 'this host steals one lease at a time'],
      ['l3', 'live', 'steal', 'b has 3 leases, more than 2'],
      ['l4', 'live', 'leave', 'this host steals one lease at a time'],
    ]);
    const enough = balance(owned('a', 'b'), { host: 'a', supervised: new Set(['l0']), expired: new Set() });
    expect(enough[1]).toMatchObject({ decision: 'leave', why: 'this host has its share, 1' });
  });
});

describe('hosts taking turns in any order', () => {
  const histories = record({
    leases: integer({ min: 0, max: 40 }),
    hosts: integer({ min: 1, max: 9 }),
    /** Who owned what before: a live host, no one, or a dead one. */
    before: infiniteStream(integer({ min: -4, max: 8 })),
    turns: infiniteStream(nat()),
  });

  it('hosts taking turns in any order come to rest with no host above ceil(leases ÷ hosts) and none two below it', () => {
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
        const atRest = (): boolean => names.every((name) => taken(leases, name, expired).length === 0);
        for (let rounds = 0; !atRest(); rounds++) {
          expect(rounds, 'rounds until nobody wants anything').toBeLessThan(100 * (count + 1));
          // In any order, but everybody comes round.
          const host = names[(rounds + (turns.next().value % 2)) % hosts] ?? '';
          const now = new Set(taken(leases, host, expired));
          const stolen = leases.filter(({ id, owner }) => now.has(id) && owner !== null && !expired.has(id));
          expect(stolen.length).toBeLessThanOrEqual(1);
          expect(stolen.length * now.size, 'steals come alone').toBe(stolen.length);
          for (const id of now) expired.delete(id);
          leases = leases.map((one) => (now.has(one.id) ? { ...one, owner: host } : one));
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
