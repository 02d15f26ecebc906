import { MillraceError } from '../../base/errors.ts';
import type { Grant } from '../../cosmos/budget.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import type { Change, Page } from '../reading/change.ts';
import type { Fence } from './fence.ts';

/**
 * Handles changes of one range: a whole page, or with an `order` those of one order value. Resolves when every change is
 * durable or parked (or, acknowledging by hand, when all are taken on); rejects where they are to be read again. A fence
 * says until when it may act. @throws Halt to stop the host
 */
export type Handle = (page: Page, fence: Fence, tenure: Tenure) => Promise<void>;

/** A budget's leave to read a page of a range. */
export type TakeForReading = (range: FeedRange, signal: AbortSignal) => Promise<Grant>;

/** What a handler may ask of the tenure that its changes came in. */
export interface Tenure {
  /** The lease's token. */
  readonly token: string;
  /** These are durable or parked (L2); a tenure that is over takes no notice. */
  acknowledge(changes: readonly Change[]): void;
  /**
   * Part of this call's work is durable: `stallMs` counts from now (L8). To be called only where a repetition of the call
   * has less to do by it. Acknowledging says the same.
   */
  progress(): void;
  /** Resolves when the low watermark is stored as it is now. @throws LeaseLost */
  settled(): Promise<void>;
  /** Resolves when a write has confirmed that the lease is this tenure's. @throws LeaseLost */
  confirm(): Promise<void>;
}

/** A handler took longer than `handlerTimeoutMs`; the reason of its signal. */
export class HandlerTimeout extends MillraceError<'handler-timeout'> {
  constructor(ms: number) {
    super('handler-timeout', `The handler took longer than ${ms} ms`, {
      retryable: true,
      mend: 'Raise handlerTimeoutMs, or lower maxItems, so that a page takes less time.',
    });
  }
}

/** A handler's last word: whatever reads on would only fail again. The host stops as if it had been asked to. */
export class Halt extends MillraceError<'handler-halted'> {
  constructor(why: string, cause: unknown) {
    super('handler-halted', why, { cause, mend: 'Mend the handler, or park such changes, and start the host again.' });
  }
}
