// Compares the rows of two answers to one query.
import { canonical, isObject } from '../../base/json.ts';
import { ownFields } from '../../pipeline/oracle/recompute.ts';
import type { Query } from '../../model/query.ts';
import { valueAt } from '../../model/rules/facts.ts';

const plain = (row: unknown): unknown => (isObject(row) ? ownFields(row) : row);

/**
 * In words; undefined: the rows are equal. Rows that share the last rank of a limited list may be others of that rank: of
 * `all`, where it is known what the list would have without its limit.
 */
export function differenceOf(
  found: readonly unknown[],
  wanted: readonly unknown[],
  of: Query,
  all?: readonly unknown[],
): string | undefined {
  const ranks = (row: unknown): string => canonical(of.order.map(({ path }) => valueAt(row, path) ?? null));
  const ordered = of.order.length > 0;
  const limited = ordered && /\b(top|limit)\b/i.test(of.text);
  if (found.length !== wanted.length) {
    const [here, there] = [found, wanted].map((rows) => new Set(rows.map((row) => canonical(plain(row)))));
    const extra = found.find((row) => !there?.has(canonical(plain(row))));
    const lacking = wanted.find((row) => !here?.has(canonical(plain(row))));
    const odd = extra === undefined ? `missing ${short(lacking)}` : `unexpected ${short(extra)}`;
    return `${found.length} rows instead of ${wanted.length}; ${odd}`;
  }
  if (ordered) {
    const at = found.findIndex((row, index) => ranks(row) !== ranks(wanted[index]));
    if (at >= 0) return `row ${at + 1} is ${short(found[at])} instead of ${short(wanted[at])}`;
  }
  const last = limited ? ranks(wanted.at(-1)) : undefined;
  const rest = limited ? all?.filter((row) => ranks(row) === last) : [];
  const left = [...wanted.filter((row) => ranks(row) !== last), ...(rest ?? [])].map((row) => canonical(plain(row)));
  for (const row of found) {
    if (ranks(row) === last && rest === undefined) continue;
    const at = left.indexOf(canonical(plain(row)));
    if (at < 0) return `unexpected ${short(row)}${left[0] === undefined ? '' : `, missing ${cut(left[0])}`}`;
    left.splice(at, 1);
  }
  return undefined;
}

/** Characters of a row that a line has. */
const MOST = 200;
const cut = (text: string): string => (text.length > MOST ? `${text.slice(0, MOST - 1)}…` : text);
const short = (row: unknown): string => cut(canonical(plain(row)));
