import { type Fold, type Kept, type KeptRow, askContributions } from './step.ts';
import { type TopPart, type Values, byRank } from './measures.ts';

/**
 * The best rows of a group after a batch, and some more (R6). What is kept are always the first of all rows of the
 * group: a newcomer enters only above the last one kept, unless all are kept. Only once fewer than `n` are left and
 * others exist are the contributions asked.
 */
export async function mergeTop(n: number, field: string, fold: Fold): Promise<Kept> {
  const known = fold.own?.kept?.[field] ?? { rows: [], all: true };
  const inBatch = new Set(fold.replaced.map(({ id }) => id));
  const stay = known.rows.filter(({ c }) => !inBatch.has(c));
  const added = fold.replaced.flatMap(({ id, after }) => rowsOf(id, after, field));
  const floor = known.all ? undefined : known.rows.at(-1);
  const enter = floor === undefined ? added : added.filter((row) => rank(row, floor) <= 0);
  const rows = [...stay, ...enter].toSorted(rank);
  if (known.all || rows.length >= n) return cut(rows, n, known.all);
  return askAnew(n, field, fold, added);
}

/** One row more than shown for each shown: asking anew is then rare. */
const cut = (rows: readonly KeptRow[], n: number, all: boolean): Kept => ({
  rows: rows.slice(0, 2 * n),
  all: all && rows.length <= 2 * n,
});

/**
 * From the contributions themselves: the `2n` whose best row is best hold the `2n` best rows, for each row has its own
 * contribution's best above it. All with the last one's best are asked for, so that equals aren't cut at random.
 */
async function askAnew(n: number, field: string, fold: Fold, added: readonly KeptRow[]): Promise<Kept> {
  const most = 2 * n;
  const leaders = await askContributions<{ id: string; v: number }>(fold, {
    path: [field, 'best'],
    select: (value) => `TOP ${most + fold.replaced.length} c.id, ${value} AS v`,
    order: 'DESC',
  });
  const last = leaders[most - 1];
  const others = await askContributions<{ id: string; values: Values }>(fold, {
    path: [field, 'best'],
    select: () => 'c.id, c["values"]',
    ...(last ? { atLeast: last.v } : {}),
  });
  const rows = [...added, ...others.flatMap(({ id, values }) => rowsOf(id, values, field))].toSorted(rank);
  return cut(rows, n, last === undefined);
}

const rowsOf = (c: string, values: Values | null, field: string): KeptRow[] =>
  ((values?.m[field] as TopPart | undefined)?.rows ?? []).map((row) => ({ c, ...row }));

/** By rank; rows that are equal to a reader still have an order, by their contribution. */
const rank = (a: KeptRow, b: KeptRow): number => byRank(a, b) || (a.c < b.c ? -1 : Number(a.c > b.c));
