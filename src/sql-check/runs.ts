// Where Citus runs a statement, by the rules of its router planner, its pushdown and its writes (docs/sql.md).
import type { Node } from 'libpg-query';
import { findRelation } from './catalog.ts';
import { SQL_AGGREGATES, volatilityOf } from './functions.ts';
import { below, nodeKindOf, strings } from './nodes.ts';
import type { Evaluation, SqlTerm } from './relation.ts';
import type { Constant } from './symbols.ts';

export interface RunsVerdict {
  readonly verdict: 'one node' | 'all nodes' | 'repartition' | 'refused' | 'unknown';
  readonly why: string;
}

export function runsVerdict(run: Evaluation, statement: Node, terms: readonly SqlTerm[]): RunsVerdict {
  const refused = refusedWrite(run, statement);
  if (refused !== undefined) return { verdict: 'refused', why: refused };
  const [notDistributed] = run.refusals;
  if (notDistributed !== undefined) return { verdict: 'unknown', why: `Citus refuses the DDL: ${notDistributed}` };
  const target = targetTable(run, statement);
  const of = target?.kind === 'table' ? target.distribution : undefined;
  if (of?.kind === 'reference')
    return { verdict: 'unknown', why: 'a write to a reference table goes to every node by a two-phase commit' };
  if (of?.kind === 'distributed' && setsOf(statement).some(setsColumn(of.column)))
    return { verdict: 'unknown', why: 'it sets the distribution column, which Citus takes for the same value alone' };
  if (run.traits.has('unclear')) return { verdict: 'unknown', why: `it ${[...run.doubts][0]}` };
  if ('InsertStmt' in statement) return insertRuns(run, statement, terms);
  const distributed = terms.filter(({ prune }) => prune);
  const [first] = distributed;
  if (!first) return { verdict: 'one node', why: 'it has no distributed table' };
  if (run.locals.size > 0)
    return {
      verdict: 'unknown',
      why: `Citus moves rows between the local ${[...run.locals].map((name) => name.replace(/^public\./, '')).join(', ')} and distributed tables`,
    };
  const pruned = distributed.map((term) => pruning(run, term));
  const groups = new Set(
    distributed.map(({ leaf: { table } }) =>
      table.distribution.kind === 'distributed' ? table.distribution.group : '',
    ),
  );
  if (groups.size > 1) return { verdict: 'unknown', why: 'it has tables of several colocation groups' };
  if (pruned.every((constants) => constants.length > 0))
    return pruned.some((constants) => constants.every(({ list }) => list)) ? severalValues : oneShard(pruned);
  return everyNode(run, statement, distributed, pruned);
}

const severalValues: RunsVerdict = {
  verdict: 'unknown',
  why: 'several values of the distribution column may be on one shard, or not',
};

function oneShard(pruned: readonly (readonly Constant[])[]): RunsVerdict {
  const contradictory = pruned.some(
    (constants) => new Set(constants.filter(({ literal }) => literal).map(({ key }) => key)).size > 1,
  );
  const [first = []] = pruned;
  if (contradictory || first.some(({ key }) => pruned.every((constants) => constants.some((each) => each.key === key))))
    return { verdict: 'one node', why: 'each distributed table is restricted to one shard' };
  return { verdict: 'unknown', why: 'its tables are restricted to different values, which may be on one shard or not' };
}

const pruning = (run: Evaluation, { prune }: SqlTerm): Constant[] =>
  [...(prune ?? [])].flatMap((sym) => {
    const constant = run.symbols.constantOf(sym);
    return constant?.prunes ? [constant] : [];
  });

