import { randomUUID } from 'node:crypto';
import { emit } from '../../base/telemetry/diagnostics.ts';
import { until } from '../../base/until.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { Unavailable } from '../../cosmos/retry.ts';
import { LeaseLost } from '../leases/lease.ts';
import type { Change, Page } from '../reading/change.ts';
import { lsnOf } from '../reading/position.ts';
import { RangeGone, newestOf } from '../reading/source.ts';
import { Checkpointing } from './checkpointing.ts';
import type { Fence } from './fence.ts';
import { Halt } from './page-handler.ts';
import { Handling, type HandlingOptions } from './lease-watch.ts';
import type { LeaseTenure } from './lease-tenure.ts';
import type { TenureListener } from './listener.ts';
import type { Rejection } from './range-memory.ts';
import { Reader, type TenureReaderOptions } from './reader.ts';
import { type OpenDeferred, DeferredOfWindow } from './deferred.ts';
import { type Event, type State, type Terminal, isTerminal, nextState } from './states.ts';
import { Window } from './window.ts';

export interface SupervisorOptions extends TenureReaderOptions, HandlingOptions {
  /** Changes with the same value are handled one after the other, others in parallel. Absent: page after page. */
  readonly order?: ((change: Change) => string) | undefined;
  /** With an `order`: values that have less than this part of a page's changes share a call of the handler. */
  readonly together?: number | undefined;
  /** With an `order`: the most handler calls at the same time on one range. */
  readonly concurrency: number;
  /** The most changes that are read and not acknowledged, without the last page. */
  readonly mostUnacknowledged: number;
  /** The most pages of which changes are not acknowledged, without the last one. Default: no limit. */
  readonly mostPages?: number | undefined;
  /** Joins pages that wait, up to so many request units of reading them. Default: none. Ignored with `storedFirst`. */
  readonly joinedCharge?: number | undefined;
  readonly pollMs: number;
  /** Defers changes of tenants over their share. Absent: their changes are handled like all others. */
  readonly deferred?: OpenDeferred | undefined;
  /** From this time, monotonic, the former owner of the lease can't act (PROC-L1c). */
  readonly aloneAt: number;
  /** True: the next page waits until the last page's checkpoint is stored, so that a crash repeats one page at most. */
  readonly storedFirst: boolean;
  readonly listener?: TenureListener | undefined;
}

export interface SupervisorStatus {
  readonly state: State;
  /** The low watermark: everything up to it is acknowledged. */
  readonly position: string | undefined;
  /** Since when all changes are acknowledged and the feed has no new ones, monotonic; undefined while there is work. */
  readonly idleSince: number | undefined;
  /** When the last read that found nothing new was started, monotonic. */
  readonly checkedAt: number | undefined;
  /** The last failure, until a page succeeds. */
  readonly failure: unknown;
  /** How often this host has delivered the changes after `position`. More than 1: they were rejected before. */
  readonly deliveries: number;
  /**
   * What was written before is handled, milliseconds since 1970: when the oldest change in hand was written; without any,
   * the newest one that was handled in this tenure, or when a later read found nothing. Undefined before the first.
   */
  readonly reached: number | undefined;
  /** Changes that this host has handled on the range, in all its tenures. */
  readonly handled: number;
  /** The changes in hand, and since when the oldest of their pages is, monotonic; undefined without any. */
  readonly inHand: { readonly changes: number; readonly since: number } | undefined;
  /** The last time that this host's changes were not acknowledged; undefined: never. */
  readonly rejection: Rejection | undefined;
}

/** Requests of the host. Each may come in any state. */
export interface Orders {
  readonly stop: AbortSignal;
  /** The lease must be replaced by leases of its parts. */
  readonly split: AbortSignal;
}

const LONGEST_BACKOFF_MS = 30_000;
/**
 * After so many changes more will follow, so the feed is read once again after a quarter of the poll delay (BENCH-B9).
 * Another page costs some 12 RU, which are few beside what so many changes cost.
 */
const MANY = 20;
const SOONER = 4;
/** How long a stopping host waits for the lease container after the last handler has ended. */
export const LEAVING_MS = 5_000;

/**
 * Manages one lease for one tenure: reads its range, delivers the changes through a window, and stores checkpoints. It
 * changes its state only by the table of states.ts. Each state has one action, which results in an event.
 */
