// A statement of DDL → what it changes of a catalog.
import type {
  AlterTableCmd,
  AlterTableStmt,
  ColumnDef,
  Constraint,
  CreateStmt,
  DropStmt,
  IndexStmt,
  Node,
  RangeVar,
  RenameStmt,
  ViewStmt,
} from 'libpg-query';
import type { SqlColumn, SqlKey, SqlTable } from '../catalog.ts';
import { readCalls } from './distribute.ts';
import { type Draft, change, kinOf, mark, newName, relationOf, tableOf } from './draft.ts';
import { isTree, nodeKindOf, stringOf, strings, typeName } from '../nodes.ts';

/** Statements that change nothing which the check knows. */
const HARMLESS =
  /^(CommentStmt|GrantStmt|GrantRoleStmt|CreateSeqStmt|AlterSeqStmt|CreateExtensionStmt|CreateSchemaStmt|CreateRoleStmt|AlterRoleStmt|VacuumStmt|CreateEnumStmt|CreateStatsStmt|AlterDefaultPrivilegesStmt|AlterOwnerStmt|AlterEnumStmt|CreateDomainStmt|CreatePolicyStmt|InsertStmt|UpdateStmt|DeleteStmt|MergeStmt|CopyStmt|TruncateStmt|ExplainStmt|PrepareStmt|DeallocateStmt|DeclareCursorStmt|FetchStmt|ClosePortalStmt|LockStmt|ReindexStmt|ClusterStmt|RefreshMatViewStmt|VariableShowStmt|NotifyStmt|ListenStmt|UnlistenStmt|CheckPointStmt|ConstraintsSetStmt|CreatePublicationStmt|DefineStmt|SecLabelStmt)$/;
const HARMLESS_CHANGE =
  /^AT_(ForceRowSecurity|NoForceRowSecurity|ValidateConstraint|AlterConstraint|ChangeOwner|SetStatistics|SetStorage|SetCompression|SetOptions|ResetOptions|SetRelOptions|ResetRelOptions|ClusterOn|DropCluster|SetLogged|SetUnLogged|SetTableSpace|SetAccessMethod|ReplicaIdentity|AddIdentity|SetIdentity|DropIdentity|EnableTrig\w*|DisableTrig\w*)$/;

/** @returns false: the statement may change relations, and isn't understood */
export function applyDdl(draft: Draft, node: Node): boolean {
  if ('CreateStmt' in node) return createTable(draft, node.CreateStmt);
  if ('ViewStmt' in node) return createView(draft, node.ViewStmt);
  if ('CreateTableAsStmt' in node) return madeByQuery(draft, node.CreateTableAsStmt.into?.rel);
  if ('AlterTableStmt' in node) return alterTable(draft, node.AlterTableStmt);
  if ('IndexStmt' in node) return createIndex(draft, node.IndexStmt);
  if ('CreateTrigStmt' in node) return unclear(draft, node.CreateTrigStmt.relation, 'unclearWrites', 'has a trigger');
  if ('RuleStmt' in node) return unclear(draft, node.RuleStmt.relation, 'unclear', 'has a rule');
  if ('DropStmt' in node) return drop(draft, node.DropStmt);
  if ('RenameStmt' in node) return rename(draft, node.RenameStmt);
  if ('SelectStmt' in node)
    return (
      readCalls(draft, node.SelectStmt) &&
      (!node.SelectStmt.intoClause || madeByQuery(draft, node.SelectStmt.intoClause.rel))
    );
  if ('CreateFunctionStmt' in node) draft.functions.add(strings(node.CreateFunctionStmt.funcname).at(-1) ?? '');
  if ('DefineStmt' in node) {
    const { kind, defnames } = node.DefineStmt;
    (kind === 'OBJECT_OPERATOR' ? draft.operators : draft.functions).add(strings(defnames).at(-1) ?? '');
  }
  if ('CreateCastStmt' in node) draft.operators.add('cast');
  return 'CreateFunctionStmt' in node || 'CreateCastStmt' in node || HARMLESS.test(nodeKindOf(node)[0]);
}

function unclear(draft: Draft, of: RangeVar | undefined, field: 'unclear' | 'unclearWrites', why: string): boolean {
  const relation = relationOf(draft, of);
  if (relation) mark(draft, relation, field, why);
  return relation !== undefined;
}

