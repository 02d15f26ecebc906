import type { Clock } from '../../base/clock.ts';
import { emit } from '../../base/diagnostics.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { Unavailable } from '../../cosmos/retry.ts';
import { within } from './around.ts';
import type { Change, Page } from '../reading/change.ts';
import { Halt, type Handle, type TakeForReading } from './handle.ts';
import { LeaseLost, LeaseStalled } from '../leases/lease.ts';
import { type LeaseSession, PageTooOld } from './lease-session.ts';
import { HandlerTimeout } from './handler-timeout.ts';
import type { RangeMemory } from './range-memory.ts';
import { type ChangeSource, RangeGone, type Start, anchor } from '../reading/source.ts';
import { type Event, type State, type Terminal, isTerminal, nextState } from './states.ts';
import { until } from '../../base/until.ts';
import { type Batch, Window } from './window.ts';

export interface SupervisorOptions {
  readonly container: string;
  readonly source: ChangeSource;
  readonly handle: Handle;
  readonly start: Start;
  /** When this processor was first started anywhere, where it was before this start: a start from now means then. */
  readonly startedBefore?: Date | undefined;
  /** Changes of equal value one after the other, others in parallel; absent: page after page. */
  readonly order?: ((change: Change) => string) | undefined;
  /** Most handlers at once on one range, with an `order`. */
  readonly concurrency: number;
  /** Most changes read and not acknowledged, but for the last page. */
  readonly mostUnacknowledged: number;
  /** True: only what the handler acknowledges counts, whenever it does. */
  readonly manual: boolean;
  readonly memory: RangeMemory;
  /** Waits until a page of a range may be read. */
  readonly budget?: TakeForReading | undefined;
  readonly pollMs: number;
  /** By when, monotonic, whoever the lease was taken from can't act any more (L1c). */
  readonly aloneAt: number;
  /** A read or a handler that takes longer gives the lease up (L8). */
  readonly stallMs: number;
  /** A change that is handled and not acknowledged for longer does so too. */
  readonly unacknowledgedMs: number;
  /** The next page waits until the last one's checkpoint is stored, so that a crash repeats one page at most. */
  readonly storedFirst: boolean;
  readonly clock: Clock;
}

export interface SupervisorStatus {
  state: State;
  /** The low watermark: everything up to it is acknowledged. */
  position: string | undefined;
  /** Since when the feed has had nothing new and everything read is acknowledged, monotonic; undefined while there is work. */
  idleSince: number | undefined;
  /** When the last read that found nothing new was begun, monotonic. */
  checkedAt: number | undefined;
  /** The last failure, until a page succeeds. */
  failure: unknown;
  /** How often this host has handed on what comes after `position`; more than 1: it was rejected before. */
  deliveries: number;
}

/** Asked from outside; either may come in any state. */
export interface Orders {
  readonly stop: AbortSignal;
  /** The lease is to be replaced by its parts. */
  readonly split: AbortSignal;
}

type Acknowledge = (changes: readonly Change[]) => void;

const LONGEST_BACKOFF_MS = 30_000;
/** The longest that a host which stops waits for the lease container, once nothing is handled any more. */
export const LEAVING_MS = 5_000;

/**
 * Looks after one lease for one tenure: reads its range and hands it on through a window, checkpoints the low watermark,
 * and moves between the states of states.ts by its table alone. Each state has one action, whose outcome is an event.
 */
export class Supervisor {
  readonly #session: LeaseSession;
  readonly #options: SupervisorOptions;
  readonly #orders: Orders;
  readonly #ages = new Set<{ done(): void }>();
  readonly #timings = new WeakMap<Page, { since: number; handled: number }>();
  readonly status: SupervisorStatus;
  #window: Window;
  #interrupts: AbortSignal;
  /** The position after the last page that was read. */
  #read: string;
  #page: (Page & { readonly next: string }) | undefined;
  #lastReadAt = 0;
  #backoffMs = 0;
  #failures = 0;

