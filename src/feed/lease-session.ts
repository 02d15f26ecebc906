import { MillraceError } from '../base/errors.ts';
import { WRITE_BOUND_MS } from '../base/bounds.ts';
import type { Clock } from '../base/clock.ts';
import { emit } from '../base/diagnostics.ts';
import type { Page } from './change.ts';
import type { Fence } from './fence.ts';
import { type Lease, LeaseLost, type LeaseStore } from './lease.ts';
import { until } from './until.ts';

export interface SessionOptions {
  readonly container: string;
  readonly store: Pick<LeaseStore, 'renew' | 'release'>;
  readonly clock: Clock;
  readonly renewMs: number;
  readonly expirationMs: number;
  /** Least time from one write to the next that only stores a checkpoint. Default 0. */
  readonly checkpointMs?: number;
}

const tickMs = ({ renewMs }: SessionOptions): number => Math.max(10, Math.min(renewMs / 4, 1_000));

/** The page grew older than the write bound before its effects were all started: it is read again (R0). */
export class PageTooOld extends MillraceError<'page-too-old'> {
  constructor() {
    super('page-too-old', `A page was read more than ${WRITE_BOUND_MS / 1000} s ago; it is read again`, {
      retryable: true,
    });
  }
}

/** The lease may be somebody else's by now, as this process stood still: the next renewal tells. Nothing is written until then. */
export class LeaseInDoubt extends MillraceError<'lease-in-doubt'> {
  constructor(id: string) {
    super('lease-in-doubt', `Lease ${id} could not be renewed in time, and is being asked for again`, {
      retryable: true,
      mend: 'A handler that computes for long should let the event loop run: await something now and then, or use a worker thread.',
    });
  }
}

/**
 * One tenure of a lease by this host: keeps it renewed, writes checkpoints (never two at once, the latest position
 * wins), and says through its fence when acting has to stop.
 */
export class LeaseSession {
  readonly #options: SessionOptions;
  readonly #ended = new AbortController();
  /** What is under way, and until when it must have ended for the lease to be kept (L8). */
  readonly #watched = new Set<{ readonly what: string; since: number; readonly withinMs: number }>();
  #lease: Lease;
  #pending: string | undefined;
  #writing: Promise<void> | undefined;
  /** A checkpoint waits that is to be written once the write under way has ended and the interval is over. */
  #urgent = false;
  #waiting = false;
  #offering = false;
  #renewedAt: number;
  #answeredAt: number;
  #timerAt: number;
  #graceUntil = -Infinity;

  /** `acquiredAt`: when the write that took the lease was sent, monotonic; others count from when they saw it. */
  constructor(lease: Lease, acquiredAt: number, options: SessionOptions) {
    this.#lease = lease;
    this.#options = options;
    this.#renewedAt = acquiredAt;
    this.#timerAt = options.clock.monotonic();
    this.#answeredAt = this.#timerAt;
    void this.#keep();
  }

  get lease(): Lease {
    return this.#lease;
  }

  /** Aborted once the lease is lost or given up. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /**
   * Gives the lease up unless `done`, or `progress` again and again, is called in time: renewing alone doesn't show that
   * anything is being done (L8).
   */
  watch(what: string, withinMs: number): { done(): void; progress(): void } {
    const { clock } = this.#options;
    const watch = { what, since: clock.monotonic(), withinMs };
    this.#watched.add(watch);
    return { done: () => void this.#watched.delete(watch), progress: () => void (watch.since = clock.monotonic()) };
  }

  /** The caller's promise: everything up to `position` is durable or parked (L2). Written within `checkpointMs`. */
  checkpoint(position: string): void {
    this.#pending = position;
    this.#urgent = true;
    this.#writeWhenDue();
  }

  /** The same promise; written with the next write, so that a page costs one (L9). */
  note(position: string): void {
    this.#pending = position;
  }

  /** Writes what waits at once; resolves when no checkpoint is left to write, rejects when the lease was lost or given back on the way. */
  async settled(): Promise<void> {
    for (;;) {
      while (this.#writing) await until(this.#writing, this.#ended.signal);
      this.#ended.signal.throwIfAborted();
      if (this.#pending === undefined) return;
      // What is acknowledged while the lease is given back comes too late, and is done again by whoever gets it.
      if (this.#offering) await until(new Promise(() => undefined), this.#ended.signal);
      this.#write();
    }
  }

  /**
   * Undefined where the last write was answered within half of the expiration; else resolves once one is. Handlers that
   * compute, begun one after the other, would leave no turn of the event loop in which to renew (L8a).
   */
  fresh(): Promise<void> | undefined {
    return this.#isHalfOver() ? this.#freshen() : undefined;
  }

  async #freshen(): Promise<void> {
    while (this.#isHalfOver()) {
      this.#write();
      await until(
        this.#writing ?? Promise.reject(new LeaseLost(this.#lease.id, 'it is given back')),
        this.#ended.signal,
      );
    }
  }

  #isHalfOver(): boolean {
    const { clock, expirationMs } = this.#options;
    // From the answer: where the store is slow, a handler is begun all the same.
    return clock.monotonic() - this.#answeredAt > expirationMs / 2;
  }

  fence(page: Pick<Page, 'readAt'>): Fence {
    const { clock } = this.#options;
    return {
      kind: 'lease',
      signal: this.#ended.signal,
      assert: () => {
        this.#tick();
        this.#ended.signal.throwIfAborted();
        if (this.#inDoubt()) throw new LeaseInDoubt(this.#lease.id);
        if (clock.monotonic() - page.readAt > WRITE_BOUND_MS) throw new PageTooOld();
      },
    };
  }

  /** Gives the lease up without another write; others get it when it expires. */
  abandon(why: string): void {
    this.#lose(why);
  }

  /** Ends the tenure; with `release`, what waits is written and the lease offered to others. */
  async end(release: boolean): Promise<void> {
    if (release && !this.#ended.signal.aborted) {
      // Still under the clock: what can't be written is given up when the lease expires, or when it is abandoned.
      await this.#offer().catch(() => undefined);
    }
    this.#ended.abort(new LeaseLost(this.#lease.id, 'this host gave it up'));
  }

  async #offer(): Promise<void> {
    await this.settled();
    // A renewal beside it would make its ETag the older one.
    this.#offering = true;
    await until(this.#options.store.release(this.#lease), this.#ended.signal);
  }

  async #keep(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await clock.sleep(tickMs(this.#options), signal).catch(() => undefined);
      this.#tick();
      this.#timerAt = clock.monotonic();
    }
  }

  #inDoubt(): boolean {
    const { clock, expirationMs } = this.#options;
    return clock.monotonic() - this.#renewedAt > expirationMs;
  }

