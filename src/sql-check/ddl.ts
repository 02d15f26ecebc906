// DDL → catalog.
import type {
  AlterTableStmt,
  ColumnDef,
  Constraint,
  CreateStmt,
  FuncCall,
  Node,
  RangeVar,
  ViewStmt,
} from 'libpg-query';
import type { Catalog, SqlColumn, Relation, SqlTable } from './catalog.ts';
import { strings, typeName } from './nodes.ts';
import { type Parser, type ParsedStatement, sqlLineOf } from './parser.ts';

export interface Ddl {
  readonly catalog: Catalog;
  /** Statements that this reader doesn't know, each with its file and line. */
  readonly skipped: readonly string[];
}

interface Source {
  readonly file: string;
  readonly text: string;
}

interface Draft {
  readonly relations: Map<string, Relation>;
  readonly functions: Set<string>;
  readonly operators: Set<string>;
  readonly groups: Map<string, string>;
  path: string[];
}

/** Statements that change nothing which the check knows. */
const HARMLESS =
  /^(CommentStmt|GrantStmt|GrantRoleStmt|CreateSeqStmt|AlterSeqStmt|TransactionStmt|CreateExtensionStmt|CreateSchemaStmt|CreateRoleStmt|AlterRoleStmt|VacuumStmt|CreateEnumStmt|CreateStatsStmt|AlterDefaultPrivilegesStmt|AlterOwnerStmt|AlterEnumStmt|CreateDomainStmt)$/;

/** @param tenant absent: the distribution column that most tables have */
export function readDdl(parser: Parser, sources: readonly Source[], tenant?: string): Ddl {
  const draft: Draft = {
    relations: new Map(),
    functions: new Set(),
    operators: new Set(),
    groups: new Map(),
    path: ['public'],
  };
  const skipped = sources.flatMap(({ file, text }) =>
    parser
      .parse(text, file)
      .flatMap((statement) =>
        apply(draft, statement) ? [] : [`${file}:${sqlLineOf(text, statement.start)}: ${firstWords(statement.text)}`],
      ),
  );
  const { relations, functions, operators, path } = draft;
  return {
    catalog: { relations, functions, operators, path, tenant: tenant ?? mostDistributed(relations) ?? 'tenant_id' },
    skipped,
  };
}

