// FROM: tables, views, subqueries, functions and joins.
import type { JoinExpr, Node, RangeVar } from 'libpg-query';
import { type Relation, findRelation } from './catalog.ts';
import { conditionOf, insideTerms } from './conditions.ts';
import { walk } from './expressions.ts';
import { familyOf, strings } from './nodes.ts';
import {
  type Col,
  type SqlEntry,
  type Env,
  type FromRows,
  type Leaf,
  NO_ROWS,
  type QueryRows,
  type Evaluation,
  type SqlScope,
  type SqlTerm,
  isConstant,
  restrict,
  deduce,
} from './relation.ts';
import { Closure, type SqlFact, type Sym } from './symbols.ts';

/** The rows of one item of FROM. `beside` are the items before it, which LATERAL sees. */
export function fromItem(run: Evaluation, env: Env, item: Node, beside: FromRows): FromRows {
  if ('RangeVar' in item) return named(run, env, item.RangeVar);
  if ('JoinExpr' in item) return joined(run, env, item.JoinExpr, beside);
  const lateral: Env = { ...env, scope: scopeOf(env, beside) };
  if ('RangeSubselect' in item) {
    const { subquery, alias, lateral: sees } = item.RangeSubselect;
    if (!subquery || !('SelectStmt' in subquery)) return NO_ROWS;
    const border: SqlScope = {
      columns: [],
      entries: [],
      distributed: false,
      crossed: false,
      ...(sees ? { parent: lateral.scope } : env.scope && { parent: env.scope }),
    };
    const rows = run.evaluate(subquery.SelectStmt, { ...env, scope: border });
    if (!sees || !border.crossed) return aliased(run, rows, alias?.aliasname ?? '', strings(alias?.colnames));
    // The planner passes no constant into a subquery that names columns beside it.
    const besides = symbolsOf(beside);
    const isFree = ({ link }: SqlTerm): boolean =>
      link !== undefined && ![...link].some((sym) => besides.has(sym) || isConstant(run, sym));
    if (rows.terms.some(isFree)) run.issues.push({ issue: 'unclear', parts: [] });
    const terms = rows.terms.map((term) =>
      term.prune ? { ...term, prune: new Set([...term.prune].filter((sym) => !besides.has(sym))) } : term,
    );
    return aliased(run, { ...rows, terms }, alias?.aliasname ?? '', strings(alias?.colnames));
  }
  if ('RangeFunction' in item || 'RangeTableFunc' in item || 'JsonTable' in item) return computed(run, lateral, item);
  if ('RangeTableSample' in item) {
    run.doubts.add('reads a sample, which depends on the rows of all tenants');
    return item.RangeTableSample.relation ? fromItem(run, env, item.RangeTableSample.relation, beside) : NO_ROWS;
  }
  run.doubts.add('has a form of FROM that the check doesn’t know');
  return NO_ROWS;
}

export const scopeOf = (env: Env, { columns, entries, terms }: FromRows): SqlScope => ({
  columns,
  entries,
  distributed: terms.some(({ link }) => link),
  crossed: false,
  ...(env.scope && { parent: env.scope }),
});

/** Items of FROM with a comma between them, or an inner join. */
export const product = (left: FromRows, right: FromRows): FromRows => ({
  columns: [...left.columns, ...right.columns],
  entries: [...left.entries, ...right.entries],
  terms: [...left.terms, ...right.terms],
  facts: [...left.facts, ...right.facts],
  conditionals: [...left.conditionals, ...right.conditionals],
  parts: [...left.parts, ...right.parts],
});

