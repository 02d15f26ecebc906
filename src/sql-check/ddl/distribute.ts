// `SELECT create_distributed_table('orders', 'store_id', colocate_with => 'stores')` and its kind.
import type { FuncCall, Node, SelectStmt } from 'libpg-query';
import type { Distribution, SqlTable } from '../catalog.ts';
import { type Draft, change, kinOf, mark, relationNamed } from './draft.ts';
import { volatilityOf } from '../functions.ts';
import { below, nodeKindOf, strings } from '../nodes.ts';

export const DISTRIBUTES =
  /^(create_distributed_table|create_distributed_table_concurrently|create_reference_table|citus_add_local_table_to_metadata|undistribute_table)$/;
/** They change no table. `set_config` is read where the search path is. */
const HARMLESS = /^(set_config|setval|nextval|currval|pg_advisory_\w+|pg_sleep)$/;

/** @returns false: it calls a function that may change tables, and isn't understood */
export function readCalls(draft: Draft, select: SelectStmt): boolean {
  const calls = functionsIn({ SelectStmt: select }).filter(({ funcname }) => {
    const name = strings(funcname).at(-1) ?? '';
    return volatilityOf(name) === undefined && !HARMLESS.test(name);
  });
  const plain = select.whereClause ? [] : callsOf(select);
  return calls.map((call) => distribute(draft, call, plain.includes(call))).every((read) => read);
}

function functionsIn(node: Node): FuncCall[] {
  const [, fields] = nodeKindOf(node);
  return [...('FuncCall' in node ? [node.FuncCall] : []), ...below(fields).flatMap(functionsIn)];
}

/** The calls of `SELECT f(…)` and of `SELECT * FROM f(…)`, which run once. */
export function callsOf({ targetList = [], fromClause = [] }: SelectStmt): FuncCall[] {
  const targets = targetList.flatMap((each) => ('ResTarget' in each ? (each.ResTarget.val ?? []) : []));
  const from = fromClause.flatMap((each) =>
    'RangeFunction' in each
      ? (each.RangeFunction.functions ?? []).flatMap((list) => ('List' in list ? (list.List.items ?? []) : [list]))
      : [],
  );
  // Beside a table, a call runs once for each of its rows.
  const once = fromClause.every((each) => 'RangeFunction' in each);
  return [...(once ? targets : []), ...from].flatMap((each) => ('FuncCall' in each ? [each.FuncCall] : []));
}

/** @param once false: it runs on a condition, or once for each of several rows */
function distribute(draft: Draft, call: FuncCall, once: boolean): boolean {
  const name = strings(call.funcname).at(-1) ?? '';
  if (!DISTRIBUTES.test(name)) return false;
  const { positional, named } = argumentsOf(call);
  const of = positional[0] ?? named.get('table_name') ?? named.get('relation');
  if (of === undefined || of === '') {
    for (const each of draft.relations.values())
      mark(draft, each, 'unclear', `may be an argument of a ${name} that the check doesn’t read`);
    return false;
  }
  const table = relationNamed(draft, of);
  if (table?.kind !== 'table' || !once) return false;
  // Citus refuses to distribute a table twice.
  const isLocal = table.distribution.kind === 'local';
  if (name === 'undistribute_table' || (isLocal && name === 'citus_add_local_table_to_metadata'))
    become(draft, table, { kind: 'local' });
  else if (!isLocal) return false;
  else if (name === 'create_reference_table') become(draft, table, { kind: 'reference' });
  else {
    const column = positional[1] ?? named.get('distribution_column') ?? '';
    const beside = positional[3] ?? named.get('colocate_with') ?? 'default';
    const type = columnType(table, column);
    const other = relationNamed(draft, beside);
    const group =
      beside === 'default'
        ? `default ${type} ${positional[4] ?? named.get('shard_count') ?? ''}`
        : other?.kind === 'table' && other.distribution.kind === 'distributed'
          ? other.distribution.group
          : table.name;
    const isNamed = beside !== 'default' && beside !== 'none';
    become(draft, table, { kind: 'distributed', column, group, ...(isNamed && { beside: other?.name ?? beside }) });
  }
  return true;
}

/** Partitions are distributed as the table that they belong to. */
function become(draft: Draft, table: SqlTable, distribution: Distribution): void {
  for (const each of kinOf(draft, table)) change(draft, each, { distribution });
}

/** A type under the name that PostgreSQL keeps. */
export function columnType({ columns }: SqlTable, name: string): string {
  const type = columns.find((each) => each.name === name)?.type ?? '';
  const [, size] = /^(big|small)?serial(?:[248])?$/.exec(type) ?? [];
  if (type === 'serial8' || size === 'big') return 'int8';
  if (type === 'serial2' || size === 'small') return 'int2';
  return type === 'serial' || type === 'serial4' ? 'int4' : type;
}

function argumentsOf({ args = [] }: FuncCall): { positional: string[]; named: Map<string, string> } {
  const positional: string[] = [];
  const named = new Map<string, string>();
  for (const arg of args) {
    if ('NamedArgExpr' in arg) named.set(arg.NamedArgExpr.name ?? '', constant(arg.NamedArgExpr.arg));
    else positional.push(constant(arg));
  }
  return { positional, named };
}

function constant(node: Node | undefined): string {
  if (node && 'TypeCast' in node) return constant(node.TypeCast.arg);
  if (!node || !('A_Const' in node)) return '';
  return node.A_Const.sval?.sval ?? String(node.A_Const.ival?.ival ?? '');
}
