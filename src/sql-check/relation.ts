// What the check knows of a set of rows: of a table, of a join, of a query's result.
//
// A *term* is a use of a table with tenants on which the rows depend. Its `tenant` lists symbols, and for each of them holds:
// for every t, the rows in which the symbol equals t depend only on rows of tenant t in that table. A table begins with its
// tenant column. An inner join has the terms of both sides. A condition makes symbols equal, so that a term gets more symbols.
// What combines rows (an aggregate, a window, LIMIT) leaves only symbols that all combined rows have in common. At the end
// the query is confined to one tenant if each term has the same constant. An empty list is a term that no condition reaches.
import type { Node, SelectStmt } from 'libpg-query';
import type { Catalog, SqlTable } from './catalog.ts';
import { type Closure, type Conditional, type SqlFact, type Sym, Symbols } from './symbols.ts';

/** One use of a table in a statement. */
export interface Leaf {
  readonly table: SqlTable;
  /** The name that the statement gives it. */
  readonly alias: string;
  /** Offset in bytes of the use; -1 inside a view. */
  readonly at: number;
  /** The view through which it is used. */
  readonly through?: string;
  /** The symbol of its tenant column; absent: it has none. */
  readonly column?: Sym;
}

export interface SqlTerm {
  readonly leaf: Leaf;
  readonly tenant: ReadonlySet<Sym>;
  /** Symbols whose constant the planner makes a restriction of the distribution column; absent: not distributed. */
  readonly prune?: ReadonlySet<Sym>;
  /** Symbols that equal the distribution column; absent: not distributed. */
  readonly link?: ReadonlySet<Sym>;
  /** Holds too if one of `any` isn't null. */
  readonly rescue?: { readonly any: ReadonlySet<Sym>; readonly term: SqlTerm };
}

export interface Col {
  readonly name: string;
  readonly sym: Sym;
}

/** What a name before a dot stands for. */
export interface SqlEntry {
  readonly alias: string;
  readonly columns: readonly Col[];
  /** It has more columns than are known. */
  readonly open: boolean;
  /** It is a table, and has system columns. */
  readonly stored: boolean;
}

/** One side of joins on the way to being planned by Citus. */
export interface SqlPart {
  readonly terms: readonly SqlTerm[];
  readonly syms: ReadonlySet<Sym>;
}

export interface Rows {
  readonly columns: readonly Col[];
  readonly terms: readonly SqlTerm[];
  readonly facts: readonly SqlFact[];
  readonly conditionals: readonly Conditional[];
}

export interface FromRows extends Rows {
  readonly entries: readonly SqlEntry[];
  readonly parts: readonly SqlPart[];
}

export interface QueryRows extends Rows {
  /** The planner merges the query with the one around it, so that constants pass both ways. */
  readonly merged: boolean;
  /** Citus computes it apart: rows of several shards are combined. */
  readonly combines: boolean;
  /** More columns than are known. */
  readonly open: boolean;
}

export interface SqlScope {
  readonly columns: readonly Col[];
  readonly entries: readonly SqlEntry[];
  readonly parent?: SqlScope;
  /** It has distributed tables. */
  readonly distributed: boolean;
  /** Set when a name is found in a scope above. */
  crossed: boolean;
}

export interface Cte {
  readonly name: string;
  /** The rows at this use. */
  readonly use: () => QueryRows;
}

export interface Env {
  readonly scope?: SqlScope;
  readonly ctes: readonly Cte[];
  /** Inside a view: its name, and what its names without schema stand for. */
  readonly view?: { readonly name: string; readonly bound: ReadonlyMap<string, string> };
}

export type JoinIssue = 'cartesian' | 'complex' | 'repartition' | 'unclear';

/** The rows of a subquery in an expression. */
export interface Subquery {
  readonly rows: QueryRows;
  /** It names columns of the queries around it. */
  readonly correlated: boolean;
}

/** The state of the check of one statement. */
export interface Evaluation {
  readonly catalog: Catalog;
  readonly symbols: Symbols;
  /** Why nothing certain can be said, each as the end of a sentence. */
  readonly doubts: Set<string>;
  /** Symbols of columns in conditions that aren't understood. */
  readonly hints: Set<Sym>;
  /** What the statement has, for the place where it runs. */
  readonly traits: Set<Trait>;
  readonly issues: { readonly issue: JoinIssue; readonly parts: readonly SqlPart[] }[];
  /** Local tables that are read. */
  readonly locals: Set<string>;
  /** Why Citus doesn't distribute a table of the statement as the DDL says. */
  readonly refusals: Set<string>;
  /** Functions of the statement that are not immutable. */
  readonly moving: Set<'stable' | 'volatile'>;
  /** Rows of subqueries in expressions, once each. */
  readonly subqueries: Map<SqlScope | undefined, Map<Node, Subquery>>;
  /** Terms of data-modifying statements inside the statement. */
  readonly written: SqlTerm[];
  readonly evaluate: (query: SelectStmt, env: Env) => QueryRows;
  /** Counts the work. @throws TooLarge */
  readonly spend: (what: keyof typeof MOST, count?: number) => void;
  /** Reads a statement that writes, and returns the rows of its RETURNING. */
  readonly write: (statement: Node, env: Env) => QueryRows;
  /** How often a name occurs as a table's. */
  readonly uses: ReadonlyMap<string, number>;
}

