import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const FORMATS = 'src/base/format.ts';

/** A project with an installed version of Millrace and the pipeline. */
export interface Installed {
  readonly name: string;
  /** The version in its package.json. */
  readonly version: string;
  /** The project's folder. */
  readonly folder: string;
  readonly bin: string;
}

export interface Version {
  readonly name: string;
  /** A commit; absent: the working tree as it is. */
  readonly ref?: string;
  /** A kind of document that this version writes one format higher. */
  readonly raise?: string;
}

/** Packs a version from its sources and installs the package. npm prefers its cache to the network. */
export function install(version: Version, place: string): Installed {
  const sources = join(place, 'sources', version.name);
  mkdirSync(sources, { recursive: true });
  checkOut(version.ref, sources);
  dependencies(version.ref, sources);
  const label = labelled(version, sources);
  if (version.raise !== undefined) raise(version.raise, sources);
  const packed = run(sources, 'npm', ['pack', '--json', '--silent', '--pack-destination', sources]).stdout;
  const [{ filename }] = JSON.parse(packed.slice(packed.indexOf('['))) as [{ filename: string }];

  const folder = join(place, version.name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "name": "upgrade", "private": true, "type": "module" }');
  run(folder, 'npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', join(sources, filename)]);
  cpSync(join(import.meta.dirname, 'pipeline'), join(folder, 'pipeline'), { recursive: true });
  return { name: version.name, version: label, folder, bin: join(folder, 'node_modules/millrace/bin/millrace.mjs') };
}

function checkOut(ref: string | undefined, into: string): void {
  const archive = join(into, '..', 'archive.tar');
  if (ref === undefined) {
    const files = run(ROOT, 'git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']).stdout.split('\0');
    const existing = files.filter((file) => file !== '' && existsSync(join(ROOT, file)));
    writeFileSync(`${archive}.list`, existing.join('\0'));
    run(ROOT, 'tar', ['-cf', archive, '--null', '-T', `${archive}.list`]);
  } else run(ROOT, 'git', ['archive', '--format=tar', '-o', archive, ref]);
  run(into, 'tar', ['-xf', archive]);
}

/** Provides the dependencies for the build: hard links to those of this checkout if the lock is the same, else `npm ci`. */
function dependencies(ref: string | undefined, sources: string): void {
  const lock = (folder: string): string => readFileSync(join(folder, 'package-lock.json'), 'utf8');
  const same = ref === undefined || lock(sources) === lock(ROOT);
  const linked = same && spawnSync('cp', ['-al', join(ROOT, 'node_modules'), sources]).status === 0;
  if (!linked) run(sources, 'npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline']);
}

/** Adds the name to the package's version, so that the documents of a host show which version it is. */
function labelled({ name }: Version, sources: string): string {
  const file = join(sources, 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  manifest.version = `${manifest.version}-${name}`;
  writeFileSync(file, JSON.stringify(manifest, undefined, 2));
  return manifest.version;
}

function raise(kind: string, sources: string): void {
  const file = join(sources, FORMATS);
  const text = readFileSync(file, 'utf8');
  const line = new RegExp(`^  ${kind}: \\{ writes: (\\d+), reads: (\\d+) \\},$`, 'm');
  const [found, writes] = line.exec(text) ?? [];
  if (found === undefined) throw new Error(`${FORMATS} has no kind ${kind}`);
  const next = Number(writes) + 1;
  writeFileSync(file, text.replace(found, `  ${kind}: { writes: ${next}, reads: ${next} },`));
}

function run(cwd: string, command: string, args: readonly string[]): SpawnSyncReturns<string> {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
    NO_COLOR: '1',
  };
  // npm passes settings of this folder to its scripts; npm in the other folder must not use them.
  for (const name of Object.keys(env))
    if (/^npm_(config_(?!registry|userconfig|cache)|package|lifecycle)/.test(name)) delete env[name];
  const result = spawnSync(command, args, { cwd, env, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (result.status === 0) return result;
  throw new Error(`${command} ${args.join(' ')} ended with ${result.status}\n${result.stdout}\n${result.stderr}`);
}
