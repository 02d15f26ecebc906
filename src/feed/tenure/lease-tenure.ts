import { MillraceError, abortReason } from '../../base/errors.ts';
import { WRITE_BOUND_MS } from '../../base/bounds.ts';
import type { Clock } from '../../base/clock.ts';
import { emit } from '../../base/telemetry/diagnostics.ts';
import type { Page } from '../reading/change.ts';
import type { Fence } from './fence.ts';
import { type Lease, LeaseDeleted, LeaseLost, LeaseStalled, type LeaseStore } from '../leases/lease.ts';
import { until } from '../../base/until.ts';
import { FEED_ERRORS } from '../errors.ts';

export interface LeaseTenureOptions {
  readonly container: string;
  readonly store: Pick<LeaseStore, 'renew' | 'release' | 'read' | 'takeOver' | 'handOver'>;
  readonly clock: Clock;
  readonly renewMs: number;
  readonly expirationMs: number;
  /** The shortest time before a write that only stores a checkpoint. Default 0. */
  readonly checkpointMs?: number;
}

const tickMs = ({ renewMs }: LeaseTenureOptions): number => Math.max(10, Math.min(renewMs / 4, 1_000));

/** The page became older than the write bound before all its effects were started. It is read again (PROC-L13). */
export class PageTooOld extends MillraceError<'page-too-old'> {
  constructor() {
    const why = `A page was read more than ${WRITE_BOUND_MS / 1000} s ago; it will be read again`;
    super('page-too-old', why, FEED_ERRORS['page-too-old']);
  }
}

const DOUBTS = {
  late: 'could not be renewed in time; this host is trying to renew it',
  refused: 'was changed by another process; this host reads which one has it',
} as const;

/**
 * Another process may have the lease: this one stood still, or a write was refused, as when a move of keys or a host takes
 * the lease. What follows shows which one has it; until then nothing is written.
 */
export class LeaseInDoubt extends MillraceError<'lease-in-doubt'> {
  constructor(id: string, doubt: keyof typeof DOUBTS) {
    super('lease-in-doubt', `Lease ${id} ${DOUBTS[doubt]}`, FEED_ERRORS['lease-in-doubt']);
  }
}

/**
 * One tenure of a lease: the time in which this host has it. Renews the lease, writes checkpoints (one write at a time, the
 * latest position wins), and stops the work by its fence.
 */
export class LeaseTenure {
  readonly #options: LeaseTenureOptions;
  readonly #ended = new AbortController();
  readonly #takenAway = new AbortController();
  /** The work under way. If one takes longer than its `withinMs`, the lease is given up (PROC-L8). */
  readonly #watched = new Set<{ readonly what: string; since: number; readonly withinMs: number }>();
  #lease: Lease;
  #pending: string | undefined;
  #writing: Promise<void> | undefined;
  /** True: a checkpoint waits for the end of the write under way, and for the interval. */
  #urgent = false;
  #waiting = false;
  #offering = false;
  #renewedAt: number;
  #answeredAt: number;
  #timerAt: number;
  #graceUntil = -Infinity;
  /** True: a write was refused, and it is not known yet which host has the lease. */
  #refused = false;
  #kept = false;

  /** `acquiredAt`: when the write that took the lease was sent, monotonic. Other hosts count from a later time. */
  constructor(lease: Lease, acquiredAt: number, options: LeaseTenureOptions) {
    this.#lease = lease;
    this.#options = options;
    this.#renewedAt = acquiredAt;
    this.#timerAt = options.clock.monotonic();
    this.#answeredAt = this.#timerAt;
    void this.#keepTime();
  }

  get lease(): Lease {
    return this.#lease;
  }

  /** True: it ended without a write that gives the lease back, so other hosts wait until the lease expires. */
  get isKept(): boolean {
    return this.#kept;
  }

  /** Aborted once the lease is lost or given up. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /**
   * Aborted once another host has the lease and waits for `answer()`: no more work may start. Running work may end until
   * the last renewal expires, because the other host waits that long (PROC-L1c).
   */
  get takenAway(): AbortSignal {
    return this.#takenAway.signal;
  }

