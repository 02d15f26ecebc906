// A statement → its two verdicts.
import type { Node } from 'libpg-query';
import { type Catalog, findRelation } from './catalog.ts';
import { type Use, usesOf as usesIn } from './explain.ts';
import { below, isTree, nodeKindOf } from './nodes.ts';
import { type Env, type SqlTerm, TooLarge, newRun, deduce } from './relation.ts';
import { type RunsVerdict, runsVerdict } from './runs.ts';
import { evaluateSelect } from './select.ts';
import { Closure } from './symbols.ts';
import { type RowsVerdict, rowsVerdict } from './verdict.ts';
import { readWrite } from './writes.ts';

export interface Verdicts {
  readonly rows: RowsVerdict;
  readonly runs: RunsVerdict;
}

/** The verdicts with what they rest on. */
export interface SqlExplained extends Verdicts {
  readonly uses: readonly Use[];
  /** What the check has not understood. */
  readonly doubts: readonly string[];
}

/** Statements that read and write no rows. */
const WITHOUT_ROWS =
  /^(TransactionStmt|VariableShowStmt|ListenStmt|UnlistenStmt|NotifyStmt|DeallocateStmt|ClosePortalStmt|DiscardStmt|CheckPointStmt|ConstraintsSetStmt)$/;

export function checkStatement(catalog: Catalog, statement: Node): Verdicts {
  const { rows, runs } = explainStatement(catalog, statement);
  return { rows, runs };
}

export function explainStatement(catalog: Catalog, statement: Node): SqlExplained {
  const inner = insideOf(statement);
  if (inner) return explainStatement(catalog, inner);
  const [kind] = nodeKindOf(statement);
  if (WITHOUT_ROWS.test(kind)) return nothing('it reads and writes no rows');
  if ('VariableSetStmt' in statement)
    return /^(search_path|role|session_authorization|row_security)$/.test(statement.VariableSetStmt.name ?? '')
      ? unknown(`${statement.VariableSetStmt.name} changes what later statements mean`)
      : nothing('it reads and writes no rows');
  if ('TruncateStmt' in statement) return truncate(catalog, statement.TruncateStmt.relations ?? []);
  if (!/^(SelectStmt|InsertStmt|UpdateStmt|DeleteStmt|MergeStmt)$/.test(kind))
    return unknown(`the check doesn’t read this kind of statement (${kind})`);
  try {
    return judged(catalog, statement);
  } catch (error) {
    if (error instanceof TooLarge) return unknown(`it ${error.message}`);
    throw error;
  }
}

function judged(catalog: Catalog, statement: Node): SqlExplained {
  const run = newRun(catalog, usesOf(statement), { evaluate: evaluateSelect, write: readWrite });
  const env: Env = { ctes: [] };
  const terms: SqlTerm[] = [];
  if ('SelectStmt' in statement) {
    const rows = run.evaluate(statement.SelectStmt, env);
    terms.push(...deduce(rows.terms, new Closure(rows.facts, rows.conditionals)));
  } else run.write(statement, env);
  terms.push(...run.written);
  return {
    rows: rowsVerdict(run, terms),
    runs: runsVerdict(run, statement, terms),
    uses: usesIn(run, terms),
    doubts: [...run.doubts],
  };
}

/** The statement of EXPLAIN, PREPARE, DECLARE and COPY (…) TO. */
function insideOf(statement: Node): Node | undefined {
  if ('ExplainStmt' in statement) return statement.ExplainStmt.query;
  if ('PrepareStmt' in statement) return statement.PrepareStmt.query;
  if ('DeclareCursorStmt' in statement) return statement.DeclareCursorStmt.query;
  if ('CopyStmt' in statement) return statement.CopyStmt.is_from ? undefined : statement.CopyStmt.query;
  return undefined;
}

const BARE = { uses: [], doubts: [] };

const nothing = (why: string): SqlExplained => ({
  ...BARE,
  rows: { verdict: 'safe', why, tables: [] },
  runs: { verdict: 'one node', why },
});

const unknown = (why: string): SqlExplained => ({
  ...BARE,
  rows: { verdict: 'unknown', why, tables: [] },
  runs: { verdict: 'unknown', why },
});

function truncate(catalog: Catalog, relations: readonly Node[]): SqlExplained {
  const tables = relations.flatMap((each) => {
    if (!('RangeVar' in each)) return [];
    const { schemaname, relname = '', location = -1 } = each.RangeVar;
    const found = findRelation(catalog, schemaname, relname);
    return found?.kind === 'table' && found.distribution.kind === 'reference'
      ? []
      : [{ name: relname, alias: relname, at: location }];
  });
  return {
    ...BARE,
    rows:
      tables.length === 0
        ? { verdict: 'safe', why: 'its tables have no tenants', tables }
        : { verdict: 'leaks', why: 'TRUNCATE removes the rows of all tenants', tables },
    runs: { verdict: 'all nodes', why: 'TRUNCATE goes to each shard' },
  };
}

/** How often each name stands where a table's does. */
function usesOf(statement: Node): Map<string, number> {
  const uses = new Map<string, number>();
  const visit = (node: Node): void => {
    const [, fields] = nodeKindOf(node);
    if ('RangeVar' in node && node.RangeVar.schemaname === undefined)
      uses.set(node.RangeVar.relname ?? '', (uses.get(node.RangeVar.relname ?? '') ?? 0) + 1);
    if (isTree(fields)) for (const each of below(fields)) visit(each);
  };
  visit(statement);
  return uses;
}
