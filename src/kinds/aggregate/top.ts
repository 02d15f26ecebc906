import { type Fold, type KeptMeasure, type KeptRow, queryContributions } from './query-contributions.ts';
import { type TopPart, byRank } from '../../pipeline/builders/measures.ts';
import type { Values } from './contribution-values.ts';

/**
 * The best rows of a group after a batch, and some more (AGG-G9). The kept rows are always the first of all rows of the
 * group: a new row enters only above the last kept one, unless all are kept. It queries the contributions only if fewer
 * than `n` rows are left and others exist.
 */
export async function mergeTop(n: number, field: string, fold: Fold): Promise<KeptMeasure> {
  const known = fold.own?.kept?.[field] ?? { rows: [], all: true };
  const inBatch = new Set(fold.replaced.map(({ id }) => id));
  const stay = known.rows.filter(({ c }) => !inBatch.has(c));
  const added = fold.replaced.flatMap(({ id, after }) => rowsOf(id, after, field));
  const floor = known.all ? undefined : known.rows.at(-1);
  const enter = floor === undefined ? added : added.filter((row) => rank(row, floor) <= 0);
  const rows = [...stay, ...enter].toSorted(rank);
  if (known.all || rows.length >= n) return cut(rows, n, known.all);
  return queryBest(n, field, fold, added);
}

/** Keeps one more row for each row that is shown, so that the contributions are rarely queried. */
const cut = (rows: readonly KeptRow[], n: number, all: boolean): KeptMeasure => ({
  rows: rows.slice(0, 2 * n),
  all: all && rows.length <= 2 * n,
});

/**
 * The best rows from the contributions themselves. Each row ranks below the best row of its own contribution, so the
 * `2n` contributions with the best rows contain the `2n` best rows. All contributions whose best equals that of the last
 * are included, so that the cut between equals isn't random.
 */
async function queryBest(n: number, field: string, fold: Fold, added: readonly KeptRow[]): Promise<KeptMeasure> {
  const most = 2 * n;
  const leaders = await queryContributions<{ id: string; v: number }>(fold, {
    path: [field, 'best'],
    select: (value) => `TOP ${most + fold.replaced.length} c.id, ${value} AS v`,
    order: 'DESC',
  });
  const last = leaders[most - 1];
  const others = await queryContributions<{ id: string; values: Values }>(fold, {
    path: [field, 'best'],
    select: () => 'c.id, c["values"]',
    ...(last ? { atLeast: last.v } : {}),
  });
  const rows = [...added, ...others.flatMap(({ id, values }) => rowsOf(id, values, field))].toSorted(rank);
  return cut(rows, n, last === undefined);
}

const rowsOf = (c: string, values: Values | null, field: string): KeptRow[] =>
  ((values?.m[field] as TopPart | undefined)?.rows ?? []).map((row) => ({ c, ...row }));

/** Sorts rows by rank. Rows that look equal to a reader are sorted by their contribution. */
const rank = (a: KeptRow, b: KeptRow): number => byRank(a, b) || (a.c < b.c ? -1 : Number(a.c > b.c));
