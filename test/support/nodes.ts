// Other versions of Node: npm has each as a package of the platform, without a script to run.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, '.millrace/nodes');
const { engines, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Readonly<
  Record<'engines' | 'devDependencies', { readonly node: string }>
>;

/** The first version that `engines` lets in; what is built is built for it. */
export const OLDEST = `${/\d+\.\d+/.exec(engines.node)?.[0]}.0`;
/** One of each line that is supported (docs/adr/0016-supported-nodes.md), and the first of 24, whose hooks were others. */
export const SUPPORTED = [OLDEST, '24.0.0', devDependencies.node, '26.10.0'];

/** The executable of a version, installed from npm on its first use. */
export function nodeOf(version: string): string {
  if (version === process.versions.node) return process.execPath;
  const os = process.platform === 'win32' ? 'win' : process.platform;
  // That package's name was taken on Apple's processors.
  const name = `${os === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node'}-${os}-${process.arch}`;
  const executable = (home: string): string =>
    join(home, 'node_modules', name, 'bin', os === 'win' ? 'node.exe' : 'node');
  const home = join(CACHE, version);
  if (!existsSync(executable(home))) {
    // Beside it and renamed, so that what was broken off, or is under way in another process, is never taken for whole.
    const unfinished = `${home}-${randomUUID()}`;
    mkdirSync(unfinished, { recursive: true });
    const wanted = [`${name}@${version}`, '--prefix', unfinished];
    const quietly = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', ['install', ...wanted, ...quietly], { stdio: 'pipe', shell: os === 'win' });
    try {
      renameSync(unfinished, home);
    } catch (error) {
      rmSync(unfinished, { recursive: true });
      if (!existsSync(executable(home))) throw error;
    }
  }
  return executable(home);
}
