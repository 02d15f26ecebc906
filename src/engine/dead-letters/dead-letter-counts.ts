import type { Container } from '@azure/cosmos';
import { withRetry } from '../../cosmos/retry.ts';

export interface LetterCount {
  /** `name@version`. */
  readonly projection: string;
  readonly count: number;
  /** When the oldest letter was first parked. ISO 8601 UTC. */
  readonly since: string;
}

/** The number and the age of the dead letters of each projection that has any. Reads two fields of each letter. */
export async function countLetters(state: Container): Promise<LetterCount[]> {
  const query = "SELECT c.projection, c.firstAt FROM c WHERE c.kind = 'dead-letter'";
  const { resources } = await withRetry(
    () => state.items.query<{ projection: string; firstAt: string }>(query).fetchAll(),
    { reads: true },
  );
  return letterCountsOf(resources);
}

/** The number of all dead letters. Reads none of them, so it costs the same for many. */
export async function numberOfLetters(state: Container): Promise<number> {
  const query = "SELECT VALUE COUNT(1) FROM c WHERE c.kind = 'dead-letter'";
  const { resources } = await withRetry(() => state.items.query<number>(query).fetchAll(), { reads: true });
  return resources.reduce((total, of) => total + of, 0);
}

export const letterCountsOf = (
  letters: readonly { readonly projection: string; readonly firstAt: string }[],
): LetterCount[] =>
  [...Map.groupBy(letters, ({ projection }) => projection)].map(([projection, of]) => ({
    projection,
    count: of.length,
    since: of.reduce((oldest, { firstAt }) => (firstAt < oldest ? firstAt : oldest), of[0]?.firstAt ?? ''),
  }));