function createTable(draft: Draft, statement: CreateStmt): boolean {
  const { relation, tableElts = [], inhRelations, partbound, if_not_exists: optional = false } = statement;
  const name = newName(draft, relation);
  if (draft.relations.has(name)) return optional;
  const [parent] = inhRelations ?? [];
  const of = parent && 'RangeVar' in parent ? tableOf(draft, parent.RangeVar) : undefined;
  draft.relations.set(name, {
    kind: 'table',
    name,
    columns: [
      ...(of?.columns ?? []),
      ...tableElts.flatMap((element) => ('ColumnDef' in element ? [columnOf(element.ColumnDef)] : [])),
    ],
    distribution: of?.distribution ?? { kind: 'local' },
    keys: of?.keys ?? [],
    foreign: of?.foreign ?? [],
    secured: of?.secured ?? false,
    ...(of && partbound && { parent: of.name }),
    ...(of?.unclear !== undefined && { unclear: of.unclear }),
    ...(of?.unclearWrites !== undefined && { unclearWrites: of.unclearWrites }),
    ...(inhRelations && (!partbound || !of) && { unclear: 'inherits from another table' }),
    ...(statement.ofTypename && { unclear: 'is declared by a type' }),
    ...(tableElts.some((element) => 'TableLikeClause' in element) && { unclear: 'is declared by LIKE' }),
  });
  for (const element of tableElts) {
    if ('Constraint' in element) constrain(draft, name, element.Constraint);
    if ('ColumnDef' in element) constrainColumn(draft, name, element.ColumnDef);
  }
  return true;
}