function named(run: Evaluation, env: Env, table: RangeVar): FromRows {
  const { schemaname, relname = '', alias, location = -1 } = table;
  const name = alias?.aliasname ?? relname;
  const names = strings(alias?.colnames);
  const cte = schemaname === undefined ? env.ctes.findLast((each) => each.name === relname) : undefined;
  if (cte) return aliased(run, cte.use(), name, names);
  const relation = found(run, env, schemaname, relname);
  if (!relation) {
    run.traits.add('unclear');
    run.doubts.add(`reads ${schemaname === undefined ? '' : `${schemaname}.`}${relname}, which the DDL doesn’t have`);
    return open(run, name);
  }
  if (relation.kind === 'view') {
    if (relation.unclear !== undefined) run.doubts.add(`reads the view ${relname}, which ${relation.unclear}`);
    const rows = run.evaluate(relation.query, {
      ctes: [],
      view: { name: env.view?.name ?? relname, bound: relation.bound },
    });
    return aliased(run, rows, name, names.length > 0 ? names : relation.names);
  }
  return storedRelation(run, relation, name, names, {
    at: env.view === undefined ? location : -1,
    ...(env.view !== undefined && { through: env.view.name }),
  });
}

/** A view keeps the relations that its names stood for when it was made. */
function found({ catalog }: Evaluation, { view }: Env, schema: string | undefined, name: string): Relation | undefined {
  if (schema !== undefined || !view) return findRelation(catalog, schema, name);
  return catalog.relations.get(view.bound.get(name) ?? '');
}

type Table = Relation & { readonly kind: 'table' };

/** The rows of a table. */
export function storedRelation(
  run: Evaluation,
  table: Table,
  alias: string,
  names: readonly string[],
  where: Pick<Leaf, 'at' | 'through'>,
): FromRows {
  run.spend('tables');
  if (table.unclear !== undefined) {
    run.traits.add('unclear');
    run.doubts.add(`reads ${table.name}, which ${table.unclear}`);
  }
  const refused = run.catalog.refused.get(table.parent ?? table.name);
  if (refused !== undefined) run.refusals.add(refused);
  const { distribution } = table;
  const own = table.columns.map(({ name, type, collated, required }) => ({
    name,
    sym: run.symbols.fresh(collated ? 'unsafe' : familyOf(type), required),
  }));
  const columns = own.map(({ name, sym }, at) => ({ name: names[at] ?? name, sym }));
  const symOf = (column: string): Sym | undefined => own.find(({ name }) => name === column)?.sym;
  const tenant = distribution.kind === 'reference' ? undefined : symOf(run.catalog.tenant);
  const key = distribution.kind === 'distributed' ? symOf(distribution.column) : undefined;
  if (distribution.kind === 'local') run.locals.add(table.name);
  const leaf: Leaf = { table, alias, ...where, ...(tenant !== undefined && { column: tenant }) };
  const term: SqlTerm = {
    leaf,
    tenant: new Set(tenant === undefined ? [] : [tenant]),
    ...(distribution.kind === 'distributed' && {
      prune: new Set(key === undefined ? [] : [key]),
      link: new Set(key === undefined ? [] : [key]),
    }),
  };
  const terms = tenant === undefined && distribution.kind !== 'distributed' ? [] : [term];
  return {
    columns,
    entries: [{ alias, columns, open: false, stored: true }],
    terms,
    facts: [],
    conditionals: [],
    parts: [{ terms, syms: new Set(columns.map(({ sym }) => sym)) }],
  };
}

function aliased(run: Evaluation, rows: QueryRows, alias: string, names: readonly string[]): FromRows {
  const columns = rows.columns.map(({ name, sym }, at) => ({ name: names[at] ?? name, sym }));
  return {
    columns,
    entries: [{ alias, columns, open: rows.open, stored: false }],
    terms: rows.terms,
    facts: rows.facts,
    conditionals: rows.conditionals,
    parts: [{ terms: rows.combines ? [] : rows.terms, syms: new Set(columns.map(({ sym }) => sym)) }],
  };
}

const open = (run: Evaluation, alias: string): FromRows => ({
  ...NO_ROWS,
  entries: [{ alias, columns: [], open: true, stored: false }],
});

