import { emit } from '../../base/diagnostics.ts';
import { until } from '../../base/until.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { Unavailable } from '../../cosmos/retry.ts';
import { LeaseLost } from '../leases/lease.ts';
import type { Change, Page } from '../reading/change.ts';
import { RangeGone } from '../reading/source.ts';
import { Checkpointing } from './checkpointing.ts';
import { Halt } from './handle.ts';
import { Handling, type HandlingOptions } from './handling.ts';
import type { LeaseSession } from './lease-session.ts';
import { Reader, type ReaderOptions } from './reader.ts';
import { type Event, type State, type Terminal, isTerminal, nextState } from './states.ts';
import { Window } from './window.ts';

export interface SupervisorOptions extends ReaderOptions, HandlingOptions {
  /** Changes of equal value one after the other, others in parallel; absent: page after page. */
  readonly order?: ((change: Change) => string) | undefined;
  /** Most handlers at once on one range, with an `order`. */
  readonly concurrency: number;
  /** Most changes read and not acknowledged, but for the last page. */
  readonly mostUnacknowledged: number;
  readonly pollMs: number;
  /** By when, monotonic, whoever the lease was taken from can't act any more (L1c). */
  readonly aloneAt: number;
  /** The next page waits until the last one's checkpoint is stored, so that a crash repeats one page at most. */
  readonly storedFirst: boolean;
}

export interface SupervisorStatus {
  readonly state: State;
  /** The low watermark: everything up to it is acknowledged. */
  readonly position: string | undefined;
  /** Since when the feed has had nothing new and everything read is acknowledged, monotonic; undefined while there is work. */
  readonly idleSince: number | undefined;
  /** When the last read that found nothing new was begun, monotonic. */
  readonly checkedAt: number | undefined;
  /** The last failure, until a page succeeds. */
  readonly failure: unknown;
  /** How often this host has handed on what comes after `position`; more than 1: it was rejected before. */
  readonly deliveries: number;
  /** When the newest change was written that was handled in this tenure, milliseconds since 1970; undefined before the first. */
  readonly reached: number | undefined;
}

/** Asked from outside; either may come in any state. */
export interface Orders {
  readonly stop: AbortSignal;
  /** The lease is to be replaced by its parts. */
  readonly split: AbortSignal;
}

const LONGEST_BACKOFF_MS = 30_000;
/** The longest that a host which stops waits for the lease container, once nothing is handled any more. */
export const LEAVING_MS = 5_000;

/**
 * Looks after one lease for one tenure: has its range read, handed on through a window and checkpointed, and moves between
 * the states of states.ts by its table alone. Each state has one action, whose outcome is an event.
 */
export class Supervisor {
  readonly #session: LeaseSession;
  readonly #options: SupervisorOptions;
  readonly #orders: Orders;
  readonly #reader: Reader;
  readonly #handling: Handling;
  readonly #checkpointing: Checkpointing;
  #state: State;
  #window: Window;
  #interrupts: AbortSignal;
  /** The position after the last page that the window took. */
  #read: string;
  #page: (Page & { readonly next: string }) | undefined;
  #idleSince: number | undefined;
  #checkedAt: number | undefined;
  #failure: unknown;
  #failures = 0;
  #backoffMs = 0;

  constructor(session: LeaseSession, options: SupervisorOptions, orders: Orders) {
    this.#session = session;
    this.#options = options;
    this.#orders = orders;
    this.#reader = new Reader(session, options);
    this.#handling = new Handling(session, options);
    this.#checkpointing = new Checkpointing(session, options.memory, () => this.#succeeded());
    this.#state = session.lease.takenFrom ? 'awaiting' : 'anchoring';
    this.#read = session.lease.position ?? '';
    this.#window = this.#openWindow();
    this.#interrupts = this.#signals();
  }

