// SELECT: what combines rows, and what is left to know of them.
import type { ColumnRef, Node, SelectStmt } from 'libpg-query';
import { conditionOf, constantSymbol, insideTerms } from './conditions.ts';
import { type Walked, sqlColumnOf, operandOf, walk } from './expressions.ts';
import { byPlace, commonArms, constantsOf } from './arms.ts';
import { withCtes } from './ctes.ts';
import { fromItem, product, scopeOf } from './from.ts';
import { noteJoins } from './join-issues.ts';
import { strings } from './nodes.ts';
import {
  type Col,
  type Env,
  type FromRows,
  NO_ROWS,
  type QueryRows,
  type Evaluation,
  isConstant,
  outerSymbols,
  restrict,
  deduce,
} from './relation.ts';
import { Closure, type SqlFact, type Sym, withoutPruning } from './symbols.ts';

export function evaluateSelect(run: Evaluation, query: SelectStmt, env: Env): QueryRows {
  const inner = withCtes(run, query.withClause, env);
  const rows =
    query.op !== undefined && query.op !== 'SETOP_NONE'
      ? setOperation(run, query, inner)
      : query.valuesLists
        ? values(run, query.valuesLists, inner)
        : plainSelect(run, query, inner);
  return query.op === 'SETOP_NONE' || query.op === undefined ? rows : cutOff(run, query, inner, rows);
}

/** What UNION has outside of its arms. */
function cutOff(run: Evaluation, query: SelectStmt, env: Env, rows: QueryRows): QueryRows {
  const { terms } = walk(run, env, [query.limitCount, query.limitOffset]);
  if (!isLimited(query)) return rows;
  const outer = outerSymbols(env.scope);
  return { ...rows, terms: [...restrict(run, rows.terms, (sym) => outer.has(sym)), ...terms], combines: true };
}

const isNull = (node: Node): boolean => 'A_Const' in node && node.A_Const.isnull === true;

const isLimited = ({ limitCount, limitOffset }: SelectStmt): boolean =>
  (limitCount !== undefined && !isNull(limitCount)) || (limitOffset !== undefined && !isNull(limitOffset));

/** FROM, WHERE, GROUP BY, HAVING, windows, DISTINCT ON, LIMIT. */
function plainSelect(run: Evaluation, query: SelectStmt, env: Env): QueryRows {
  let from: FromRows = NO_ROWS;
  for (const item of query.fromClause ?? []) from = product(from, fromItem(run, env, item, from));
  const scope = scopeOf(env, from);
  const here: Env = { ...env, scope };
  const where = walk(run, here, [query.whereClause]);
  const targets = query.targetList ?? [];
  const sorts = (query.sortClause ?? []).filter((node) => !namesOutput(node, targets));
  const select = walk(
    run,
    here,
    [...targets, ...sorts].filter((node) => !isStar(node)),
  );
  if (query.intoClause) run.doubts.add('makes a table (INTO)');
  const having = walk(run, here, [query.havingClause]);
  const others = walk(run, here, [
    query.limitCount,
    query.limitOffset,
    ...groupings(query),
    ...(query.windowClause ?? []),
  ]);
  const condition = conditionOf(run, here, query.whereClause);
  const sets = (query.groupClause ?? []).some((node) => 'GroupingSet' in node);
  const grouped = conditionOf(run, here, sets ? undefined : query.havingClause);
  const aggregated = select.aggregates || query.groupClause !== undefined || query.havingClause !== undefined;
  const everywhere = query.groupClause === undefined ? aggregated : sets;
  const inside = [...condition.inside, ...grouped.inside];
  const facts = [...from.facts, ...condition.facts, ...(everywhere ? [] : grouped.facts)];
  const present = [...condition.present, ...(everywhere ? [] : grouped.present)];
  const closure = new Closure(facts, from.conditionals, present);
  noteJoins(run, from.parts, closure, facts);
  if (query.lockingClause && from.terms.some(({ link }) => link)) run.traits.add('locks');
  if (sets) run.traits.add('grouping-sets');
  const output = outputs(run, here, targets, from);
  // A row of a grouping set has null in the columns of the others.
  const columns = sets ? output.columns.map(({ name }) => ({ name, sym: run.symbols.fresh('') })) : output.columns;
  const inner = [
    ...from.terms,
    ...insideTerms(
      [where, select, having, others].flatMap(({ terms }) => terms),
      inside,
    ),
  ];
  const combined = combine(run, query, { env: here, closure, aggregated, everywhere, sets, select, columns, targets });
  const outer = outerSymbols(env.scope);
  const never = condition.never || (grouped.never && !sets);
  const plain = combined.length === 0 && !query.distinctClause;
  let terms = never ? [] : deduce(inner, closure);
  for (const keep of combined) terms = restrict(run, terms, (sym) => keep.has(sym) || outer.has(sym));
  const visible = new Set(columns.map(({ sym }) => sym));
  // Symbols that aren't in the result can't be compared any more, but those of a merged query's own conditions stay.
  if (!plain) terms = restrict(run, terms, (sym) => visible.has(sym) || outer.has(sym));
  const known = everywhere
    ? []
    : [...facts, ...present.map((sym): SqlFact => ({ a: sym, b: sym, ab: false, ba: false }))];
  return {
    columns,
    open: output.open,
    terms,
    facts: plain ? known : withoutPruning(known),
    conditionals: plain ? from.conditionals : [],
    merged: plain,
    combines:
      !plain && terms.some(({ link }) => link && ![...link].some((sym) => visible.has(sym) && !isConstant(run, sym))),
  };
}

