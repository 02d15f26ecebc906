import { describe, expect, it } from 'vitest';
import type { Lease } from '../../../src/feed/leases/lease.ts';
import { Sightings } from '../../../src/feed/sharing/sightings.ts';

const PACE = { acquireMs: 13_000, renewMs: 17_000, expirationMs: 60_000 };
const lease = (id: string, owner: string | null, etag = 'e1'): Lease => ({
  id,
  token: id,
  range: { min: '', max: 'FF' },
  owner,
  etag,
});
const of = (...ids: string[]): Set<string> => new Set(ids);

/** A host that has seen these leases twice, 17 s apart, the second time at 17,000. */
function watching(leases: readonly Lease[], supervised: ReadonlySet<string>): { sightings: Sightings; next: number } {
  const sightings = new Sightings(PACE);
  sightings.observe(leases, 0);
  sightings.next(leases, supervised, 0, false);
  sightings.observe(leases, 17_000);
  return { sightings, next: sightings.next(leases, supervised, 17_000, false) };
}

describe('the next listing', () => {
  it('the next listing is an acquire interval away at first, and while something is decided', () => {
    const sightings = new Sightings(PACE);
    const leases = [lease('a', 'me')];
    sightings.observe(leases, 0);
    expect(sightings.next(leases, of('a'), 0, false)).toBe(13_000);
    expect(sightings.next(leases, of('a'), 13_000, true)).toBe(26_000);
  });

  it('the next listing is a renewal away where nothing has moved among several hosts', () => {
    expect(watching([lease('a', 'me'), lease('b', 'you')], of('a')).next).toBe(34_000);
  });

  it('the next listing is an expiration away where every lease is looked after here', () => {
    expect(watching([lease('a', 'me'), lease('b', 'me')], of('a', 'b')).next).toBe(77_000);
  });

  it('the next listing is an acquire interval away where a lease is free, or one has come, gone or changed its owner', () => {
    const leases = [lease('a', 'me'), lease('b', 'you')];
    expect(watching([lease('a', 'me'), lease('b', null)], of('a')).next).toBe(30_000);
    for (const other of [[lease('a', 'me')], [...leases, lease('c', 'you')], [lease('a', 'me'), lease('b', 'she')]])
      expect(watching(leases, of('a')).sightings.next(other, of('a'), 20_000, false)).toBe(33_000);
  });

  it('the next listing comes no later than the moment when a lease of another can have expired, and then an acquire interval later', () => {
    const leases = [lease('a', 'me'), lease('b', 'you')];
    const { sightings } = watching(leases, of('a'));
    expect(sightings.observe(leases, 51_000)).toEqual(of());
    expect(sightings.next(leases, of('a'), 51_000, false)).toBe(60_001);
    expect(sightings.observe(leases, 60_001)).toContain('b');
    expect(sightings.next(leases, of('a'), 60_001, false)).toBe(73_001);
  });

  it('the next listing counts a lease that was given up here from when it was', () => {
    const leases = [lease('a', 'me'), lease('b', 'me')];
    const { sightings } = watching(leases, of('a', 'b'));
    sightings.note(lease('b', 'me', 'e2'), 30_000);
    const now = [lease('a', 'me'), lease('b', 'me', 'e2')];
    sightings.observe(now, 85_000);
    expect(sightings.next(now, of('a'), 85_000, false)).toBe(90_001);
  });
});
