import { sharedError } from '../../base/shared-errors.ts';
import { MillraceError, messageOf } from '../../base/errors.ts';

/** The error of a live host that can't use the storage account: the page is read again, and no change is parked. */
export const unavailable = (cause: unknown, what: string): MillraceError => {
  const hint = cause instanceof MillraceError ? cause.hint : undefined;
  const message = `${what}: ${messageOf(cause)}`;
  return sharedError('unavailable', message, { cause, ...(hint === undefined ? {} : { hint }) });
};
