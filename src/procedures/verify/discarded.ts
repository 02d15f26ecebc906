// Dead letters that a person has discarded. No letter is left that says why a document isn't as it is recomputed.
import type { Container } from '@azure/cosmos';
import { fetchList } from '../../cosmos/fetch-all.ts';
import { plural } from '../table.ts';
import { countBy } from './not-compared.ts';

/** By `name@version` of a projection that differs. Absent: none. */
export interface Discarded {
  readonly discarded?: Readonly<Record<string, number>> | undefined;
}

/** From the audit: the number of discarded letters of each of the projections that differ. */
export async function readDiscarded(
  state: Container,
  differing: Iterable<string>,
  signal: AbortSignal,
): Promise<Discarded> {
  const projections = new Set(differing);
  if (projections.size === 0) return {};
  const query =
    "SELECT VALUE letter.projection FROM c JOIN letter IN c.result.discarded WHERE c.kept AND c.verb = 'dead-letters discard'";
  const options = { partitionKey: 'runs', anyFormat: true };
  const names = await fetchList<string>(state, query, signal, options);
  const discarded = countBy(names.filter((name) => projections.has(name)));
  return Object.keys(discarded).length > 0 ? { discarded } : {};
}

export const sayDiscarded = ({ discarded = {} }: Discarded): string[] =>
  Object.entries(discarded).map(
    ([projection, count]) =>
      `  Discarded by hand: ${plural(count, 'dead letter')} of ${projection}. What such a change would have written is missing or old. \`millrace audit\` says who and why.`,
  );
