// What is true of the rows for which a condition holds.
import type { A_Expr, Node, RowExpr } from 'libpg-query';
import { type Operand, operandOf, subqueryOf } from './expressions.ts';
import { nodeKindOf, strings } from './nodes.ts';
import { type Env, type QueryRows, type Evaluation, type SqlTerm, isConstant } from './relation.ts';
import { Closure, type SqlFact, type Sym, withoutPruning } from './symbols.ts';

export interface SqlCondition {
  readonly facts: readonly SqlFact[];
  /** Symbols that aren't null. */
  readonly present: readonly Sym[];
  /** No row fulfils it. */
  readonly never: boolean;
  /** Symbols of rows of an IN subquery, with those that they equal where the condition holds. */
  readonly inside: readonly Inside[];
}

interface Inside {
  readonly rows: QueryRows;
  readonly equal: readonly SqlFact[];
}

const NOTHING: SqlCondition = { facts: [], present: [], never: false, inside: [] };
const NEVER: SqlCondition = { ...NOTHING, never: true };

/** @param wanted the value that the condition has: true, or false under a NOT */
export function conditionOf(
  run: Evaluation,
  env: Env,
  node: Node | undefined,
  wanted = true,
  top = true,
): SqlCondition {
  if (!node) return NOTHING;
  if ('BoolExpr' in node) {
    const { boolop, args = [] } = node.BoolExpr;
    if (boolop === 'NOT_EXPR') return conditionOf(run, env, args[0], !wanted, false);
    const all = (boolop === 'AND_EXPR') === wanted;
    const arms = args.map((arg) => conditionOf(run, env, arg, wanted, top && all && wanted));
    return all ? together(arms) : { ...either(run, arms), inside: arms.flatMap(({ inside }) => inside) };
  }
  if ('A_Const' in node) {
    const { boolval, isnull } = node.A_Const;
    const value = boolval ? (boolval.boolval ?? false) : undefined;
    return isnull === true || (value !== undefined && value !== wanted) ? NEVER : NOTHING;
  }
  if ('NullTest' in node) {
    const { arg, nulltesttype } = node.NullTest;
    const isNotNull = (nulltesttype === 'IS_NOT_NULL') === wanted;
    return isNotNull && arg && !('RowExpr' in arg) ? { ...NOTHING, present: strictColumns(run, env, arg) } : NOTHING;
  }
  if ('BooleanTest' in node) {
    const { arg, booltesttype } = node.BooleanTest;
    if (!wanted || (booltesttype !== 'IS_TRUE' && booltesttype !== 'IS_FALSE')) return NOTHING;
    const inner = conditionOf(run, env, arg, booltesttype === 'IS_TRUE', false);
    return { ...inner, facts: withoutPruning(inner.facts) };
  }
  if ('SubLink' in node && node.SubLink.subLinkType === 'ANY_SUBLINK') return inSubquery(run, env, node, wanted, top);
  if ('A_Expr' in node) return comparison(run, env, node.A_Expr, wanted);
  return NOTHING;
}

const together = (arms: readonly SqlCondition[]): SqlCondition => ({
  facts: arms.flatMap(({ facts }) => facts),
  present: arms.flatMap(({ present }) => present),
  never: arms.some(({ never }) => never),
  inside: arms.flatMap(({ inside }) => inside),
});

/** What all arms that can hold have in common. */
function either(run: Evaluation, arms: readonly SqlCondition[]): SqlCondition {
  const possible = arms.filter(({ never }) => !never);
  const [first, ...others] = possible;
  if (!first) return NEVER;
  if (others.length === 0) return first;
  const closures = possible.map(({ facts, present }) => new Closure(facts, [], present));
  const facts = first.facts.filter(({ a, b }) => closures.every((each) => each.equalTo([a]).has(b)));
  const shared = facts.map((fact) => ({
    ...fact,
    ab: fact.ab && closures.every((each) => each.feeding([fact.b]).has(fact.a)),
    ba: fact.ba && closures.every((each) => each.feeding([fact.a]).has(fact.b)),
  }));
  const present = [...new Set(first.facts.flatMap(({ a, b }) => [a, b]).concat(first.present))].filter((sym) =>
    closures.every((each) => each.isPresent(new Set([sym]))),
  );
  return { ...NOTHING, facts: [...shared, ...lists(run, first, closures)], present };
}

