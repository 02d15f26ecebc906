import { UsageError } from '../../base/errors.ts';
import { SCHEMA } from '../../jobs/backend.ts';

/** PostgreSQL in WebAssembly, behind a socket of this machine. */
export interface EmbeddedJobs extends AsyncDisposable {
  /** For JOBS_URL, of other processes too, as long as this one lives. */
  readonly url: string;
}

const CONNECTIONS = 100;

/**
 * Starts a datastore for jobs with npm packages alone, for development and tests; in memory without a folder.
 * @throws UsageError `pglite-missing`
 */
export async function startEmbeddedJobs({ folder }: { folder?: string } = {}): Promise<EmbeddedJobs> {
  const { PGlite, PGLiteSocketServer } = await load();
  const database = await PGlite.create(folder === undefined ? {} : { dataDir: folder });
  // All connections share one session, and it ignores what a client asks for when it connects.
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

/** Imported here and not above: it reaches no deployment. */
async function load() {
  try {
    const [{ PGlite }, { PGLiteSocketServer }] = await Promise.all([
      import('@electric-sql/pglite'),
      import('@electric-sql/pglite-socket'),
    ]);
    return { PGlite, PGLiteSocketServer };
  } catch (cause) {
    throw new UsageError('pglite-missing', 'The embedded datastore for jobs is not installed', {
      cause,
      mend: 'Install it with `npm install --save-dev @electric-sql/pglite @electric-sql/pglite-socket`, or set JOBS_URL.',
    });
  }
}
