import type { Container } from '@azure/cosmos';
import { systemClock } from '../base/clock.ts';
import { canonical } from '../base/json.ts';
import { failureOf } from './failure.ts';
import { AmbiguousOutcome, type RetryOptions, withRetry } from './retry.ts';
import { withoutSystemFields } from './system-fields.ts';

/** Until a read that was older than a write is asked for again. */
const STALE_MS = 50;

type Stored<T> = T & { readonly _etag: string };

export interface Rewritten<T, R> {
  /** As it was when it was decided on; undefined: it wasn't there. */
  readonly before: Stored<T> | undefined;
  readonly after: R;
}

/**
 * Reads a document, decides what it is to be, and writes that under the condition that it is still what was read; again
 * where somebody else was quicker, or a read was older than a write (A3). `decide` returns what it was given: it stays;
 * undefined: it goes; else what is stored in its place. It is called anew each time, and may throw to refuse. After an
 * unknown outcome (A5) what is stored is taken for ours where it is what was sent; where another has written over that,
 * `decide` is given what holds its own effect already.
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
    const { resource: before } = await withRetry(() => item.read<Stored<T>>(), { ...retry, reads: true });
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
      // Gone meanwhile; what can't be created lacks its container.
      else if (kind !== 'precondition' && kind !== 'conflict' && !(kind === 'not-found' && before)) throw error;
    }
    if (tries > 1) await (retry.clock ?? systemClock).sleep(STALE_MS, retry.signal);
  }
}

/** Whether what is stored is what was sent. */
function isSame(stored: object | undefined, sent: object | undefined): boolean {
  if (!stored || !sent) return stored === sent;
  return canonical(withoutSystemFields(stored)) === canonical(withoutSystemFields(sent));
}