/** A column that each arm compares with a constant has one of these constants. */
function lists(run: Evaluation, first: SqlCondition, closures: readonly Closure[]): SqlFact[] {
  const columns = new Set(first.facts.flatMap(({ a, b }) => [a, b]).filter((sym) => !isConstant(run, sym)));
  return [...columns].flatMap((sym): SqlFact[] => {
    const constants = closures.map((each) => [...each.equalTo([sym])].filter((other) => isConstant(run, other)));
    if (constants.some((each) => each.length === 0)) return [];
    if (constants[0]?.some((one) => constants.every((each) => each.includes(one)))) return [];
    const all = constants.flat().map((each) => run.symbols.constantOf(each));
    const list = run.symbols.constant(run.symbols.familyOf(sym), {
      key: 'list',
      literal: false,
      prunes: all.every((each) => each?.prunes),
      list: all.every((each) => each?.literal || each?.list === 'literals') ? 'literals' : 'others',
    });
    const prunes = closures.every((each) => [...each.feeding([sym])].some((of) => isConstant(run, of)));
    return [{ a: list, b: sym, ab: prunes, ba: false }];
  });
}

function comparison(run: Evaluation, env: Env, expression: A_Expr, wanted: boolean): SqlCondition {
  const { kind, lexpr, rexpr } = expression;
  const [operator = ''] = strings(expression.name).slice(-1);
  if (run.catalog.operators.has(operator) || strings(expression.name).length > 1) return NOTHING;
  if (kind === 'AEXPR_BETWEEN') return between(run, env, expression, wanted);
  if (kind === 'AEXPR_IN' || kind === 'AEXPR_OP_ANY') return inList(run, env, expression, wanted);
  if (kind === 'AEXPR_NOT_DISTINCT' || kind === 'AEXPR_DISTINCT')
    return (kind === 'AEXPR_NOT_DISTINCT') === wanted ? notDistinct(run, env, expression) : NOTHING;
  const equal = kind === 'AEXPR_OP' && operator === (wanted ? '=' : '<>');
  const strict = kind === 'AEXPR_OP' && /^(=|<>|<|>|<=|>=)$/.test(operator);
  const present = strict ? [...strictColumns(run, env, lexpr), ...strictColumns(run, env, rexpr)] : [];
  if (!equal || !lexpr || !rexpr) return { ...NOTHING, present };
  if ('RowExpr' in lexpr && 'RowExpr' in rexpr) return wanted ? sameRows(run, env, lexpr, rexpr) : NOTHING;
  const found = equality(run, operandOf(run, env, lexpr), operandOf(run, env, rexpr));
  return { ...found, present: [...found.present, ...present] };
}

/** `(a, b) = (1, 2)`. */
function sameRows(
  run: Evaluation,
  env: Env,
  { RowExpr: { args = [] } }: Node & { readonly RowExpr: RowExpr },
  { RowExpr: { args: others = [] } }: Node & { readonly RowExpr: RowExpr },
): SqlCondition {
  return together(
    args.map((left, at) => {
      const right = others[at];
      return right ? equality(run, operandOf(run, env, left), operandOf(run, env, right)) : NOTHING;
    }),
  );
}

/** `a IS NOT DISTINCT FROM b` is an equality if one side is never null. The planner makes no restriction of it. */
function notDistinct(run: Evaluation, env: Env, { lexpr, rexpr }: A_Expr): SqlCondition {
  if (!lexpr || !rexpr) return NOTHING;
  const sides = [operandOf(run, env, lexpr), operandOf(run, env, rexpr)] as const;
  const isPresent = (side: Operand): boolean =>
    side.kind === 'column' ? run.symbols.isRequired(side.sym) : side.kind === 'constant' && side.literal !== undefined;
  if (!sides.some(isPresent))
    return hint(
      run,
      sides.flatMap((side) => (side.kind === 'column' ? [side.sym] : [])),
    );
  if (sides.some((side) => side.kind === 'constant' && side.null)) return NOTHING;
  const found = equality(run, ...sides);
  return { ...found, facts: withoutPruning(found.facts) };
}

