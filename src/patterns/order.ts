import { valueAtPath } from '../cosmos/paths.ts';
import { sharedError } from '../base/shared-errors.ts';

/** One term of an ORDER BY. */
export interface OrderTerm {
  /** Such as `/placedAt` or `/address/city`. */
  readonly path: string;
  readonly descending?: boolean;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * `c["placedAt"] DESC, c["id"] ASC`
 * @throws UsageError `option-invalid`
 */
export function orderText(terms: readonly OrderTerm[]): string {
  if (terms.length === 0) throw sharedError('option-invalid', 'orderBy has no path');
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
  throw sharedError('option-invalid', `${JSON.stringify(path)} is not a path that orderBy takes`);
}

/** The values that a document is ordered by. Its form keeps undefined apart from null in JSON too. */
export type Rank = readonly { readonly value?: unknown }[];

export const rankOf = (document: unknown, terms: readonly OrderTerm[]): Rank =>
  terms.map(({ path }) => {
    const value = valueAtPath(document, path.split('/').slice(1));
    return value === undefined ? {} : { value };
  });

/** The order of Cosmos DB: first by type (ASM-E21), then by value; all arrays are equal, and so are all objects. */
export function compareRanks(a: Rank, b: Rank, terms: readonly OrderTerm[]): number {
  for (const [index, { descending = false }] of terms.entries()) {
    const order = compareValues(a[index]?.value, b[index]?.value);
    if (order !== 0) return descending ? -order : order;
  }
  return 0;
}

/** The same for two values. */
export function compareValues(a: unknown, b: unknown): number {
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
