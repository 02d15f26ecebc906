import { MillraceError, messageOf } from '../base/errors.ts';

/** An error as other programs get it, without a stack. */
export interface DescribedError {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

export const describeError = (error: unknown): DescribedError =>
  error instanceof MillraceError
    ? { code: error.code, message: error.message, ...(error.hint === undefined ? {} : { hint: error.hint }) }
    : { code: 'unexpected', message: messageOf(error) };