/** Its columns are those of a query, which the check doesn't read for them. */
function madeByQuery(draft: Draft, of: RangeVar | undefined): boolean {
  const name = newName(draft, of);
  if (draft.relations.has(name)) return false;
  const table = { kind: 'table', name, columns: [], distribution: { kind: 'local' }, keys: [], foreign: [] } as const;
  draft.relations.set(name, { ...table, secured: false, unclear: 'is made by a query' });
  return true;
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

function constrainColumn(draft: Draft, name: string, { colname, constraints = [] }: ColumnDef): void {
  for (const one of constraints) if ('Constraint' in one) constrain(draft, name, one.Constraint, colname);
}

function constrain(draft: Draft, name: string, constraint: Constraint, column?: string): void {
  const table = draft.relations.get(name);
  if (table?.kind !== 'table') return;
  const { contype, keys, fk_attrs: from, pktable, pk_attrs: to } = constraint;
  const own = column === undefined ? [] : [column];
  const columns = keys ? strings(keys) : from ? strings(from) : own;
  const named = (ending: string): string =>
    constraint.conname ?? [shortNameOf(name), ...(ending === 'pkey' ? [] : columns), ending].join('_');
  // A constraint may be made of an index, whose columns its key has already.
  if ((contype === 'CONSTR_PRIMARY' || contype === 'CONSTR_UNIQUE') && constraint.indexname === undefined) {
    const [kind, ending] =
      contype === 'CONSTR_PRIMARY' ? (['primary key', 'pkey'] as const) : (['unique constraint', 'key'] as const);
    change(draft, table, { keys: [...table.keys, { kind, name: named(ending), columns, expressions: false }] });
  }
  if (contype === 'CONSTR_EXCLUSION') change(draft, table, { keys: [...table.keys, exclusionOf(constraint, name)] });
  if (contype === 'CONSTR_FOREIGN')
    change(draft, table, {
      foreign: [
        ...table.foreign,
        {
          name: named('fkey'),
          columns,
          to: relationOf(draft, pktable)?.name ?? newName(draft, pktable),
          ...(to && { toColumns: strings(to) }),
          onDelete: constraint.fk_del_action ?? 'a',
          onUpdate: constraint.fk_upd_action ?? 'a',
        },
      ],
    });
  const isValid = constraint.skip_validation !== true;
  if ((contype === 'CONSTR_PRIMARY' || contype === 'CONSTR_NOTNULL') && isValid)
    setRequired(draft, name, columns, true);
}

function setRequired(draft: Draft, name: string, columns: readonly string[], required: boolean): void {
  const table = draft.relations.get(name);
  if (table?.kind !== 'table') return;
  change(draft, table, {
    columns: table.columns.map((each) => (columns.includes(each.name) ? { ...each, required } : each)),
  });
}

/** `EXCLUDE USING gist (store_id WITH =, during WITH &&)`. */
function exclusionOf({ conname, exclusions = [] }: Constraint, table: string): SqlKey {
  const columns = exclusions.flatMap((each) => {
    const [element, operator] = 'List' in each ? (each.List.items ?? []) : [];
    const isEqual = operator && 'List' in operator && strings(operator.List.items).at(-1) === '=';
    return isEqual && element && 'IndexElem' in element ? (element.IndexElem.name ?? []) : [];
  });
  return { kind: 'exclusion constraint', name: conname ?? `${shortNameOf(table)}_excl`, columns, expressions: true };
}

function createIndex(draft: Draft, { unique, relation, indexParams = [], idxname }: IndexStmt): boolean {
  const table = tableOf(draft, relation);
  if (!table || !unique) return true;
  const columns = indexParams.flatMap((each) => ('IndexElem' in each ? (each.IndexElem.name ?? []) : []));
  const schema = table.name.slice(0, table.name.indexOf('.'));
  const name = `${schema}.${idxname ?? [shortNameOf(table.name), ...columns, 'idx'].join('_')}`;
  const key: SqlKey = { kind: 'unique index', name, columns, expressions: columns.length < indexParams.length };
  change(draft, table, { keys: [...table.keys, key] });
  return true;
}

const shortNameOf = (name: string): string => name.slice(name.indexOf('.') + 1);

function createView(draft: Draft, { view, aliases, query, options, replace }: ViewStmt): boolean {
  const name = newName(draft, view);
  const before = draft.relations.get(name);
  if (!query || !('SelectStmt' in query) || (before && !(replace && before.kind === 'view'))) return false;
  const bound = new Map<string, string>();
  bind(draft, query, bound);
  const unknown = options?.some(
    (each) => 'DefElem' in each && !/^security_(invoker|barrier)$/.test(each.DefElem.defname ?? ''),
  );
  draft.relations.set(name, {
    kind: 'view',
    name,
    query: query.SelectStmt,
    names: strings(aliases),
    bound,
    ...(unknown && { unclear: 'has an option that is not known' }),
  });
  return true;
}

/** What names without schema stand for now: it stays so, whatever the search path and temporary tables are later. */
function bind(draft: Draft, value: unknown, bound: Map<string, string>): void {
  if (!isTree(value)) return;
  const { relname, schemaname } = value;
  const found = typeof relname === 'string' && schemaname === undefined ? relationOf(draft, { relname }) : undefined;
  if (found) bound.set(relname as string, found.name);
  for (const each of Object.values(value)) bind(draft, each, bound);
}

function alterTable(draft: Draft, { relation, objtype, cmds = [] }: AlterTableStmt): boolean {
  if (objtype === 'OBJECT_INDEX' || objtype === 'OBJECT_SEQUENCE') return true;
  const commands = cmds.flatMap((each) => ('AlterTableCmd' in each ? [each.AlterTableCmd] : []));
  const found = relationOf(draft, relation);
  if (found?.kind === 'view') return commands.every(({ subtype }) => subtype === 'AT_ChangeOwner');
  return found !== undefined && commands.every((command) => alter(draft, found.name, command));
}

function alter(
  draft: Draft,
  table: string,
  { subtype = 'AT_AddColumn', def, name = '', missing_ok: optional }: AlterTableCmd,
): boolean {
  const now = draft.relations.get(table);
  if (now?.kind !== 'table') return false;
  const { columns, keys, foreign } = now;
  if (subtype === 'AT_AddColumn' && def && 'ColumnDef' in def) {
    if (columns.some((column) => column.name === def.ColumnDef.colname)) return optional === true;
    change(draft, now, { columns: [...columns, columnOf(def.ColumnDef)] });
    constrainColumn(draft, table, def.ColumnDef);
  } else if (subtype === 'AT_AddConstraint' && def && 'Constraint' in def) constrain(draft, table, def.Constraint);
  else if (subtype === 'AT_DropConstraint')
    change(draft, now, {
      keys: keys.filter((key) => key.name !== name),
      foreign: foreign.filter((key) => key.name !== name),
    });
  else if (subtype === 'AT_DropColumn')
    change(draft, now, {
      columns: columns.filter((column) => column.name !== name),
      keys: keys.filter((key) => !key.columns.includes(name)),
      foreign: foreign.filter((key) => !key.columns.includes(name)),
    });
  else if (subtype === 'AT_ColumnDefault')
    change(draft, now, {
      columns: columns.map(({ default: _, ...column }) =>
        column.name === name ? { ...column, ...(def && { default: def }) } : { ...column, ...(_ && { default: _ }) },
      ),
    });
  else if (subtype === 'AT_SetNotNull' || subtype === 'AT_DropNotNull')
    setRequired(draft, table, [name], subtype === 'AT_SetNotNull');
  else if (subtype === 'AT_EnableRowSecurity' || subtype === 'AT_DisableRowSecurity')
    change(draft, now, { secured: subtype === 'AT_EnableRowSecurity' });
  else if (subtype === 'AT_AttachPartition' || subtype === 'AT_DetachPartition')
    return attach(draft, now, def, subtype === 'AT_AttachPartition');
  else return HARMLESS_CHANGE.test(subtype);
  return true;
}

function attach(draft: Draft, parent: SqlTable, def: Node | undefined, attaches: boolean): boolean {
  const part = def && 'PartitionCmd' in def ? tableOf(draft, def.PartitionCmd.name) : undefined;
  if (!part) return false;
  const { parent: _, ...alone } = part;
  const now: SqlTable = attaches ? { ...part, parent: parent.name } : alone;
  draft.relations.set(part.name, now);
  if (!attaches) return true;
  // Each of them is distributed as the whole, and what isn't known of one isn't known of the whole.
  for (const each of kinOf(draft, now)) change(draft, each, { distribution: parent.distribution });
  for (const field of ['unclear', 'unclearWrites'] as const) {
    const why = part[field] ?? parent[field];
    if (why !== undefined) mark(draft, now, field, why);
  }
  return true;
}

function rename(draft: Draft, { renameType, relation, subname }: RenameStmt): boolean {
  if (renameType === 'OBJECT_SCHEMA') removeSchema(draft, subname ?? '');
  else if (relation && renameType !== 'OBJECT_INDEX')
    unclear(draft, relation, 'unclear', 'is renamed, or has a renamed column');
  return renameType === 'OBJECT_INDEX';
}

function drop(draft: Draft, { objects = [], removeType }: DropStmt): boolean {
  for (const object of objects) {
    const parts = 'List' in object ? strings(object.List.items) : [];
    const [schema, name = ''] = [parts.at(-2), parts.at(-1)];
    if (removeType === 'OBJECT_SCHEMA') removeSchema(draft, stringOf(object));
    if (/^OBJECT_(TABLE|VIEW|MATVIEW|FOREIGN_TABLE)$/.test(removeType ?? '')) {
      const found = relationOf(draft, { relname: name, ...(schema !== undefined && { schemaname: schema }) });
      for (const each of found?.kind === 'table'
        ? [found.name, ...partitionsOf(draft, found.name)]
        : found
          ? [found.name]
          : [])
        draft.relations.delete(each);
    }
    if (removeType === 'OBJECT_INDEX')
      for (const table of draft.relations.values())
        if (table.kind === 'table' && table.keys.some((key) => isIndex(key, schema, name)))
          change(draft, table, { keys: table.keys.filter((key) => !isIndex(key, schema, name)) });
  }
  return true;
}

const isIndex = ({ name: of }: SqlKey, schema: string | undefined, name: string): boolean =>
  schema === undefined ? of.endsWith(`.${name}`) : of === `${schema}.${name}`;

const partitionsOf = (draft: Draft, name: string): string[] =>
  [...draft.relations.values()].flatMap((each) =>
    each.kind === 'table' && each.parent === name ? [each.name, ...partitionsOf(draft, each.name)] : [],
  );

function removeSchema(draft: Draft, schema: string): void {
  for (const name of draft.relations.keys()) if (name.startsWith(`${schema}.`)) draft.relations.delete(name);
}
