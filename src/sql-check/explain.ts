// What the verdicts of a statement rest on: each use of a table, with the values that restrict it.
import { type Evaluation, MOST, type SqlTerm } from './relation.ts';
import type { Constant, Sym } from './symbols.ts';

/** A use of a table in a statement, as the check has it at the end. */
export interface Use {
  readonly table: string;
  readonly alias: string;
  /** The view through which it is used. */
  readonly through?: string;
  /** Offset in bytes; -1: inside a view. */
  readonly at: number;
  /** In words, the most important first. */
  readonly says: readonly string[];
}

export function usesOf(run: Evaluation, terms: readonly SqlTerm[]): Use[] {
  // An INSERT has a term for each of its rows.
  const shown = terms.slice(0, MOST.tables);
  return shown.map((term) => {
    const { leaf } = term;
    return {
      table: shortName(leaf.table.name),
      alias: leaf.alias,
      ...(leaf.through !== undefined && { through: leaf.through }),
      at: leaf.at,
      says: saysOf(run, term, shown),
    };
  });
}

function saysOf(run: Evaluation, term: SqlTerm, terms: readonly SqlTerm[]): string[] {
  const { leaf, tenant, prune } = term;
  const { distribution, secured } = leaf.table;
  if (distribution.kind === 'reference') return ['a reference table: its rows belong to no tenant'];
  const column = run.catalog.tenant;
  if (leaf.column === undefined) return [`it has no column ${column}`];
  const constants = constantsOf(run, tenant);
  const values = constants.filter(({ list }) => list === undefined).map(sayConstant);
  const lists = constants.filter(({ list }) => list !== undefined);
  const together = terms
    .filter((other) => other !== term && [...other.tenant].some((sym) => tenant.has(sym)))
    .map((other) => sayName(other));
  const pruning = constantsOf(run, prune ?? new Set()).map(sayConstant);
  return [
    values.length > 0
      ? `${column} = ${[...new Set(values)].join(', ')}`
      : lists.length > 0
        ? `${column} is one of several values`
        : `nothing restricts its ${column}`,
    ...(together.length > 0 ? [`the same ${column} as ${[...new Set(together)].join(', ')}`] : []),
    ...(secured ? ['row-level security may restrict it, which depends on the role'] : []),
    ...(distribution.kind === 'local'
      ? ['it is not distributed']
      : prune === undefined
        ? // A row that is written: where it goes is said of the whole statement.
          []
        : pruning.length > 0
          ? [`Citus chooses its shards by ${[...new Set(pruning)].join(', ')}`]
          : ['Citus reads all of its shards']),
  ];
}

const constantsOf = (run: Evaluation, syms: ReadonlySet<Sym>): Constant[] =>
  [...syms].flatMap((sym) => run.symbols.constantOf(sym) ?? []);

const sayConstant = ({ key }: Constant): string => key.replace(/^(integer|text) /, '');

const shortName = (name: string): string => name.replace(/^public\./, '');

const sayName = ({ leaf }: SqlTerm): string => (leaf.alias === '' ? shortName(leaf.table.name) : leaf.alias);
