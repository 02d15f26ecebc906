import { canonical, isObject } from '../../base/json.ts';
import type { Doc } from '../../pipeline/specs.ts';
import type { Derived } from './own-part.ts';

export interface Difference {
  readonly projections: readonly string[];
  readonly container: string;
  /** The sink document's key values and id, as canonical JSON. */
  readonly document: string;
  readonly kind: 'missing' | 'unexpected' | 'different';
  /** Top-level fields that differ. */
  readonly fields: readonly string[];
  readonly expected?: Doc;
  readonly found?: Doc;
  /** What is declared and isn't so. */
  readonly why?: string;
  /** Of a comparison with another copy: since when it is so. ISO 8601 UTC. */
  readonly since?: string;
}

export const notStable = (projection: string, source: string): string =>
  `${projection} is declared \`stable\`, but ${source} has left this place; declare a new version without it`;

/** A difference with its evidence. If the same evidence is found again later, no write was on its way. */
export type Candidate = Difference & {
  readonly evidence: string;
  /** The projection and source of the expected document; absent if none is expected. */
  readonly derived?: Derived;
  /** Of a row in a table, whose key has no container: whose it is, as `Change.tenant` has it. */
  readonly tenant?: string;
};

/** The smallest values that differ, with their paths: of a row or a nested document the one column, not the whole. */
export function innermost(
  expected: unknown,
  found: unknown,
  path: string,
): (readonly [path: string, expected: unknown, found: unknown])[] {
  if (canonical(expected) === canonical(found)) return [];
  if (Array.isArray(expected) && Array.isArray(found) && expected.length === found.length)
    return expected.flatMap((element: unknown, at) => innermost(element, found[at], `${path}.${at}`));
  if (!isObject(expected) || !isObject(found)) return [[path, expected, found]];
  const names = [...new Set([...Object.keys(expected), ...Object.keys(found)])];
  return names.flatMap((name) => innermost(expected[name], found[name], `${path}.${name}`));
}
