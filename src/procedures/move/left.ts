// What a move that failed leaves behind: nothing, if it had copied nothing. Otherwise the error says what stands, and which
// command ends it.
import { MillraceError, UsageError } from '../../base/errors.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import type { Moving } from './moving.ts';

/** The error of a move, with what the move has left. `cancel` ends the move, and removes what it has made. */
export async function leftBy(
  moving: Moving,
  error: unknown,
  cancel: (moving: Moving) => Promise<void>,
): Promise<unknown> {
  const { record, signal, map, from, to } = moving;
  // A move that was ended by hand is run again.
  if (!(error instanceof MillraceError) || error.code === 'overtaken' || signal.aborted) return error;
  const { id, keys, step, containers } = record.now;
  if (step === 'switched' || step === 'clearing')
    return saying(
      error,
      `The map gives ${keys} to ${shownLocation(to.shard.location)} already; the same command finishes.`,
    );
  if (step !== 'copying') return error;
  const hasCopied = Object.values(containers).some(({ positions }) => positions.length > 0);
  if (!hasCopied && !error.retryable) {
    const isCancelled = await cancel(moving).then(
      () => true,
      () => false,
    );
    if (isCancelled) return saying(error, `The move is cancelled, and nothing of it is left.`);
  }
  const left = hasCopied ? `, and ${shownLocation(to.shard.location)} has copies` : '';
  return saying(
    error,
    `The move ${id} stands: ${keys} is locked on ${shownLocation(from.shard.location)}${left}.`,
    leftEndingOf(map.name, id),
  );
}

/** The command that ends a move, as a hint. */
export const leftEndingOf = (map: string, id: string): string =>
  `To end the move: \`millrace shards moves ${map} --cancel ${id}\`.`;

/** The same error, with more in its message, and in its hint. */
export function saying(error: MillraceError, what: string, then = ''): MillraceError {
  const { code, message, hint = '', retryable } = error;
  const Kind = error instanceof UsageError ? UsageError : MillraceError;
  const said = /[.!?]$/.test(message) ? message : `${message}.`;
  const hints = [hint, then].filter((one) => one !== '').join(' ');
  return Kind.from(
    { code, message: `${said} ${what}`, ...(hints !== '' && { hint: hints }) },
    { cause: error, retryable },
  );
}
