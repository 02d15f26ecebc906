// INSERT, UPDATE, DELETE, MERGE. A row that is written belongs to the tenant that its tenant column gets, so the value is a
// term as a table that is read.
import type { DeleteStmt, InsertStmt, Node, OnConflictClause, RangeVar, UpdateStmt } from 'libpg-query';
import { type SqlTable, findRelation } from './catalog.ts';
import { conditionOf, insideTerms, constantSymbol } from './conditions.ts';
import { operandOf, walk } from './expressions.ts';
import { fromItem, product, scopeOf, storedRelation } from './from.ts';
import { volatilityOf } from './functions.ts';
import { noteJoins } from './join-issues.ts';
import { below, nodeKindOf, sqlShapeOf, strings } from './nodes.ts';
import {
  type Env,
  type FromRows,
  type Leaf,
  NO_ROWS,
  type QueryRows,
  type Evaluation,
  type SqlTerm,
  deduce,
} from './relation.ts';
import { withCtes } from './ctes.ts';
import { Closure, type Sym } from './symbols.ts';

export function readWrite(run: Evaluation, statement: Node, env: Env): QueryRows {
  run.traits.add('writes');
  if ('InsertStmt' in statement) return insert(run, statement.InsertStmt, env);
  if ('UpdateStmt' in statement) return change(run, statement.UpdateStmt, env, statement.UpdateStmt.targetList);
  if ('DeleteStmt' in statement) return change(run, statement.DeleteStmt, env);
  run.traits.add('unclear');
  run.doubts.add('is a MERGE, which the check doesn’t read');
  return returned(NO_ROWS);
}

function targetOf(run: Evaluation, relation: RangeVar | undefined, env: Env): SqlTable | undefined {
  const { schemaname, relname = '' } = relation ?? {};
  const found = env.ctes.some(({ name }) => schemaname === undefined && name === relname)
    ? undefined
    : findRelation(run.catalog, schemaname, relname);
  if (found?.kind === 'table') {
    if (found.unclearWrites !== undefined) run.doubts.add(`writes ${relname}, which ${found.unclearWrites}`);
    return found;
  }
  if (!found) run.traits.add('unclear');
  if (!found) run.doubts.add(`writes ${relname}, which the DDL doesn’t have`);
  return undefined;
}

const returned = (rows: FromRows): QueryRows => ({
  ...rows,
  columns: rows.columns.map(({ name, sym }) => ({ name, sym })),
  terms: [],
  facts: [],
  conditionals: [],
  merged: false,
  combines: true,
  open: true,
});

/** Rows that are found and changed or deleted. */
function change(run: Evaluation, statement: UpdateStmt | DeleteStmt, env: Env, sets?: readonly Node[]): QueryRows {
  const { relation, whereClause, withClause, returningClause } = statement;
  const inner = withCtes(run, withClause, env);
  const table = targetOf(run, relation, inner);
  const from =
    ('fromClause' in statement
      ? statement.fromClause
      : 'usingClause' in statement
        ? statement.usingClause
        : undefined) ?? [];
  const alias = relation?.alias?.aliasname ?? relation?.relname ?? '';
  // A view has rows too, so that the verdict on rows holds for writes through it.
  let rows = table
    ? storedRelation(run, table, alias, [], { at: relation?.location ?? -1 })
    : relation
      ? fromItem(run, { ctes: [], ...(env.view !== undefined && { view: env.view }) }, { RangeVar: relation }, NO_ROWS)
      : NO_ROWS;
  const [target] = rows.terms;
  for (const item of from) rows = product(rows, fromItem(run, inner, item, rows));
  const here: Env = { ...inner, scope: scopeOf(inner, rows) };
  const read = walk(run, here, [whereClause, ...(sets ?? []), ...withoutStars(returningClause?.exprs)]);
  const condition = conditionOf(run, here, whereClause);
  const closure = new Closure([...rows.facts, ...condition.facts], rows.conditionals, condition.present);
  noteJoins(run, rows.parts, closure, condition.facts);
  const written: SqlTerm[] = [];
  for (const set of sets ?? []) {
    if (!('ResTarget' in set) || set.ResTarget.name !== run.catalog.tenant || !target) continue;
    const operand = set.ResTarget.val ? operandOf(run, here, set.ResTarget.val) : undefined;
    const sym =
      operand?.kind === 'column'
        ? operand.sym
        : operand?.kind === 'constant' && !operand.null
          ? constantSymbol(run, operand, run.symbols.familyOf(target.leaf.column ?? -1))
          : undefined;
    written.push(valueTerm(target.leaf, sym === undefined ? [] : [sym]));
  }
  if (table) cascades(run, table);
  const all = deduce([...rows.terms, ...insideTerms(read.terms, condition.inside), ...written], closure);
  if (!condition.never) run.written.push(...all);
  return returned(rows);
}

const valueTerm = (leaf: Leaf, syms: readonly Sym[]): SqlTerm => ({ leaf, tenant: new Set(syms) });

const withoutStars = (nodes: readonly Node[] | undefined): Node[] =>
  (nodes ?? []).filter((node) => !sqlShapeOf(node).includes('"A_Star"'));

/** Rows that go along with deleted or changed ones must be of the same tenant. */
function cascades(run: Evaluation, table: SqlTable): void {
  for (const relation of run.catalog.relations.values())
    if (relation.kind === 'table')
      for (const { to, columns, onDelete, onUpdate } of relation.foreign)
        if (to === table.name && /[cnd]/.test(onDelete + onUpdate) && !columns.includes(run.catalog.tenant))
          run.doubts.add(`changes rows of ${relation.name} too, by a foreign key without ${run.catalog.tenant}`);
}

