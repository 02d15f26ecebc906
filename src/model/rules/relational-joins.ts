// The sides of a join, and which columns of them conditions make equal.
import type { Node, RangeVar } from 'libpg-query';
import { kindOf, strings } from '../../sql-check/nodes.ts';

export const nameOf = (of: RangeVar | undefined): string =>
  `${of?.schemaname === undefined ? '' : `${of.schemaname}.`}${of?.relname ?? ''}`;

interface Named {
  readonly table: string;
  readonly column: string;
}

/** A column, or the text of a constant or a parameter. */
type Term = Named | string;

/** Of conditions that all hold: what is equal. What is below OR or NOT isn't among them. */
export function equalities(node: Node | undefined): [Term, Term][] {
  if (!node) return [];
  if ('BoolExpr' in node)
    return node.BoolExpr.boolop === 'AND_EXPR' ? (node.BoolExpr.args ?? []).flatMap(equalities) : [];
  if (!('A_Expr' in node) || node.A_Expr.kind !== 'AEXPR_OP' || strings(node.A_Expr.name).at(-1) !== '=') return [];
  const [a, b] = [termOf(node.A_Expr.lexpr), termOf(node.A_Expr.rexpr)];
  return a !== undefined && b !== undefined ? [[a, b]] : [];
}

function termOf(node: Node | undefined): Term | undefined {
  if (node && 'ParamRef' in node) return `$${node.ParamRef.number ?? 0}`;
  if (node && 'A_Const' in node) {
    const { location: _, ...value } = node.A_Const;
    return JSON.stringify(value);
  }
  if (!node || !('ColumnRef' in node)) return undefined;
  const [column, table] = strings(node.ColumnRef.fields).toReversed();
  return column === undefined || column === '' || table === undefined ? undefined : { table, column };
}

/** Columns of one name that are equal on both sides: by a condition, by others in between, or by one value. */
export function across(pairs: readonly (readonly [Term, Term])[], left: Sides, right: Sides): string[] {
  const groups: Term[][] = [];
  const isSame = (a: Term, b: Term): boolean => JSON.stringify(a) === JSON.stringify(b);
  for (const pair of pairs) {
    const met = groups.filter((group) => group.some((term) => pair.some((one) => isSame(one, term))));
    for (const one of met) groups.splice(groups.indexOf(one), 1);
    groups.push([...met.flat(), ...pair]);
  }
  return groups.flatMap((group) => {
    const named = group.filter((term) => typeof term !== 'string');
    const of = (side: Sides): string[] =>
      named.flatMap(({ table, column }) => (side.aliases.has(table) ? [column] : []));
    return [...new Set(of(left))].filter((column) => of(right).includes(column));
  });
}

export interface Sides {
  readonly aliases: ReadonlySet<string>;
  /** The table, if there is one only. */
  readonly only?: string;
  readonly text: string;
  readonly location: number;
  readonly isFunction?: boolean;
}

export const NO_SIDE: Sides = { aliases: new Set(), text: '', location: 0 };

export const together = (left: Sides, right: Sides): Sides => ({
  aliases: new Set([...left.aliases, ...right.aliases]),
  text: `${left.text}, ${right.text}`,
  location: left.location,
  ...(left.isFunction && right.isFunction && { isFunction: true }),
});

export function sidesOf(node: Node): Sides {
  if ('RangeVar' in node) {
    const { alias, relname = '', location = 0 } = node.RangeVar;
    const name = nameOf(node.RangeVar);
    const as = alias?.aliasname;
    const text = as === undefined ? name : `${name} ${as}`;
    return { aliases: new Set([as ?? relname]), only: name, text, location };
  }
  if ('JoinExpr' in node && node.JoinExpr.larg && node.JoinExpr.rarg)
    return together(sidesOf(node.JoinExpr.larg), sidesOf(node.JoinExpr.rarg));
  const [, fields] = kindOf(node);
  const alias = (fields['alias'] as { readonly aliasname?: string } | undefined)?.aliasname ?? '';
  return {
    aliases: new Set([alias]),
    text: alias === '' ? 'a subquery' : alias,
    location: firstLocation(fields),
    ...('RangeFunction' in node && { isFunction: true }),
  };
}

/** A subquery has no place of its own. */
function firstLocation(value: unknown): number {
  const found = JSON.stringify(value).match(/"location":(\d+)/);
  return Number(found?.[1] ?? 0);
}
