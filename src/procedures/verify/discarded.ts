// Dead letters that a person has discarded. No letter is left that says why a document isn't as it is recomputed.
import type { Container } from '@azure/cosmos';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { plural } from '../table.ts';

/** Of one projection. */
export interface DiscardedLetters {
  readonly projection: string;
  readonly letters: number;
  /** When the last was discarded. ISO 8601 UTC. */
  readonly last: string;
}

interface Discard {
  readonly at: string;
  readonly discarded?: readonly { readonly projection: string }[];
}

/** From the audit: the discarded letters of each of the projections. */
export async function readDiscarded(
  state: Container,
  projections: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<DiscardedLetters[]> {
  const query =
    "SELECT c.at, c.result.discarded FROM c WHERE c.kept AND c.verb = 'dead-letters discard' AND c.outcome = 'done' ORDER BY c.id";
  const found = new Map<string, DiscardedLetters>();
  for await (const { at, discarded = [] } of fetchAll<Discard>(state, query, signal, { partitionKey: 'runs' }))
    for (const { projection } of discarded)
      if (projections.has(projection))
        found.set(projection, { projection, letters: (found.get(projection)?.letters ?? 0) + 1, last: at });
  return [...found.values()];
}

export const sayDiscarded = (discarded: readonly DiscardedLetters[] = []): string[] =>
  discarded.map(
    ({ projection, letters, last }) =>
      `  Discarded by hand: ${plural(letters, 'dead letter')} of ${projection}, the last ${last.slice(0, 19)}Z. What such a change would have written is missing or old. \`millrace audit\` says who and why.`,
  );
