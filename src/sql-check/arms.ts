// The arms of a set operation, and of a recursion: what is known of their columns, by place.
import {
  type Col,
  type Env,
  type QueryRows,
  type Evaluation,
  type SqlTerm,
  isConstant,
  outerSymbols,
  deduce,
} from './relation.ts';
import { Closure, type SqlFact, type Sym } from './symbols.ts';

/** Symbols of an arm's columns as those of the whole, by their places. */
export function byPlace(run: Evaluation, arm: QueryRows, columns: readonly Col[], env: Env): SqlTerm[] {
  const closure = new Closure(arm.facts, arm.conditionals);
  const outer = outerSymbols(env.scope);
  const mapped = (syms: ReadonlySet<Sym>, equal: (syms: Iterable<Sym>) => Set<Sym>): Set<Sym> => {
    const all = equal(syms);
    return new Set([
      ...[...all].filter((sym) => isConstant(run, sym) || outer.has(sym)),
      ...columns.flatMap(({ sym }, at) => (all.has(arm.columns[at]?.sym ?? -1) ? [sym] : [])),
    ]);
  };
  return deduce(arm.terms, closure).map(({ leaf, tenant, prune, link }) => ({
    leaf,
    tenant: mapped(tenant, (syms) => closure.equalTo(syms)),
    ...(prune && { prune: mapped(prune, (syms) => closure.feeding(syms)) }),
    ...(link && { link: mapped(link, (syms) => closure.equalTo(syms)) }),
  }));
}

/** Which columns of the whole equal which constants in an arm. */
export function constantsOf(run: Evaluation, arm: QueryRows, columns: readonly Col[]): SqlFact[] {
  const closure = new Closure(arm.facts, arm.conditionals);
  return columns.flatMap(({ sym }, at) =>
    [...closure.equalTo([arm.columns[at]?.sym ?? -1])]
      .filter((each) => isConstant(run, each) && run.symbols.constantOf(each)?.list === undefined)
      .map((each): SqlFact => ({ a: sym, b: each, ab: false, ba: false })),
  );
}

export const commonArms = (left: readonly SqlFact[], right: readonly SqlFact[]): SqlFact[] =>
  left.filter((one) => right.some((other) => one.a === other.a && one.b === other.b));
