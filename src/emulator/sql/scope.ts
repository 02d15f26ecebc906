import type { Aggregate } from './aggregate.ts';
import type { SelectQuery } from './ast.ts';
import type { Tools } from './fn.ts';
import type { Walk } from './walk.ts';

/** A document that a query reads, and its text, which is returned unchanged if the query selects the whole document. */
export interface Readable {
  readonly doc: Record<string, unknown>;
  readonly text: string;
  /** Ascending in the order in which documents are read; positions depend on it. */
  readonly seq?: number;
}

/** The values of the sources of one row, by slot: 0 is the document, 1 the `Readable` that it came from. */
export type QueryRow = unknown[];
export type Eval = (row: QueryRow) => unknown;

/**
 * Runs a query for one outer row: the rows of its sources, filtered, grouped, sorted and projected. Only the outermost
 * query has a walk, which leaves out the rows before its beginning.
 */
export type Select = (row: QueryRow, walk?: Walk) => Generator<unknown, void>;

/** The names to which an expression may refer, and the tools of the query around it. */
export interface Scope {
  readonly slots: Map<string, number>;
  readonly params: ReadonlyMap<string, unknown>;
  /** Shared by a query and its subqueries, so that no two sources have the same slot. */
  readonly counter: { next: number };
  /** Shared by a query and its subqueries. */
  readonly tools: Tools;
  /** Compiles a subquery. It is passed in, because select.ts imports compile.ts. */
  readonly select: (query: SelectQuery, scope: Scope) => Select;
  /** Set if aggregates are allowed: the aggregates, in the order of their slots. */
  aggregates?: { readonly name: Aggregate; readonly argument: Eval; readonly slot: number }[];
}

export const inner = (scope: Scope): Scope => ({
  slots: new Map(scope.slots),
  params: scope.params,
  counter: scope.counter,
  tools: scope.tools,
  select: scope.select,
});
