import { MillraceError, messageOf } from '../../base/errors.ts';
import { archiveError } from '../errors.ts';

/** The error of a live host that can't use the storage account: the page is read again, and no change is parked. */
export const unavailable = (cause: unknown, what: string): MillraceError => {
  const hint = cause instanceof MillraceError ? cause.hint : undefined;
  const message = `${what}: ${messageOf(cause)}`;
  return archiveError('archive-unavailable', message, { cause, ...(hint === undefined ? {} : { hint }) });
};
