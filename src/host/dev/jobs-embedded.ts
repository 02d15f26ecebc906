import { SCHEMA } from '../../jobs/backend.ts';
import { hostError } from '../errors.ts';

/** PostgreSQL in WebAssembly, on a socket of this machine. */
export interface EmbeddedJobs extends AsyncDisposable {
  /** The value for JOBS_URL. Other processes can use it too, as long as this one lives. */
  readonly url: string;
}

const CONNECTIONS = 100;

/**
 * Starts a datastore for jobs from npm packages, for development and tests. Without a folder it is in memory.
 * @throws UsageError `pglite-missing`
 */
export async function startEmbeddedJobs({ folder }: { folder?: string } = {}): Promise<EmbeddedJobs> {
  const { PGlite, PGLiteSocketServer } = await load();
  const database = await PGlite.create(folder === undefined ? {} : { dataDir: folder });
  // All connections share one PostgreSQL session, which ignores the options of a client's connection.
  await database.exec(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}; SET search_path TO ${SCHEMA}`);
  const server = new PGLiteSocketServer({ db: database, port: 0, host: '127.0.0.1', maxConnections: CONNECTIONS });
  await server.start();
  return {
    url: `postgres://postgres:postgres@${server.getServerConn()}/postgres`,
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      await database.close();
    },
  };
}

/** A dynamic import, because a deployment doesn't contain these packages. */
async function load() {
  try {
    const [{ PGlite }, { PGLiteSocketServer }] = await Promise.all([
      import('@electric-sql/pglite'),
      import('@electric-sql/pglite-socket'),
    ]);
    return { PGlite, PGLiteSocketServer };
  } catch (cause) {
    throw hostError('pglite-missing', 'The embedded datastore for jobs is not installed', {
      cause,
    });
  }
}