function everyNode(
  run: Evaluation,
  statement: Node,
  terms: readonly SqlTerm[],
  pruned: readonly (readonly Constant[])[],
): RunsVerdict {
  const writes = 'UpdateStmt' in statement || 'DeleteStmt' in statement;
  const mixed = pruned.some((constants) => constants.length > 0);
  if (writes && mixed)
    return { verdict: 'unknown', why: 'one of its tables is restricted to one shard, and others aren’t' };
  if (run.traits.has('writes') && !writes) return { verdict: 'unknown', why: 'it writes in a WITH' };
  if (run.traits.has('recursive'))
    return {
      verdict: 'refused',
      why: 'recursive CTEs are only supported when they contain a filter on the distribution column',
    };
  if (run.traits.has('locks'))
    return { verdict: 'refused', why: 'could not run distributed query with FOR UPDATE/SHARE commands' };
  if (run.traits.has('grouping-sets'))
    return { verdict: 'refused', why: 'could not run distributed query with GROUPING SETS, CUBE, or ROLLUP' };
  const issues = new Set(run.issues.map(({ issue }) => issue));
  if (issues.has('cartesian')) return { verdict: 'refused', why: 'cartesian products are currently unsupported' };
  if (issues.has('complex') || (writes && issues.has('repartition')))
    return {
      verdict: 'refused',
      why: 'complex joins are only supported when all distributed tables are co-located and joined on their distribution columns',
    };
  if (
    issues.has('unclear') ||
    terms.some(({ leaf }) => leaf.column !== undefined && run.hints.has(leaf.column) && terms.length > 1)
  )
    return { verdict: 'unknown', why: 'a join has a condition that the check doesn’t understand' };
  if (issues.has('repartition'))
    return { verdict: 'repartition', why: 'the query contains a join that requires repartitioning' };
  if (run.traits.has('reference-preserved'))
    return { verdict: 'unknown', why: 'an outer join keeps all rows of a table that isn’t distributed' };
  if (run.traits.has('scalar-subquery'))
    return { verdict: 'unknown', why: 'a subquery in an expression isn’t restricted to one shard' };
  if (run.doubts.size > 0) return { verdict: 'unknown', why: `it ${[...run.doubts][0]}` };
  return { verdict: 'all nodes', why: 'a distributed table isn’t restricted to one shard' };
}

function targetTable(run: Evaluation, statement: Node) {
  const [, fields] = nodeKindOf(statement);
  const relation = fields['relation'] as { schemaname?: string; relname?: string } | undefined;
  return relation?.relname === undefined ? undefined : findRelation(run.catalog, relation.schemaname, relation.relname);
}

/** What Citus refuses of a write, even for one tenant. */
function refusedWrite(run: Evaluation, statement: Node): string | undefined {
  if (!('InsertStmt' in statement || 'UpdateStmt' in statement || 'DeleteStmt' in statement)) return undefined;
  const target = targetTable(run, statement);
  if (target?.kind === 'view') return 'a write through a view is not supported';
  if (target?.kind !== 'table' || target.distribution.kind === 'local') return undefined;
  const of = target.distribution;
  if ('InsertStmt' in statement)
    return refusedInsert(
      statement,
      of.kind === 'distributed' ? of.column : undefined,
      target.columns.map(({ name }) => name),
    );
  const [, fields] = nodeKindOf(statement);
  const clauses = [...arrayOf(fields['targetList']), ...arrayOf(fields['whereClause'])];
  if (clauses.some((node) => calls(node, 'volatile')))
    return 'functions used in the WHERE/ON/WHEN clause of modification queries on distributed tables must not be VOLATILE';
  if (clauses.some(stableOfColumns))
    return 'STABLE functions used in UPDATE queries cannot be called with column references';
  if (returned(fields).some((node) => calls(node, 'volatile') || calls(node, 'stable')))
    return 'non-IMMUTABLE functions are not allowed in the RETURNING clause';
  return undefined;
}

const returned = (fields: Readonly<Record<string, unknown>>): Node[] => {
  const { exprs } = (fields['returningClause'] ?? {}) as { exprs?: Node[] };
  return exprs ?? [];
};

const arrayOf = (value: unknown): Node[] =>
  Array.isArray(value) ? (value as Node[]) : value === undefined ? [] : [value as Node];

/** What an UPDATE sets, or an INSERT where there is a conflict. */
function setsOf(statement: Node): readonly Node[] {
  if ('UpdateStmt' in statement) return statement.UpdateStmt.targetList ?? [];
  return 'InsertStmt' in statement ? (statement.InsertStmt.onConflictClause?.targetList ?? []) : [];
}

/** To something else than itself. */
const setsColumn =
  (column: string) =>
  (set: Node): boolean =>
    'ResTarget' in set &&
    set.ResTarget.name === column &&
    !(
      set.ResTarget.val &&
      'ColumnRef' in set.ResTarget.val &&
      strings(set.ResTarget.val.ColumnRef.fields).at(-1) === column
    );

