import { type Clock, systemClock } from '../base/clock.ts';
import { emit } from '../base/diagnostics.ts';
import { messageOf } from '../base/errors.ts';
import { type FeedRange } from '../cosmos/ranges.ts';
import { leasesToTake } from './balancer.ts';
import type { Page } from './change.ts';
import type { Fence } from './fence.ts';
import type { Lease, LeaseStore } from './lease.ts';
import { LeaseSession } from './lease-session.ts';
import { type WorkerStatus, workLease } from './lease-worker.ts';
import type { ChangeSource, Start } from './source.ts';
import { isHalfSplit, splitLease } from './split.ts';

/** Milliseconds; the defaults are those of .NET and Functions. */
export interface Timings {
  readonly acquireMs: number;
  readonly expirationMs: number;
  readonly renewMs: number;
  readonly pollMs: number;
  readonly stallMs: number;
}

export const DEFAULT_TIMINGS: Timings = {
  acquireMs: 13_000,
  expirationMs: 60_000,
  renewMs: 17_000,
  pollMs: 5_000,
  stallMs: 180_000,
};

export interface ProcessorOptions {
  /** The monitored container's name, for messages. */
  readonly container: string;
  /** This host's name; a stable one goes on with its leases at once after a restart. */
  readonly host: string;
  readonly source: ChangeSource;
  readonly leases: LeaseStore;
  /** Where a range without a position begins. */
  readonly start: Start;
  /** Resolves when every change of the page is durable or parked; rejects for infrastructure alone. */
  readonly handle: (page: Page, fence: Fence) => Promise<void>;
  readonly timings?: Partial<Timings>;
  readonly clock?: Clock;
}

export interface LeaseStatus extends WorkerStatus {
  readonly id: string;
  readonly range: FeedRange;
}

interface Running {
  readonly session: LeaseSession;
  readonly status: WorkerStatus;
  readonly done: Promise<void>;
}

/** Reads a container's change feed together with other hosts, by leases. */
export class ChangeFeedProcessor {
  readonly #options: ProcessorOptions;
  readonly #timings: Timings;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #running = new Map<string, Running>();
  /** Since when this host has seen each lease unchanged: expiry by observation, whatever the clocks say (L11). */
  readonly #seen = new Map<string, { etag: string; since: number }>();
  #balancing: Promise<void> | undefined;
  #leases = 0;

  constructor(options: ProcessorOptions) {
    this.#options = options;
    this.#timings = { ...DEFAULT_TIMINGS, ...options.timings };
    this.#clock = options.clock ?? systemClock;
  }

  /** Prepares the leases and begins; rejects when the lease container can't be used. */
  async start(): Promise<void> {
    await this.#options.leases.prepare(this.#stop.signal);
    await this.#balance(true);
    this.#balancing = this.#keepBalancing();
  }

  /** Finishes the pages in hand, writes their checkpoints and offers the leases to the others. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#balancing;
    await Promise.all([...this.#running.values()].map((running) => running.done));
  }

  status(): { readonly leases: readonly LeaseStatus[]; readonly known: number } {
    const leases = [...this.#running.values()].map(({ session, status }) => ({
      ...status,
      id: session.lease.id,
      range: session.lease.range,
    }));
    return { leases, known: this.#leases };
  }

  async #keepBalancing(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#clock.sleep(this.#timings.acquireMs, this.#stop.signal);
        await this.#balance(false);
      } catch (error) {
        if (!this.#stop.signal.aborted) emit('balancer:failed', { container: this.#options.container, error });
      }
    }
  }

  async #balance(first: boolean): Promise<void> {
    const listed = await this.#options.leases.list();
    this.#leases = listed.length;
    const expired = this.#expired(listed);
    const own = listed.filter((lease) => lease.owner === this.#options.host && !this.#running.has(lease.id));
    // A lease in our name that we don't run: ours from before a restart, or one we just lost track of.
    const mine = first ? own : own.filter((lease) => expired.has(lease.id));
    const others = leasesToTake(listed, { host: this.#options.host, expired }).filter(
      (lease) => !this.#running.has(lease.id),
    );
    for (const lease of [...mine, ...others]) {
      if (this.#stop.signal.aborted) return;
      const sentAt = this.#clock.monotonic();
      const idle = lease.owner === null || lease.owner === this.#options.host || expired.has(lease.id);
      const taken = await this.#options.leases.acquire(lease, idle ? 'nobody' : 'owner');
      if (!taken) continue;
      if (isHalfSplit(taken, listed)) await this.#finishSplit(taken);
      else this.#run(taken, sentAt);
    }
  }

  #expired(listed: readonly Lease[]): Set<string> {
    const now = this.#clock.monotonic();
    const expired = new Set<string>();
    for (const { id, etag } of listed) {
      const before = this.#seen.get(id);
      if (before?.etag !== etag) this.#seen.set(id, { etag, since: now });
      else if (now - before.since > this.#timings.expirationMs) expired.add(id);
    }
    return expired;
  }

  #run(lease: Lease, acquiredAt: number): void {
    const { container, host } = this.#options;
    const { renewMs, expirationMs, stallMs } = this.#timings;
    const session = new LeaseSession(lease, acquiredAt, {
      container,
      store: this.#options.leases,
      clock: this.#clock,
      renewMs,
      expirationMs,
      stallMs,
    });
    const status: WorkerStatus = {
      position: lease.position,
      idleSince: undefined,
      checkedAt: undefined,
      failure: undefined,
    };
    emit('lease:acquired', { container, lease: lease.id, host });
    const done = this.#work(session, status).catch((error: unknown) =>
      emit('feed:failed', { container, lease: lease.id, error }),
    );
    this.#running.set(lease.id, { session, status, done });
  }

  async #work(session: LeaseSession, status: WorkerStatus): Promise<void> {
    const { container, host, source, handle, start } = this.#options;
    const { pollMs } = this.#timings;
    const { id } = session.lease;
    let ended: 'ended' | 'split' = 'ended';
    try {
      const options = { container, source, handle, start, pollMs, clock: this.#clock };
      ended = await workLease(session, options, status, this.#stop.signal);
    } finally {
      const reason = session.signal.aborted
        ? messageOf(session.signal.reason)
        : ended === 'split'
          ? 'split'
          : 'stopped';
      // Whoever splits the lease needs the ETag of its last write.
      if (ended === 'split') await session.settled().catch(() => undefined);
      await session.end(ended === 'ended');
      // Only what ends here is forgotten here: stop() waits for a split that is under way.
      if (ended === 'ended') this.#running.delete(id);
      emit('lease:released', { container, lease: id, host, reason });
    }
    if (ended === 'ended') return;
    const sentAt = this.#clock.monotonic();
    const kept = await splitLease(this.#options.leases, session.lease).finally(() => this.#running.delete(id));
    await this.#afterSplit(kept, sentAt);
  }

  /** Finishes a split that another host left half done. */
  async #finishSplit(lease: Lease): Promise<void> {
    const sentAt = this.#clock.monotonic();
    await this.#afterSplit(await splitLease(this.#options.leases, lease), sentAt);
  }

  /** Goes on with a lease that stays whole, else looks at once which of its parts are ours. */
  async #afterSplit(kept: Lease | undefined, sentAt: number): Promise<void> {
    if (this.#stop.signal.aborted) {
      if (kept) await this.#options.leases.release(kept);
    } else if (kept) this.#run(kept, sentAt);
    else await this.#balance(false);
  }
}