const isStar = (node: Node): boolean =>
  'ResTarget' in node &&
  node.ResTarget.val !== undefined &&
  'ColumnRef' in node.ResTarget.val &&
  (node.ResTarget.val.ColumnRef.fields ?? []).some((field) => 'A_Star' in field);

/** ORDER BY may name a column of the result. */
const namesOutput = (node: Node, targets: readonly Node[]): boolean =>
  'SortBy' in node &&
  node.SortBy.node !== undefined &&
  'ColumnRef' in node.SortBy.node &&
  node.SortBy.node.ColumnRef.fields?.length === 1 &&
  targets.some(
    (target) =>
      'ResTarget' in target &&
      target.ResTarget.name === strings((node.SortBy.node as { ColumnRef: ColumnRef }).ColumnRef.fields)[0],
  );

/** Expressions of GROUP BY and DISTINCT ON. Names among them may be those of the result, and are read below. */
const groupings = (query: SelectStmt): Node[] =>
  [...(query.groupClause ?? []), ...(query.distinctClause ?? [])].flatMap(expressionsOf);

function expressionsOf(node: Node): Node[] {
  if (Object.keys(node).length === 0 || 'ColumnRef' in node) return [];
  if ('GroupingSet' in node) return (node.GroupingSet.content ?? []).flatMap(expressionsOf);
  return 'RowExpr' in node ? (node.RowExpr.args ?? []).flatMap(expressionsOf) : [node];
}

interface Level {
  readonly env: Env;
  readonly closure: Closure;
  readonly aggregated: boolean;
  /** Aggregates over all rows, or grouping sets: no column is the same in all rows. */
  readonly everywhere: boolean;
  readonly sets: boolean;
  readonly select: Walked;
  readonly columns: readonly Col[];
  readonly targets: readonly Node[];
}

/** For each step that combines rows, the symbols that the combined rows have in common. */
function combine(run: Evaluation, query: SelectStmt, level: Level): ReadonlySet<Sym>[] {
  const { closure } = level;
  const steps: ReadonlySet<Sym>[] = [];
  const named = (nodes: readonly Node[], kind: 'group' | 'distinct' | 'window'): Set<Sym> =>
    closure.equalTo(nodes.flatMap((node) => symbolOfKey(run, level, node, kind) ?? []));
  if (level.aggregated) steps.push(level.everywhere ? new Set() : named(query.groupClause ?? [], 'group'));
  const windows = level.select.windows.flatMap((node) =>
    'FuncCall' in node && node.FuncCall.over ? [node.FuncCall.over] : [],
  );
  for (const { name, refname, partitionClause } of windows) {
    const base = partitionClause ?? windowNamed(query, name ?? refname ?? '');
    steps.push(named(base, 'window'));
  }
  const on = (query.distinctClause ?? []).filter((node) => Object.keys(node).length > 0);
  if (on.length > 0) steps.push(named(on, 'distinct'));
  if (isLimited(query)) steps.push(new Set());
  return steps;
}

function windowNamed(query: SelectStmt, name: string): readonly Node[] {
  for (const each of query.windowClause ?? []) {
    if (!('WindowDef' in each) || each.WindowDef.name !== name) continue;
    const { partitionClause, refname } = each.WindowDef;
    return partitionClause ?? (refname === undefined ? [] : windowNamed(query, refname));
  }
  return [];
}

/**
 * A key of GROUP BY may be the number or, if FROM has no such column, the name of a column of the result. In DISTINCT ON the
 * result's names come first. In PARTITION BY there are neither.
 */
