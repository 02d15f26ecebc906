// SQL for one tenant. Nothing of the check, nor of PostgreSQL's parser, is loaded before `readSqlSchema` is called.
import { LRUCache } from 'lru-cache';
import { once } from '../base/once.ts';
import { sharedError } from '../base/shared-errors.ts';

const loadCheck = once(() => import('../sql-check/index.ts'));

export interface SqlSchemaOptions {
  /** CREATE TABLE, CREATE VIEW, create_distributed_table(…) and create_reference_table(…). */
  readonly ddl: string;
  /** The tenant column. Default: the commonest distribution column. */
  readonly tenant?: string;
}

/** A statement with its parameters, as `pg` takes it. */
export interface SqlStatement {
  readonly text: string;
  readonly values?: readonly unknown[];
}

export interface SqlVerdict {
  readonly rows: 'safe' | 'leaks' | 'unknown';
  readonly why: string;
  /** Of a safe statement: each way in which it names its tenant, such as `1` or `$1`; empty if it has no rows of tenants. */
  readonly tenants: readonly string[];
}

/** The tables of a database, against which SQL is checked. */
export interface SqlSchema {
  /** The tenant column. */
  readonly tenant: string;
  /** @throws UsageError `query-unsupported` */
  check(text: string): readonly SqlVerdict[];
  /** @throws UsageError `query-unsupported` */
  addTenant(text: string): { readonly text: string; readonly parameter: number };
}

/** An application has few texts. Those of one that writes values into its texts don't fill the memory. */
function remembered<T extends object>(read: (text: string) => T): (text: string) => T {
  const kept = new LRUCache<string, T>({
    max: 1_000,
    maxSize: 4_000_000,
    sizeCalculation: (_, text) => text.length + 1,
  });
  return (text) => {
    const known = kept.get(text);
    if (known) return known;
    const made = read(text);
    kept.set(text, made);
    return made;
  };
}

/**
 * Reads DDL, and loads PostgreSQL's parser.
 *
 * @throws UsageError `query-unsupported`
 */
export async function readSqlSchema({ ddl, tenant }: SqlSchemaOptions): Promise<SqlSchema> {
  const { loadParser, readDdl, SqlSession, checkStatement, addTenant } = await loadCheck();
  const parser = await loadParser();
  const { catalog } = readDdl(parser, { file: 'the DDL', text: ddl }, tenant);
  const added = remembered((text) => addTenant(parser, catalog, text, 'the query'));
  return {
    tenant: catalog.tenant,
    check: remembered((text) => {
      const session = new SqlSession(catalog);
      return parser.parse(text, 'the query').map(({ node }): SqlVerdict => {
        const { rows } = checkStatement(session.catalog, node);
        session.apply(node);
        return { rows: rows.verdict, why: rows.why, tenants: rows.tenants ?? [] };
      });
    }),
    addTenant: (text) => {
      const result = added(text);
      if (result.kind === 'rewritten') return result;
      throw sharedError(
        'query-unsupported',
        `The query can’t be restricted to one ${catalog.tenant}: ${result.why}: ${text}`,
        { hint: 'Write the condition into the statement, and check it with `millrace sql check`.' },
      );
    },
  };
}

/**
 * The statement with the tenant's condition on each of its tables. It keeps SQL in which a condition was forgotten to one
 * tenant. It is no protection from SQL that an attacker writes: row-level security is.
 *
 * @throws UsageError `query-unsupported` where the condition can't be added with certainty; `query-unsupported`
 */
export function sqlForTenant(
  schema: SqlSchema,
  { text, values = [] }: SqlStatement,
  tenant: string | number | bigint,
): Required<SqlStatement> {
  const { text: restricted, parameter } = schema.addTenant(text);
  if (parameter === 0) return { text, values };
  if (values.length !== parameter - 1)
    throw sharedError(
      'query-unsupported',
      `The query has ${parameter - 1} parameters and ${values.length} values: ${text}`,
      { hint: 'Write the condition into the statement, and check it with `millrace sql check`.' },
    );
  return { text: restricted, values: [...values, tenant] };
}