/** The columns without which a strict expression is null. */
function strictColumns(run: Evaluation, env: Env, node: Node | undefined): Sym[] {
  if (!node) return [];
  if ('ColumnRef' in node) {
    const operand = operandOf(run, env, node);
    return operand.kind === 'column' ? [operand.sym] : [];
  }
  if ('TypeCast' in node) return strictColumns(run, env, node.TypeCast.arg);
  if (
    'A_Expr' in node &&
    node.A_Expr.kind === 'AEXPR_OP' &&
    /^[-+*/<>=%]+$/.test(strings(node.A_Expr.name).at(-1) ?? '')
  )
    return [...strictColumns(run, env, node.A_Expr.lexpr), ...strictColumns(run, env, node.A_Expr.rexpr)];
  return [];
}

function equality(run: Evaluation, left: Operand, right: Operand): SqlCondition {
  if (left.kind === 'constant' && right.kind === 'column') return equality(run, right, left);
  if ((left.kind === 'constant' && left.null) || (right.kind === 'constant' && right.null)) return NEVER;
  if (left.kind === 'column' && right.kind === 'column') {
    const [a, b] = [left.sym, right.sym];
    if (!comparable(run, a, b)) return hint(run, [a, b]);
    const prunes = left.plain && right.plain;
    return { ...NOTHING, facts: [{ a, b, ab: prunes, ba: prunes }] };
  }
  if (left.kind === 'column' && right.kind === 'constant') {
    if (run.symbols.familyOf(left.sym) === 'unsafe') return hint(run, [left.sym]);
    const b = constantSymbol(run, right, run.symbols.familyOf(left.sym));
    return { ...NOTHING, facts: [{ a: left.sym, b, ab: false, ba: left.plain && right.prunes }] };
  }
  if (left.kind === 'constant' && right.kind === 'constant') {
    const literals = left.literal !== undefined && right.literal !== undefined;
    return literals && left.family === 'integer' && right.family === 'integer' && left.literal !== right.literal
      ? NEVER
      : NOTHING;
  }
  const volatile = (side: Operand): boolean => side.kind === 'other' && side.volatile;
  if (volatile(left) || volatile(right)) return NOTHING;
  return hint(
    run,
    [left, right].flatMap((side) => (side.kind === 'column' ? [side.sym] : side.kind === 'other' ? side.columns : [])),
  );
}

/** Values of two types may be equal to a third one and not to one another, so that only one family counts. */
function comparable(run: Evaluation, a: Sym, b: Sym): boolean {
  const [left, right] = [run.symbols.familyOf(a), run.symbols.familyOf(b)];
  return left === right && left !== 'unsafe' && left !== 'bpchar' && left !== 'json';
}

export function constantSymbol(run: Evaluation, operand: Operand & { readonly kind: 'constant' }, family: string): Sym {
  const { literal, text, prunes } = operand;
  const whole =
    literal !== undefined && /^\s*[-+]?\d+\s*$/.test(literal) && (family === 'integer' || operand.family === 'integer');
  const key = whole ? `integer ${BigInt(literal.trim())}` : literal === undefined ? text : `text ${literal}`;
  return run.symbols.constant(family || operand.family, { key, literal: literal !== undefined, prunes });
}

/** The check doesn't know what a condition says of these columns. */
function hint(run: Evaluation, syms: readonly Sym[]): SqlCondition {
  for (const sym of syms) run.hints.add(sym);
  return NOTHING;
}

function between(run: Evaluation, env: Env, { lexpr, rexpr }: A_Expr, wanted: boolean): SqlCondition {
  const [from, to] = rexpr && 'List' in rexpr ? (rexpr.List.items ?? []) : [];
  if (!wanted || !lexpr || !from || !to) return NOTHING;
  const [left, low, high] = [operandOf(run, env, lexpr), operandOf(run, env, from), operandOf(run, env, to)];
  const present = [...strictColumns(run, env, lexpr), ...strictColumns(run, env, from), ...strictColumns(run, env, to)];
  const [one, other] = [equality(run, left, low), equality(run, left, high)];
  const same = one.facts[0] && one.facts[0].b === other.facts[0]?.b;
  return { ...NOTHING, present, facts: same ? withoutPruning(one.facts) : [] };
}

