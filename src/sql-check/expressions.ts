// Expressions: which columns they name, which functions they call, which subqueries they hold.
import type { ColumnRef, FuncCall, Node, SubLink } from 'libpg-query';
import { SQL_AGGREGATES, type Volatility, WINDOWS, volatilityOf } from './functions.ts';
import { below, familyOf, nodeKindOf, sqlShapeOf, stringOf, strings, typeName } from './nodes.ts';
import {
  type Env,
  type Evaluation,
  type SqlScope,
  type Subquery,
  type SqlTerm,
  outerSymbols,
  restrict,
} from './relation.ts';
import type { Sym } from './symbols.ts';

const SYSTEM_COLUMNS = /^(ctid|xmin|xmax|cmin|cmax|tableoid)$/;

/** Kinds of nodes that mean nothing beyond what is below them. */
const KNOWN =
  /^(A_Const|A_Expr|A_ArrayExpr|A_Indices|A_Indirection|A_Star|BoolExpr|BooleanTest|CaseExpr|CaseWhen|CoalesceExpr|CollateClause|ColumnRef|FuncCall|GroupingFunc|GroupingSet|JsonAggConstructor|JsonArrayAgg|JsonArrayConstructor|JsonFormat|JsonFuncExpr|JsonIsPredicate|JsonKeyValue|JsonObjectAgg|JsonObjectConstructor|JsonOutput|JsonReturning|JsonValueExpr|List|MinMaxExpr|MultiAssignRef|NamedArgExpr|NullTest|ParamRef|ResTarget|RowExpr|SQLValueFunction|SetToDefault|SortBy|String|Integer|Float|Boolean|SubLink|TypeCast|TypeName|WindowDef|XmlExpr|XmlSerialize|RangeTableFunc|RangeTableFuncCol)$/;

export interface Walked {
  /** Terms of the subqueries in it. */
  readonly terms: readonly SqlTerm[];
  readonly aggregates: boolean;
  readonly windows: readonly Node[];
  readonly volatility: Volatility;
  /** Symbols of its columns, without those of subqueries. */
  readonly columns: readonly Sym[];
  readonly subqueries: boolean;
  /** It names whole rows, or names that aren't known. */
  readonly opaque: boolean;
}

const ORDER: readonly Volatility[] = ['immutable', 'stable', 'volatile'];

/** Reads a whole expression, and notes in the run what isn't understood. */
export function walk(run: Evaluation, env: Env, nodes: readonly (Node | undefined)[]): Walked {
  const terms: SqlTerm[] = [];
  const windows: Node[] = [];
  const columns: Sym[] = [];
  let [aggregates, subqueries, opaque, volatility] = [false, false, false, 0];
  const visit = (node: Node): void => {
    run.spend('expressions');
    const [kind, fields] = nodeKindOf(node);
    if (!KNOWN.test(kind)) run.doubts.add(`has a form that the check doesn’t know (${kind})`);
    if ('SubLink' in node) {
      subqueries = true;
      terms.push(...subqueryOf(run, env, node).rows.terms);
      if (node.SubLink.testexpr) visit(node.SubLink.testexpr);
      return;
    }
    if ('ColumnRef' in node) {
      const sym = sqlColumnOf(run, env.scope, node.ColumnRef);
      if (sym === undefined) opaque = true;
      else columns.push(sym);
      return;
    }
    if ('FuncCall' in node) {
      const call = node.FuncCall;
      const name = functionName(run, call);
      const known = name === undefined ? undefined : volatilityOf(name);
      if (known === undefined) {
        run.traits.add('unclear');
        run.doubts.add(`calls ${strings(call.funcname).join('.')}(), which may run queries of its own`);
      } else volatility = Math.max(volatility, ORDER.indexOf(known));
      if (call.over) windows.push(node);
      else if (name !== undefined && (SQL_AGGREGATES.has(name) || WINDOWS.has(name))) {
        aggregates = true;
        if (countsOuterRows(run, env, call)) run.doubts.add(`aggregates rows of the query around it`);
      }
    }
    if (/^Json(Object|Array)Agg$/.test(kind)) aggregates = true;
    if ('SQLValueFunction' in node) volatility = Math.max(volatility, 1);
    if ('A_Expr' in node && strings(node.A_Expr.name).some((name) => run.catalog.operators.has(name)))
      run.doubts.add(`uses the operator ${strings(node.A_Expr.name).join('.')}, which the DDL defines`);
    if ('TypeCast' in node && run.catalog.operators.has('cast')) run.doubts.add(`casts, and the DDL defines casts`);
    for (const each of below(fields)) visit(each);
  };
  for (const node of nodes) if (node) visit(node);
  const found = ORDER[volatility] ?? 'volatile';
  if (found !== 'immutable') run.moving.add(found);
  return { terms, aggregates, windows, columns, subqueries, opaque, volatility: found };
}

