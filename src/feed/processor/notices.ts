import { emit } from '../../base/telemetry/diagnostics.ts';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { type FailureKind, failureOf } from '../../cosmos/failure.ts';
import { FULL_RANGE, type FeedRange } from '../../cosmos/ranges.ts';
import { type Lease, LeaseStalled } from '../leases/lease.ts';
import type { Change, Page } from '../reading/change.ts';
import { Halt } from '../tenure/page-handler.ts';
import type { TenureListener } from '../tenure/listener.ts';
import type { Terminal } from '../tenure/states.ts';

/** Where a failure happened. */
export interface ErrorContext {
  /**
   * `feed`: reading, storing a position, or a lease that was given up because a call hung. `leases`: listing, taking or
   * creating leases.
   */
  readonly part: 'handler' | 'feed' | 'leases';
  readonly container: string;
  /** Undefined where the failure doesn't belong to one lease. */
  readonly leaseToken: string | undefined;
  readonly range: FeedRange | undefined;
}

export interface AcquiredLease {
  readonly leaseToken: string;
  readonly range: FeedRange;
  /** The stored position; undefined where none is stored yet. */
  readonly position: string | undefined;
}

export interface ReleasedLease extends AcquiredLease {
  /** `stopped`: this host stops. `split`: leases of its parts replace it. `lost`: another host has it, or this one gave it up. */
  readonly reason: 'stopped' | 'split' | 'lost';
  /** A text for people; programs use `reason`. */
  readonly why: string;
}

/**
 * Functions that a processor calls, besides its handler. It awaits none of them. If one throws, Millrace publishes
 * `millrace:callback:failed` and continues.
 */
export interface Callbacks {
  /**
   * Called for each failure: of the handler, of reading, or of the work on leases. Millrace retries after each of them,
   * except `handler-halted`. Without `onError` Millrace warns by `process.emitWarning`.
   */
  readonly onError?: (error: unknown, context: ErrorContext) => Promise<void> | void;
  /** Called when this host has taken a lease. */
  readonly onAcquired?: (lease: AcquiredLease) => Promise<void> | void;
  /** Called when this host has given a lease up, or has lost it. */
  readonly onReleased?: (lease: ReleasedLease) => Promise<void> | void;
}

/** The codes of the warnings, by the part that failed. */
const CODES = {
  handler: 'MILLRACE_HANDLER_FAILED',
  feed: 'MILLRACE_FEED_FAILED',
  leases: 'MILLRACE_LEASES_FAILED',
} as const;
const REASONS = { ended: 'stopped', split: 'split', lost: 'lost' } as const satisfies Record<Terminal, string>;
/** Retrying solves these failures, so Millrace doesn't warn of them. */
const PASSING: ReadonlySet<FailureKind> = new Set(['throttled', 'unreachable', 'ambiguous', 'gone']);

/**
 * Calls the user's callbacks. Without `onError` it warns by `process.emitWarning` instead: once for each lease,
 * until it succeeds or is released. So a handler that always fails is visible, and the log isn't flooded.
 */
export class Notices implements TenureListener {
  readonly #container: string;
  readonly #callbacks: Callbacks;
  readonly #pages: boolean;
  /** By lease token, the last reported error. A supervisor reports the handler's error a second time; that call is ignored. */
  readonly #reported = new Map<string, unknown>();
  /** Leases with a warning about the handler, by token; the value is the first change of the failed page. */
  readonly #handlerWarnings = new Map<string, Pick<Change, 'key' | 'id'> | undefined>();
  /** Warnings about other failures, by lease token and error code. The value is the lease token. */
  readonly #otherWarnings = new Map<string, string | undefined>();

  /** `pages`: the handler gets a lease's pages one after the other. */
  constructor(container: string, callbacks: Callbacks, pages: boolean) {
    this.#container = container;
    this.#callbacks = callbacks;
    this.#pages = pages;
  }

  acquired({ token: leaseToken, range, position }: Lease): void {
    this.#call('onAcquired', (onAcquired) => onAcquired({ leaseToken, range, position }));
  }

  released({ token: leaseToken, range, position }: Lease, ending: Terminal, why: string): void {
    this.#forget(leaseToken);
    const reason = REASONS[ending];
    this.#call('onReleased', (onReleased) => onReleased({ leaseToken, range, position, reason, why }));
  }

