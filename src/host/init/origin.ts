import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isObject } from '../../base/json.ts';
import { packageRoot, packageVersion } from '../../base/package.ts';

/**
 * The dependency on this package for a project in `target`, from where this package itself came: its version in the
 * registry, the tarball that it was installed from, another address, or the folder of a checkout.
 */
export function dependencyFor(target: string, root = fileURLToPath(packageRoot)): string {
  const version = `^${packageVersion()}`;
  const folder = root.replace(/[\\/]$/, '');
  const modules = dirname(folder);
  if (basename(modules) !== 'node_modules')
    return existsSync(join(folder, '.git')) ? fileSpec(target, folder) : version;
  const project = dirname(modules);
  const spec = dependencyIn(join(project, 'package.json'), basename(folder));
  if (spec === undefined) return version;
  // npm writes the path of a tarball or folder relative to the project that has installed it.
  if (spec.startsWith('file:')) {
    const path = resolve(project, spec.slice('file:'.length));
    return existsSync(path) ? fileSpec(target, path) : version;
  }
  return /^(https?|git[+:]|github:)/.test(spec) ? spec : version;
}

const fileSpec = (target: string, path: string): string => `file:${relative(target, path).split(sep).join('/')}`;

/** The checkout that a dependency names, as a path, where it has no build: tests and types need one. */
export function unbuiltCheckoutOf(spec: string, target: string): string | undefined {
  if (!spec.startsWith('file:')) return undefined;
  const path = resolve(target, spec.slice('file:'.length));
  return existsSync(join(path, '.git')) && !existsSync(join(path, 'dist')) ? path : undefined;
}

/** The tarball that a dependency names, as a path; undefined if it names none. */
export function tarballOf(spec: string, target: string): string | undefined {
  if (!spec.startsWith('file:')) return undefined;
  const path = resolve(target, spec.slice('file:'.length));
  return statSync(path, { throwIfNoEntry: false })?.isFile() ? path : undefined;
}

/** npm exec, npm install and others write what they install into a package.json. */
function dependencyIn(file: string, name: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (!isObject(parsed)) return undefined;
    for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
      const of = parsed[kind];
      const spec = isObject(of) ? of[name] : undefined;
      if (typeof spec === 'string') return spec;
    }
  } catch {
    // A global installation has none.
  }
  return undefined;
}