function functionName(run: Evaluation, { funcname }: FuncCall): string | undefined {
  const parts = strings(funcname);
  const name = parts.at(-1) ?? '';
  if (parts.length > 1 && parts[0] !== 'pg_catalog') return undefined;
  return run.catalog.functions.has(name) ? undefined : name;
}

/** An aggregate whose columns all belong to a query around this one is an aggregate of that query. */
function countsOuterRows(run: Evaluation, { scope }: Env, { args = [] }: FuncCall): boolean {
  if (!scope?.parent) return false;
  const refs = columnRefs(args);
  return (
    refs.length > 0 && refs.every((ref) => sqlColumnOf(run, { ...scope, crossed: false }, ref, true) === undefined)
  );
}

function columnRefs(nodes: readonly Node[]): ColumnRef[] {
  return nodes.flatMap((node) => {
    if ('ColumnRef' in node) return [node.ColumnRef];
    return 'SubLink' in node ? [] : columnRefs(below(nodeKindOf(node)[1]));
  });
}

/** The rows of a subquery in an expression. */
export function subqueryOf(run: Evaluation, env: Env, node: { readonly SubLink: SubLink }): Subquery {
  const here = subqueriesAt(run, env.scope);
  const known = here.get(node);
  if (known) return known;
  const { subselect, subLinkType } = node.SubLink;
  if (!subselect || !('SelectStmt' in subselect)) throw new TypeError('a subquery without a SELECT');
  const border: SqlScope = {
    columns: [],
    entries: [],
    distributed: false,
    crossed: false,
    ...(env.scope && { parent: env.scope }),
  };
  const evaluated = run.evaluate(subselect.SelectStmt, { ...env, scope: border });
  const correlated = border.crossed;
  const scalar = subLinkType !== 'EXISTS_SUBLINK' && subLinkType !== 'ANY_SUBLINK';
  // What a subquery in an expression depends on must be known by columns around it, and by its own constants.
  const outer = outerSymbols(env.scope);
  const own = new Set(evaluated.columns.map(({ sym }) => sym));
  const terms = restrict(
    run,
    evaluated.terms,
    (sym) => outer.has(sym) || (subLinkType === 'ANY_SUBLINK' && own.has(sym)),
    (sym) =>
      (subLinkType === 'EXISTS_SUBLINK' && evaluated.merged && outer.has(sym)) ||
      (subLinkType === 'ANY_SUBLINK' && !correlated && own.has(sym)),
  );
  if (scalar && terms.some((term) => term.prune && ![...term.prune].some((sym) => run.symbols.constantOf(sym)?.prunes)))
    if (!correlated || !terms.every((term) => !term.link || term.link.size > 0)) run.traits.add('scalar-subquery');
  if (correlated && !scalar)
    for (const term of terms)
      if (term.link?.size === 0)
        run.issues.push({
          issue: env.scope?.distributed ? 'complex' : 'unclear',
          parts: [{ terms: [term], syms: new Set() }],
        });
  const found = { rows: { ...evaluated, terms }, correlated };
  here.set(node, found);
  return found;
}

/** The query of a view or a CTE may be read several times, each time with other symbols around. */
function subqueriesAt(run: Evaluation, scope: SqlScope | undefined): Map<Node, Subquery> {
  const known = run.subqueries.get(scope);
  if (known) return known;
  const made = new Map<Node, Subquery>();
  run.subqueries.set(scope, made);
  return made;
}

/** A side of a comparison. */
export type Operand =
  | { readonly kind: 'column'; readonly sym: Sym; readonly plain: boolean }
  | {
      readonly kind: 'constant';
      readonly text: string;
      readonly literal?: string;
      readonly null: boolean;
      readonly prunes: boolean;
      readonly family: string;
    }
  | { readonly kind: 'other'; readonly columns: readonly Sym[]; readonly volatile: boolean };

