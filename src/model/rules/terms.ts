// What loads are made of: one operation of a pattern, and one term of a sum.
import type { ContainerDetail, PatternMapping, PatternOperation, Pattern } from '../documents.ts';

/** One operation of one pattern on one container. */
export interface Access {
  readonly pattern: Pattern | undefined;
  readonly row: PatternMapping;
  readonly detail: ContainerDetail;
  /** RU of one execution, stated or estimated. */
  readonly ru: number;
  readonly stated: boolean;
  /** RPS; undefined: the pattern states none. */
  readonly peak: number | undefined;
  readonly average: number | undefined;
  readonly write: boolean;
}

/** One term of a container's load. */
export interface Term {
  readonly what: string;
  readonly perSecond: number;
  readonly ru: number;
  readonly kind: 'pattern' | 'projection' | 'feed';
  readonly ids: readonly string[];
}

const WRITES = new Set<PatternOperation>(['create', 'replace', 'patch', 'upsert', 'delete', 'batch']);

export const isWrite = (operation: PatternOperation): boolean => WRITES.has(operation);

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
export const isQuery = (operation: PatternOperation): boolean =>
  operation === 'query' || operation === 'cross-partition';
