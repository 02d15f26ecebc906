// Adds a tenant's condition to a statement. The result is parsed and checked again, so that nothing which this file
// overlooks can make it unsafe: at worst a statement is refused.
import type { Node, RangeVar } from 'libpg-query';
import { type Catalog, findRelation } from './catalog.ts';
import { checkStatement } from './check.ts';
import { below, isTree, nodeKindOf, sqlShapeOf } from './nodes.ts';
import type { Parser, ParsedStatement } from './parser.ts';
import { MOST } from './relation.ts';

export type SqlRewritten =
  | { readonly kind: 'rewritten'; readonly text: string; readonly parameter: number }
  | { readonly kind: 'refused'; readonly why: string };

const NAME = /(?:"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*)(?:\s*\.\s*(?:"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*))*/uy;
const PIECE =
  /\s+|--[^\n]*|\/\*[^]*?(?:\*\/|$)|'[^']*(?:''[^']*)*'|"[^"]*(?:""[^"]*)*"|\$(\w*)\$[^]*?(?:\$\1\$|$)|[\p{L}_][\p{L}\p{N}_$]*|[^]/guy;

interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** @param file names the text in errors */
export function addTenant(parser: Parser, catalog: Catalog, text: string, file: string): SqlRewritten {
  const statements = parser.parse(text, file);
  const [statement] = statements;
  if (!statement || statements.length > 1) return refused('it must be one statement');
  const { node } = statement;
  if (!('SelectStmt' in node || 'UpdateStmt' in node || 'DeleteStmt' in node))
    return refused('only SELECT, UPDATE and DELETE can be given a condition');
  const parameter = parameters(node).reduce((most, each) => Math.max(most, each), 0) + 1;
  const equals = `${quoted(catalog.tenant)} = $${parameter}`;
  const names = cteNames(node);
  const tables = tablesIn(node).filter(({ schemaname, relname = '' }) => hasTenant(catalog, schemaname, relname));
  if (tables.length > MOST.tables) return refused(`it has more than ${MOST.tables} tables`);
  const splices: Splice[] = [];
  for (const table of tables) {
    if (table.schemaname === undefined && names.has(table.relname ?? ''))
      return refused(`${table.relname} is a table and a WITH`);
    const splice = subquery(statement, text, table, equals);
    if (!splice) return refused(`${table.relname} stands in a place where it can’t be given a condition`);
    splices.push(splice);
  }
  if ('UpdateStmt' in node || 'DeleteStmt' in node) {
    // The search for WHERE doesn't read backslashes in strings.
    if (/\bE'/i.test(text)) return refused('it has strings with backslashes');
    const { relation, whereClause } = 'UpdateStmt' in node ? node.UpdateStmt : node.DeleteStmt;
    const target = relation?.alias?.aliasname ?? relation?.relname ?? '';
    const splice = condition(statement, `${quoted(target)}.${equals}`, whereClause !== undefined);
    if (!splice) return refused('its WHERE can’t be found with certainty');
    splices.push(...splice);
  }
  const result = spliced(text, splices);
  return verified(parser, catalog, { before: node, result, parameter, file });
}

const refused = (why: string): SqlRewritten => ({ kind: 'refused', why });

function verified(
  parser: Parser,
  catalog: Catalog,
  { before, result, parameter, file }: { before: Node; result: string; parameter: number; file: string },
): SqlRewritten {
  let parsed: ParsedStatement[];
  try {
    parsed = parser.parse(result, file);
  } catch {
    return refused('a table stands in a place where it can’t be given a condition');
  }
  const [after] = parsed;
  if (!after || parsed.length > 1) return refused('it must be one statement');
  if (!keepsCondition(before, after.node)) return refused('its WHERE can’t be found with certainty');
  const { rows } = checkStatement(catalog, after.node);
  if (rows.verdict !== 'safe') return refused(rows.why);
  // Without tables of tenants there is nothing to add, and the parameter isn't used.
  if (rows.tenants?.length === 0) return { kind: 'rewritten', text: result, parameter: 0 };
  if (!rows.tenants?.includes(`$${parameter}`)) return refused(`it names another value of ${catalog.tenant}`);
  return { kind: 'rewritten', text: result, parameter };
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function hasTenant(catalog: Catalog, schema: string | undefined, name: string): boolean {
  const found = findRelation(catalog, schema, name);
  if (!found) return false;
  // A view without the tenant among its columns makes the statement fail where it is run, or be refused here.
  return found.kind === 'view'
    ? true
    : found.distribution.kind !== 'reference' && found.columns.some((column) => column.name === catalog.tenant);
}

/** Tables of FROM. The target of an UPDATE or a DELETE isn't among them, because its node has no kind. */
function tablesIn(node: Node): RangeVar[] {
  if ('RangeVar' in node) return [node.RangeVar];
  const [, fields] = nodeKindOf(node);
  return isTree(fields) ? below(fields).flatMap(tablesIn) : [];
}

function parameters(node: Node): number[] {
  if ('ParamRef' in node) return [node.ParamRef.number ?? 0];
  return below(nodeKindOf(node)[1]).flatMap(parameters);
}

function cteNames(node: Node): Set<string> {
  const own = 'CommonTableExpr' in node ? [node.CommonTableExpr.ctename ?? ''] : [];
  return new Set([...own, ...below(nodeKindOf(node)[1]).flatMap((each) => [...cteNames(each)])]);
}

/** `orders` → `(SELECT * FROM orders WHERE "store_id" = $2) AS "orders"`. */
function subquery(statement: ParsedStatement, text: string, table: RangeVar, equals: string): Splice | undefined {
  if (table.inh !== true || table.location === undefined) return undefined;
  const from = statement.at(table.location);
  NAME.lastIndex = from;
  const [name] = NAME.exec(text) ?? [];
  if (name === undefined) return undefined;
  const alias = table.alias === undefined ? ` AS ${quoted(table.relname ?? '')}` : '';
  return { from, to: from + name.length, text: `(SELECT * FROM ${name} WHERE ${equals})${alias}` };
}

/** Puts a condition before RETURNING, and brackets around the one that is there. */
function condition(statement: ParsedStatement, equals: string, has: boolean): Splice[] | undefined {
  let depth = 0;
  let [where, returning] = [-1, statement.text.length];
  PIECE.lastIndex = 0;
  for (const match of statement.text.matchAll(PIECE)) {
    const [piece] = match;
    if (piece === '(') depth++;
    if (piece === ')') depth--;
    if (depth === 0 && /^where$/i.test(piece)) where = match.index + piece.length;
    if (depth === 0 && /^returning$/i.test(piece)) {
      returning = match.index;
      break;
    }
  }
  if ((where === -1) === has) return undefined;
  const [from, to] = [statement.start + where, statement.start + returning];
  // A comment may end the text before, so the brackets stand on lines of their own.
  return has
    ? [
        { from, to: from, text: ` ${equals} AND (` },
        { from: to, to, text: '\n) ' },
      ]
    : [{ from: to, to, text: `\nWHERE ${equals} ` }];
}

/** The condition of an UPDATE or a DELETE is still there, as a whole. */
function keepsCondition(before: Node, after: Node): boolean {
  const [old, now] = [whereOf(before), whereOf(after)];
  if ('SelectStmt' in before || old === undefined) return true;
  if (!now || !('BoolExpr' in now) || now.BoolExpr.boolop !== 'AND_EXPR') return false;
  const [, ...rest] = now.BoolExpr.args ?? [];
  return rest.length === 1 && tablesIn(old).length > 0 ? true : sqlShapeOf(rest[0]) === sqlShapeOf(old);
}

function whereOf(node: Node): Node | undefined {
  if ('UpdateStmt' in node) return node.UpdateStmt.whereClause;
  return 'DeleteStmt' in node ? node.DeleteStmt.whereClause : undefined;
}

function spliced(text: string, splices: readonly Splice[]): string {
  let result = text;
  for (const { from, to, text: by } of splices.toSorted((a, b) => b.from - a.from))
    result = result.slice(0, from) + by + result.slice(to);
  return result;
}
