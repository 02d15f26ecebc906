// What a stranger gets: packs the package, starts a project from it in an empty folder, and runs what that project says.
// Needs a package registry; a step of `npm run verify` and of CI. Usage: node scripts/check-package.ts
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { openPacked } from './package/dashboard.ts';
import { deadLinks } from './package/links.ts';
import { secondVersion } from './package/second-version.ts';

/** Bounds that are promised, in MB of 1,000,000 bytes. */
const PACKED_MB = 5;
const PACKED_FILES = 700;
const INSTALLED_MB = 140;
/** Compilers that read its declarations, the oldest first. */
const COMPILERS = ['5.4', '5.9', '6', '7'];
/** Of `millrace/feed` as a bundler ships it, minified and compressed, without the client. */
const FEED_MB = 0.045;

const root = join(import.meta.dirname, '..');
const place = mkdtempSync(join(tmpdir(), 'millrace-package-'));
const env = {
  ...process.env,
  PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
  NO_COLOR: '1',
};
// The package must work without the settings of the user who runs this script.
for (const name of Object.keys(env))
  if (/^(COSMOS|LEASES|STORAGE|MILLRACE|npm_(config_(?!registry|userconfig|cache)|package|lifecycle))/.test(name))
    delete (env as NodeJS.ProcessEnv)[name];

try {
  const tarball = pack();
  await feedAlone(tarball);
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
  types(app);
  say(`its types are found, by a project that checks them with TypeScript ${COMPILERS.join(', ')}`);
  documented(app);
  say('every door opens in it');
  run(app, 'npm', ['test']);
  say('its tests pass');
  const summary = JSON.parse(run(app, 'npm', ['run', '--silent', 'dev', '--', '--once', '--json']).stdout) as {
    verification: { different: number };
  };
  if (summary.verification.different !== 0) throw new Error('dev --once finds a difference');
  say('dev --once runs, without a difference');
  run(app, 'npx', ['millrace', 'schema', 'status']);
  say('it has the schemas that are in no commit');
  say(await openPacked(app, env));
  say(await secondVersion(app, env));
  howTos(app);
  deployment(app);
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
  if (entryCount > PACKED_FILES) throw new Error(`the package has ${entryCount} files, of at most ${PACKED_FILES}`);
  return join(place, filename);
}

/** What the package says that can be imported of it. */
function published(): string[] {
  const { name, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    name: string;
    exports: Record<string, unknown>;
  };
  return Object.keys(exports)
    .filter((door) => !door.endsWith('.json'))
    .map((door) => `${name}${door.slice(1)}`);
}

/** The processor, in a project that has this package alone and of its dependencies the client of Cosmos DB. */
async function feedAlone(tarball: string): Promise<void> {
  const folder = join(place, 'feed');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "name": "feed", "private": true, "type": "module" }');
  run(folder, 'npm', ['install', '--no-audit', '--no-fund', tarball]);
  run(folder, 'node', ['--input-type=module', '--eval', imports(published())]);
  say('every door opens in a project that has this package alone');
  const dead = deadLinks(join(folder, 'node_modules/millrace'));
  if (dead.length > 0) throw new Error(`links of its pages to what it doesn't have:\n${dead.join('\n')}`);
  say('no link of its pages is dead');
  for (const name of dependencies().filter((each) => each !== '@azure/cosmos'))
    rmSync(join(folder, 'node_modules', name), { recursive: true });
  const file = join(folder, 'load.mjs');
  writeFileSync(
    file,
    `import { registerHooks } from 'node:module';
const files = [];
registerHooks({ load: (url, context, next) => (files.push(url), next(url, context)) });
const { ChangeFeedProcessor, readChanges } = await import('millrace/feed');
if (!ChangeFeedProcessor || !readChanges) throw new Error('millrace/feed lacks its exports');
const own = files.filter((url) => url.split('/node_modules/').at(-1).startsWith('millrace/'));
console.log(JSON.stringify({ own: own.length, all: files.filter((url) => url.startsWith('file:')).length - 1 }));
`,
  );
  const { own, all } = JSON.parse(run(folder, 'node', [file]).stdout) as { own: number; all: number };
  say(`millrace/feed loads ${own} files of its own, ${all} with those of the client`);
  const bundle = await rolldown({
    input: join(folder, 'node_modules/millrace/dist/src/feed/index.js'),
    platform: 'node',
    external: [/^@azure\/cosmos$/],
  });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  await bundle.close();
  const code = output.map((part) => (part.type === 'chunk' ? part.code : '')).join('');
  say(`millrace/feed bundled and minified ${(code.length / 1000).toFixed(1)} KB`);
  bounded('millrace/feed bundled, minified and compressed', gzipSync(code).length, FEED_MB, 3);
}

