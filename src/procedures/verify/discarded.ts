// Dead letters that a person has discarded. No letter is left that says why a document isn't as it is recomputed.
import type { Container } from '@azure/cosmos';
import { fetchList } from '../../cosmos/fetch-all.ts';
import { plural } from '../table.ts';
import { countBy } from './not-compared.ts';

/** From the audit: the number of discarded letters of each of the projections. */
export async function readDiscarded(
  state: Container,
  projections: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Record<string, number>> {
  const query =
    "SELECT VALUE letter.projection FROM c JOIN letter IN c.result.discarded WHERE c.kept AND c.verb = 'dead-letters discard'";
  const options = { partitionKey: 'runs', anyFormat: true };
  const names = await fetchList<string>(state, query, signal, options);
  return countBy(names.filter((name) => projections.has(name)));
}

export const sayDiscarded = (discarded: Readonly<Record<string, number>> = {}): string[] =>
  Object.entries(discarded).map(
    ([projection, count]) =>
      `  Discarded by hand: ${plural(count, 'dead letter')} of ${projection}. What such a change would have written is missing or old. \`millrace audit\` says who and why.`,
  );