  get status(): SupervisorStatus {
    const { position } = this.#window;
    return {
      state: this.#state,
      position: position === '' ? undefined : position,
      idleSince: this.#idleSince,
      checkedAt: this.#checkedAt,
      failure: this.#failure,
      deliveries: this.#options.memory.deliveriesOf(position),
      reached: this.#handling.reached,
    };
  }

  /** Never rejects. */
  async run(): Promise<Terminal> {
    for (;;) {
      const from = this.#state;
      if (isTerminal(from)) return from;
      const event = await this.#act(from);
      if (event === 'lost') this.#handling.rejected(this.#session.signal.reason, this.#window);
      const to = nextState(from, event);
      this.#state = to;
      const { container } = this.#options;
      if (to !== from) emit('lease:state', { container, lease: this.#session.lease.id, from, event, to });
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
      const { signal, takenAway } = this.#session;
      const from = this.#session.lease.takenFrom?.owner ?? '';
      const answered = await this.#session.alone(aloneAt, AbortSignal.any([signal, takenAway, this.#orders.stop]));
      const { id, position } = this.#session.lease;
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
      this.#page = await this.#reader.read(this.#read, this.#interrupts);
      if (!this.#page) return 'nothing';
      this.#idleSince = undefined;
      return 'page';
    },

    offering: async () => {
      await until(this.#window.room(), this.#interrupts);
      if (this.#options.storedFirst) await until(this.#session.settled(), this.#interrupts);
      const page = this.#page;
      this.#page = undefined;
      if (page) {
        this.#options.memory.delivers(this.#read);
        this.#read = page.next;
        this.#window.offer(page);
      }
      return 'taken';
    },

    idle: async () => {
      const { clock, pollMs } = this.#options;
      // From when the last read was begun, not from when what it found was handled: a change waits for one delay at most.
      const untilDue = (): number => Math.max(0, this.#reader.lastReadAt + pollMs - clock.monotonic());
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
      this.#succeeded();
      this.#idleSince ??= clock.monotonic();
      this.#checkedAt = this.#reader.lastReadAt;
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
      this.#handling.rejected(this.#window.failed.reason ?? this.#failure, this.#window);
      await this.#options.clock.sleep(this.#backoffMs, this.#interrupts);
      this.#reopen(this.#window.position);
      return 'due';
    },

    settling: async () => {
      await this.#checkpointing.settle(this.#window);
      return 'settled';
    },

    draining: async () => {
      await this.#checkpointing.settle(this.#window, LEAVING_MS);
      return 'settled';
    },

    yielding: async () => {
      await until(this.#window.close(), this.#session.signal);
      await this.#session.answer();
      return 'settled';
    },
  };

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

  #nextBackoff(): number {
    this.#failures += 1;
    return Math.min(LONGEST_BACKOFF_MS, 100 * 2 ** Math.min(this.#failures, 9));
  }

  #note(error: unknown): void {
    this.#failure = error;
    emit('feed:failed', { container: this.#options.container, lease: this.#session.lease.id, error });
  }

  #succeeded(): void {
    this.#failure = undefined;
    this.#failures = 0;
  }

  #signals(): AbortSignal {
    const { signal, takenAway } = this.#session;
    return AbortSignal.any([signal, takenAway, this.#orders.stop, this.#orders.split, this.#window.failed]);
  }

  #reopen(position: string): void {
    this.#handling.forget();
    this.#read = position;
    this.#page = undefined;
    this.#window = this.#openWindow();
    this.#interrupts = this.#signals();
  }

  #openWindow(): Window {
    const { order, concurrency, mostUnacknowledged, manual } = this.#options;
    return new Window({
      from: this.#read,
      orderOf: order,
      concurrency: order ? concurrency : 1,
      most: mostUnacknowledged,
      automatic: !manual,
      handle: this.#handling.handle,
      onAdvance: this.#checkpointing.open(),
    });
  }
}

const isThrottling = (error: unknown): boolean => error instanceof Unavailable || failureOf(error).kind === 'throttled';