  /** To be called when a read shows that another host has taken the lease from this tenure. */
  noteTaken(by: Lease): void {
    if (this.#ended.signal.aborted || this.#takenAway.signal.aborted) return;
    this.#refused = false;
    this.#takenAway.abort(new LeaseLost(this.#lease.id, `${by.owner ?? 'another host'} took it`));
  }

  /** Reports to the new owner that this host no longer acts, and the position that it reached. Ends the tenure. */
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
   * Resolves once the former owner no longer acts: it has answered (true), or its last renewal has expired at `dueAt`,
   * monotonic (false). Rejects when the lease is lost, or with the signal's reason.
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

  /** A read may be old or hang, so it is not the proof that the lease is lost: the next renewal is. */
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

  /** Writes the lease once more: only a write confirms that this tenure still has it. @throws LeaseLost */
  async confirm(): Promise<void> {
    const { clock } = this.#options;
    for (const since = clock.monotonic(); this.#renewedAt < since;) {
      // A write under way was sent before this call, so it proves nothing.
      if (this.#writing) await until(this.#writing, this.#ended.signal);
      else await this.#written();
    }
  }

  /**
   * Gives the lease up if neither `done` nor `progress` is called within the time: renewals don't show that the work makes
   * progress (PROC-L8).
   */
  watch(what: string, withinMs: number): { done(): void; progress(): void } {
    const { clock } = this.#options;
    const watch = { what, since: clock.monotonic(), withinMs };
    this.#watched.add(watch);
    return { done: () => void this.#watched.delete(watch), progress: () => void (watch.since = clock.monotonic()) };
  }

  /**
   * Stores a position within `checkpointMs`. The caller promises that every change up to it is applied or parked (PROC-L2).
   */
  checkpoint(position: string): void {
    this.#pending = position;
    this.#urgent = true;
    this.#writeWhenDue();
  }

  /** The same, but stored only with the next write, so that a page costs one write (PROC-L9). */
  note(position: string): void {
    this.#pending = position;
  }

  /** Writes a waiting checkpoint immediately. Resolves when none is left; rejects if the lease was lost or given back. */
  async flush(): Promise<void> {
    for (;;) {
      while (this.#writing) await until(this.#writing, this.#ended.signal);
      this.#ended.signal.throwIfAborted();
      if (this.#pending === undefined) return;
      this.#takenAway.signal.throwIfAborted();
      // An acknowledgement while the lease is given back comes too late: the next owner repeats those changes.
      if (this.#offering) await until(new Promise(() => undefined), this.#ended.signal);
      this.#write();
    }
  }

  /**
   * Undefined if the last write was answered less than half of the expiration ago; else resolves once one is. Otherwise
   * handlers that compute, one after the other, would leave the event loop no turn to renew the lease (PROC-L8a).
   */
  fresh(): Promise<void> | undefined {
    return this.#isHalfOver() ? this.#freshen() : undefined;
  }

  async #freshen(): Promise<void> {
    while (this.#isHalfOver()) await this.#written();
  }

  /** Resolves after a write. Rejects if the lease is being given back, since there are no more writes then. */
  async #written(): Promise<void> {
    this.#takenAway.signal.throwIfAborted();
    this.#write();
    await until(
      this.#writing ?? Promise.reject(new LeaseLost(this.#lease.id, 'this host is giving it back')),
      this.#ended.signal,
    );
  }

  #isHalfOver(): boolean {
    const { clock, expirationMs } = this.#options;
    // Counts from the answer, so that a slow store doesn't stop the handlers.
    return clock.monotonic() - this.#answeredAt > expirationMs / 2;
  }

  fence(page?: Pick<Page, 'readAt'>): Fence {
    const { clock } = this.#options;
    return {
      kind: 'lease',
      tenure: this,
      signal: this.#ended.signal,
      assert: () => {
        this.#tick();
        this.#ended.signal.throwIfAborted();
        this.#assertSure();
        if (page && clock.monotonic() - page.readAt > WRITE_BOUND_MS) throw new PageTooOld();
      },
    };
  }

  /** Throws if no handler may start: the lease is lost or in doubt, or another host waits for the end of this tenure. */
  assertMayBegin(): void {
    this.#tick();
    this.#ended.signal.throwIfAborted();
    this.#takenAway.signal.throwIfAborted();
    this.#assertSure();
  }

  /** Gives the lease up without another write. Other hosts get it when it expires. */
  abandon(why: string): void {
    this.#keep(new LeaseLost(this.#lease.id, why));
  }

  /** Ends the tenure. With `release`, it writes the waiting checkpoint and offers the lease to other hosts. */
  async end(release: boolean): Promise<void> {
    if (release && !this.#ended.signal.aborted) {
      // The timer still runs: if the write fails, this ends when the lease expires or is abandoned.
      await this.#offer().catch((error: unknown) => {
        if (!(error instanceof LeaseLost)) this.#kept = true;
      });
      // Who took it meanwhile waits (PROC-L1c). Without an answer it has ended here, and expires.
      if (this.#takenAway.signal.aborted && !this.#ended.signal.aborted) await this.answer().catch(() => undefined);
    }
    this.#close(new LeaseLost(this.#lease.id, 'this host gave it up'));
  }

  async #offer(): Promise<void> {
    await this.flush();
    // A renewal at the same time would make the ETag of the release an old one.
    this.#offering = true;
    for (let sent; sent !== this.#lease;) {
      sent = this.#lease;
      try {
        await until(this.#options.store.release(sent), this.#ended.signal);
      } catch (error) {
        // The former owner may just have answered, which changed the ETag: release the lease as it is now.
        await until(this.#look(asLost(error)), this.#ended.signal);
        continue;
      }
      return;
    }
  }

  async #keepTime(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await clock.sleep(tickMs(this.#options), signal).catch(() => undefined);
      this.#tick();
      this.#timerAt = clock.monotonic();
    }
  }

  #assertSure(): void {
    if (this.#refused) throw new LeaseInDoubt(this.#lease.id, 'refused');
    if (this.#isOver()) throw new LeaseInDoubt(this.#lease.id, 'late');
  }

  #isOver(): boolean {
    const { clock, expirationMs } = this.#options;
    return clock.monotonic() - this.#renewedAt > expirationMs;
  }

  /** Called by the timer, and by the fence while a handler blocks the timers. */
  #tick(): void {
    const { clock, renewMs } = this.#options;
    if (this.#ended.signal.aborted) return;
    const now = clock.monotonic();
    if (this.#takenAway.signal.aborted && this.#isOver()) return this.#close(abortReason(this.#takenAway.signal));
    // While the event loop stood still, no renewal could be sent or answered. This host tries to renew once more: if no
    // other host took the lease, its ETag is unchanged (PROC-L8). Until then the lease is in doubt, and the fence throws
    // (PROC-L1).
    if (now - this.#timerAt > renewMs) this.#graceUntil = now + renewMs;
    if (now > this.#graceUntil) {
      if (this.#isOver()) return this.abandon('this host could not renew it in time');
      for (const { what, since, withinMs } of this.#watched)
        if (now - since > withinMs)
          return this.#keep(new LeaseStalled(this.#lease.id, `${what} has taken more than ${withinMs / 1000} s`));
    }
    // Running work will soon write a checkpoint, which also renews: pages as long as a renewal then cost one write, not two.
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

  /** Every write stores the waiting checkpoint, so every write restarts the interval. */
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

  /** One write, with the waiting position. Never rejects. */
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
      // Kept for the next attempt after a pause, or for the answer to a new owner, until the lease expires.
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
   * Reads the lease to see which host has it: another host that waits for an answer, or still this one, because the former
   * owner has answered. Else the lease is lost if a write was `refused`; a read alone may be older than this tenure.
   */
  async #look(refused?: LeaseLost): Promise<void> {
    const known = this.#lease;
    const stored = await this.#options.store.read(known);
    if (known !== this.#lease || this.#ended.signal.aborted) return;
    if (stored && stored.takenFrom?.tenure === known.tenure) return this.noteTaken(stored);
    const ours = stored?.tenure === known.tenure && stored?.owner === known.owner ? stored : undefined;
    if (ours && known.takenFrom && !ours.takenFrom) {
      this.#refused = false;
      this.#lease = ours;
    }
    // The write was refused, but this read shows no reason for it: the read is older than the reason. Read again.
    else if (refused && ours && (known.takenFrom || ours.etag === known.etag)) throw refused;
    else if (refused) this.#close(refused);
  }

  /** Pauses the writes. They may be tried again until the lease expires. */
  async #pauseAfter(failure: unknown): Promise<void> {
    const { clock, container } = this.#options;
    emit('feed:failed', { container, lease: this.#lease.id, error: failure });
    await clock.sleep(tickMs(this.#options), this.#ended.signal).catch(() => undefined);
  }

  #keep(why: LeaseLost): void {
    this.#kept ||= !this.#ended.signal.aborted;
    this.#close(why);
  }

  #close(why: unknown): void {
    this.#ended.abort(why);
  }
}

/** Returns the refusal of a write; throws any other failure. */
function asLost(error: unknown): LeaseLost {
  if (error instanceof LeaseLost) return error;
  throw error;
}
