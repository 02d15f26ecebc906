// The statements of a file, one after another, as one session of PostgreSQL runs them: each sees what those before it have
// made, a transaction that is rolled back leaves nothing, and the end of the session takes what was temporary.
import type { FuncCall, Node, TransactionStmt, VariableSetStmt } from 'libpg-query';
import { type Catalog, type Relation, TEMPORARY } from './catalog.ts';
import { applyDdl } from './ddl/ddl.ts';
import { callsOf } from './ddl/distribute.ts';
import { type Draft, copyOf, markMentioned } from './ddl/draft.ts';
import { strings } from './nodes.ts';
import { type Parser, sqlLineOf } from './parser.ts';
import { refusalsOf } from './schema.ts';

const START: readonly string[] = ['public'];
/** What `readDdl` begins with. */
const EMPTY: Catalog = {
  relations: new Map(),
  functions: new Set(),
  operators: new Set(),
  path: START,
  tenant: '',
  refused: new Map(),
};

export interface Ddl {
  readonly catalog: Catalog;
  /** Statements that this reader doesn't know, each with its file and line. */
  readonly skipped: readonly string[];
}

interface Source {
  readonly file: string;
  readonly text: string;
}

/** @param tenant absent: the distribution column that most tables have */
export function readDdl(parser: Parser, { file, text }: Source, tenant?: string): Ddl {
  const session = new SqlSession(EMPTY, tenant);
  const skipped = parser
    .parse(text, file)
    .flatMap((statement) =>
      session.apply(statement.node)
        ? []
        : [`${file}:${sqlLineOf(text, statement.start)}: ${firstWords(statement.text)}`],
    );
  return { catalog: session.end(), skipped };
}

const firstWords = (text: string): string => text.split(/\s+/, 4).join(' ');

export class SqlSession {
  readonly #tenant: string | undefined;
  /** The search path of a new session. */
  #start: readonly string[];
  #draft: Draft;
  #catalog: Catalog | undefined;
  /** The search path without SET LOCAL. */
  #path: readonly string[];
  /** How it was when the transaction began, and at its savepoints. */
  #begun: { readonly draft: Draft; readonly path: readonly string[] } | undefined;
  #savepoints: { readonly name: string; readonly draft: Draft; readonly path: readonly string[] }[] = [];
  /** Temporary tables that the end of the transaction drops. */
  #passing = new Set<string>();

  constructor(schema: Catalog, tenant = schema.tenant === '' ? undefined : schema.tenant) {
    this.#tenant = tenant;
    this.#start = schema.path;
    this.#draft = copyOf(schema);
    this.#path = this.#draft.path;
  }