/** Functions: their columns are known by their aliases at most. */
function computed(run: Evaluation, env: Env, item: Node): FromRows {
  const fields = Object.values(item)[0] as { functions?: Node[]; alias?: { aliasname?: string; colnames?: Node[] } };
  const calls = (fields.functions ?? [item]).flatMap((each) =>
    'List' in each ? (each.List.items ?? []).slice(0, 1) : [each],
  );
  const { terms } = walk(run, env, calls);
  const alias = fields.alias?.aliasname ?? functionNameOf(calls[0]);
  const names = strings(fields.alias?.colnames);
  const columns = (names.length > 0 ? names : [alias]).map((name) => ({ name, sym: run.symbols.fresh('') }));
  return {
    ...NO_ROWS,
    columns,
    entries: [{ alias, columns, open: true, stored: false }],
    terms,
    parts: terms.length === 0 ? [] : [{ terms, syms: new Set() }],
  };
}

const functionNameOf = (call: Node | undefined): string =>
  call && 'FuncCall' in call ? (strings(call.FuncCall.funcname).at(-1) ?? '') : '';

function joined(run: Evaluation, env: Env, join: JoinExpr, beside: FromRows): FromRows {
  const { larg, rarg, quals, usingClause, isNatural, jointype, alias } = join;
  if (!larg || !rarg) return NO_ROWS;
  const left = fromItem(run, env, larg, beside);
  const right = fromItem(run, env, rarg, product(beside, left));
  const both = product(left, right);
  const shared = isNatural
    ? left.columns.map(({ name }) => name).filter((name) => right.columns.some((other) => other.name === name))
    : strings(usingClause);
  const scope: Env = { ...env, scope: scopeOf(env, both) };
  const walked = walk(run, scope, [quals]);
  const condition = conditionOf(run, scope, quals);
  const own = insideTerms(walked.terms, condition.inside);
  const pairs = shared.flatMap((name) => {
    const [a, b] = [left.columns.find((of) => of.name === name), right.columns.find((of) => of.name === name)];
    return a && b ? [{ name, a: a.sym, b: b.sym }] : [];
  });
  const facts: SqlFact[] = [...condition.facts, ...pairs.map(({ a, b }) => ({ a, b, ab: true, ba: true }))];
  const on: On = { facts, terms: own, present: condition.present };
  const rows =
    jointype === 'JOIN_LEFT'
      ? outer(run, left, right, on, pairs, 'left')
      : jointype === 'JOIN_RIGHT'
        ? outer(run, right, left, on, pairs, 'right')
        : jointype === 'JOIN_FULL'
          ? full(run, left, right, on, pairs)
          : inner(both, on, pairs, condition.never);
  return alias?.aliasname === undefined
    ? rows
    : {
        ...rows,
        entries: [
          {
            alias: alias.aliasname,
            columns: rows.columns,
            open: rows.entries.some((each) => each.open),
            stored: false,
          },
        ],
      };
}

interface On {
  readonly facts: readonly SqlFact[];
  /** Of subqueries in the condition. */
  readonly terms: readonly SqlTerm[];
  readonly present: readonly Sym[];
}

interface Pair {
  readonly name: string;
  readonly a: Sym;
  readonly b: Sym;
}

/** A column that USING merges is there once for names without a dot. */
function merge(columns: readonly Col[], pairs: readonly Pair[], symOf: (pair: Pair) => Sym): Col[] {
  const names = new Set(pairs.map(({ name }) => name));
  return [
    ...pairs.map((pair) => ({ name: pair.name, sym: symOf(pair) })),
    ...columns.filter(({ name }) => !names.has(name)),
  ];
}

const inner = (both: FromRows, on: On, pairs: readonly Pair[], never: boolean): FromRows => ({
  ...both,
  columns: merge(both.columns, pairs, ({ a }) => a),
  terms: never ? [] : [...both.terms, ...on.terms],
  facts: [...both.facts, ...on.facts, ...on.present.map((sym) => ({ a: sym, b: sym, ab: false, ba: false }))],
});