export class Supervisor {
  readonly #tenure: LeaseTenure;
  readonly #options: SupervisorOptions;
  readonly #orders: Orders;
  readonly #reader: Reader;
  readonly #handling: Handling;
  readonly #checkpointing: Checkpointing;
  #state: State;
  #window: Window;
  /** Of this window, from its first read on. */
  #deferred: DeferredOfWindow | undefined;
  #windowEnded = new AbortController();
  #interrupts: AbortSignal;
  /** The position after the last page that the window accepted. */
  #read: string;
  #page: (Page & { readonly next: string }) | undefined;
  /** The ends of the pages that the window has, when it accepted them, and when their oldest change was written. */
  #accepted: { readonly next: string; readonly at: number; readonly written: number }[] = [];
  #idleSince: number | undefined;
  /** The changes that were read since the feed had nothing new. */
  #sinceIdle = 0;
  #checkedAt: number | undefined;
  #failure: unknown;
  #failures = 0;
  #backoffMs = 0;

  constructor(tenure: LeaseTenure, options: SupervisorOptions, orders: Orders) {
    this.#tenure = tenure;
    this.#options = options;
    this.#orders = orders;
    this.#reader = new Reader(tenure, options);
    this.#handling = new Handling(tenure, options);
    this.#checkpointing = new Checkpointing(tenure, options.memory, () => this.#succeeded());
    this.#state = tenure.lease.takenFrom ? 'awaiting' : 'anchoring';
    this.#read = tenure.lease.position ?? '';
    this.#window = this.#openWindow();
    this.#interrupts = this.#signals();
  }

  get status(): SupervisorStatus {
    const { position } = this.#window;
    const oldest = this.#oldest();
    return {
      state: this.#state,
      position: position === '' ? undefined : position,
      idleSince: this.#idleSince,
      checkedAt: this.#checkedAt,
      failure: this.#failure,
      deliveries: this.#options.memory.deliveriesOf(position),
      reached: oldest?.written ?? this.#handling.reached,
      handled: this.#options.memory.handled,
      inHand: oldest && { changes: this.#window.unacknowledged, since: oldest.at },
      rejection: this.#options.memory.rejection,
    };
  }

  /** The oldest page in hand. */
  #oldest() {
    const { unacknowledged: changes, position } = this.#window;
    return changes === 0 ? undefined : this.#accepted.find(({ next }) => lsnOf(next) > lsnOf(position));
  }

