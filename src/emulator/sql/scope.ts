import type { Aggregate } from './aggregate.ts';
import type { Query } from './ast.ts';
import type { Tools } from './fn.ts';
import type { Walk } from './walk.ts';

/** What a query reads: a document and its text, which goes out unchanged where the query asks for it whole. */
export interface Readable {
  readonly doc: Record<string, unknown>;
  readonly text: string;
  /** Ascending in the order in which documents are read: what a position counts on. */
  readonly seq?: number;
}

/** The values of the sources of one row, by slot: 0 is the document, 1 what it was read from. */
export type Row = unknown[];
export type Eval = (row: Row) => unknown;

/**
 * Runs a query for one outer row: the rows of its sources, filtered, grouped, sorted and projected. A walk, which the
 * outermost query alone has, leaves out what comes before its beginning.
 */
export type Select = (row: Row, walk?: Walk) => Generator<unknown, void>;

/** What an expression may refer to, and what it asks of the query around it. */
export interface Scope {
  readonly slots: Map<string, number>;
  readonly params: ReadonlyMap<string, unknown>;
  /** Shared by a query and its subqueries, so that no two sources meet in a slot. */
  readonly counter: { next: number };
  /** Shared likewise. */
  readonly tools: Tools;
  /** Compiles a subquery: handed in, since select.ts stands above compile.ts. */
  readonly select: (query: Query, scope: Scope) => Select;
  /** Where aggregates are allowed: their arguments, in the order of the slots they were given. */
  aggregates?: { readonly name: Aggregate; readonly argument: Eval; readonly slot: number }[];
}

export const inner = (scope: Scope): Scope => ({
  slots: new Map(scope.slots),
  params: scope.params,
  counter: scope.counter,
  tools: scope.tools,
  select: scope.select,
});
