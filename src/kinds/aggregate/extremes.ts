import { type Fold, queryContributions } from './step.ts';
import { extreme } from './measures.ts';

/**
 * The extreme of a group after a batch (AGG-G5). It queries the other contributions only if the batch removes the
 * current extreme and adds nothing that reaches it. The caller has read the aggregate's ETag before, so the condition of
 * its write holds only if the answer of the query is still right.
 */
export async function mergeExtremes(kind: 'min' | 'max', field: string, fold: Fold): Promise<number | null> {
  const { aggregate, replaced } = fold;
  const standing = numberOrNull(aggregate?.[field]);
  const added = replaced.flatMap(({ after }) => numberOf(after?.m[field]));
  const removed = replaced.flatMap(({ before }) => numberOf(before?.m[field]));
  const candidates = standing === null ? added : [...added, standing];
  if (standing === null || !removed.includes(standing)) return candidates.length > 0 ? extreme(kind, candidates) : null;
  // The batch adds a value at least as extreme, so the other contributions don't matter.
  if (added.length > 0 && extreme(kind, candidates) === extreme(kind, added)) return extreme(kind, added);
  const others = await bestOfOthers(kind, field, fold);
  return [...added, ...others].length > 0 ? extreme(kind, [...added, ...others]) : null;
}

/** The best stored contributions, one more than the batch has: at least one is not of the batch, if there is one. */
async function bestOfOthers(kind: 'min' | 'max', field: string, fold: Fold): Promise<number[]> {
  const found = await queryContributions<{ id: string; v: number }>(fold, {
    path: [field],
    select: (value) => `TOP ${fold.replaced.length + 1} c.id, ${value} AS v`,
    order: kind === 'min' ? 'ASC' : 'DESC',
  });
  return found.map(({ v }) => v);
}

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);
const numberOf = (value: unknown): number[] => (typeof value === 'number' ? [value] : []);