  /** Called by the timer, and by the fence of a handler that leaves no time for timers. */
  #tick(): void {
    const { clock, renewMs } = this.#options;
    if (this.#ended.signal.aborted) return;
    const now = clock.monotonic();
    // While the event loop stood still nothing could be renewed, nor awaited. The lease is asked for again, once: if
    // nobody took it, its ETag is still ours (L8). Until then it is in doubt, and the fence refuses (L1).
    if (now - this.#timerAt > renewMs) this.#graceUntil = now + renewMs;
    if (now > this.#graceUntil) {
      if (this.#inDoubt()) return this.#lose('it could not be renewed in time');
      for (const { what, since, withinMs } of this.#watched)
        if (now - since > withinMs) return this.#lose(`${what} has taken more than ${withinMs / 1000} s`);
    }
    // What is in hand has its checkpoint soon, which renews too: pages of a renewal's length then cost one write, not two.
    const dueMs = this.#watched.size > 0 ? renewMs * 1.25 : renewMs;
    if (now - this.#renewedAt > dueMs) this.#write();
  }

  #write(): void {
    if (this.#writing || this.#offering || this.#ended.signal.aborted) return;
    this.#urgent = false;
    this.#writing = this.#renew().finally(() => {
      this.#writing = undefined;
      if (this.#urgent) this.#writeWhenDue();
    });
  }

  /** Any write restarts the interval, as any takes the checkpoint along. */
  #writeWhenDue(): void {
    const { clock, checkpointMs = 0 } = this.#options;
    const left = this.#renewedAt + checkpointMs - clock.monotonic();
    if (left <= 0) return this.#write();
    if (this.#waiting) return;
    this.#waiting = true;
    void this.#writeAfter(left);
  }

  async #writeAfter(ms: number): Promise<void> {
    try {
      await this.#options.clock.sleep(ms, this.#ended.signal);
    } catch {
      return;
    }
    this.#waiting = false;
    if (this.#urgent) this.#writeWhenDue();
  }

  /** One write, with the position that waits to be written; never rejects. */
  async #renew(): Promise<void> {
    const { store, clock, container } = this.#options;
    const position = this.#pending;
    this.#pending = undefined;
    const sentAt = clock.monotonic();
    try {
      this.#lease = await store.renew(this.#lease, position);
      this.#renewedAt = sentAt;
      this.#answeredAt = clock.monotonic();
      if (position !== undefined) emit('lease:checkpoint', { container, lease: this.#lease.id, position });
    } catch (error) {
      if (error instanceof LeaseLost) return this.#lose(error.message, error);
      // Kept for the next try, after a pause; the expiration bounds how long.
      this.#pending ??= position;
      this.#urgent ||= this.#pending !== undefined;
      emit('feed:failed', { container, lease: this.#lease.id, error });
      await clock.sleep(tickMs(this.#options), this.#ended.signal).catch(() => undefined);
    }
  }

  #lose(why: string, cause?: unknown): void {
    this.#ended.abort(new LeaseLost(this.#lease.id, why, cause));
  }
}
