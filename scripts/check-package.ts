// What a stranger gets: packs the package, starts a project from it in an empty folder, and runs what that project says.
// Needs a package registry. Usage: node scripts/check-package.ts
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync, globSync, lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/** Bounds that are promised, in MB of 1,000,000 bytes. */
const PACKED_MB = 5;
const INSTALLED_MB = 60;

const root = join(import.meta.dirname, '..');
const place = mkdtempSync(join(tmpdir(), 'millrace-package-'));
const env = {
  ...process.env,
  PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
  NO_COLOR: '1',
};
// Settings of whoever runs this are none of the stranger's.
for (const name of Object.keys(env))
  if (/^(COSMOS|LEASES|STORAGE|MILLRACE|npm_(config_(?!registry|userconfig|cache)|package|lifecycle))/.test(name))
    delete (env as NodeJS.ProcessEnv)[name];

try {
  const tarball = pack();
  const app = join(place, 'my-app');
  run(place, 'npm', [
    'exec',
    '--yes',
    `--package=${tarball}`,
    '--',
    'millrace',
    'init',
    'my-app',
    '--package',
    `file:${tarball}`,
  ]);
  run(app, 'npm', ['install', '--no-audit', '--no-fund']);
  run(app, 'npm', ['test']);
  say('its tests pass');
  const summary = JSON.parse(run(app, 'npm', ['run', '--silent', 'dev', '--', '--once', '--json']).stdout) as {
    verification: { different: number };
  };
  if (summary.verification.different !== 0) throw new Error('dev --once finds a difference');
  say('dev --once runs, without a difference');
  deployment(app);
  types(app);
  say('its types are found, by a project that checks them');
} finally {
  rmSync(place, { recursive: true, force: true });
}

function pack(): string {
  const { stdout } = run(root, 'npm', ['pack', '--json', '--silent', '--pack-destination', place]);
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [
    { filename: string; size: number; unpackedSize: number; entryCount: number },
  ];
  const { filename, size, unpackedSize, entryCount } = packed;
  bounded('packed', size, PACKED_MB);
  say(`unpacked ${mb(unpackedSize)} MB, ${entryCount} files`);
  return join(place, filename);
}

/** Every door of the package, from TypeScript that trusts no declaration unread; some speak of the client of Cosmos DB. */
function types(app: string): void {
  run(app, 'npm', ['install', '--save-dev', '--no-audit', '--no-fund', '@azure/cosmos@4']);
  writeFileSync(
    join(app, 'functions', 'doors.ts'),
    `import * as door from 'millrace';\nimport * as functions from 'millrace/functions';\nimport * as feed from 'millrace/feed';\nexport const doors = [door.definePipeline, functions.functionApp, feed.ChangeFeedProcessor];\n`,
  );
  run(app, 'npx', ['tsc', '--noEmit', '--skipLibCheck', 'false']);
  rmSync(join(app, 'functions', 'doors.ts'));
}

/** What would go to Azure: production packages alone. */
function deployment(app: string): void {
  run(app, 'npm', ['ci', '--omit=dev', '--no-audit', '--no-fund']);
  bounded('installed without development', sizeOf(join(app, 'node_modules')), INSTALLED_MB);
  const largest = globSync(['*', '@*/*'], { cwd: join(app, 'node_modules') })
    .filter((name) => !/^(@[^/]+|\..*)$/.test(name))
    .map((name) => ({ name, size: sizeOf(join(app, 'node_modules', name)) }))
    .toSorted((a, b) => b.size - a.size);
  for (const { name, size } of largest.slice(0, 5)) say(`  ${name} ${mb(size)} MB`);
  for (const name of ['azurite', '@electric-sql/pglite'])
    if (existsSync(join(app, 'node_modules', name))) throw new Error(`${name} reaches a deployment`);
}

function run(cwd: string, command: string, args: readonly string[]): SpawnSyncReturns<string> {
  const result = spawnSync(command, args, { cwd, env, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (result.status === 0) return result;
  throw new Error(`${command} ${args.join(' ')} ended with ${result.status}\n${result.stdout}\n${result.stderr}`);
}

function bounded(what: string, bytes: number, most: number): void {
  say(`${what} ${mb(bytes)} MB, of at most ${most}`);
  if (bytes > most * 1_000_000) throw new Error(`${what}: ${mb(bytes)} MB is more than ${most}`);
}

function sizeOf(path: string): number {
  const { size } = lstatSync(path);
  if (!lstatSync(path).isDirectory()) return size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), size);
}

function mb(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

function say(line: string): void {
  console.log(line);
}
