import { JOBS_SCHEMA } from '../../jobs/schema.ts';
import { type EmbeddedPostgres, startPglite } from '../../postgres/pglite.ts';

/**
 * Starts a datastore for jobs, for development and tests. Without a folder it is in memory.
 * @throws UsageError `missing`
 */
export const startEmbeddedJobs = ({ folder }: { folder?: string } = {}): Promise<EmbeddedPostgres> =>
  // All connections share one PostgreSQL session, which ignores the options of a client's connection.
  startPglite({ folder, first: `CREATE SCHEMA IF NOT EXISTS ${JOBS_SCHEMA}; SET search_path TO ${JOBS_SCHEMA}` });