function symbolOfKey(
  run: Evaluation,
  level: Level,
  node: Node,
  kind: 'group' | 'distinct' | 'window',
): Sym | undefined {
  const { env, columns, targets } = level;
  if ('A_Const' in node && node.A_Const.ival && kind !== 'window' && !targets.some(isStar))
    return columns[(node.A_Const.ival.ival ?? 0) - 1]?.sym;
  if (!('ColumnRef' in node)) return undefined;
  const names = strings(node.ColumnRef.fields);
  const output = (): Sym | undefined =>
    names.length === 1 ? columns.find((each) => each.name === names[0])?.sym : undefined;
  const here = env.scope && {
    columns: env.scope.columns,
    entries: env.scope.entries,
    distributed: false,
    crossed: false,
  };
  const input = (): Sym | undefined => sqlColumnOf(run, here, node.ColumnRef, true);
  if (kind === 'window') return input() ?? sqlColumnOf(run, env.scope, node.ColumnRef);
  return kind === 'distinct' ? (output() ?? input()) : (input() ?? output());
}

/** The columns of the result. */
function outputs(
  run: Evaluation,
  env: Env,
  targets: readonly Node[],
  from: FromRows,
): { columns: Col[]; open: boolean } {
  let open = false;
  const columns = targets.flatMap((target): Col[] => {
    if (!('ResTarget' in target) || !target.ResTarget.val) return [];
    const { val, name } = target.ResTarget;
    if (isStar(target) && 'ColumnRef' in val) {
      const [alias] = strings(val.ColumnRef.fields).slice(-2);
      const whole = (val.ColumnRef.fields ?? []).length === 1;
      const entries = whole ? from.entries : entriesNamed(env, alias ?? '');
      if (entries.length === 0 || entries.some((entry) => entry.open)) open = true;
      if (!whole && entries.length === 0) run.doubts.add(`names ${alias}.*, which is not in FROM`);
      const starred = whole ? from.columns : entries.flatMap((entry) => entry.columns);
      run.spend('expressions', starred.length);
      return [...starred];
    }
    if ('A_Indirection' in val && (val.A_Indirection.indirection ?? []).some((each) => 'A_Star' in each)) {
      open = true;
      run.doubts.add('expands a row into columns that are not known');
    }
    return [{ name: name ?? outputName(val), sym: outputSymbol(run, env, val) }];
  });
  return { columns, open };
}

function entriesNamed({ scope }: Env, alias: string) {
  for (let at = scope; at; at = at.parent) {
    const found = at.entries.filter((entry) => entry.alias === alias);
    if (found.length > 0) return found;
    at.crossed = true;
  }
  return [];
}

function outputName(val: Node): string {
  if ('ColumnRef' in val) return strings(val.ColumnRef.fields).at(-1) ?? '';
  if ('FuncCall' in val) return strings(val.FuncCall.funcname).at(-1) ?? '';
  return 'TypeCast' in val && val.TypeCast.arg ? outputName(val.TypeCast.arg) : '?column?';
}

/** A column's own symbol, a constant's, or a new one. */
function outputSymbol(run: Evaluation, env: Env, val: Node): Sym {
  if ('ColumnRef' in val) {
    const sym = sqlColumnOf(run, env.scope, val.ColumnRef);
    if (sym !== undefined) return sym;
  }
  if (('A_Const' in val && !val.A_Const.isnull) || 'ParamRef' in val || 'TypeCast' in val) {
    const operand = operandOf(run, env, val);
    if (operand.kind === 'constant' && !operand.null && (operand.literal !== undefined || operand.text.startsWith('$')))
      return constantSymbol(run, operand, operand.family);
  }
  return run.symbols.fresh('');
}

function values(run: Evaluation, lists: readonly Node[], env: Env): QueryRows {
  const rows = lists.map((list) => ('List' in list ? (list.List.items ?? []) : []));
  const { terms } = walk(run, env, rows.flat());
  const columns = (rows[0] ?? []).map((first, at) => ({
    name: `column${at + 1}`,
    sym: rows.length === 1 ? outputSymbol(run, env, first) : run.symbols.fresh(''),
  }));
  return { columns, terms, facts: [], conditionals: [], merged: false, combines: false, open: false };
}

function setOperation(run: Evaluation, query: SelectStmt, env: Env): QueryRows {
  const { larg, rarg, op } = query;
  if (!larg || !rarg) throw new TypeError('a set operation with one arm');
  const [left, right] = [run.evaluate(larg, env), run.evaluate(rarg, env)];
  const columns = left.columns.map(({ name, sym }) => ({ name, sym: run.symbols.fresh(run.symbols.familyOf(sym)) }));
  if (left.open || right.open) run.doubts.add('combines results whose columns are not known');
  const [ofLeft, ofRight] = [constantsOf(run, left, columns), constantsOf(run, right, columns)];
  const terms = [...byPlace(run, left, columns, env), ...byPlace(run, right, columns, env)];
  return {
    columns,
    terms,
    facts: op === 'SETOP_UNION' ? commonArms(ofLeft, ofRight) : ofLeft,
    conditionals: [],
    merged: false,
    combines: terms.some(({ link }) => link?.size === 0),
    open: left.open,
  };
}