/** The nullable side with new symbols: what is known of the old ones doesn't hold for rows without a partner. */
function nullable(run: Evaluation, side: FromRows): { rows: FromRows; links: SqlFact[] } {
  const renamed = new Map<Sym, Sym>();
  const fresh = (sym: Sym): Sym => {
    const known = renamed.get(sym);
    if (known !== undefined) return known;
    const made = run.symbols.fresh(run.symbols.familyOf(sym));
    renamed.set(sym, made);
    return made;
  };
  const rename = (columns: readonly Col[]): Col[] => columns.map(({ name, sym }) => ({ name, sym: fresh(sym) }));
  const columns = rename(side.columns);
  const entries = side.entries.map((entry): SqlEntry => ({ ...entry, columns: rename(entry.columns) }));
  const links = [...renamed].map(([a, b]): SqlFact => ({ a, b, ab: true, ba: true }));
  return { rows: { ...side, columns, entries }, links };
}

function outer(
  run: Evaluation,
  kept: FromRows,
  other: FromRows,
  on: On,
  pairs: readonly Pair[],
  direction: 'left' | 'right',
): FromRows {
  const inside = new Closure([...other.facts, ...on.facts], other.conditionals, on.present);
  const deduced = deduce([...other.terms, ...on.terms], inside);
  const keptSyms = symbolsOf(kept);
  const otherSyms = symbolsOf(other);
  const distributed = deduced.filter(({ link }) => link);
  const linked = new Closure([...kept.facts, ...other.facts, ...on.facts]);
  const keptTerms = kept.terms.filter(({ link }) => link);
  if (distributed.length > 0 && keptTerms.length === 0) run.traits.add('reference-preserved');
  if (distributed.some(({ link }) => !sharesAll(run, linked, link, keptTerms)))
    run.issues.push({ issue: 'complex', parts: [] });
  const { rows, links } = nullable(run, other);
  const any = new Set(links.map(({ b }) => b));
  const terms = restrict(run, deduced, (sym) => !otherSyms.has(sym) || keptSyms.has(sym)).map((term, at): SqlTerm => {
    const whole = deduced[at];
    return whole ? { ...term, rescue: { any, term: { ...whole } } } : term;
  });
  const [left, right] = direction === 'left' ? [kept, rows] : [rows, kept];
  const both = product(left, right);
  return {
    ...both,
    // The merged column is that of the preserved side.
    columns: merge(both.columns, pairs, ({ a, b }) => (direction === 'left' ? a : b)),
    terms: [...kept.terms, ...terms],
    facts: kept.facts,
    conditionals: [
      ...kept.conditionals,
      { any, facts: [...links, ...other.facts, ...on.facts] },
      ...other.conditionals,
    ],
    parts: kept.parts,
  };
}

/** Each of the terms has a symbol in common with the link, or a constant. */
function sharesAll(
  run: Evaluation,
  closure: Closure,
  link: ReadonlySet<Sym> | undefined,
  terms: readonly SqlTerm[],
): boolean {
  const all = closure.equalTo(link ?? []);
  if (terms.length === 0 || [...all].some((sym) => isConstant(run, sym))) return true;
  return terms.every((term) => [...(term.link ?? [])].some((sym) => all.has(sym)));
}

/** Rows of either side may be without a partner, and no condition is followed through that: constants alone stay. */
function full(run: Evaluation, left: FromRows, right: FromRows, on: On, pairs: readonly Pair[]): FromRows {
  run.traits.add('unclear');
  run.doubts.add('has a FULL JOIN');
  const both = product(nullable(run, left).rows, nullable(run, right).rows);
  for (const { leaf } of both.terms) if (leaf.column !== undefined) run.hints.add(leaf.column);
  const terms = restrict(run, deduce([...both.terms, ...on.terms], new Closure(both.facts)), () => false);
  const columns = merge(both.columns, pairs, () => run.symbols.fresh(''));
  return { ...both, columns, terms, facts: [], conditionals: [], parts: [{ terms, syms: symbolsOf(both) }] };
}

function symbolsOf({ columns, entries, facts }: FromRows): Set<Sym> {
  return new Set([
    ...columns.map(({ sym }) => sym),
    ...entries.flatMap((entry) => entry.columns.map(({ sym }) => sym)),
    ...facts.flatMap(({ a, b }) => [a, b]),
  ]);
}