function mostDistributed(relations: ReadonlyMap<string, Relation>): string | undefined {
  const counts = new Map<string, number>();
  for (const relation of relations.values())
    if (relation.kind === 'table' && relation.distribution.kind === 'distributed')
      counts.set(relation.distribution.column, (counts.get(relation.distribution.column) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0];
}

function apply(draft: Draft, { node }: ParsedStatement): boolean {
  if ('CreateStmt' in node) createTable(draft, node.CreateStmt);
  else if ('ViewStmt' in node) createView(draft, node.ViewStmt);
  else if ('AlterTableStmt' in node) return alterTable(draft, node.AlterTableStmt);
  else if ('IndexStmt' in node) {
    const { unique, relation, indexParams } = node.IndexStmt;
    const table = tableOf(draft, relation);
    if (unique && table) table.unique.push(indexColumns(indexParams ?? []));
  } else if ('CreateFunctionStmt' in node) draft.functions.add(strings(node.CreateFunctionStmt.funcname).at(-1) ?? '');
  else if ('DefineStmt' in node) {
    const { kind, defnames } = node.DefineStmt;
    const name = strings(defnames).at(-1) ?? '';
    (kind === 'OBJECT_OPERATOR' ? draft.operators : draft.functions).add(name);
  } else if ('CreateCastStmt' in node) draft.operators.add('cast');
  else if ('CreateTrigStmt' in node)
    return unclear(draft, node.CreateTrigStmt.relation, 'unclearWrites', `has a trigger`);
  else if ('RuleStmt' in node) return unclear(draft, node.RuleStmt.relation, 'unclear', `has a rule`);
  else if ('CreatePolicyStmt' in node || 'InsertStmt' in node) return true;
  else if ('VariableSetStmt' in node) {
    const { name, args } = node.VariableSetStmt;
    if (name === 'search_path')
      draft.path = (args ?? []).map((arg) => ('A_Const' in arg ? (arg.A_Const.sval?.sval ?? '') : ''));
  } else if ('DropStmt' in node) drop(draft, node.DropStmt.objects ?? []);
  else if ('SelectStmt' in node) return (node.SelectStmt.targetList ?? []).every((target) => distribute(draft, target));
  else if ('RenameStmt' in node) {
    unclear(draft, node.RenameStmt.relation, 'unclear', 'is renamed, or has a renamed column');
    return false;
  } else return HARMLESS.test(Object.keys(node)[0] ?? '');
  return true;
}

const nameOf = (draft: Draft, of: RangeVar | undefined): string =>
  `${of?.schemaname ?? draft.path[0] ?? 'public'}.${of?.relname ?? ''}`;

function tableOf(draft: Draft, of: RangeVar | undefined): SqlTable | undefined {
  const names = of?.schemaname === undefined ? draft.path.map((each) => `${each}.${of?.relname}`) : [nameOf(draft, of)];
  const found = names.map((name) => draft.relations.get(name)).find((relation) => relation !== undefined);
  return found?.kind === 'table' ? found : undefined;
}

function unclear(draft: Draft, of: RangeVar | undefined, field: 'unclear' | 'unclearWrites', why: string): boolean {
  const table = tableOf(draft, of);
  if (table) table[field] = why;
  return table !== undefined;
}

function createTable(draft: Draft, { relation, tableElts = [], inhRelations, partbound }: CreateStmt): void {
  const name = nameOf(draft, relation);
  const [parent] = inhRelations ?? [];
  const of = parent && 'RangeVar' in parent ? tableOf(draft, parent.RangeVar) : undefined;
  const table: SqlTable = {
    kind: 'table',
    name,
    columns: [
      ...(of?.columns ?? []),
      ...tableElts.flatMap((element) => ('ColumnDef' in element ? [columnOf(element.ColumnDef)] : [])),
    ],
    distribution: of?.distribution ?? { kind: 'local' },
    unique: [...(of?.unique ?? [])],
    secured: of?.secured ?? false,
    cascades: [],
    ...(inhRelations && !partbound && { unclear: 'inherits from another table' }),
    ...(tableElts.some((element) => 'TableLikeClause' in element) && { unclear: 'is declared by LIKE' }),
  };
  for (const element of tableElts) {
    if ('Constraint' in element) constrain(draft, table, element.Constraint);
    if ('ColumnDef' in element)
      for (const one of element.ColumnDef.constraints ?? [])
        if ('Constraint' in one) constrain(draft, table, one.Constraint, element.ColumnDef.colname);
  }
  draft.relations.set(name, table);
}

function columnOf({ colname = '', typeName: type, collClause, constraints = [] }: ColumnDef): SqlColumn {
  const preset = constraints.find((each) => 'Constraint' in each && each.Constraint.contype === 'CONSTR_DEFAULT');
  const expression = preset && 'Constraint' in preset ? preset.Constraint.raw_expr : undefined;
  return {
    name: colname,
    type: type?.arrayBounds === undefined ? typeName(type?.names) : 'array',
    ...(collClause && !/^(C|POSIX|default)$/.test(strings(collClause.collname).at(-1) ?? '') && { collated: true }),
    ...(expression && { default: expression }),
  };
}

function constrain(draft: Draft, table: SqlTable, constraint: Constraint, column?: string): void {
  const { contype, keys, fk_attrs: from, pktable, fk_del_action: gone, fk_upd_action: changed } = constraint;
  if (contype === 'CONSTR_PRIMARY' || contype === 'CONSTR_UNIQUE')
    table.unique.push(keys ? strings(keys) : column === undefined ? undefined : [column]);
  if (contype === 'CONSTR_EXCLUSION') table.unique.push(undefined);
  if (contype === 'CONSTR_FOREIGN' && /[cnd]/.test(`${gone}${changed}`))
    table.cascades.push({
      to: nameOf(draft, pktable),
      columns: from ? strings(from) : column === undefined ? [] : [column],
    });
}

function indexColumns(parameters: readonly Node[]): string[] | undefined {
  const names = parameters.map((each) => ('IndexElem' in each ? each.IndexElem.name : undefined));
  return names.every((name) => name !== undefined) ? names : undefined;
}

function createView(draft: Draft, { view, aliases, query, options }: ViewStmt): void {
  const name = nameOf(draft, view);
  if (query && 'SelectStmt' in query)
    draft.relations.set(name, {
      kind: 'view',
      name,
      query: query.SelectStmt,
      names: strings(aliases),
      ...(options?.some(
        (each) => 'DefElem' in each && !/^security_(invoker|barrier)$/.test(each.DefElem.defname ?? ''),
      ) && {
        unclear: 'has an option that is not known',
      }),
    });
}

function alterTable(draft: Draft, { relation, cmds = [] }: AlterTableStmt): boolean {
  const table = tableOf(draft, relation);
  if (!table) return false;
  const read = cmds.every((each) => {
    if (!('AlterTableCmd' in each)) return false;
    const { subtype, def, name } = each.AlterTableCmd;
    if (subtype === 'AT_AddColumn' && def && 'ColumnDef' in def) {
      table.columns = [...table.columns, columnOf(def.ColumnDef)];
      for (const one of def.ColumnDef.constraints ?? [])
        if ('Constraint' in one) constrain(draft, table, one.Constraint, def.ColumnDef.colname);
    } else if (subtype === 'AT_AddConstraint' && def && 'Constraint' in def) constrain(draft, table, def.Constraint);
    else if (subtype === 'AT_DropColumn') table.columns = table.columns.filter((column) => column.name !== name);
    else if (subtype === 'AT_EnableRowSecurity') table.secured = true;
    else if (subtype === 'AT_DisableRowSecurity') table.secured = false;
    else
      return /^AT_(ForceRowSecurity|NoForceRowSecurity|SetNotNull|DropNotNull|ValidateConstraint|ChangeOwner|SetStatistics|SetStorage|ReplicaIdentity)$/.test(
        subtype ?? '',
      );
    return true;
  });
  if (!read) table.unclear = 'is altered in a way that the check doesn’t read';
  return read;
}

function drop(draft: Draft, objects: readonly Node[]): void {
  for (const object of objects) {
    const parts = 'List' in object ? strings(object.List.items) : [];
    const name = parts.at(-1) ?? '';
    for (const schema of parts.length > 1 ? [parts.at(-2)] : draft.path) draft.relations.delete(`${schema}.${name}`);
  }
}

/** `SELECT create_distributed_table('orders', 'store_id', colocate_with => 'stores')` and its kind. */
function distribute(draft: Draft, target: Node): boolean {
  const call = 'ResTarget' in target && target.ResTarget.val && 'FuncCall' in target.ResTarget.val;
  if (!call) return false;
  const of = (target.ResTarget.val as { FuncCall: FuncCall }).FuncCall;
  const name = strings(of.funcname).at(-1);
  const { positional, named } = argumentsOf(of);
  const table = namedTable(draft, positional[0] ?? named.get('table_name'));
  if (!table) return false;
  if (name === 'create_reference_table') table.distribution = { kind: 'reference' };
  else if (name === 'citus_add_local_table_to_metadata') table.distribution = { kind: 'local' };
  else if (name === 'create_distributed_table' || name === 'create_distributed_table_concurrently') {
    const column = positional[1] ?? named.get('distribution_column') ?? '';
    const beside = positional[3] ?? named.get('colocate_with') ?? 'default';
    const type = table.columns.find((each) => each.name === column)?.type ?? '';
    const other = namedTable(draft, beside);
    const group =
      beside === 'none'
        ? table.name
        : other?.distribution.kind === 'distributed'
          ? other.distribution.group
          : `default ${type} ${positional[4] ?? named.get('shard_count') ?? ''}`;
    table.distribution = { kind: 'distributed', column, group };
  } else return false;
  return true;
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

function namedTable(draft: Draft, name: string | undefined): SqlTable | undefined {
  const parts = (name ?? '').split('.').map((part) => part.replaceAll('"', ''));
  const relname = parts.at(-1) ?? '';
  return tableOf(draft, parts.length > 1 ? { schemaname: parts[0] ?? '', relname } : { relname });
}

const firstWords = (text: string): string => text.split(/\s+/).slice(0, 4).join(' ');
