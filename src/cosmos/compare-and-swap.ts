import type { Container } from '@azure/cosmos';
import { systemClock } from '../base/clock.ts';
import { canonical } from '../base/json.ts';
import { failureOf } from './failure.ts';
import { readItem } from './read-item.ts';
import { AmbiguousOutcome, type RetryOptions, withRetry } from './retry.ts';
import { withoutSystemFields } from './system-fields.ts';

/** Pause before reading again, after a read that may be older than a write. */
const STALE_MS = 50;

type Stored<T> = T & { readonly _etag: string };

export interface Rewritten<T, R> {
  /** The document that `decide` got; undefined: there was none. */
  readonly before: Stored<T> | undefined;
  readonly after: R;
}

/**
 * Reads a document, calls `decide`, and writes its result on the condition that the document did not change since the
 * read. Repeats all of it when another writer was faster, or when the read was older than a write (ASM-A3). `decide` is
 * called each time, and may throw to refuse. If it returns the document that it got, nothing is written; undefined deletes
 * the document; anything else replaces it. After an unknown outcome (ASM-A5) a stored document that equals the sent one
 * counts as written. If another writer has replaced it since, `decide` gets a document that already holds its own change.
 * @throws FormatUnreadable before it writes over a document that this version can't read
 */
export async function rewrite<T extends object, R extends object | undefined>(
  container: Container,
  { id, pk }: { readonly id: string; readonly pk: string },
  decide: (stored: Stored<T> | undefined) => R | Promise<R>,
  retry: Omit<RetryOptions, 'reads'> = {},
): Promise<Rewritten<T, R>> {
  const item = container.item(id, pk);
  const unsure: Rewritten<T, R>[] = [];
  for (let tries = 1; ; tries++) {
    const before: Stored<T> | undefined = await readItem<Stored<T>>(item, retry);
    const done = unsure.find(({ after }) => isSame(before, after));
    if (done) return done;
    const after = await decide(before);
    if (after === before) return { before, after };
    const options = before && { accessCondition: { type: 'IfMatch', condition: before._etag } };
    const write = (): Promise<unknown> => {
      if (!after) return item.delete(options);
      return before ? item.replace<object>(after, options) : container.items.create<object>(after);
    };
    try {
      await withRetry(write, { ...retry, reads: false });
      return { before, after };
    } catch (error) {
      const { kind } = failureOf(error);
      if (error instanceof AmbiguousOutcome) unsure.push({ before, after });
      // 404 on an existing document: another writer deleted it. 404 on a create: the container is missing.
      else if (kind !== 'precondition' && kind !== 'conflict' && !(kind === 'not-found' && before)) throw error;
    }
    if (tries > 1) await (retry.clock ?? systemClock).sleep(STALE_MS, retry.signal);
  }
}

/** Whether the stored document equals the sent one. */
function isSame(stored: object | undefined, sent: object | undefined): boolean {
  if (!stored || !sent) return stored === sent;
  return canonical(withoutSystemFields(stored)) === canonical(withoutSystemFields(sent));
}
