import { type Fold, queryContributions } from './query-contributions.ts';
import { type Extreme, type Ordered, extreme } from '../../pipeline/builders/measures.ts';

/**
 * The extreme of a group after a batch (AGG-G5). It queries the other contributions only if the batch removes the
 * current extreme and adds nothing that reaches it. The caller has read the aggregate's ETag before, so the condition of
 * its write holds only if the answer of the query is still right.
 */
export async function mergeExtremes(which: Extreme, field: string, fold: Fold): Promise<Ordered | null> {
  const { aggregate, replaced } = fold;
  const standing = orderedOrNull(aggregate?.[field]);
  const added = replaced.flatMap(({ after }) => orderedOf(after?.m[field]));
  const removed = replaced.flatMap(({ before }) => orderedOf(before?.m[field]));
  const candidates = standing === null ? added : [...added, standing];
  if (standing === null || !removed.includes(standing))
    return candidates.length > 0 ? extreme(which, candidates) : null;
  // The batch adds a value at least as extreme, so the other contributions don't matter.
  if (added.length > 0 && extreme(which, candidates) === extreme(which, added)) return extreme(which, added);
  const others = await bestOfOthers(which, field, fold);
  return [...added, ...others].length > 0 ? extreme(which, [...added, ...others]) : null;
}

/** The best stored contributions, one more than the batch has: at least one is not of the batch, if there is one. */
async function bestOfOthers(which: Extreme, field: string, fold: Fold): Promise<Ordered[]> {
  const found = await queryContributions<{ id: string; v: Ordered }>(fold, {
    path: [field],
    select: (value) => `TOP ${fold.replaced.length + 1} c.id, ${value} AS v`,
    order: which === 'least' ? 'ASC' : 'DESC',
  });
  return found.map(({ v }) => v);
}

const isOrdered = (value: unknown): value is Ordered => typeof value === 'number' || typeof value === 'string';
const orderedOrNull = (value: unknown): Ordered | null => (isOrdered(value) ? value : null);
const orderedOf = (value: unknown): Ordered[] => (isOrdered(value) ? [value] : []);
