// The app as it would be deployed: what a build leaves of this repository under .funcignore, with production packages
// alone. The build has a tree of its own, so that no dist/ is built over while it is used.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

export interface DeployedApp extends Disposable {
  /** A folder of its own, to work in. */
  readonly place: string;
  /** What is deployed. */
  readonly app: string;
  /** The tree it was built in. */
  readonly built: string;
  /** Of that tree, below it: what is deployed of it. */
  readonly files: readonly string[];
}

export function buildDeployedApp(): DeployedApp {
  const place = mkdtempSync(join(tmpdir(), 'millrace-deployed-'));
  const [built, app] = [join(place, 'built'), join(place, 'app')];
  mkdirSync(built);
  const tracked = git(ROOT, 'ls-files', '-co', '--exclude-standard').filter(
    (file) => !file.startsWith('node_modules') && existsSync(join(ROOT, file)),
  );
  for (const file of tracked) copy(ROOT, built, file);
  symlinkSync(join(ROOT, 'node_modules'), join(built, 'node_modules'));
  execFileSync(process.execPath, ['scripts/build.ts', '--no-types'], { cwd: built, stdio: 'pipe' });
  rmSync(join(built, 'node_modules'));
  git(built, 'init', '-q');
  const files = git(built, 'ls-files', '-o', '-X', '.funcignore').filter((file) => !file.startsWith('node_modules'));
  for (const file of files) copy(built, app, file);
  // What `npm ci --omit=dev` would leave.
  for (const name of productionPackages())
    cpSync(join(ROOT, 'node_modules', name), join(app, 'node_modules', name), { recursive: true });
  return { place, app, built, files, [Symbol.dispose]: () => rmSync(place, { recursive: true, force: true }) };
}

/** Our dependencies and theirs, by the lock. */
function productionPackages(): string[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { readonly dependencies?: Readonly<Record<string, string>> }>>;
  };
  const found = new Set<string>();
  const add = (of: string): void => {
    for (const name of Object.keys(packages[of]?.dependencies ?? {})) {
      if (found.has(name)) continue;
      found.add(name);
      add(`node_modules/${name}`);
    }
  };
  add('');
  return [...found];
}

const git = (cwd: string, ...args: string[]): string[] =>
  execFileSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 })
    .split('\n')
    .filter(Boolean);

function copy(from: string, to: string, file: string): void {
  mkdirSync(dirname(join(to, file)), { recursive: true });
  cpSync(join(from, file), join(to, file));
}