export function operandOf(run: Evaluation, env: Env, node: Node): Operand {
  if ('ColumnRef' in node) {
    const sym = sqlColumnOf(run, env.scope, node.ColumnRef);
    return sym === undefined ? { kind: 'other', columns: [], volatile: false } : { kind: 'column', sym, plain: true };
  }
  const cast = castColumn(run, env, node);
  if (cast) return cast;
  if ('SubLink' in node && node.SubLink.subLinkType === 'EXPR_SUBLINK') {
    const { rows, correlated } = subqueryOf(run, env, node);
    const [column] = rows.columns;
    // Another subquery with the same text may have other rows, by a WITH around it or by chance.
    if (rows.terms.length === 0 && !correlated)
      return { kind: 'constant', text: `subquery ${run.symbols.fresh('')}`, null: false, prunes: false, family: '' };
    return column ? { kind: 'column', sym: column.sym, plain: false } : { kind: 'other', columns: [], volatile: false };
  }
  const { columns, subqueries, volatility, aggregates, opaque } = walk(run, env, [node]);
  if (columns.length > 0 || subqueries || opaque || aggregates || volatility === 'volatile')
    return { kind: 'other', columns, volatile: volatility === 'volatile' };
  return { kind: 'constant', prunes: volatility === 'immutable', ...literalOf(node) };
}

function castColumn(run: Evaluation, env: Env, node: Node): Operand | undefined {
  if (!('TypeCast' in node) || !node.TypeCast.arg || !('ColumnRef' in node.TypeCast.arg)) return undefined;
  const sym = sqlColumnOf(run, env.scope, node.TypeCast.arg.ColumnRef);
  const { typmods, arrayBounds, names } = node.TypeCast.typeName ?? {};
  const family = familyOf(typeName(names));
  const faithful = /^(integer|text)$/.test(family) && !typmods && !arrayBounds;
  if (sym === undefined || !faithful || run.symbols.familyOf(sym) !== family) return undefined;
  return { kind: 'column', sym, plain: false };
}

/** Literals and parameters have short texts, with or without a cast to the type that they have anyway. */
function literalOf(node: Node): { text: string; literal?: string; null: boolean; family: string } {
  if (
    'TypeCast' in node &&
    node.TypeCast.arg &&
    !node.TypeCast.typeName?.typmods &&
    !node.TypeCast.typeName?.arrayBounds
  ) {
    const family = familyOf(typeName(node.TypeCast.typeName?.names));
    const inner = literalOf(node.TypeCast.arg);
    if (inner.null) return { ...inner, family };
    if (/^(integer|text|uuid)$/.test(family) && (inner.literal !== undefined || inner.text.startsWith('$')))
      return { ...inner, family };
  }
  if ('ParamRef' in node) return { text: `$${node.ParamRef.number ?? 0}`, null: false, family: '' };
  if ('A_Const' in node) {
    const { ival, fval, sval, isnull } = node.A_Const;
    if (isnull) return { text: 'null', null: true, family: '' };
    if (ival) return { text: '', literal: String(ival.ival ?? 0), null: false, family: 'integer' };
    if (fval && /^-?\d+$/.test(fval.fval ?? ''))
      return { text: '', literal: fval.fval ?? '', null: false, family: 'integer' };
    if (sval) return { text: '', literal: sval.sval ?? '', null: false, family: '' };
  }
  return { text: sqlShapeOf(node), null: false, family: '' };
}

/** The symbol of a column's name; `undefined` for a whole row or a name that isn't known. */
export function sqlColumnOf(
  run: Evaluation,
  scope: SqlScope | undefined,
  ref: ColumnRef,
  silent = false,
): Sym | undefined {
  const fields = ref.fields ?? [];
  if (fields.some((field) => 'A_Star' in field)) return undefined;
  const names = fields.map(stringOf);
  const [name = '', alias] = [names.at(-1), names.at(-2)];
  for (let at = scope; at; at = silent ? undefined : at.parent) {
    const found = inScope(run, at, alias, name, silent);
    if (found === 'row') return undefined;
    if (found !== undefined) return found;
    at.crossed = true;
  }
  if (!silent) run.doubts.add(`names ${names.join('.')}, which the DDL doesn’t have`);
  return undefined;
}

function inScope(
  run: Evaluation,
  at: SqlScope,
  alias: string | undefined,
  name: string,
  silent: boolean,
): Sym | 'row' | undefined {
  const entries = alias === undefined ? at.entries : at.entries.filter((entry) => entry.alias === alias);
  const columns = alias === undefined ? at.columns : entries.flatMap((entry) => entry.columns);
  const column = columns.find((each) => each.name === name);
  if (column) return column.sym;
  if (SYSTEM_COLUMNS.test(name) && entries.some(({ stored }) => stored)) {
    if (!silent) run.doubts.add(`names ${name}, which depends on the rows of all tenants`);
    return run.symbols.fresh('');
  }
  if (entries.some(({ open }) => open)) return run.symbols.fresh('');
  if (alias === undefined && at.entries.some((entry) => entry.alias === name)) return 'row';
  // `(row).field` and `schema.table` have no more columns than their table.
  return undefined;
}