export type Trait =
  | 'locks'
  | 'grouping-sets'
  | 'recursive'
  | 'reference-preserved'
  | 'scalar-subquery'
  | 'writes'
  | 'unclear';

export const isConstant = (run: Evaluation, sym: Sym): boolean => run.symbols.constantOf(sym) !== undefined;

/** Adds to terms what facts say. */
export function deduce(terms: readonly SqlTerm[], closure: Closure): SqlTerm[] {
  return terms.map((term) => {
    const { rescue } = term;
    if (rescue && closure.isPresent(rescue.any))
      return deduceOne(
        {
          ...rescue.term,
          tenant: new Set([...term.tenant, ...rescue.term.tenant]),
          ...(term.prune && { prune: new Set([...term.prune, ...(rescue.term.prune ?? [])]) }),
          ...(term.link && { link: new Set([...term.link, ...(rescue.term.link ?? [])]) }),
        },
        closure,
      );
    return deduceOne(term, closure);
  });
}

const deduceOne = (term: SqlTerm, closure: Closure): SqlTerm => ({
  ...term,
  tenant: closure.equalTo(term.tenant),
  ...(term.prune && { prune: closure.feeding(term.prune) }),
  ...(term.link && { link: closure.equalTo(term.link) }),
});

/** Leaves symbols that may be used outside. Constants always may. */
export function restrict(
  run: Evaluation,
  terms: readonly SqlTerm[],
  may: (sym: Sym) => boolean,
  mayPrune: (sym: Sym) => boolean = may,
): SqlTerm[] {
  const keep = (syms: ReadonlySet<Sym>, allowed: (sym: Sym) => boolean): Set<Sym> =>
    new Set([...syms].filter((sym) => isConstant(run, sym) || allowed(sym)));
  return terms.map(({ leaf, tenant, prune, link }) => ({
    leaf,
    tenant: keep(tenant, may),
    ...(prune && { prune: keep(prune, mayPrune) }),
    ...(link && { link: keep(link, may) }),
  }));
}

/** The symbols of the queries around this one. */
export function outerSymbols(scope: SqlScope | undefined): Set<Sym> {
  const all = new Set<Sym>();
  for (let at = scope; at; at = at.parent) {
    for (const { sym } of at.columns) all.add(sym);
    for (const { columns } of at.entries) for (const { sym } of columns) all.add(sym);
  }
  return all;
}

export const NO_ROWS: FromRows = { columns: [], entries: [], terms: [], facts: [], conditionals: [], parts: [] };

/**
 * Where each WITH uses the one before it twice, the work grows as two to their number. The time that joins take grows faster
 * than the number of their tables.
 */
export const MOST = { queries: 2_000, tables: 300, expressions: 100_000 };

/** The statement is larger than the check reads. The message is the end of a sentence. */
export class TooLarge extends Error {}

interface Readers {
  readonly evaluate: (run: Evaluation, query: SelectStmt, env: Env) => QueryRows;
  readonly write: (run: Evaluation, statement: Node, env: Env) => QueryRows;
}

export const newRun = (
  catalog: Catalog,
  uses: ReadonlyMap<string, number>,
  { evaluate, write }: Readers,
): Evaluation => {
  const spent = { queries: 0, tables: 0, expressions: 0 };
  const run: Evaluation = {
    catalog,
    uses,
    symbols: new Symbols(),
    doubts: new Set(),
    hints: new Set(),
    traits: new Set(),
    issues: [],
    locals: new Set(),
    refusals: new Set(),
    moving: new Set(),
    subqueries: new Map(),
    written: [],
    evaluate: (query, env) => {
      run.spend('queries');
      return evaluate(run, query, env);
    },
    spend: (what, count = 1) => {
      spent[what] += count;
      if (spent[what] > MOST[what])
        throw new TooLarge(`has more than ${MOST[what]} ${what}, with those of WITH and of views at each use`);
    },
    write: (statement, env) => write(run, statement, env),
  };
  return run;
};
