import { MillraceError } from '../../base/errors.ts';

/**
 * What a supervisor, which looks after one lease for one tenure, is doing. Handlers run beside all of these but the first
 * and the last three: see window.ts.
 */
export type State =
  /** Its lease was taken from an owner who may still act: waits until that one has answered, or can't act any longer. */
  | 'awaiting'
  /** Turns the start (now, a time, a checkpoint) into a stored position, where the lease has none. */
  | 'anchoring'
  /** Waits for the page after the last one it read. */
  | 'reading'
  /** Has a page that the window has no room for yet. */
  | 'offering'
  /** Found nothing new, and waits for the poll delay. */
  | 'idle'
  /** The service asked for patience: waits, and keeps the lease and whatever is being handled. */
  | 'throttled'
  /** A read or a handler failed: waits for running handlers, drops what was read, and begins at the low watermark. */
  | 'retrying'
  /** The range is no longer one partition: lets handlers end and stores the low watermark before the lease is split. */
  | 'settling'
  /** Was asked to stop: the same, before the lease is offered to others. */
  | 'draining'
  /** Its lease was taken by another host, which waits: lets handlers end, and answers with the low watermark. */
  | 'yielding'
  /** Its lease is to be replaced by leases of its parts. */
  | 'split'
  /** Its lease is to be offered to others. */
  | 'ended'
  /** Its lease is somebody else's, or was given up: nothing more is started or written. */
  | 'lost';

export type Event =
  /** Whoever had the lease before acts no more. */
  | 'alone'
  /** There is a position to read from. */
  | 'anchored'
  | 'page'
  /** The window took the page. */
  | 'taken'
  /** The feed has nothing after the position. */
  | 'nothing'
  /** A wait is over. */
  | 'due'
  | 'throttled'
  /** A read, a handler or a lease write failed, and may succeed later. */
  | 'failed'
  /** 410, or narrower leases were found inside this one. */
  | 'gone'
  /** The handler's failure policy says: stop. */
  | 'halted'
  /** This host was asked to stop. */
  | 'stop'
  /** Another host took the lease, and waits for an answer. */
  | 'taken-away'
  /** Nothing is being handled, and what was acknowledged is stored. */
  | 'settled'
  | 'lost';

export type Terminal = 'split' | 'ended' | 'lost';
type Next = State | 'impossible';

/** What may happen in any state in which the feed is read. */
const READING = {
  throttled: 'throttled',
  failed: 'retrying',
  gone: 'settling',
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
  settled: 'impossible',
  lost: 'impossible',
} as const satisfies Record<Event, Next>;

/** Every event in every state; the supervisor moves by this table alone. */
export const TRANSITIONS = {
  // What is to be split is split by its one owner.
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
  // A handler that fails now has acknowledged nothing, and the stored position says so: it is done again by whoever goes on.
  settling: { ...NEVER, ...READING, failed: 'settling', gone: 'settling', halted: 'settling', settled: 'split' },
  draining: { ...NEVER, ...READING, failed: 'draining', gone: 'draining', stop: 'draining', settled: 'ended' },
  yielding: {
    ...NEVER,
    failed: 'yielding',
    gone: 'yielding',
    halted: 'yielding',
    stop: 'yielding',
    'taken-away': 'yielding',
    settled: 'lost',
    lost: 'lost',
  },
  split: NEVER,
  ended: NEVER,
  lost: NEVER,
} as const satisfies Record<State, Record<Event, Next>>;

/** @throws MillraceError `impossible-transition`: a fault of this code, never of the service's */
export function nextState(state: State, event: Event): State {
  const next: Next = TRANSITIONS[state][event];
  if (next === 'impossible')
    throw new MillraceError('impossible-transition', `A lease's supervisor can't have '${event}' while ${state}`);
  return next;
}

export const isTerminal = (state: State): state is Terminal =>
  state === 'split' || state === 'ended' || state === 'lost';
