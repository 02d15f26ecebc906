import { type Fold, askContributions } from './step.ts';
import { extreme } from './measures.ts';

/**
 * The extreme of a group after a batch (R6). Only where the standing extreme is taken back and nothing added reaches it
 * are the other contributions asked; the caller has read the aggregate's ETag before, so its condition makes sure that
 * what the query saw is still so.
 */
export async function mergeExtremes(kind: 'min' | 'max', field: string, fold: Fold): Promise<number | null> {
  const { aggregate, replaced } = fold;
  const standing = numberOrNull(aggregate?.[field]);
  const added = replaced.flatMap(({ after }) => numberOf(after?.m[field]));
  const removed = replaced.flatMap(({ before }) => numberOf(before?.m[field]));
  const candidates = standing === null ? added : [...added, standing];
  if (standing === null || !removed.includes(standing)) return candidates.length > 0 ? extreme(kind, candidates) : null;
  // Something at least as extreme came in with the same batch: the others can't matter.
  if (added.length > 0 && extreme(kind, candidates) === extreme(kind, added)) return extreme(kind, added);
  const others = await bestOfOthers(kind, field, fold);
  return [...added, ...others].length > 0 ? extreme(kind, [...added, ...others]) : null;
}

/** Enough of the best stored contributions that at least one of them is not in the batch, if there is such a one. */
async function bestOfOthers(kind: 'min' | 'max', field: string, fold: Fold): Promise<number[]> {
  const found = await askContributions<{ id: string; v: number }>(fold, {
    path: [field],
    select: (value) => `TOP ${fold.replaced.length + 1} c.id, ${value} AS v`,
    order: kind === 'min' ? 'ASC' : 'DESC',
  });
  return found.map(({ v }) => v);
}

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);
const numberOf = (value: unknown): number[] => (typeof value === 'number' ? [value] : []);
