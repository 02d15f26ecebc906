import type { Lease } from '../leases/lease.ts';

export interface Pace {
  /** Milliseconds, as in `Timings`. */
  readonly acquireMs: number;
  readonly renewMs: number;
  readonly expirationMs: number;
}

/** What a host knows of the leases by its listings: since when each is unchanged, and so when to look again. */
export class Sightings {
  readonly #pace: Pace;
  /** Since when this host has seen each lease unchanged: expiry by observation, whatever the clocks say (L11). */
  readonly #seen = new Map<string, { readonly lease: Lease; readonly since: number }>();
  /** By lease, the tenure that it was taken from, and since when this host has known it. */
  readonly #taken = new Map<string, { readonly from: string; readonly since: number }>();
  /** By lease, at how many listings in a row one tenure had written it. */
  readonly #writes = new Map<string, number>();
  #owners: ReadonlyMap<string, string | null> = new Map();

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  /** Every lease as it was last seen, those that are gone too. */
  get leases(): Lease[] {
    return [...this.#seen.values()].map(({ lease }) => lease);
  }

  /** A listing came, `now` monotonic: which leases were not written for longer than the expiration while this host watched. */
  observe(listed: readonly Lease[], now: number): Set<string> {
    const expired = new Set<string>();
    for (const lease of listed) {
      this.aloneAt(lease, now);
      const before = this.#seen.get(lease.id);
      const goesOn = before?.lease.owner === lease.owner && before.lease.tenure === lease.tenure;
      if (!goesOn) this.#writes.set(lease.id, 0);
      else if (before.lease.etag !== lease.etag) this.#writes.set(lease.id, (this.#writes.get(lease.id) ?? 0) + 1);
      if (before?.lease.etag !== lease.etag) this.#seen.set(lease.id, { lease, since: now });
      else if (now - before.since > this.#pace.expirationMs) expired.add(lease.id);
    }
    return expired;
  }

  /** Those that anybody could have had by now: free or expired, and since then at least two listings of each host. */
  left(listed: readonly Lease[], now: number): Set<string> {
    const { acquireMs, expirationMs } = this.#pace;
    const since = now - expirationMs - 2 * acquireMs;
    return new Set(listed.filter(({ id }) => (this.#seen.get(id)?.since ?? now) < since).map(({ id }) => id));
  }

  /**
   * When whoever a lease was taken from can't act any longer (L1c): its last write came before the lease was taken from it,
   * and so before this host could see that, `now` at the latest.
   */
  aloneAt({ id, takenFrom }: Lease, now: number): number {
    if (!takenFrom) {
      this.#taken.delete(id);
      return now;
    }
    let known = this.#taken.get(id);
    if (known?.from !== takenFrom.tenure) this.#taken.set(id, (known = { from: takenFrom.tenure, since: now }));
    return known.since + this.#pace.expirationMs;
  }

  /** Whether the tenure that has a lease lives: it wrote it at least twice between listings. */
  isWritten({ id }: Lease): boolean {
    return (this.#writes.get(id) ?? 0) > 1;
  }

  /** This host's own last word of a lease. */
  note(lease: Lease, now: number): void {
    this.#seen.set(lease.id, { lease, since: now });
  }

  /**
   * When the leases have to be listed again (L7c): after an acquire interval while anything moves or is to be had, after a
   * renewal's where all is as it was, after an expiration where every lease is looked after here, as this host's own
   * writes tell what happens to those; and at the latest when one of another host can have expired.
   */
  next(listed: readonly Lease[], supervised: ReadonlySet<string>, now: number, restless: boolean): number {
    const { acquireMs, renewMs, expirationMs } = this.#pace;
    const owners = new Map(listed.map(({ id, owner }) => [id, owner]));
    const moved = owners.size !== this.#owners.size || listed.some(({ id, owner }) => this.#owners.get(id) !== owner);
    this.#owners = owners;
    const others = listed.filter(({ id }) => !supervised.has(id));
    const expiries = others.map(({ id, owner }) => (owner === null ? 0 : this.#expiryOf(id)));
    if (restless || moved || expiries.some((at) => at <= now)) return now + acquireMs;
    if (others.length === 0) return now + Math.max(acquireMs, expirationMs);
    return Math.min(now + Math.max(acquireMs, renewMs), ...expiries);
  }

  #expiryOf(id: string): number {
    return (this.#seen.get(id)?.since ?? 0) + this.#pace.expirationMs + 1;
  }
}
