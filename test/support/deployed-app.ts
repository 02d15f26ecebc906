// The app as it would be deployed: what a build leaves of this repository under .funcignore, with production packages
// alone. Each has a copy of the build, to change.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inject } from 'vitest';
import { git } from './built.ts';

const ROOT = join(import.meta.dirname, '../..');

export interface DeployedApp extends Disposable {
  /** A folder of its own, to work in. */
  readonly place: string;
  /** What is deployed. */
  readonly app: string;
  /** A tree like the one it was built in, with production packages. */
  readonly built: string;
  /** Of that tree, below it: what is deployed of it. */
  readonly files: readonly string[];
}

export function buildDeployedApp(): DeployedApp {
  const place = mkdtempSync(join(tmpdir(), 'millrace-deployed-'));
  const [built, app] = [join(place, 'built'), join(place, 'app')];
  const nodeModules = join(inject('built'), 'node_modules');
  cpSync(inject('built'), built, { recursive: true, filter: (from) => from !== nodeModules });
  // What `npm prune --omit=dev` would leave.
  for (const name of productionPackages()) {
    const to = join(built, 'node_modules', name);
    mkdirSync(dirname(to), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), to);
  }
  git(built, 'init', '-q');
  const deployed = git(built, 'ls-files', '-o', '-X', '.funcignore');
  for (const file of deployed) cpSync(join(built, file), join(app, file), { recursive: true, dereference: true });
  const files = deployed.filter((file) => !file.startsWith('node_modules'));
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
