// Terms → whether a statement can see rows of another tenant.
import type { Evaluation, SqlTerm } from './relation.ts';
import type { Constant } from './symbols.ts';

export interface RowsVerdict {
  readonly verdict: 'safe' | 'leaks' | 'unknown';
  readonly why: string;
  /** Of a safe statement: the tenant, each way in which it names it, as `1`, `$1`; empty: it has no rows of tenants. */
  readonly tenants?: readonly string[];
  /** Tables whose rows may be those of another tenant, each with the offset in bytes of its use (-1: inside a view). */
  readonly tables: readonly { readonly name: string; readonly alias: string; readonly at: number }[];
}

export function rowsVerdict(run: Evaluation, terms: readonly SqlTerm[]): RowsVerdict {
  const { tenant } = run.catalog;
  const judged = terms
    .filter(({ leaf }) => leaf.table.distribution.kind !== 'reference')
    .map((term) => ({ term, constants: constantsOf(run, term) }));
  const single = (constants: readonly Constant[]): Constant[] => constants.filter(({ list }) => list === undefined);
  const unconfined = judged.filter(({ constants }) => single(constants).length === 0);
  const certain = unconfined.filter(({ term, constants }) => !isUnclear(run, term, constants));
  const doubt = [...run.doubts][0];
  if (certain.length > 0) {
    const [{ term, constants }] = certain as [(typeof certain)[0]];
    const of = nameOf(term);
    return result(
      'leaks',
      constants.length > 0
        ? `several values of ${tenant} are allowed for ${of}`
        : `nothing restricts ${of} to one ${tenant}`,
      certain.map((each) => each.term),
    );
  }
  if (unconfined.length > 0) {
    const [{ term }] = unconfined as [(typeof unconfined)[0]];
    return result(
      'unknown',
      unclearWhy(run, term),
      unconfined.map((each) => each.term),
    );
  }
  const shared = judged.length === 0 ? [''] : single(judged[0]?.constants ?? []).map(({ key }) => key);
  const common = shared.filter((key) =>
    judged.every(({ constants }) => single(constants).some((each) => each.key === key)),
  );
  if (common.length === 0) {
    const all = judged.map(({ term }) => term);
    const literal = judged.every(({ constants }) => single(constants).every((each) => each.literal));
    return literal
      ? result('leaks', `its tables are restricted to different values of ${tenant}`, all)
      : result('unknown', `its tables are restricted to values of ${tenant} that may differ`, all);
  }
  if (doubt !== undefined) return result('unknown', `it ${doubt}`, []);
  if (judged.length === 0) return { ...result('safe', 'it reads and writes no rows of tenants', []), tenants: [] };
  const why = `each use of a table with tenants is restricted to one ${tenant}`;
  return { ...result('safe', why, []), tenants: common.map((key) => key.replace(/^(integer|text) /, '')) };
}

const result = (verdict: RowsVerdict['verdict'], why: string, terms: readonly SqlTerm[]): RowsVerdict => ({
  verdict,
  why,
  tables: [
    ...new Map(
      terms.map(({ leaf }) => [
        `${leaf.at} ${leaf.alias}`,
        { name: shortName(leaf.table.name), alias: leaf.alias, at: leaf.at },
      ]),
    ).values(),
  ],
});

const shortName = (name: string): string => name.replace(/^public\./, '');

function nameOf({ leaf }: SqlTerm): string {
  const name = shortName(leaf.table.name);
  const alias = leaf.alias === '' || leaf.alias === name ? name : `${name} (${leaf.alias})`;
  return leaf.through === undefined ? alias : `${name} in the view ${leaf.through}`;
}

function constantsOf(run: Evaluation, { tenant }: SqlTerm): Constant[] {
  return [...tenant].flatMap((sym) => run.symbols.constantOf(sym) ?? []);
}

/** What restricts the table isn't understood, so that the check can't say that nothing does. */
const isUnclear = (run: Evaluation, { leaf, tenant }: SqlTerm, constants: readonly Constant[]): boolean =>
  leaf.column === undefined ||
  leaf.table.secured ||
  run.hints.has(leaf.column) ||
  [...tenant].some((sym) => run.hints.has(sym)) ||
  constants.some(({ list }) => list === 'others');

function unclearWhy(run: Evaluation, term: SqlTerm): string {
  const { leaf } = term;
  const { tenant } = run.catalog;
  if (leaf.column === undefined) return `${nameOf(term)} has no column ${tenant}`;
  if (leaf.table.secured) return `only row-level security may restrict ${nameOf(term)}, which depends on the role`;
  return `a condition on ${tenant} of ${nameOf(term)} has a form that the check doesn’t understand`;
}
