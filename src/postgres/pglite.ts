import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { cantStart, isErrno, unusableFolder } from '../base/data-folder.ts';
import { sharedError } from '../base/shared-errors.ts';

/** PostgreSQL in WebAssembly, on a socket of this machine. */
export interface EmbeddedPostgres extends AsyncDisposable {
  /** Other processes can use it too, as long as this one lives. */
  readonly url: string;
}

const CONNECTIONS = 100;
export const INSTALL = '`npm install --save-dev @electric-sql/pglite @electric-sql/pglite-socket`';

export interface EmbeddedPostgresOptions {
  /** Absent: in memory. */
  readonly folder?: string | undefined;
  /** Statements that are run once, in the session that all connections share. */
  readonly first?: string;
}

/**
 * Starts PostgreSQL from npm packages, for development and tests. It has one session: connections take turns, a
 * transaction at a time.
 * @throws UsageError `missing`, `unwritable`, `unreadable`
 */
export async function startPglite({ folder, first }: EmbeddedPostgresOptions = {}): Promise<EmbeddedPostgres> {
  const { PGlite, PGLiteSocketServer } = await load();
  const database = await (folder === undefined ? inMemory(PGlite) : inFolder(PGlite, folder));
  if (first !== undefined) await database.exec(first);
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

async function inFolder(of: typeof PGlite, folder: string): Promise<PGlite> {
  const isOld = existsSync(join(folder, 'PG_VERSION'));
  try {
    return await of.create({ dataDir: folder });
  } catch (cause) {
    throw isOld && !isErrno(cause) ? cantStart(folder, 'PostgreSQL', cause) : unusableFolder(folder, cause);
  }
}

/** The files of a new database. To make them takes seconds, so the next databases of this process start from a copy. */
let files: Promise<Blob> | undefined;

async function inMemory(of: typeof PGlite): Promise<PGlite> {
  if (files !== undefined) return of.create({ loadDataDir: await files });
  const making = of.create();
  const dumped = making.then((database) => database.dumpDataDir('none'));
  files = dumped;
  try {
    await dumped;
  } catch (error) {
    files = undefined;
    throw error;
  }
  return making;
}

/** Whether `startPglite` finds its packages. Loads nothing. */
export function isPgliteInstalled(): boolean {
  const { resolve } = createRequire(import.meta.url);
  try {
    return [resolve('@electric-sql/pglite'), resolve('@electric-sql/pglite-socket')].length === 2;
  } catch {
    return false;
  }
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
    throw sharedError('missing', 'The embedded PostgreSQL is not installed', {
      hint: `Install it with ${INSTALL}.`,
      cause,
    });
  }
}