function dependencies(): string[] {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  return Object.keys(manifest.dependencies);
}

function imports(doors: readonly string[]): string {
  return doors.map((door) => `import '${door}';`).join('\n');
}

/** Every door of the package, from TypeScript that trusts no declaration unread. */
function types(app: string): void {
  const folder = join(app, 'compilers');
  mkdirSync(folder);
  const doors = published();
  const names = doors.map((_, at) => `door${at}`);
  const lines = doors.map((door, at) => `import * as door${at} from '${door}';`);
  writeFileSync(
    join(folder, 'doors.ts'),
    `${lines.join('\n')}\nexport const doors: object[] = [${names.join(', ')}];\n`,
  );
  const lib = ['es2023', 'esnext.disposable'];
  const compilerOptions = { module: 'nodenext', target: 'es2022', lib, types: ['node'], strict: true, noEmit: true };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['doors.ts'] }));
  for (const version of COMPILERS)
    run(folder, 'npm', ['exec', '--yes', `--package=typescript@${version}`, '--', 'tsc', '--project', 'tsconfig.json']);
  rmSync(folder, { recursive: true });
}

/** As the documents show them: a test of the pipeline, and an application that reads a projection of it. */
function documented(app: string): void {
  const file = join(app, 'doors.mjs');
  writeFileSync(
    file,
    `${imports(published())}
import { CosmosClient } from '@azure/cosmos';
import { openViews } from 'millrace/client';
import { startEmulator } from 'millrace/emulator';
import { testPipeline } from 'millrace/testing';

const shop = await testPipeline('pipeline');
await shop.given({ Orders: shop.like('Orders', 'order') }).expect();
await shop.close();

const emulator = await startEmulator();
const client = new CosmosClient(emulator.clientOptions);
const { database } = await client.databases.create({ id: 'shop' });
const { container } = await database.containers.create({ id: 'millrace', partitionKey: { paths: ['/pk'] } });
const current = { version: 1, container: 'Days', type: 'day', reads: [] };
const view = { current, staged: null, previous: null, paused: null, promotions: 0 };
await container.items.create({ id: 'shop', pk: 'views', type: 'millrace.views', views: { days: view } });
const { container: found } = await openViews(container).current('days');
client.dispose();
await emulator.close();
if (found !== 'Days') throw new Error(\`the view lies in \${found}\`);
`,
  );
  run(app, 'node', [file]);
  rmSync(file);
}

/**
 * The tests of pages of docs/how-to whose commands wait for nothing, with the command line of the installed package in the
 * place of the sources. `secondVersion` runs rebuild.md.
 */
function howTos(app: string): void {
  const pages = ['compare-your-copy', 'poison', 'rewind', 'slow'];
  const only = `^(${pages.join('|')})\\.md`;
  const args = ['vitest', 'run', '--project', 'int', 'test/docs/how-to.int.test.ts', '-t', only];
  run(root, 'npx', args, { MILLRACE_PACKED: join(app, 'node_modules/millrace') });
  say(`its command line prints what docs/how-to shows: ${pages.join(', ')}`);
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

function run(
  cwd: string,
  command: string,
  args: readonly string[],
  more: NodeJS.ProcessEnv = {},
): SpawnSyncReturns<string> {
  const result = spawnSync(command, args, {
    cwd,
    env: { ...env, ...more },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (result.status === 0) return result;
  throw new Error(`${command} ${args.join(' ')} ended with ${result.status}\n${result.stdout}\n${result.stderr}`);
}

function bounded(what: string, bytes: number, most: number, digits = 1): void {
  say(`${what} ${mb(bytes, digits)} MB, of at most ${most}`);
  if (bytes > most * 1_000_000) throw new Error(`${what}: ${mb(bytes, digits)} MB is more than ${most}`);
}

function sizeOf(path: string): number {
  const { size } = lstatSync(path);
  if (!lstatSync(path).isDirectory()) return size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), size);
}

function mb(bytes: number, digits = 1): string {
  return (bytes / 1_000_000).toFixed(digits);
}

function say(line: string): void {
  console.log(line);
}
