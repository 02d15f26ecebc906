// A real PostgreSQL server in a temporary folder, where its programs are installed. Many connections at the same time are
// what PGlite doesn't have.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort } from './free-port.ts';

/** The folder of the newest server's programs; undefined: none is installed. */
const BIN = [
  ...globSync('/usr/lib/postgresql/*/bin').toSorted(
    (a, b) => Number(/\d+/.exec(b)?.[0] ?? 0) - Number(/\d+/.exec(a)?.[0] ?? 0),
  ),
  ...(process.env['PATH'] ?? '').split(delimiter),
].find((folder) => ['postgres', 'initdb'].every((name) => existsSync(join(folder, name))));

/** The server refuses to run as root. */
const USER = process.getuid?.() === 0 ? userIds() : undefined;

function userIds(): { readonly uid: number; readonly gid: number } | undefined {
  const id = (flag: string): number => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout);
  const [uid, gid] = [id('-u'), id('-g')];
  return uid > 0 && gid > 0 ? { uid, gid } : undefined;
}

/** Why no real server can be started here; undefined: it can. */
export const NO_POSTGRES: string | undefined =
  BIN === undefined
    ? 'the programs of PostgreSQL are not installed (apt-get install postgresql)'
    : process.getuid?.() === 0 && !USER
      ? 'PostgreSQL does not run as root, and there is no user postgres'
      : undefined;

if (NO_POSTGRES !== undefined) console.log(`tables on real PostgreSQL: skipped, ${NO_POSTGRES}`);

export interface PostgresServer extends AsyncDisposable {
  readonly url: string;
}

/** Starts a server without durability, which nothing here asks for. */
export async function startPostgres(): Promise<PostgresServer> {
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
