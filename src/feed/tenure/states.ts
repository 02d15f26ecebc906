import { feedError } from '../errors.ts';

/**
 * The states of a supervisor, which manages one lease for one tenure. Handlers may run in all of them except the first and
 * the last three: see window.ts.
 */
export type State =
  /** The lease was taken from an owner that may still act: waits for its answer, or for the end of its renewal. */
  | 'awaiting'
  /** Stores the position of the start (now, a time, a checkpoint), if the lease has none. */
  | 'anchoring'
  /** Reads the next page. */
  | 'reading'
  /** The supervisor has a page, and waits until the window has room for it. */
  | 'offering'
  /** The last read found nothing new: waits for the poll delay. */
  | 'idle'
  /** The service throttled a read: waits, and keeps the lease and the running handlers. */
  | 'throttled'
  /** A read or a handler failed: waits for running handlers, drops the pages, and starts again at the low watermark. */
  | 'retrying'
  /** The range is no longer one partition: lets handlers end and stores the low watermark before the lease is split. */
  | 'flushing'
  /** The host stops: lets handlers end and stores the low watermark before the lease is offered to other hosts. */
  | 'draining'
  /** Another host took the lease and waits: lets handlers end, and answers with the low watermark. */
  | 'yielding'
  /** Ended: the lease must be replaced by leases of its parts. */
  | 'split'
  /** Ended: the lease must be offered to other hosts. */
  | 'ended'
  /** Ended: another host has the lease, or this host gave it up. Nothing more is started or written. */
  | 'lost';

export type Event =
  /** The former owner no longer acts. */
  | 'alone'
  /** There is a position to read from. */
  | 'anchored'
  | 'page'
  /** The window accepted the page. */
  | 'taken'
  /** The feed has nothing after the position. */
  | 'nothing'
  /** A wait is over. */
  | 'due'
  | 'throttled'
  /** A read, a handler or a lease write failed, and may succeed later. */
  | 'failed'
  /** The range was split or merged, or there are narrower leases inside this one. */
  | 'gone'
  /** The handler's failure policy stops the host. */
  | 'halted'
  /** This host was asked to stop. */
  | 'stop'
  /** Another host took the lease, and waits for an answer. */
  | 'taken-away'
  /** No handler runs, and the acknowledged position is stored. */
  | 'flushed'
  | 'lost';

export type Terminal = 'split' | 'ended' | 'lost';
type Next = State | 'impossible';

/** Events that may happen in every state in which the feed is read. */
const READING = {
  throttled: 'throttled',
  failed: 'retrying',
  gone: 'flushing',
  halted: 'draining',
  stop: 'draining',
  'taken-away': 'yielding',
  lost: 'lost',
} as const satisfies Partial<Record<Event, State>>;

const NEVER = {
  alone: 'impossible',
  anchored: 'impossible',
  page: 'impossible',
  taken: 'impossible',
  nothing: 'impossible',
  due: 'impossible',
  throttled: 'impossible',
  failed: 'impossible',
  gone: 'impossible',
  halted: 'impossible',
  stop: 'impossible',
  'taken-away': 'impossible',
  flushed: 'impossible',
  lost: 'impossible',
} as const satisfies Record<Event, Next>;

/** The next state for every state and event. The supervisor changes its state only by this table. */
export const TRANSITIONS = {
  // `gone` has no effect here: only the sole owner of a lease splits it.
  awaiting: {
    ...NEVER,
    ...READING,
    throttled: 'awaiting',
    failed: 'awaiting',
    gone: 'awaiting',
    halted: 'impossible',
    alone: 'anchoring',
  },
  anchoring: { ...NEVER, ...READING, anchored: 'reading' },
  reading: { ...NEVER, ...READING, page: 'offering', nothing: 'idle' },
  offering: { ...NEVER, ...READING, taken: 'reading' },
  idle: { ...NEVER, ...READING, due: 'reading' },
  throttled: { ...NEVER, ...READING, due: 'anchoring' },
  retrying: { ...NEVER, ...READING, due: 'anchoring' },
  // A handler that fails here has acknowledged nothing, and the stored position is before its changes: they come again.
  flushing: { ...NEVER, ...READING, failed: 'flushing', gone: 'flushing', halted: 'flushing', flushed: 'split' },
  draining: { ...NEVER, ...READING, failed: 'draining', gone: 'draining', stop: 'draining', flushed: 'ended' },
  yielding: {
    ...NEVER,
    failed: 'yielding',
    gone: 'yielding',
    halted: 'yielding',
    stop: 'yielding',
    'taken-away': 'yielding',
    flushed: 'lost',
    lost: 'lost',
  },
  split: NEVER,
  ended: NEVER,
  lost: NEVER,
} as const satisfies Record<State, Record<Event, Next>>;

/** @throws MillraceError `impossible-transition`: a defect of this code, never of the service */
export function nextState(state: State, event: Event): State {
  const next: Next = TRANSITIONS[state][event];
  if (next === 'impossible')
    throw feedError('impossible-transition', `The supervisor of a lease got the event '${event}' in state '${state}'`);
  return next;
}

export const isTerminal = (state: State): state is Terminal =>
  state === 'split' || state === 'ended' || state === 'lost';
