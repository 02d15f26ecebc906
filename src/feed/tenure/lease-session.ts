import { MillraceError, abortReason } from '../../base/errors.ts';
import { WRITE_BOUND_MS } from '../../base/bounds.ts';
import type { Clock } from '../../base/clock.ts';
import { emit } from '../../base/diagnostics.ts';
import type { Page } from '../reading/change.ts';
import type { Fence } from './fence.ts';
import { type Lease, LeaseDeleted, LeaseLost, LeaseStalled, type LeaseStore } from '../leases/lease.ts';
import { until } from '../../base/until.ts';

export interface SessionOptions {
  readonly container: string;
  readonly store: Pick<LeaseStore, 'renew' | 'release' | 'read' | 'takeOver' | 'handOver'>;
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
  readonly #takenAway = new AbortController();
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
  /** A write was refused, and who has the lease isn't known yet. */
  #refused = false;

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
   * Aborted once another host has the lease and waits for `answer()`: nothing more may be begun. What runs may end as
   * long as the last renewal would have lasted, since that one waits for as long (L1c).
   */
  get takenAway(): AbortSignal {
    return this.#takenAway.signal;
  }

  /** As somebody saw it that another host has taken the lease from this tenure. */
  noteTaken(by: Lease): void {
    if (this.#ended.signal.aborted || this.#takenAway.signal.aborted) return;
    this.#refused = false;
    this.#takenAway.abort(new LeaseLost(this.#lease.id, `${by.owner ?? 'another host'} took it`));
  }

  /** Tells whoever took the lease that this host acts no more, and how far it came. Ends the tenure. */
  async answer(): Promise<void> {
    for (;;) {
      while (this.#writing) await until(this.#writing, this.#ended.signal);
      try {
        await until(this.#options.store.handOver(this.#lease, this.#pending), this.#ended.signal);
        return this.#close(abortReason(this.#takenAway.signal));
      } catch (error) {
        this.#ended.signal.throwIfAborted();
        await this.#pauseAfter(error);
      }
    }
  }

  /**
   * Resolves once whoever had the lease before acts no more: it has answered (true), or it is `dueAt`, monotonic, when its
   * last renewal has expired (false). Rejects when the lease is lost, or with the signal's reason.
   */
  async alone(dueAt: number, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    for (let waited = false; ;) {
      while (this.#writing) await until(this.#writing, signal);
      signal.throwIfAborted();
      if (!this.#lease.takenFrom) return !waited;
      const left = dueAt - clock.monotonic();
      waited = left <= 0;
      if (waited) this.#write('take over');
      else await this.#lookWithin(Math.min(left, this.#options.renewMs), signal);
    }
  }

  /** What is read may be old, or never come: that the lease is lost shows by the next renewal. */
  async #lookWithin(ms: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const over = new AbortController();
    const late = clock.sleep(ms, AbortSignal.any([signal, over.signal]));
    late.catch(() => undefined);
    try {
      await Promise.race([this.#look(), late]);
    } catch (error) {
      signal.throwIfAborted();
      await this.#pauseAfter(error);
    } finally {
      over.abort();
    }
    if (this.#lease.takenFrom) await clock.sleep(Math.min(ms, tickMs(this.#options)), signal);
  }

  /** Has the lease written once more: only that confirms that it is this tenure's still. @throws LeaseLost */
  async confirm(): Promise<void> {
    const { clock } = this.#options;
    for (const since = clock.monotonic(); this.#renewedAt < since;) {
      // One that is under way was sent before this was asked.
      if (this.#writing) await until(this.#writing, this.#ended.signal);
      else await this.#written();
    }
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
      this.#takenAway.signal.throwIfAborted();
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
    while (this.#isHalfOver()) await this.#written();
  }

  /** Once a write has ended, of which there may be none any more. */
  async #written(): Promise<void> {
    this.#takenAway.signal.throwIfAborted();
    this.#write();
    await until(this.#writing ?? Promise.reject(new LeaseLost(this.#lease.id, 'it is given back')), this.#ended.signal);
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
      tenure: this,
      signal: this.#ended.signal,
      assert: () => {
        this.#tick();
        this.#ended.signal.throwIfAborted();
        if (this.#inDoubt()) throw new LeaseInDoubt(this.#lease.id);
        if (clock.monotonic() - page.readAt > WRITE_BOUND_MS) throw new PageTooOld();
      },
    };
  }

  /** Throws where no handler may be begun: the lease is lost, in doubt, or another host waits for this one to end. */
  assertMayBegin(): void {
    this.#tick();
    this.#ended.signal.throwIfAborted();
    this.#takenAway.signal.throwIfAborted();
    if (this.#inDoubt()) throw new LeaseInDoubt(this.#lease.id);
  }

  /** Gives the lease up without another write; others get it when it expires. */
  abandon(why: string): void {
    this.#close(new LeaseLost(this.#lease.id, why));
  }

  /** Ends the tenure; with `release`, what waits is written and the lease offered to others. */
  async end(release: boolean): Promise<void> {
    if (release && !this.#ended.signal.aborted) {
      // Still under the clock: what can't be written is given up when the lease expires, or when it is abandoned.
      await this.#offer().catch(() => undefined);
    }
    this.#close(new LeaseLost(this.#lease.id, 'this host gave it up'));
  }

  async #offer(): Promise<void> {
    await this.settled();
    // A renewal beside it would make its ETag the older one.
    this.#offering = true;
    for (let held; held !== this.#lease;) {
      held = this.#lease;
      try {
        await until(this.#options.store.release(held), this.#ended.signal);
      } catch (error) {
        // Whoever had it before has answered just now: it is to be offered as it is since.
        await until(this.#look(asLost(error)), this.#ended.signal);
        continue;
      }
      return;
    }
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
    return this.#refused || this.#isOver();
  }

  #isOver(): boolean {
    const { clock, expirationMs } = this.#options;
    return clock.monotonic() - this.#renewedAt > expirationMs;
  }

  /** Called by the timer, and by the fence of a handler that leaves no time for timers. */
  #tick(): void {
    const { clock, renewMs } = this.#options;
    if (this.#ended.signal.aborted) return;
    const now = clock.monotonic();
    if (this.#takenAway.signal.aborted && this.#isOver()) return this.#close(abortReason(this.#takenAway.signal));
    // While the event loop stood still nothing could be renewed, nor awaited. The lease is asked for again, once: if
    // nobody took it, its ETag is still ours (L8). Until then it is in doubt, and the fence refuses (L1).
    if (now - this.#timerAt > renewMs) this.#graceUntil = now + renewMs;
    if (now > this.#graceUntil) {
      if (this.#isOver()) return this.abandon('it could not be renewed in time');
      for (const { what, since, withinMs } of this.#watched)
        if (now - since > withinMs)
          return this.#close(new LeaseStalled(this.#lease.id, `${what} has taken more than ${withinMs / 1000} s`));
    }
    // What is in hand has its checkpoint soon, which renews too: pages of a renewal's length then cost one write, not two.
    const dueMs = this.#watched.size > 0 ? renewMs * 1.25 : renewMs;
    if (now - this.#renewedAt > dueMs) this.#write();
  }

  #write(what: 'renew' | 'take over' = 'renew'): void {
    if (this.#writing || this.#offering || this.#ended.signal.aborted || this.#takenAway.signal.aborted) return;
    this.#urgent = false;
    this.#writing = this.#renew(what).finally(() => {
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
  async #renew(what: 'renew' | 'take over'): Promise<void> {
    const { store, clock, container } = this.#options;
    const position = this.#pending;
    this.#pending = undefined;
    const sentAt = clock.monotonic();
    try {
      this.#lease = await (what === 'renew' ? store.renew(this.#lease, position) : store.takeOver(this.#lease));
      this.#refused = false;
      this.#renewedAt = sentAt;
      this.#answeredAt = clock.monotonic();
      if (position !== undefined) emit('lease:checkpoint', { container, lease: this.#lease.id, position });
    } catch (error) {
      if (error instanceof LeaseDeleted) return this.#close(error);
      // Kept for the next try, after a pause, or for an answer; the expiration bounds how long.
      this.#pending ??= position;
      this.#urgent ||= this.#pending !== undefined;
      try {
        const lost = asLost(error);
        this.#refused = true;
        await this.#look(lost);
      } catch (failed) {
        await this.#pauseAfter(failed);
      }
    }
  }

  /**
   * Looks who has the lease: another host that waits for an answer, or this one still, as whoever it was taken from has
   * answered. Else it is lost, if a `refused` write says so; a read may be older than this tenure.
   */
  async #look(refused?: LeaseLost): Promise<void> {
    const held = this.#lease;
    const stored = await this.#options.store.read(held);
    if (held !== this.#lease || this.#ended.signal.aborted) return;
    if (stored && stored.takenFrom?.tenure === held.tenure) return this.noteTaken(stored);
    const ours = stored?.tenure === held.tenure && stored?.owner === held.owner ? stored : undefined;
    if (ours && held.takenFrom && !ours.takenFrom) {
      this.#refused = false;
      this.#lease = ours;
    }
    // What was refused must have a reason: that the lease is still as it is in hand was read too late, and is read again.
    else if (refused && ours && (held.takenFrom || ours.etag === held.etag)) throw refused;
    else if (refused) this.#close(refused);
  }

  /** For a while nothing is written: until the lease expires it may be tried again. */
  async #pauseAfter(failure: unknown): Promise<void> {
    const { clock, container } = this.#options;
    emit('feed:failed', { container, lease: this.#lease.id, error: failure });
    await clock.sleep(tickMs(this.#options), this.#ended.signal).catch(() => undefined);
  }

  #close(why: unknown): void {
    this.#ended.abort(why);
  }
}

/** What a write was refused with; any other failure is thrown. */
function asLost(error: unknown): LeaseLost {
  if (error instanceof LeaseLost) return error;
  throw error;
}
