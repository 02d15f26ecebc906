import { systemClock } from '../base/clock.ts';
import { sharedError } from '../base/shared-errors.ts';
import type { Key } from '../feed/reading/change.ts';
import type { DocumentAccess, SinkDocument } from './document-access.ts';

/** Conditional writes that may fail in a row. Others must be making progress then, so the page is read again. */
const PATIENCE = 50;

export interface ChangedDocument {
  readonly container: string;
  readonly key: Key;
  readonly id: string;
  /** For messages, with a capital letter. */
  readonly what: string;
  /** What is thrown if the container will never accept what was decided; undefined: nothing. */
  readonly refused: (why: string) => Error | undefined;
}

/**
 * Reads a document, decides, and writes what was decided on the condition that the document is as it was read. Repeats all
 * of it where another writer was faster, or where the outcome of the write is unknown: so `decide` must find its own change
 * in a stored document, and return undefined there. That keeps the document; anything else replaces or creates it. `decide`
 * may read more, and throws to refuse. `read`: instead of a read of the document; it may guess, because the condition says
 * whether it is right. Resolves with the new ETag; undefined: nothing was written.
 * @throws MillraceError retryable `contended`
 */
export async function changeDocument<S extends { readonly _etag: string } = SinkDocument>(
  access: DocumentAccess,
  { container, key, id, what, refused }: ChangedDocument,
  decide: (stored: S | undefined) => object | undefined | Promise<object | undefined>,
  read: (first: boolean, stored: () => Promise<S | undefined>) => Promise<S | undefined> = (_, stored) => stored(),
): Promise<string | undefined> {
  const readStored = async () => (await access.read(container, key, [id]))[0] as unknown as S | undefined;
  let etag: string | undefined;
  await untilDone(what, async (first) => {
    const stored = await read(first, readStored);
    const body = await decide(stored);
    if (!body) return true;
    const answer = await access.commit(container, key, [
      stored ? { op: 'replace', id, body, ifMatch: stored._etag } : { op: 'create', id, body },
    ]);
    const refusal = answer.kind === 'refused' ? refused(answer.why) : undefined;
    if (refusal) throw refusal;
    if (answer.kind === 'done') etag = answer.etags[0] ?? '';
    return answer.kind !== 'conflict';
  });
  return etag;
}

/**
 * Repeats `attempt` until it returns true. A condition of its write failed before, so each repetition reads and decides
 * again. From the third attempt on it waits a little, so that hosts that write to one group don't starve each other.
 * @throws MillraceError retryable `contended`
 */
export async function untilDone(what: string, attempt: (first: boolean) => Promise<boolean>): Promise<void> {
  for (let tries = 1; tries <= PATIENCE; tries++) {
    if (await attempt(tries === 1)) return;
    if (tries > 2) await systemClock.sleep(Math.random() * Math.min(200, 2 ** Math.min(tries, 8)));
  }
  throw sharedError('contended', `${what}: other writers changed it ${PATIENCE} times in a row`);
}
