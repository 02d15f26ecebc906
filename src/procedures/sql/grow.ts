// Measures a cluster, and runs what its growth asks for. Each statement is a transaction, because a shard is copied in it.
import type { Database, Session } from '../../postgres/database.ts';
import { failure } from '../../postgres/failure.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { type Growth, type SqlSizes, isAlone, measuringQueries } from './growth.ts';

/** Copying a large tenant takes its time. */
const WITHIN_MS = 12 * 60 * 60_000;

export interface Cluster {
  readonly database: Database;
  readonly table: string;
  readonly tenant: string;
  readonly signal: AbortSignal;
}

/** @throws UsageError `unsupported`; MillraceError `denied`, `unavailable` */
export function measuredGrowth(cluster: Cluster): Promise<SqlSizes> {
  const { table, tenant } = cluster;
  return alone(cluster, async (session) => {
    const { rows } = await session.query(`SELECT to_regproc('citus_rebalance_start') IS NOT NULL AS citus`);
    if (rows[0]?.['citus'] !== true)
      throw sharedError(
        'unsupported',
        'The database of POSTGRES_URL has no extension Citus with `citus_rebalance_start`',
        { hint: 'Let `POSTGRES_URL` name the coordinator of the cluster. A server alone has nothing to balance.' },
      );
    const [tenants, nodes] = measuringQueries(table, tenant);
    const { rows: sizes } = await session.query(tenants);
    const { rows: places } = await session.query(nodes);
    return {
      tenants: sizes.map((row) => ({ tenant: String(row['tenant']), bytes: Number(row['bytes']) })),
      nodes: places.map((row) => ({ node: String(row['node']), bytes: Number(row['bytes']) })),
    };
  });
}

/**
 * Runs the statements, one at a time. A tenant that has a shard of its own is left out, so it may be run again after it was
 * stopped. A rebalance goes on in the cluster afterwards. Resolves with what was run.
 */
export async function grow(
  cluster: Cluster,
  { isolate, statements }: Growth,
  progress: (statement: string) => void,
): Promise<string[]> {
  const done: string[] = [];
  for (const [at, statement] of statements.entries()) {
    const own = isolate[at];
    const left = await alone(cluster, async (session) => {
      if (own) {
        const { rows } = await session.query(isAlone(cluster.table, own.tenant));
        if (rows[0]?.['alone'] === true) return true;
      }
      progress(statement);
      await session.query(statement);
      return false;
    });
    if (!left) done.push(statement);
  }
  return done;
}

const alone = <T>({ database, signal, table }: Cluster, work: (session: Session) => Promise<T>): Promise<T> =>
  database.transaction(work, { signal, withinMs: WITHIN_MS }).catch((error: unknown) => {
    throw failure(error, `The cluster of ${table} could not be changed`);
  });
