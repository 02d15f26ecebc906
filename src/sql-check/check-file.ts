// A file of SQL → the verdicts of its statements, with the places of the tables that they name.
import type { Node } from 'libpg-query';
import type { Catalog } from './catalog.ts';
import { explainStatement } from './check.ts';
import { DISTRIBUTES, callsOf } from './ddl/distribute.ts';
import { strings } from './nodes.ts';
import { type Parser, type ParsedStatement, sqlLineOf } from './parser.ts';
import { SqlSession } from './session.ts';

export interface CheckedStatement {
  readonly file: string;
  readonly line: number;
  /** The statement in one line. */
  readonly sql: string;
  readonly rows: 'safe' | 'leaks' | 'unknown';
  readonly why: string;
  /** The tables whose rows may be those of other tenants. */
  readonly tables: readonly { readonly table: string; readonly line: number; readonly column: number }[];
  readonly runs: 'one node' | 'all nodes' | 'repartition' | 'refused' | 'unknown';
  readonly because: string;
  /** The reason of a comment that allows the statement to see all tenants. */
  readonly allowed?: string;
  /** What restricts each use of a table. */
  readonly uses: readonly {
    readonly table: string;
    readonly alias: string;
    readonly through?: string;
    /** Absent: inside a view. */
    readonly line?: number;
    readonly column?: number;
    readonly says: readonly string[];
  }[];
  /** What was not understood. */
  readonly doubts: readonly string[];
}

/** `-- all tenants: a report for the owner of the shop` */
const ALLOWED = /--\s*all tenants\s*:\s*(\S[^\n]*)/i;

/** Each statement is judged by the schema and by what the statements before it in the file have made. */
export function checkFile(
  parser: Parser,
  schema: Catalog,
  { file, text }: { readonly file: string; readonly text: string },
): CheckedStatement[] {
  let from = 0;
  const session = new SqlSession(schema);
  return parser.parse(text, file).flatMap((statement) => {
    const before = text.slice(from, statement.end);
    from = statement.end;
    const found = isDdl(statement.node) ? [] : [explained(session.catalog, statement, { file, text, before })];
    session.apply(statement.node);
    return found;
  });
}

/** Statements that declare what the check reads from DDL; they are no queries. */
function isDdl(node: Node): boolean {
  if ('SelectStmt' in node) {
    const { targetList = [], fromClause = [] } = node.SelectStmt;
    const calls = callsOf(node.SelectStmt).filter(({ funcname }) => DISTRIBUTES.test(strings(funcname).at(-1) ?? ''));
    // What stands beside such a call is a query.
    return (
      calls.length > 0 &&
      calls.length === (fromClause.length || targetList.length) + (fromClause.length && targetList.length - 1)
    );
  }
  return /^(Create|Alter|View|Index|Drop|Comment|Grant|Define|Rule)/.test(Object.keys(node)[0] ?? '');
}

interface Where {
  readonly file: string;
  readonly text: string;
  /** The text since the statement before. */
  readonly before: string;
}

function explained(catalog: Catalog, statement: ParsedStatement, { file, text, before }: Where): CheckedStatement {
  const { rows, runs, uses, doubts } = explainStatement(catalog, statement.node);
  const placeOf = (at: number): { line: number; column: number } => {
    const offset = at < 0 ? statement.start : statement.at(at);
    return { line: sqlLineOf(text, offset), column: offset - text.lastIndexOf('\n', offset - 1) };
  };
  const [, allowed] = ALLOWED.exec(before) ?? [];
  return {
    file,
    line: sqlLineOf(text, statement.start),
    sql: statement.text.replaceAll(/\s+/g, ' '),
    rows: rows.verdict,
    why: rows.why,
    tables: rows.tables.map(({ name, at }) => ({ table: name, ...placeOf(at) })),
    runs: runs.verdict,
    because: runs.why,
    ...(allowed !== undefined && { allowed: allowed.trim() }),
    uses: uses.map(({ at, ...use }) => ({ ...use, ...(at >= 0 && placeOf(at)) })),
    doubts,
  };
}