function refusedInsert(statement: Node, column: string | undefined, columns: readonly string[]): string | undefined {
  if (!('InsertStmt' in statement)) return undefined;
  const { cols, selectStmt, onConflictClause, returningClause } = statement.InsertStmt;
  const lists = selectStmt && 'SelectStmt' in selectStmt ? selectStmt.SelectStmt.valuesLists : undefined;
  const names = cols?.map((col) => ('ResTarget' in col ? col.ResTarget.name : '')) ?? columns;
  if (column !== undefined && !names.includes(column))
    return 'cannot perform an INSERT without a partition column value';
  if (
    [
      ...(lists ?? []),
      ...(onConflictClause ? [{ OnConflictClause: onConflictClause } as Node] : []),
      ...(returningClause?.exprs ?? []),
    ].some(hasSubquery)
  )
    return 'subqueries are not supported within INSERT queries';
  const sets = onConflictClause?.targetList ?? [];
  const moving = (node: Node | undefined): boolean =>
    node !== undefined && (calls(node, 'stable') || calls(node, 'volatile'));
  if (sets.some(moving))
    return 'functions used in the DO UPDATE SET clause of INSERTs on distributed tables must be marked IMMUTABLE';
  if (moving(onConflictClause?.whereClause))
    return 'functions used in the WHERE clause of the ON CONFLICT clause of INSERTs on distributed tables must be marked IMMUTABLE';
  return undefined;
}

const hasSubquery = (node: Node): boolean => 'SubLink' in node || below(nodeKindOf(node)[1]).some(hasSubquery);

function calls(node: Node, of: 'stable' | 'volatile'): boolean {
  if (
    'FuncCall' in node &&
    !SQL_AGGREGATES.has(strings(node.FuncCall.funcname).at(-1) ?? '') &&
    volatilityOf(strings(node.FuncCall.funcname).at(-1) ?? '') === of
  )
    return true;
  if ('SQLValueFunction' in node && of === 'stable') return true;
  return below(nodeKindOf(node)[1]).some((each) => calls(each, of));
}

const namesColumn = (node: Node): boolean => 'ColumnRef' in node || below(nodeKindOf(node)[1]).some(namesColumn);

const stableOfColumns = (node: Node): boolean =>
  ('FuncCall' in node &&
    calls({ FuncCall: { ...node.FuncCall, args: [] } }, 'stable') &&
    (node.FuncCall.args ?? []).some(namesColumn)) ||
  below(nodeKindOf(node)[1]).some(stableOfColumns);

function insertRuns(run: Evaluation, statement: Node, terms: readonly SqlTerm[]): RunsVerdict {
  const table = targetTable(run, statement);
  const kind = table?.kind === 'table' ? table.distribution.kind : undefined;
  const sources = terms.filter(({ prune }) => prune);
  if (kind === 'local')
    return sources.length === 0
      ? { verdict: 'one node', why: 'it has no distributed table' }
      : { verdict: 'unknown', why: 'it fills a local table from distributed ones' };
  if (table?.kind !== 'table' || kind !== 'distributed' || run.doubts.size > 0)
    return { verdict: 'unknown', why: 'the check doesn’t know where its rows go' };
  const written = terms.filter(({ prune, leaf }) => !prune && leaf.table === table);
  const values = written.map(({ tenant }) => [...tenant].flatMap((sym) => run.symbols.constantOf(sym) ?? []));
  const column = table.distribution.kind === 'distributed' && table.distribution.column === run.catalog.tenant;
  if (!column || run.locals.size > 0) return { verdict: 'unknown', why: 'the check doesn’t know where its rows go' };
  const all = [...values, ...sources.map((term) => pruning(run, term))];
  // Functions in VALUES run before the shard is chosen.
  if (all.every((constants) => constants.length > 0)) return oneShard(all);
  const fed = written.every(
    ({ tenant }) => sources.length > 0 && sources.every(({ link }) => [...(link ?? [])].some((sym) => tenant.has(sym))),
  );
  return fed && run.issues.length === 0
    ? { verdict: 'all nodes', why: 'the distribution column is fed by that of its source, on each node' }
    : { verdict: 'unknown', why: 'rows may move between nodes' };
}
