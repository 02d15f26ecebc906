// What the tenancy rules need of the SQL of relational copies, from PostgreSQL's own parser.
import type { ColumnDef, Constraint, FuncCall, Node, SelectStmt } from 'libpg-query';
import { MillraceError } from '../../base/errors.ts';
import { below, kindOf, strings } from '../../sql-check/nodes.ts';
import { type Parser, type Statement, lineOf, loadParser } from '../../sql-check/parser.ts';
import type { Documents, Text } from '../documents.ts';
import type { Place } from '../model.ts';
import { queryOf } from '../reader/sql.ts';
import { NO_SIDE, type Sides, across, equalities, nameOf, sidesOf, together } from './relational-joins.ts';

export interface SqlKey {
  readonly kind: 'PRIMARY KEY' | 'UNIQUE' | 'FOREIGN KEY';
  readonly columns: readonly string[];
  /** The table that a foreign key names. */
  readonly to?: string;
}

export interface SqlTable {
  readonly name: string;
  readonly columns: string[];
  readonly keys: SqlKey[];
  distribution?: string;
  reference: boolean;
  readonly at: Place;
}

export interface SqlJoin {
  readonly text: string;
  /** Tables on the two sides, where a side is one table. */
  readonly tables: readonly string[];
  /** Columns that are equal on both sides. */
  readonly equal: readonly string[];
  readonly at: Place;
}

/** A text of which the rules don't know what it says: no SQL of PostgreSQL or Cosmos DB, or a join whose columns aren't known. */
export interface Unread {
  readonly kind: 'syntax' | 'natural';
  readonly text: string;
  readonly at: Place;
}

export interface Relational {
  readonly tables: readonly SqlTable[];
  readonly joins: readonly SqlJoin[];
  readonly added: readonly { readonly table: string; readonly column: string; readonly at: Place }[];
  /** Columns that a statement UPDATE writes. */
  readonly updated: readonly { readonly table: string; readonly columns: readonly string[] }[];
  readonly unread: readonly Unread[];
}

const fencesOf = ({ requirements, design }: Documents): Text[] => [
  ...(requirements?.sql ?? []),
  ...(design?.sql ?? []),
];

/** The parser for the SQL of these documents. Undefined: they have none, so it isn't loaded. */
export const parserFor = async (documents: Documents): Promise<Parser | undefined> =>
  fencesOf(documents).length > 0 ? loadParser() : undefined;

/** Pure. Without a parser nothing is read. */
export function relationalOf(documents: Documents, parser: Parser | undefined): Relational {
  const reader = new Reader();
  if (parser) for (const fence of fencesOf(documents)) readFence(fence, parser, reader);
  return reader;
}

/** A fence as a whole; if PostgreSQL refuses it, each of its statements alone. */
function readFence({ text, at }: Text, parser: Parser, reader: Reader): void {
  const read = (part: string, before: number): boolean => {
    try {
      const statements = parser.parse(part, at.file);
      for (const statement of statements)
        reader.statement(statement, (offset) => ({ file: at.file, line: at.line + before + lineOf(part, offset) - 1 }));
      return true;
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      return false;
    }
  };
  if (read(text, 0)) return;
  for (const { part, before } of partsOf(text)) {
    if (read(part, before) || queryOf(part.trim())) continue;
    const own = part.length - part.replace(BLANK, '').length;
    const line = at.line + before + lineOf(part, own) - 1;
    reader.unread.push({
      kind: 'syntax',
      text: part.slice(own).split('\n')[0]?.trim() ?? '',
      at: { file: at.file, line },
    });
  }
}