  /** What the next statement sees. */
  get catalog(): Catalog {
    const { relations } = this.#draft;
    const tenant = this.#tenant ?? mostDistributed(relations) ?? 'tenant_id';
    return (this.#catalog ??= { ...this.#draft, tenant, refused: refusalsOf(this.#draft) });
  }

  /** What it leaves. A transaction that is still open is rolled back. */
  end(): Catalog {
    if (this.#begun) this.#end(false);
    this.#discard();
    this.#set(this.#start, false);
    return this.catalog;
  }

  /** @returns false: the statement isn't understood. The tables that it names are unclear from there on. */
  apply(node: Node): boolean {
    if (/^(InsertStmt|UpdateStmt|DeleteStmt)$/.test(Object.keys(node)[0] ?? '')) return true;
    this.#catalog = undefined;
    if ('TransactionStmt' in node) return this.#transaction(node.TransactionStmt);
    if ('VariableSetStmt' in node) return this.#variable(node.VariableSetStmt);
    if ('AlterRoleSetStmt' in node || 'AlterDatabaseSetStmt' in node) {
      const { setstmt } = 'AlterRoleSetStmt' in node ? node.AlterRoleSetStmt : node.AlterDatabaseSetStmt;
      // Which role and database the application has isn't known, so no name without a schema is.
      if (setstmt?.name === 'search_path') this.#start = [];
      return true;
    }
    if ('DiscardStmt' in node) {
      if (node.DiscardStmt.target === 'DISCARD_ALL') this.#set(this.#start, false);
      this.#discard();
      return true;
    }
    if ('SelectStmt' in node) for (const call of callsOf(node.SelectStmt)) this.#configure(call);
    if ('CreateStmt' in node && node.CreateStmt.oncommit === 'ONCOMMIT_DROP') {
      // Without a transaction it is dropped at once.
      if (!this.#begun) return true;
      this.#passing.add(`${TEMPORARY}.${node.CreateStmt.relation?.relname ?? ''}`);
    }
    const read = applyDdl(this.#draft, node);
    if (!read) markMentioned(this.#draft, node);
    return read;
  }

  #transaction({ kind, savepoint_name: name = '', chain = false }: TransactionStmt): boolean {
    const begin = (): void => {
      this.#begun ??= { draft: copyOf(this.#draft), path: this.#path };
    };
    if (kind === 'TRANS_STMT_BEGIN' || kind === 'TRANS_STMT_START') begin();
    else if (kind === 'TRANS_STMT_SAVEPOINT')
      this.#savepoints.push({ name, draft: copyOf(this.#draft), path: this.#path });
    else if (kind === 'TRANS_STMT_ROLLBACK_TO') {
      const at = this.#savepoints.findLastIndex((each) => each.name === name);
      const saved = this.#savepoints[at];
      if (!saved) return true;
      this.#savepoints.length = at + 1;
      [this.#draft, this.#path] = [copyOf(saved.draft), saved.path];
    } else if (this.#begun && /^TRANS_STMT_(COMMIT|ROLLBACK|PREPARE)$/.test(kind ?? '')) {
      // What is prepared is not there before it is committed, which may be in another session.
      this.#end(kind === 'TRANS_STMT_COMMIT');
      if (chain) begin();
    }
    return true;
  }

  #end(commits: boolean): void {
    if (!commits && this.#begun) [this.#draft, this.#path] = [this.#begun.draft, this.#begun.path];
    for (const name of this.#passing) this.#draft.relations.delete(name);
    this.#draft.path = this.#path;
    [this.#begun, this.#savepoints, this.#passing] = [undefined, [], new Set()];
  }

  #variable({ name, kind, args = [], is_local: local = false }: VariableSetStmt): boolean {
    if (kind === 'VAR_RESET_ALL') this.#set(this.#start, local);
    if (name !== 'search_path') return true;
    const given = args.map((arg) => ('A_Const' in arg ? (arg.A_Const.sval?.sval ?? '') : ''));
    this.#set(kind === 'VAR_SET_VALUE' || kind === undefined ? given : this.#start, local);
    return true;
  }

  /** `set_config('search_path', '', false)` is the first statement of a dump. */
  #configure({ funcname, args = [] }: FuncCall): void {
    if (strings(funcname).at(-1) !== 'set_config') return;
    const [name, value, local] = args.map((arg) => ('A_Const' in arg ? arg.A_Const : undefined));
    if (name?.sval?.sval !== 'search_path') return;
    // Of a value that is computed nothing is known, so no name without a schema is.
    const path = (value?.sval?.sval ?? '').split(',').map((each) => each.trim().replaceAll('"', ''));
    this.#set(path, local?.boolval?.boolval === true);
  }

  #set(path: readonly string[], local: boolean): void {
    // Outside of a transaction, LOCAL changes nothing.
    if (local && !this.#begun) return;
    // No schema has the name of the role, as far as the check knows.
    this.#draft.path = path.filter((each) => each !== '' && each !== '$user');
    if (!local) this.#path = this.#draft.path;
  }

  #discard(): void {
    for (const name of this.#draft.relations.keys())
      if (name.startsWith(`${TEMPORARY}.`)) this.#draft.relations.delete(name);
  }
}

function mostDistributed(relations: ReadonlyMap<string, Relation>): string | undefined {
  const counts = new Map<string, number>();
  for (const relation of relations.values())
    if (relation.kind === 'table' && relation.distribution.kind === 'distributed')
      counts.set(relation.distribution.column, (counts.get(relation.distribution.column) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0];
}
