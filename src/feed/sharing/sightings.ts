import type { Lease } from '../leases/lease.ts';

export interface SharingPace {
  /** Milliseconds, as in `Timings`. */
  readonly acquireMs: number;
  readonly renewMs: number;
  readonly expirationMs: number;
}

/** What a host has seen in its lists of the leases: since when each is unchanged, and when to list them again. */
export class Sightings {
  readonly #pace: SharingPace;
  /** Since when this host has seen each lease unchanged. Expiry depends on this, not on clocks (PROC-L11). */
  readonly #seen = new Map<string, { readonly lease: Lease; readonly since: number }>();
  /** The tenure that each lease was taken from, and since when this host has known that. */
  readonly #taken = new Map<string, { readonly from: string; readonly since: number }>();
  /** For each lease: in how many lists in a row its tenure had written it. */
  readonly #writes = new Map<string, number>();
  #owners: ReadonlyMap<string, string | null> = new Map();

  constructor(pace: SharingPace) {
    this.#pace = pace;
  }

  /** Every lease as it was last seen, deleted ones too. */
  get leases(): Lease[] {
    return [...this.#seen.values()].map(({ lease }) => lease);
  }

  /** Notes a list of the leases; `now` is monotonic. Returns the leases that were not written for longer than the expiration. */
  observe(listed: readonly Lease[], now: number): Set<string> {
    const expired = new Set<string>();
    for (const lease of listed) {
      this.aloneAt(lease, now);
      const before = this.#seen.get(lease.id);
      const isSame = before?.lease.owner === lease.owner && before.lease.tenure === lease.tenure;
      if (!isSame) this.#writes.set(lease.id, 0);
      else if (before.lease.etag !== lease.etag) this.#writes.set(lease.id, (this.#writes.get(lease.id) ?? 0) + 1);
      if (before?.lease.etag !== lease.etag) this.#seen.set(lease.id, { lease, since: now });
      else if (now - before.since > this.#pace.expirationMs) expired.add(lease.id);
    }
    return expired;
  }

  /** Leases that any host could have taken: free or expired, and each host has listed them at least twice since. */
  left(listed: readonly Lease[], now: number): Set<string> {
    const { acquireMs, expirationMs } = this.#pace;
    const since = now - expirationMs - 2 * acquireMs;
    return new Set(listed.filter(({ id }) => (this.#seen.get(id)?.since ?? now) < since).map(({ id }) => id));
  }

  /**
   * From when the former owner of a lease can't act any more (PROC-L1c). Its last write was before the lease was taken, so
   * before this host could see that: `now` at the latest.
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

  /** Whether the tenure that has a lease is live: it has written the lease at least twice between lists. */
  isWritten({ id }: Lease): boolean {
    return (this.#writes.get(id) ?? 0) > 1;
  }

  /** Notes the state in which this host has left a lease. */
  note(lease: Lease, now: number): void {
    this.#seen.set(lease.id, { lease, since: now });
  }

  /**
   * When to list the leases again (PROC-L7c): after the acquire interval if leases move or can be taken; after the renewal
   * interval if nothing changed; after the expiration if this host has all leases, because its own writes show what happens
   * to those. At the latest when a lease of another host can expire.
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