const BLANK = /^(?:\s|--[^\n]*(?:\n|$))+/;
/** Up to a semicolon or an empty line, outside of quotes and comments. */
const PART = /(?:'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\$\$[^]*?\$\$|\/\*[^]*?\*\/|(?!\n[ \t]*\n)[^;])+/g;

function partsOf(text: string): { part: string; before: number }[] {
  return [...text.matchAll(PART)].flatMap((match) =>
    match[0].replace(BLANK, '').trim() === ''
      ? []
      : [{ part: match[0], before: text.slice(0, match.index).split('\n').length - 1 }],
  );
}

type PlaceOf = (offset: number) => Place;

class Reader implements Relational {
  readonly tables: SqlTable[] = [];
  readonly joins: SqlJoin[] = [];
  readonly added: { table: string; column: string; at: Place }[] = [];
  readonly updated: { table: string; columns: string[] }[] = [];
  readonly unread: Unread[] = [];

  statement({ node, start, at }: Statement, placeOf: PlaceOf): void {
    const place = placeOf(start);
    if ('CreateStmt' in node) {
      const { relation, tableElts = [] } = node.CreateStmt;
      const table: SqlTable = { name: nameOf(relation), columns: [], keys: [], reference: false, at: place };
      for (const element of tableElts) {
        if ('ColumnDef' in element) addColumn(table, element.ColumnDef);
        if ('Constraint' in element) addKey(table, element.Constraint);
      }
      this.tables.push(table);
    } else if ('AlterTableStmt' in node) {
      const name = nameOf(node.AlterTableStmt.relation);
      const table = this.tables.find((one) => one.name === name);
      for (const cmd of node.AlterTableStmt.cmds ?? []) {
        const def = 'AlterTableCmd' in cmd ? cmd.AlterTableCmd.def : undefined;
        if (def && 'ColumnDef' in def) {
          this.added.push({ table: name, column: def.ColumnDef.colname ?? '', at: place });
          if (table) addColumn(table, def.ColumnDef);
        } else if (def && 'Constraint' in def && table) addKey(table, def.Constraint);
      }
    } else if ('IndexStmt' in node) {
      const { unique, relation, indexParams = [] } = node.IndexStmt;
      const columns = indexParams.map((one) => ('IndexElem' in one ? (one.IndexElem.name ?? '') : ''));
      if (unique) this.tables.find(({ name }) => name === nameOf(relation))?.keys.push({ kind: 'UNIQUE', columns });
    } else this.#below(node, { placeOf, at });
  }

  /** Joins, updates and calls anywhere in a statement. */
  #below(node: Node, context: { readonly placeOf: PlaceOf; readonly at: (bytes: number) => number }): void {
    if ('SelectStmt' in node) this.#select(node.SelectStmt, context);
    if ('UpdateStmt' in node) {
      const { relation, targetList = [] } = node.UpdateStmt;
      const columns = targetList.map((one) => ('ResTarget' in one ? (one.ResTarget.name ?? '') : ''));
      this.updated.push({ table: nameOf(relation), columns });
    }
    if ('FuncCall' in node) this.#call(node.FuncCall);
    for (const child of below(kindOf(node)[1])) this.#below(child, context);
  }

  /**
   * Joins by JOIN and by commas. Conditions of WHERE hold for them too, except where one of them keeps rows without a
   * partner.
   */
  #select(
    { fromClause = [], whereClause }: SelectStmt,
    { placeOf, at }: { readonly placeOf: PlaceOf; readonly at: (bytes: number) => number },
  ): void {
    const where = equalities(whereClause);
    const join = (left: Sides, right: Sides, equal: readonly string[]): void => {
      // A function gives rows of what is joined to it already.
      if (left.isFunction || right.isFunction) return;
      this.joins.push({
        text: `${left.text} with ${right.text}`,
        tables: [left.only, right.only].filter((name) => name !== undefined),
        equal,
        at: placeOf(at(right.location)),
      });
    };
    const visit = (node: Node): void => {
      if (!('JoinExpr' in node)) return;
      const { larg, rarg, quals, usingClause, isNatural, jointype } = node.JoinExpr;
      if (larg) visit(larg);
      if (rarg) visit(rarg);
      if (!larg || !rarg) return;
      const [left, right] = [sidesOf(larg), sidesOf(rarg)];
      const common = isNatural ? this.#common(left, right) : strings(usingClause);
      if (common) {
        const pairs = [...equalities(quals), ...(jointype === 'JOIN_INNER' ? where : [])];
        join(left, right, [...common, ...across(pairs, left, right)]);
      } else
        this.unread.push({
          kind: 'natural',
          text: `${left.text} with ${right.text}`,
          at: placeOf(at(right.location)),
        });
    };
    for (const one of fromClause) visit(one);
    const [first, ...others] = fromClause.map(sidesOf);
    others.reduce((left, right) => {
      join(left, right, across(where, left, right));
      return together(left, right);
    }, first ?? NO_SIDE);
  }

  /** The columns of NATURAL JOIN. Undefined: one side is no table that the documents create. */
  #common(left: Sides, right: Sides): string[] | undefined {
    const [one, other] = [left, right].map(({ only }) => this.tables.find(({ name }) => name === only));
    return one && other && one.columns.filter((name) => other.columns.includes(name));
  }

  /** `create_distributed_table('orders', 'store_id')`, `create_reference_table('countries')` */
  #call({ funcname, args = [] }: FuncCall): void {
    const called = strings(funcname).at(-1);
    const [first, second] = args.map((arg) => constant('NamedArgExpr' in arg ? arg.NamedArgExpr.arg : arg));
    const table = this.tables.find(({ name }) => name === first);
    if (!table) return;
    if (called === 'create_reference_table') table.reference = true;
    if (called?.startsWith('create_distributed_table') && second !== undefined) table.distribution = second;
  }
}

function constant(node: Node | undefined): string | undefined {
  if (node && 'TypeCast' in node) return constant(node.TypeCast.arg);
  return node && 'A_Const' in node ? node.A_Const.sval?.sval?.replaceAll('"', '') : undefined;
}

function addColumn(table: SqlTable, { colname = '', constraints = [] }: ColumnDef): void {
  table.columns.push(colname);
  for (const one of constraints) if ('Constraint' in one) addKey(table, one.Constraint, colname);
}

function addKey(table: SqlTable, { contype, keys, fk_attrs: from, pktable }: Constraint, own?: string): void {
  const columns = (given: readonly Node[] | undefined): string[] =>
    given ? strings(given) : own === undefined ? [] : [own];
  if (contype === 'CONSTR_PRIMARY') table.keys.push({ kind: 'PRIMARY KEY', columns: columns(keys) });
  if (contype === 'CONSTR_UNIQUE') table.keys.push({ kind: 'UNIQUE', columns: columns(keys) });
  if (contype === 'CONSTR_FOREIGN')
    table.keys.push({ kind: 'FOREIGN KEY', columns: columns(from), to: nameOf(pktable) });
}