  constructor(session: LeaseSession, options: SupervisorOptions, orders: Orders) {
    this.#session = session;
    this.#options = options;
    this.#orders = orders;
    this.#read = session.lease.position ?? '';
    this.status = {
      state: session.lease.takenFrom ? 'awaiting' : 'anchoring',
      position: session.lease.position,
      idleSince: undefined,
      checkedAt: undefined,
      failure: undefined,
      deliveries: 0,
    };
    this.#window = this.#openWindow();
    this.#interrupts = this.#signals();
  }

  /** Never rejects. */
  async run(): Promise<Terminal> {
    for (;;) {
      const { state } = this.status;
      if (isTerminal(state)) return state;
      const event = await this.#act(state);
      if (event === 'lost') this.#rejected(this.#session.signal.reason);
      const to = nextState(state, event);
      this.status.state = to;
      if (to !== state)
        emit('lease:state', {
          container: this.#options.container,
          lease: this.#session.lease.id,
          from: state,
          event,
          to,
        });
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
      const { stop } = this.#orders;
      const { signal, takenAway } = this.#session;
      const from = this.#session.lease.takenFrom?.owner ?? '';
      const answered = await this.#session.alone(aloneAt, AbortSignal.any([signal, takenAway, stop]));
      const { id, position } = this.#session.lease;
      emit('lease:handover', { container, lease: id, from, answered, waitedMs: clock.monotonic() - since });
      this.status.position = position;
      this.#reopen(position ?? '');
      return 'alone';
    },

    anchoring: async () => {
      const { start, startedBefore, source } = this.#options;
      if (source.prepare) {
        const prepared = source.prepare(this.#interrupts);
        await this.#watched('preparing to read', until(prepared, this.#interrupts));
      }
      if (this.#read !== '' || start === 'beginning') return 'anchored';
      const { range } = this.#session.lease;
      const resolved = anchor(source, range, start, startedBefore, this.#interrupts);
      const position = await this.#watched('finding the start', until(resolved, this.#interrupts));
      // Stored before anything is handed on: a crash then repeats, and skips nothing (L4).
      if (position !== '') {
        this.#session.checkpoint(position);
        await until(this.#session.settled(), this.#interrupts);
      }
      this.#reopen(position);
      this.status.position = this.#session.lease.position;
      return 'anchored';
    },

    reading: async () => {
      const { source, budget, clock, memory } = this.#options;
      const { range } = this.#session.lease;
      const grant = await budget?.(range, this.#interrupts);
      this.#lastReadAt = clock.monotonic();
      let charge = 0;
      let page;
      try {
        const reading = source.read(range, this.#read, this.#interrupts, memory.pageSize.size);
        page = await this.#watched('a read', until(reading, this.#interrupts));
        ({ charge } = page);
      } finally {
        grant?.settle(charge);
      }
      if (page.next === this.#read && page.changes.length === 0) return 'nothing';
      this.status.idleSince = undefined;
      this.#page = page;
      emit('feed:page', {
        container: this.#options.container,
        lease: this.#session.lease.id,
        changes: page.changes.length,
        charge: page.charge,
      });
      return 'page';
    },

    offering: async () => {
      await until(this.#window.room(), this.#interrupts);
      if (this.#options.storedFirst) await until(this.#session.settled(), this.#interrupts);
      const page = this.#page;
      this.#page = undefined;
      if (page) {
        this.#options.memory.delivers(this.#read);
        this.status.deliveries = this.#options.memory.deliveriesOf(this.#window.position);
        this.#read = page.next;
        this.#window.offer(page);
      }
      return 'taken';
    },

    idle: async () => {
      const { clock, pollMs } = this.#options;
      // From when the last read was begun, not from when what it found was handled: a change waits for one delay at most.
      const untilDue = (): number => Math.max(0, this.#lastReadAt + pollMs - clock.monotonic());
      if (!this.#window.isEmpty) {
        // Idle is only who has nothing in hand; what comes meanwhile is read all the same.
        const over = new AbortController();
        const signal = AbortSignal.any([this.#interrupts, over.signal]);
        const slept = clock.sleep(untilDue(), signal);
        slept.catch(() => undefined);
        await until(Promise.race([slept, this.#window.empty()]), this.#interrupts).finally(() => over.abort());
        if (!this.#window.isEmpty) return 'due';
      }
      // Nothing comes that could take the checkpoint along. A lost lease shows by the session's signal.
      this.#session.settled().catch(() => undefined);
      this.#failures = 0;
      this.status.failure = undefined;
      this.status.idleSince ??= clock.monotonic();
      this.status.checkedAt = this.#lastReadAt;
      await clock.sleep(untilDue(), this.#interrupts);
      return 'due';
    },

    throttled: async () => {
      await this.#options.clock.sleep(this.#backoffMs, this.#interrupts);
      return 'due';
    },

    retrying: async () => {
      // The window's failure is what may have brought us here: it interrupts no more.
      const { signal, takenAway } = this.#session;
      this.#interrupts = AbortSignal.any([signal, takenAway, this.#orders.stop, this.#orders.split]);
      await until(this.#window.close(), this.#interrupts);
      this.#rejected(this.#window.failed.reason ?? this.status.failure);
      await this.#options.clock.sleep(this.#backoffMs, this.#interrupts);
      this.#reopen(this.#window.position);
      return 'due';
    },

    settling: () => this.#settle(),
    draining: () => this.#settle(LEAVING_MS),

    yielding: async () => {
      await until(this.#window.close(), this.#session.signal);
      await this.#session.answer();
      return 'settled';
    },
  };

  /** Lets what runs end, begins nothing more, and stores how far that got. */
  async #settle(withinMs?: number): Promise<Event> {
    const { signal, takenAway } = this.#session;
    await until(this.#window.close(), AbortSignal.any([signal, takenAway]));
    if (withinMs !== undefined) this.#session.leaveWithin(withinMs);
    await this.#session.settled();
    return 'settled';
  }

  #eventOf(error: unknown, state: State): Event {
    const { stop, split } = this.#orders;
    const { signal, takenAway } = this.#session;
    if (signal.aborted) return 'lost';
    if (takenAway.aborted && state !== 'yielding') return 'taken-away';
    if (error instanceof LeaseLost) return 'lost';
    const ending = state === 'draining' || state === 'settling' || state === 'yielding' || state === 'awaiting';
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

  /** Says of what was handed on and comes again, here or elsewhere, why; and asks for less where it took too long. */
  #rejected(error: unknown): void {
    const { container, memory } = this.#options;
    const { unacknowledged: changes, position } = this.#window;
    if (changes === 0) return;
    const deliveries = memory.deliveriesOf(position);
    emit('feed:rejected', { container, lease: this.#session.lease.id, position, changes, deliveries, error });
    const tooLong = [LeaseStalled, PageTooOld, HandlerTimeout].some((each) => error instanceof each);
    if (tooLong) memory.pageSize.rejected(changes);
  }

  #nextBackoff(): number {
    this.#failures += 1;
    return Math.min(LONGEST_BACKOFF_MS, 100 * 2 ** Math.min(this.#failures, 9));
  }

  #note(error: unknown): void {
    this.status.failure = error;
    emit('feed:failed', { container: this.#options.container, lease: this.#session.lease.id, error });
  }

  #signals(): AbortSignal {
    const { signal, takenAway } = this.#session;
    return AbortSignal.any([signal, takenAway, this.#orders.stop, this.#orders.split, this.#window.failed]);
  }

  #reopen(position: string): void {
    for (const age of this.#ages) age.done();
    this.#ages.clear();
    this.#read = position;
    this.#page = undefined;
    this.#window = this.#openWindow();
    this.#interrupts = this.#signals();
  }

  #openWindow(): Window {
    const { order, concurrency, mostUnacknowledged, manual } = this.#options;
    const window: Window = new Window({
      from: this.#read,
      orderOf: order,
      concurrency: order ? concurrency : 1,
      most: mostUnacknowledged,
      automatic: !manual,
      handle: (batch, acknowledge) => this.#handle(batch, acknowledge),
      onAdvance: (position, pageEnd) => {
        // What is acknowledged too late is delivered again: only one window may say how far we are (L3).
        if (window !== this.#window) return;
        this.status.position = position;
        this.#options.memory.advanced(position);
        this.status.deliveries = this.#options.memory.deliveriesOf(position);
        if (pageEnd) {
          this.status.failure = undefined;
          this.#failures = 0;
          this.#session.checkpoint(position);
        } else this.#session.note(position);
      },
    });
    return window;
  }

  async #handle({ changes, page }: Batch, acknowledge: Acknowledge): Promise<void> {
    const { handle, manual, clock, stallMs, unacknowledgedMs } = this.#options;
    // Asked just before the handler begins: each of several that compute takes its time.
    for (let renewal; (renewal = this.#session.fresh());) await renewal;
    this.#session.assertMayBegin();
    const since = clock.monotonic();
    const acknowledged = manual ? this.#aged(changes, acknowledge, unacknowledgedMs) : acknowledge;
    const about = { container: this.#options.container, lease: this.#session.lease.id, changes: changes.length };
    const watch = this.#session.watch('a handler', stallMs);
    try {
      const work = within(about, () =>
        handle({ ...page, changes }, this.#session.fence(page), {
          token: this.#session.lease.token,
          acknowledge: (some) => {
            watch.progress();
            acknowledged(some);
          },
          progress: () => watch.progress(),
          settled: () => this.#session.settled(),
          confirm: () => this.#session.confirm(),
        }),
      );
      await this.#told(changes.length, since, work);
    } finally {
      watch.done();
    }
    this.#measure(page, changes.length, since);
  }

  /** Acknowledging by hand: the lease is given up where some of the changes stay unacknowledged for too long. */
  #aged(changes: readonly Change[], acknowledge: Acknowledge, withinMs: number): Acknowledge {
    const left = new Set(changes);
    const age = this.#session.watch('acknowledging a change', withinMs);
    this.#ages.add(age);
    return (some) => {
      for (const change of some) left.delete(change);
      if (left.size === 0) age.done();
      acknowledge(some);
    };
  }

  async #told(changes: number, since: number, work: Promise<void>): Promise<void> {
    const { container, clock } = this.#options;
    const startedAt = clock.now();
    const ended = (failure: { error?: unknown }): void =>
      emit('handler:ended', {
        container,
        lease: this.#session.lease.id,
        changes,
        startedAt,
        durationMs: clock.monotonic() - since,
        ...failure,
      });
    await work.catch((error: unknown) => {
      ended({ error });
      throw error;
    });
    ended({});
  }

  /** A page took as long as it was from the first handler's start to the last one's end. */
  #measure(page: Page, handled: number, since: number): void {
    const timing = this.#timings.get(page) ?? { since, handled: 0 };
    this.#timings.set(page, timing);
    timing.since = Math.min(timing.since, since);
    timing.handled += handled;
    if (timing.handled === page.changes.length)
      this.#options.memory.pageSize.handled(timing.handled, this.#options.clock.monotonic() - timing.since);
  }

  async #watched<T>(what: string, work: Promise<T>): Promise<T> {
    const watch = this.#session.watch(what, this.#options.stallMs);
    try {
      return await work;
    } finally {
      watch.done();
    }
  }
}

const isThrottling = (error: unknown): boolean => error instanceof Unavailable || failureOf(error).kind === 'throttled';