/** `x IN (1, 2)`, `x = ANY (ARRAY[1, 2])`, `x = ANY ($1)`. */
function inList(run: Evaluation, env: Env, { kind, name, lexpr, rexpr }: A_Expr, wanted: boolean): SqlCondition {
  if (!lexpr || !rexpr || strings(name).at(-1) !== '=' || !wanted) return NOTHING;
  const items = kind === 'AEXPR_IN' ? ('List' in rexpr ? (rexpr.List.items ?? []) : []) : arrayItems(rexpr);
  if (kind === 'AEXPR_IN' && 'RowExpr' in lexpr)
    return either(
      run,
      (items ?? []).map((item) => ('RowExpr' in item ? sameRows(run, env, lexpr, item) : NOTHING)),
    );
  const left = operandOf(run, env, lexpr);
  if (!items) {
    const right = operandOf(run, env, rexpr);
    if (left.kind !== 'column') return NOTHING;
    run.hints.add(left.sym);
    if (right.kind !== 'constant') return { ...NOTHING, present: [left.sym] };
    const list = run.symbols.constant('', { key: 'list', literal: false, prunes: right.prunes, list: 'others' });
    return { ...NOTHING, facts: [{ a: list, b: left.sym, ab: left.plain && right.prunes, ba: false }] };
  }
  if (items.length === 0) return NEVER;
  const arms = items.map((item) => equality(run, left, operandOf(run, env, item)));
  return either(run, arms);
}

/** `undefined`: the elements aren't known. */
function arrayItems(node: Node): readonly Node[] | undefined {
  if ('TypeCast' in node && node.TypeCast.arg) return arrayItems(node.TypeCast.arg);
  if (!('A_ArrayExpr' in node)) return undefined;
  const elements = node.A_ArrayExpr.elements ?? [];
  return elements.some((element) => nodeKindOf(element)[0] === 'A_ArrayExpr') ? undefined : elements;
}

/**
 * `(a, b) IN (SELECT c, d …)`. Rows of the subquery with other values make the condition neither true nor unknown, so it
 * depends only on rows of the tenant that `a` has, whatever value the condition has.
 */
function inSubquery(run: Evaluation, env: Env, node: Node, wanted: boolean, top: boolean): SqlCondition {
  if (!('SubLink' in node)) return NOTHING;
  const { testexpr, operName } = node.SubLink;
  const { rows } = subqueryOf(run, env, node);
  if (operName !== undefined && strings(operName).at(-1) !== '=') return NOTHING;
  const tests = testexpr ? ('RowExpr' in testexpr ? (testexpr.RowExpr.args ?? []) : [testexpr]) : [];
  const closure = new Closure(rows.facts, rows.conditionals);
  const equal = tests.flatMap((test, at): SqlFact[] => {
    const [left, column] = [operandOf(run, env, test), rows.columns[at]];
    if (!column) return [];
    const sym =
      left.kind === 'column'
        ? left.sym
        : left.kind === 'constant' && !left.null
          ? constantSymbol(run, left, run.symbols.familyOf(column.sym))
          : undefined;
    if (sym === undefined || (left.kind === 'column' && !comparable(run, sym, column.sym))) return [];
    // A null of the subquery makes NOT IN unknown for all rows. A tenant column has none, unless an outer join adds it.
    if (!wanted && !rows.terms.some(({ leaf }) => leaf.column === column.sym)) return [];
    const plain = left.kind === 'constant' ? left.prunes : left.kind === 'column' && left.plain;
    return [{ a: sym, b: column.sym, ab: plain && top, ba: plain && top && rows.merged }];
  });
  if (!wanted) return { ...NOTHING, inside: [{ rows, equal }] };
  const facts = equal.flatMap(({ a, b, ba }): SqlFact[] =>
    [...closure.equalTo([b])]
      .filter((sym) => isConstant(run, sym))
      .map((sym) => ({ a, b: sym, ab: false, ba: ba && closure.feeding([b]).has(sym) })),
  );
  return { ...NOTHING, facts, inside: [{ rows, equal }], present: equal.map(({ a }) => a) };
}

/** Terms of IN subqueries, with the columns around them that their columns equal. */
export function insideTerms(terms: readonly SqlTerm[], inside: readonly Inside[]): SqlTerm[] {
  return terms.map((term) => {
    const facts = inside.filter(({ rows }) => rows.terms.includes(term)).flatMap(({ equal }) => equal);
    if (facts.length === 0) return term;
    const closure = new Closure(facts);
    const { tenant, prune, link } = term;
    return {
      ...term,
      tenant: closure.equalTo(tenant),
      ...(prune && { prune: closure.feeding(prune) }),
      ...(link && { link: closure.equalTo(link) }),
    };
  });
}