  failed(error: unknown, lease?: Lease): void {
    if (lease && this.#reported.get(lease.token) === error) return;
    const part = lease ? 'feed' : 'leases';
    this.#report(error, { part, leaseToken: lease?.token, range: lease?.range });
    if (!needsPerson(error)) return;
    const { token } = lease ?? {};
    const failure = `${token ?? ''} ${codeOf(error)}`;
    if (this.#otherWarnings.has(failure)) return;
    this.#otherWarnings.set(failure, token);
    const what = lease
      ? `The feed of ${this.#container} failed on lease ${lease.token}`
      : `The work on the leases of ${this.#container} failed`;
    this.#warn(part, what, error, 'Millrace retries');
  }

  /** The handler threw; the failure policy may call it again. */
  handlerThrew(error: unknown, leaseToken: string, range: FeedRange = FULL_RANGE): void {
    this.#reported.set(leaseToken, error);
    this.#report(error, { part: 'handler', leaseToken, range });
  }

  /** The failure policy has given up. The changes are delivered again, or the processor stops. */
  handlingFailed(error: unknown, leaseToken: string, { changes, range }: Page): void {
    if (this.#reported.get(leaseToken) !== error) this.handlerThrew(error, leaseToken, range);
    if (this.#handlerWarnings.has(leaseToken)) return;
    this.#handlerWarnings.set(leaseToken, changes[0]);
    const what = `The handler of ${this.#container} failed on lease ${leaseToken}`;
    if (error instanceof Halt) this.#warn('handler', what, error.cause, 'The processor stops');
    else this.#warn('handler', what, error, 'Millrace delivers the changes again until it succeeds');
  }

  handled(leaseToken: string, changes: readonly Change[]): void {
    this.#forgetOthers(leaseToken);
    if (!this.#handlerWarnings.has(leaseToken)) return;
    // Without page order, other changes succeed while the failed ones are delivered again and again.
    const first = this.#handlerWarnings.get(leaseToken);
    if (this.#pages || changes.some((change) => isSame(change, first))) this.#forget(leaseToken);
  }

  #forget(leaseToken: string): void {
    this.#reported.delete(leaseToken);
    this.#handlerWarnings.delete(leaseToken);
    this.#forgetOthers(leaseToken);
  }

  #forgetOthers(leaseToken: string): void {
    for (const [failure, token] of this.#otherWarnings) if (token === leaseToken) this.#otherWarnings.delete(failure);
  }

  #report(error: unknown, where: Omit<ErrorContext, 'container'>): void {
    this.#call('onError', (onError) => onError(error, { ...where, container: this.#container }));
  }

  #call<N extends keyof Callbacks>(name: N, call: (callback: NonNullable<Callbacks[N]>) => Promise<void> | void): void {
    const callback = this.#callbacks[name];
    if (!callback) return;
    const failed = (error: unknown): void =>
      emit('callback:failed', { container: this.#container, callback: name, error });
    try {
      Promise.resolve(call(callback)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  #warn(part: ErrorContext['part'], what: string, error: unknown, then: string): void {
    if (this.#callbacks.onError) return;
    const detail = error instanceof Error && error.stack !== undefined ? { detail: error.stack } : {};
    const text = `${what}: ${messageOf(error).replace(/\.$/, '')}. ${then}. Set the option onError to get every failure.`;
    process.emitWarning(text, { type: 'MillraceWarning', code: CODES[part], ...detail });
  }
}

const isSame = (a: Change, b: Pick<Change, 'key' | 'id'> | undefined): boolean =>
  b !== undefined && a.id === b.id && JSON.stringify(a.key) === JSON.stringify(b.key);

/** Whether a person should look at a failure. After `LeaseStalled` the host takes the lease again, but a call may hang again. */
const needsPerson = (error: unknown): boolean =>
  error instanceof MillraceError
    ? !error.retryable || error instanceof LeaseStalled
    : !PASSING.has(failureOf(error).kind);

/** Identifies a failure that repeats. Its message can't: the service writes request ids into messages. */
const codeOf = (error: unknown): string => (error instanceof MillraceError ? error.code : failureOf(error).kind);
