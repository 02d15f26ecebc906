import { UsageError } from '../base/errors.ts';
import { valueAt } from '../cosmos/paths.ts';

/** One term of an ORDER BY. */
export interface OrderTerm {
  /** Such as `/placedAt` or `/address/city`. */
  readonly path: string;
  readonly descending?: boolean;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * `c["placedAt"] DESC, c["id"] ASC`
 * @throws UsageError `order-invalid`
 */
export function orderText(terms: readonly OrderTerm[]): string {
  if (terms.length === 0) throw invalid('There is nothing to order by', "Give orderBy: [{ path: '/…' }].");
  return terms
    .map(({ path, descending = false }) => {
      const names = namesOf(path);
      return `c${names.map((name) => `["${name}"]`).join('')} ${descending ? 'DESC' : 'ASC'}`;
    })
    .join(', ');
}

function namesOf(path: string): string[] {
  const [first, ...names] = path.split('/');
  if (first === '' && names.length > 0 && names.every((name) => NAME.test(name))) return names;
  throw invalid(`${JSON.stringify(path)} is no path to order by`, 'Write it as /placedAt or /address/city.');
}

const invalid = (message: string, mend: string): UsageError => new UsageError('order-invalid', message, { mend });

/** The values that a document is ordered by. undefined is told from null, in JSON too. */
export type Rank = readonly { readonly value?: unknown }[];

export const rankOf = (document: unknown, terms: readonly OrderTerm[]): Rank =>
  terms.map(({ path }) => {
    const value = valueAt(document, path.split('/').slice(1));
    return value === undefined ? {} : { value };
  });

/** As Cosmos DB orders: first by type (E21), then by value; arrays and objects count as equal among themselves. */
export function compareRanks(a: Rank, b: Rank, terms: readonly OrderTerm[]): number {
  for (const [index, { descending = false }] of terms.entries()) {
    const order = compareValues(a[index]?.value, b[index]?.value);
    if (order !== 0) return descending ? -order : order;
  }
  return 0;
}

function compareValues(a: unknown, b: unknown): number {
  const kinds = kindOf(a) - kindOf(b);
  if (kinds !== 0) return kinds;
  if (typeof a === 'string' && typeof b === 'string') return a === b ? 0 : a < b ? -1 : 1;
  if ((typeof a === 'number' && typeof b === 'number') || (typeof a === 'boolean' && typeof b === 'boolean'))
    return Number(a) - Number(b);
  return 0;
}

function kindOf(value: unknown): number {
  if (value === undefined) return 0;
  if (value === null) return 1;
  if (Array.isArray(value)) return 5;
  return { boolean: 2, number: 3, string: 4 }[typeof value as string] ?? 6;
}