function insert(run: Evaluation, statement: InsertStmt, env: Env): QueryRows {
  const { relation, cols, selectStmt, onConflictClause, withClause, returningClause } = statement;
  const inner = withCtes(run, withClause, env);
  const table = targetOf(run, relation, inner);
  if (!table) {
    if (relation) run.doubts.add('inserts through a view');
    return returned(NO_ROWS);
  }
  const names =
    cols?.map((col) => ('ResTarget' in col ? (col.ResTarget.name ?? '') : '')) ?? table.columns.map(({ name }) => name);
  const tenant = names.indexOf(run.catalog.tenant);
  const target = storedRelation(run, table, relation?.alias?.aliasname ?? relation?.relname ?? '', [], {
    at: relation?.location ?? -1,
  });
  const [leaf] = target.terms.map((term) => term.leaf);
  const family = run.symbols.familyOf(leaf?.column ?? -1);
  const query = selectStmt && 'SelectStmt' in selectStmt ? selectStmt.SelectStmt : undefined;
  const terms: SqlTerm[] = [];
  const lists = query?.valuesLists?.map((list) => ('List' in list ? (list.List.items ?? []) : []));
  if (lists) {
    const valuesEnv = withCtes(run, query?.withClause, inner);
    terms.push(...walk(run, valuesEnv, lists.flat()).terms);
    for (const list of leaf?.column === undefined ? [] : lists) {
      const value = list[tenant];
      const operand = value && !('SetToDefault' in value) ? operandOf(run, valuesEnv, value) : undefined;
      if (operand?.kind === 'constant') terms.push(insertTerm(leaf, [constantSymbol(run, operand, family)]));
      else run.doubts.add(`gives ${run.catalog.tenant} a value that the check doesn’t know`);
    }
  } else if (query) {
    const rows = run.evaluate(query, inner);
    const closure = new Closure(rows.facts, rows.conditionals);
    const sym = rows.columns[tenant]?.sym;
    terms.push(...deduce(rows.terms, closure));
    if (leaf?.column !== undefined && (sym === undefined || rows.open))
      run.doubts.add(`gives ${run.catalog.tenant} a value that the check doesn’t know`);
    else if (sym !== undefined)
      terms.push(
        ...deduce(
          [insertTerm(leaf, [sym])].filter((term) => term.leaf !== undefined),
          closure,
        ),
      );
  } else run.doubts.add(`gives ${run.catalog.tenant} a value that the check doesn’t know`);
  for (const { name, default: preset } of table.columns)
    if (preset && !names.includes(name) && unclearDefault(preset))
      run.doubts.add(`leaves ${name} to a default that the check doesn’t know`);
  if (onConflictClause && leaf) conflict(run, { table, leaf, target, inner, onConflictClause });
  const here: Env = { ...inner, scope: scopeOf(inner, target) };
  terms.push(...walk(run, here, withoutStars(returningClause?.exprs)).terms);
  run.written.push(...terms);
  return returned(target);
}

/** The place where an INSERT writes: its value prunes by itself. */
const insertTerm = (leaf: Leaf | undefined, syms: readonly Sym[]): SqlTerm => ({
  leaf: leaf as Leaf,
  tenant: new Set(syms),
});

const unclearDefault = (node: Node): boolean => {
  if ('FuncCall' in node && volatilityOf(strings(node.FuncCall.funcname).at(-1) ?? '') === undefined) return true;
  return below(nodeKindOf(node)[1]).some(unclearDefault);
};

interface Conflict {
  readonly table: SqlTable;
  readonly leaf: Leaf;
  readonly target: FromRows;
  readonly inner: Env;
  readonly onConflictClause: OnConflictClause;
}

function conflict(run: Evaluation, { table, leaf, target, inner, onConflictClause }: Conflict): void {
  const { infer, targetList = [], whereClause } = onConflictClause;
  const { tenant } = run.catalog;
  const arbiter = infer?.indexElems?.map((each) => ('IndexElem' in each ? (each.IndexElem.name ?? '') : ''));
  // A row of another tenant could be the one in the way.
  const keys: (readonly string[])[] = arbiter ? [arbiter] : table.keys.map(({ columns }) => columns);
  if (leaf.column !== undefined && (infer?.conname !== undefined || keys.some((columns) => !columns.includes(tenant))))
    run.doubts.add(`may meet a row of another tenant by a key without ${tenant}`);
  const excluded = { alias: 'excluded', columns: target.columns, open: false, stored: false };
  const scope = { columns: target.columns, entries: [...target.entries, excluded], distributed: true, crossed: false };
  const here: Env = { ...inner, scope };
  run.written.push(...walk(run, here, [...targetList, whereClause]).terms);
  for (const set of targetList) {
    if (!('ResTarget' in set) || set.ResTarget.name !== tenant || !set.ResTarget.val) continue;
    const operand = operandOf(run, here, set.ResTarget.val);
    if (operand.kind === 'column' && operand.sym === leaf.column) continue;
    run.written.push(
      valueTerm(
        leaf,
        operand.kind === 'constant' && !operand.null
          ? [constantSymbol(run, operand, run.symbols.familyOf(leaf.column ?? -1))]
          : [],
      ),
    );
  }
}
