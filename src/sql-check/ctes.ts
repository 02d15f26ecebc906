// WITH: queries with a name, recursive ones too.
import type { CommonTableExpr, Node, WithClause } from 'libpg-query';
import { byPlace, commonArms, constantsOf } from './arms.ts';
import { sqlShapeOf, stringOf } from './nodes.ts';
import {
  type Cte,
  type Env,
  NO_ROWS,
  type QueryRows,
  type Evaluation,
  type SqlTerm,
  isConstant,
  outerSymbols,
  restrict,
} from './relation.ts';
import { withoutPruning } from './symbols.ts';

export function withCtes(run: Evaluation, clause: WithClause | undefined, env: Env): Env {
  let inner = env;
  for (const node of clause?.ctes ?? []) {
    if (!('CommonTableExpr' in node)) continue;
    const cte = node.CommonTableExpr;
    inner = {
      ...inner,
      ctes: [
        ...inner.ctes,
        clause?.recursive && namesItself(cte) ? recursiveCte(run, cte, inner) : plainCte(run, cte, inner),
      ],
    };
  }
  return inner;
}

const namesItself = ({ ctename = '', ctequery }: CommonTableExpr): boolean =>
  sqlShapeOf(ctequery).includes(`"relname":${JSON.stringify(ctename)}`);

const renamed = (rows: QueryRows, names: readonly Node[] | undefined): QueryRows => ({
  ...rows,
  columns: rows.columns.map(({ name, sym }, at) => ({ name: names?.[at] ? stringOf(names[at]) : name, sym })),
});

function plainCte(run: Evaluation, cte: CommonTableExpr, env: Env): Cte {
  const { ctename: name = '', ctequery, aliascolnames } = cte;
  if (!ctequery || !('SelectStmt' in ctequery)) {
    const rows = ctequery ? run.write(ctequery, env) : undefined;
    return {
      name,
      use: () => renamed(rows ?? { ...NO_ROWS, merged: false, combines: true, open: true }, aliascolnames),
    };
  }
  const apart =
    cte.ctematerialized === 'CTEMaterializeAlways' ||
    (cte.ctematerialized !== 'CTEMaterializeNever' && (run.uses.get(name) ?? 0) > 1);
  const use = (): QueryRows => {
    const rows = renamed(run.evaluate(ctequery.SelectStmt, env), aliascolnames);
    if (!apart) return rows;
    const outer = outerSymbols(env.scope);
    return {
      ...rows,
      facts: withoutPruning(rows.facts),
      terms: rows.terms.map((term) =>
        term.prune
          ? { ...term, prune: new Set([...term.prune].filter((sym) => isConstant(run, sym) || outer.has(sym))) }
          : term,
      ),
      merged: false,
      combines: true,
    };
  };
  if ((run.uses.get(name) ?? 0) === 0) use();
  return { name, use };
}

/**
 * The rows of a recursive query are assumed to have the terms of its first arm, and the second arm is read over them until
 * its terms don't change: so what holds of the rows after n steps holds after n + 1.
 */
function recursiveCte(run: Evaluation, cte: CommonTableExpr, env: Env): Cte {
  const { ctename: name = '', ctequery, aliascolnames } = cte;
  const query = ctequery && 'SelectStmt' in ctequery ? ctequery.SelectStmt : undefined;
  const { larg, rarg } = query ?? {};
  if (
    !query ||
    !larg ||
    !rarg ||
    query.op !== 'SETOP_UNION' ||
    cte.search_clause ||
    cte.cycle_clause ||
    query.withClause
  ) {
    run.doubts.add(`has a form of recursion that the check doesn’t know`);
    return { name, use: () => ({ ...NO_ROWS, merged: false, combines: true, open: true }) };
  }
  const use = (): QueryRows => {
    run.traits.add('recursive');
    const base = renamed(run.evaluate(larg, env), aliascolnames);
    const columns = base.columns.map((column) => ({
      ...column,
      sym: run.symbols.fresh(run.symbols.familyOf(column.sym)),
    }));
    const first = byPlace(run, base, columns, env);
    let facts = constantsOf(run, base, columns);
    let terms = first;
    for (let round = 0; round < 6; round++) {
      const assumed: QueryRows = {
        columns,
        terms,
        facts,
        conditionals: [],
        merged: false,
        combines: false,
        open: base.open,
      };
      const step = run.evaluate(rarg, { ...env, ctes: [...env.ctes, { name, use: () => assumed }] });
      const next = [...first, ...byPlace(run, step, columns, env)];
      const kept = commonArms(facts, constantsOf(run, step, columns));
      if (kept.length === facts.length && sameTerms(next, terms))
        return { ...assumed, terms: withoutOuterPruning(run, terms), combines: true };
      [facts, terms] = [kept, unique(next)];
    }
    run.doubts.add('has a recursion that the check can’t follow');
    return {
      columns,
      terms: restrict(run, terms, () => false),
      facts: [],
      conditionals: [],
      merged: false,
      combines: true,
      open: base.open,
    };
  };
  return { name, use };
}

const withoutOuterPruning = (run: Evaluation, terms: readonly SqlTerm[]): SqlTerm[] =>
  restrict(
    run,
    terms,
    () => true,
    () => false,
  );

const textOf = ({ leaf, tenant, prune, link }: SqlTerm): string =>
  JSON.stringify([
    leaf.table.name,
    leaf.at,
    leaf.through,
    ...[tenant, prune, link].map((syms) => [...(syms ?? [])].toSorted((a, b) => a - b)),
  ]);

const unique = (terms: readonly SqlTerm[]): SqlTerm[] => [
  ...new Map(terms.map((term) => [textOf(term), term])).values(),
];

const sameTerms = (one: readonly SqlTerm[], other: readonly SqlTerm[]): boolean =>
  [...new Set(one.map(textOf))].toSorted().join('\n') === [...new Set(other.map(textOf))].toSorted().join('\n');
