import { MillraceError } from '../base/errors.ts';
import { WRITE_BOUND_MS } from '../base/bounds.ts';
import type { Clock } from '../base/clock.ts';
import { emit } from '../base/diagnostics.ts';
import type { Page } from './change.ts';
import type { Fence } from './fence.ts';
import { type Lease, LeaseLost, type LeaseStore } from './lease.ts';

export interface SessionOptions {
  readonly container: string;
  readonly store: Pick<LeaseStore, 'renew' | 'release'>;
  readonly clock: Clock;
  readonly renewMs: number;
  readonly expirationMs: number;
  /** Gives the lease up when the worker reports no progress for this long (L8). */
  readonly stallMs: number;
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

/**
 * One tenure of a lease by this host: keeps it renewed, writes checkpoints (never two at once, the latest position
 * wins), and says through its fence when acting has to stop.
 */
export class LeaseSession {
  readonly #options: SessionOptions;
  readonly #ended = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #lease: Lease;
  #pending: string | undefined;
  #writing: Promise<void> | undefined;
  #renewedAt: number;
  #progressAt: number;

  /** `acquiredAt`: when the write that took the lease was sent, monotonic; others count from when they saw it. */
  constructor(lease: Lease, acquiredAt: number, options: SessionOptions) {
    this.#lease = lease;
    this.#options = options;
    this.#renewedAt = acquiredAt;
    this.#progressAt = options.clock.monotonic();
    this.#timer = setInterval(() => this.#tick(), tickMs(options));
    this.#timer.unref();
  }

  get lease(): Lease {
    return this.#lease;
  }

  /** Aborted once the lease is lost or given up. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  progress(): void {
    this.#progressAt = this.#options.clock.monotonic();
  }

  /** The caller's promise: everything up to `position` is durable or parked (L2). Returns at once. */
  checkpoint(position: string): void {
    this.#pending = position;
    this.#write();
  }

  /** Resolves when no checkpoint is left to write; rejects when the lease was lost on the way. */
  async settled(): Promise<void> {
    while (this.#writing) await this.#writing;
    this.#ended.signal.throwIfAborted();
    if (this.#pending !== undefined) {
      this.#write();
      await this.settled();
    }
  }

  fence(page: Pick<Page, 'readAt'>): Fence {
    const { clock } = this.#options;
    return {
      kind: 'lease',
      signal: this.#ended.signal,
      assert: () => {
        this.#tick();
        this.#ended.signal.throwIfAborted();
        if (clock.monotonic() - page.readAt > WRITE_BOUND_MS) throw new PageTooOld();
      },
    };
  }

  async end(release: boolean): Promise<void> {
    if (release && !this.#ended.signal.aborted) {
      // Still under the timer: a checkpoint that can't be written is given up when the lease expires.
      await this.settled().catch(() => undefined);
      clearInterval(this.#timer);
      if (!this.#ended.signal.aborted) await this.#options.store.release(this.#lease).catch(() => undefined);
    }
    clearInterval(this.#timer);
    this.#ended.abort(new LeaseLost(this.#lease.id, 'this host gave it up'));
  }

  #tick(): void {
    const { clock, expirationMs, renewMs, stallMs } = this.#options;
    if (this.#ended.signal.aborted) return;
    const now = clock.monotonic();
    // Others may take it now: whoever cannot renew has to stop before they start (L1).
    if (now - this.#renewedAt > expirationMs) return this.#lose('it could not be renewed in time');
    if (now - this.#progressAt > stallMs) return this.#lose(`no progress for ${Math.round(stallMs / 1000)} s`);
    if (now - this.#renewedAt > renewMs) this.#write();
  }

  #write(): void {
    if (this.#writing || this.#ended.signal.aborted) return;
    this.#writing = this.#renew().finally(() => {
      this.#writing = undefined;
      if (this.#pending !== undefined) setImmediate(() => this.#pending !== undefined && this.#write());
    });
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
      if (position !== undefined) emit('lease:checkpoint', { container, lease: this.#lease.id, position });
    } catch (error) {
      if (error instanceof LeaseLost) return this.#lose(error.message, error);
      // Kept for the next try, after a pause; the expiration bounds how long.
      this.#pending ??= position;
      emit('feed:failed', { container, lease: this.#lease.id, error });
      await clock.sleep(tickMs(this.#options), this.#ended.signal).catch(() => undefined);
    }
  }

  #lose(why: string, cause?: unknown): void {
    clearInterval(this.#timer);
    this.#ended.abort(new LeaseLost(this.#lease.id, why, cause));
  }
}
