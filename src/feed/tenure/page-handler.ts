import { MillraceError } from '../../base/errors.ts';
import type { Grant } from '../../cosmos/budget/limit.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import type { Change, Page } from '../reading/change.ts';
import type { Fence } from './fence.ts';
import { FEED_ERRORS } from '../errors.ts';

/**
 * Handles changes of one range: a whole page, or with an `order` the changes of one order value. Resolves when every change
 * is applied or parked (with manual acknowledgement: when all are accepted). Rejects if they must be read again. It may act
 * as long as `fence` allows.
 * @throws Halt to stop the host
 */
export type Handle = (page: Page, fence: Fence, tenure: Tenure) => Promise<void>;

/** Waits until the budget allows to read a page of a range. */
export type TakeForReading = (range: FeedRange, signal: AbortSignal) => Promise<Grant>;

/** The tenure in which the handler's changes were delivered: the part of it that a handler may use. */
export interface Tenure {
  /** The lease's token. */
  readonly token: string;
  /** The changes are applied or parked (PROC-L2). Has no effect after the tenure. */
  acknowledge(changes: readonly Change[]): void;
  /**
   * Part of this call's work is durable: `stallMs` counts from now again (PROC-L8). Call it only if a repetition of the
   * call would have less to do. `acknowledge` does the same.
   */
  progress(): void;
  /** Resolves when the present low watermark is stored. @throws LeaseLost */
  flush(): Promise<void>;
  /** Resolves when a write has confirmed that this tenure has the lease. @throws LeaseLost */
  confirm(): Promise<void>;
}

/** A handler took longer than `handlerTimeoutMs`. Also the reason of its aborted signal. */
export class HandlerTimeout extends MillraceError<'handler-timeout'> {
  constructor(ms: number) {
    super('handler-timeout', `The handler took longer than ${ms} ms`, FEED_ERRORS['handler-timeout']);
  }
}

/** A handler throws it to stop the host, because every later read would fail again. */
export class Halt extends MillraceError<'handler-halted'> {
  constructor(why: string, cause: unknown) {
    super('handler-halted', why, { ...FEED_ERRORS['handler-halted'], cause });
  }
}