  /** Never rejects. */
  async run(): Promise<Terminal> {
    for (;;) {
      const from = this.#state;
      if (isTerminal(from)) return from;
      const event = await this.#act(from);
      if (event === 'lost') this.#handling.rejected(this.#tenure.signal.reason, this.#window);
      const to = nextState(from, event);
      this.#state = to;
      const { container } = this.#options;
      if (to !== from) emit('lease:state', { container, lease: this.#tenure.lease.id, from, event, to });
    }
  }

  async #act(state: Exclude<State, Terminal>): Promise<Event> {
    try {
      return await this.#actions[state]();
    } catch (error) {
      return this.#eventOf(error, state);
    }
  }

  readonly #actions: Record<Exclude<State, Terminal>, () => Promise<Event>> = {
    awaiting: async () => {
      const { clock, aloneAt, container } = this.#options;
      const since = clock.monotonic();
      const { signal, takenAway } = this.#tenure;
      const from = this.#tenure.lease.takenFrom?.owner ?? '';
      const answered = await this.#tenure.alone(aloneAt, AbortSignal.any([signal, takenAway, this.#orders.stop]));
      const { id, position } = this.#tenure.lease;
      emit('lease:handover', { container, lease: id, from, answered, waitedMs: clock.monotonic() - since });
      this.#reopen(position ?? '');
      return 'alone';
    },

    anchoring: async () => {
      await this.#reader.prepare(this.#interrupts);
      if (this.#read !== '') return 'anchored';
      const position = await this.#reader.begin(this.#interrupts);
      if (position === '') return 'anchored';
      await this.#checkpointing.store(position, this.#interrupts);
      this.#reopen(position);
      return 'anchored';
    },

    reading: async () => {
      if (this.#options.deferred && !this.#deferred) await this.#openDeferred(this.#options.deferred);
      this.#page = await this.#reader.read(this.#read, this.#interrupts);
      if (!this.#page) return 'nothing';
      this.#idleSince = undefined;
      this.#sinceIdle += this.#page.changes.length;
      return 'page';
    },

    offering: async () => {
      if (this.#deferred && this.#page) {
        const { rest, over } = this.#deferred.divide(this.#page.changes);
        if (over.size > 0) await this.#watched(this.#deferred.defer(over));
        this.#page = { ...this.#page, changes: rest };
      }
      await until(this.#window.room(hasMore(this.#page)), this.#interrupts);
      if (this.#options.storedFirst) await until(this.#tenure.flush(), this.#interrupts);
      const page = this.#page;
      this.#page = undefined;
      if (page) {
        this.#options.memory.delivers(this.#read);
        this.#read = page.next;
        const { position } = this.#window;
        const open = this.#accepted.filter(({ next }) => lsnOf(next) > lsnOf(position));
        const written = page.changes.reduce((oldest, { at }) => Math.min(oldest, at), Infinity);
        this.#accepted = [...open, { next: page.next, at: this.#options.clock.monotonic(), written }];
        this.#window.offer(page);
      }
      return 'taken';
    },

    idle: async () => {
      const { clock, pollMs } = this.#options;
      const soon = this.#sinceIdle >= MANY;
      this.#sinceIdle = 0;
      const delayMs = soon ? pollMs / SOONER : pollMs;
      // Counts from the start of the last read, not from the end of the handlers: a change waits for one delay at most.
      const untilDue = (): number => Math.max(0, this.#reader.lastReadAt + delayMs - clock.monotonic());
      if (this.#isBusy()) {
        // The range is idle only when all changes are acknowledged. Until then new changes are read all the same.
        const over = new AbortController();
        const signal = AbortSignal.any([this.#interrupts, over.signal]);
        const slept = clock.sleep(untilDue(), signal);
        slept.catch(() => undefined);
        const emptied = this.#deferred?.busy ? slept : this.#window.empty();
        await until(Promise.race([slept, emptied]), this.#interrupts).finally(() => over.abort());
        if (this.#isBusy()) return 'due';
      }
      // No other write will store the checkpoint. The tenure's signal shows if the lease is lost.
      if (!soon) this.#tenure.flush().catch(() => undefined);
      this.#succeeded();
      this.#idleSince ??= clock.monotonic();
      this.#checkedAt = this.#reader.lastReadAt;
      // Else a change after a pause would seem as old as the one before it.
      this.#handling.reach(clock.now() - clock.monotonic() + this.#checkedAt);
      await clock.sleep(untilDue(), this.#interrupts);
      return 'due';
    },

    throttled: async () => {
      await this.#options.clock.sleep(this.#backoffMs, this.#interrupts);
      return 'due';
    },

    retrying: async () => {
      // Without the window's own signal: its failure may be the reason for this state.
      const { signal, takenAway } = this.#tenure;
      this.#interrupts = AbortSignal.any([signal, takenAway, this.#orders.stop, this.#orders.split]);
      await until(this.#window.close(), this.#interrupts);
      this.#handling.rejected(this.#window.failed.reason ?? this.#failure, this.#window);
      await this.#options.clock.sleep(this.#backoffMs, this.#interrupts);
      this.#reopen(this.#window.position);
      return 'due';
    },

    flushing: async () => {
      await this.#checkpointing.flush(this.#window);
      return 'flushed';
    },

    draining: async () => {
      await this.#checkpointing.flush(this.#window, LEAVING_MS);
      return 'flushed';
    },

    yielding: async () => {
      await until(this.#window.close(), this.#tenure.signal);
      await this.#tenure.answer();
      return 'flushed';
    },
  };

  #eventOf(error: unknown, state: State): Event {
    const { stop, split } = this.#orders;
    const { signal, takenAway } = this.#tenure;
    if (signal.aborted) return 'lost';
    if (takenAway.aborted && state !== 'yielding') return 'taken-away';
    if (error instanceof LeaseLost) return 'lost';
    const ending = state === 'draining' || state === 'flushing' || state === 'yielding' || state === 'awaiting';
    if (stop.aborted && (!ending || state === 'awaiting')) return 'stop';
    if (split.aborted && !ending) return 'gone';
    const { failed } = this.#window;
    const cause: unknown = failed.aborted ? failed.reason : error;
    if (cause instanceof RangeGone) return 'gone';
    this.#note(cause);
    if (cause instanceof Halt) return 'halted';
    if (isThrottling(cause) && !failed.aborted && !ending) {
      this.#backoffMs = failureOf(cause).retryAfterMs ?? this.#nextBackoff();
      return 'throttled';
    }
    this.#backoffMs = this.#nextBackoff();
    return 'failed';
  }

  #isBusy(): boolean {
    return !this.#window.isEmpty || this.#deferred?.busy === true;
  }

  /** Before the first read of a window: what earlier ones have deferred decides about its first page (TEN-F6). */
  async #openDeferred(open: OpenDeferred): Promise<void> {
    const window = this.#window;
    const { signal: ended } = this.#windowEnded;
    const { range } = this.#tenure.lease;
    const signal = AbortSignal.any([this.#interrupts, window.failed]);
    const { clock, pollMs } = this.#options;
    const { begin } = this.#handling;
    const deferred = await this.#watched(
      open({
        range,
        token: randomUUID(),
        position: lsnOf(this.#read),
        fence: this.#fenceOf(ended),
        confirm: async () => {
          await this.#tenure.confirm();
          ended.throwIfAborted();
        },
      }),
    );
    this.#deferred = new DeferredOfWindow(deferred, { window, tenure: this.#tenure, begin, pollMs, clock, signal });
  }

  /** For a window's own requests: one that was given up must not write after its successor, in the same tenure. */
  #fenceOf(ended: AbortSignal): Fence {
    const fence = this.#tenure.fence();
    return {
      ...fence,
      signal: AbortSignal.any([fence.signal, ended]),
      assert: () => {
        ended.throwIfAborted();
        fence.assert();
      },
    };
  }

  /** Deferring changes that takes too long costs the lease (PROC-L8). */
  async #watched<T>(work: Promise<T>): Promise<T> {
    const watch = this.#tenure.watch('deferring changes', this.#options.stallMs);
    try {
      return await until(work, this.#interrupts);
    } finally {
      watch.done();
    }
  }

  #nextBackoff(): number {
    this.#failures += 1;
    return Math.min(LONGEST_BACKOFF_MS, 100 * 2 ** Math.min(this.#failures, 9));
  }

  #note(error: unknown): void {
    this.#failure = error;
    this.#options.listener?.failed(error, this.#tenure.lease);
    emit('feed:failed', { container: this.#options.container, lease: this.#tenure.lease.id, error });
  }

  #succeeded(): void {
    this.#failure = undefined;
    this.#failures = 0;
  }

  #signals(): AbortSignal {
    const { signal, takenAway } = this.#tenure;
    return AbortSignal.any([signal, takenAway, this.#orders.stop, this.#orders.split, this.#window.failed]);
  }

  #reopen(position: string): void {
    this.#handling.forget();
    this.#read = position;
    this.#page = undefined;
    this.#accepted = [];
    this.#deferred = undefined;
    this.#windowEnded.abort();
    this.#windowEnded = new AbortController();
    this.#window = this.#openWindow();
    this.#interrupts = this.#signals();
  }

  #openWindow(): Window {
    const { order, together, concurrency, mostUnacknowledged, mostPages, manual, memory } = this.#options;
    const { joinedCharge: charge, storedFirst } = this.#options;
    return new Window({
      from: this.#read,
      orderOf: order,
      together,
      concurrency: order ? concurrency : 1,
      most: mostUnacknowledged,
      mostPages,
      join: charge === undefined || storedFirst ? undefined : { charge, most: () => memory.joined.size ?? 1 },
      automatic: !manual,
      handle: this.#handling.handle,
      onAdvance: this.#checkpointing.open(),
    });
  }
}

/** Whether the feed had more when a page was read. Without a session token: it may have had. */
const hasMore = (page?: { readonly next: string; readonly session?: string }): boolean =>
  page !== undefined && lsnOf(page.next) < (newestOf(page.session) ?? Infinity);

const isThrottling = (error: unknown): boolean => error instanceof Unavailable || failureOf(error).kind === 'throttled';
