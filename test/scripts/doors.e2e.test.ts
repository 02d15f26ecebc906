// What an import of each door of the built package loads of its dependencies: a project pays for what it uses.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, inject, test } from 'vitest';

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as Manifest;
const doors = new Map(
  Object.entries(manifest.exports).flatMap(([door, to]) => (typeof to === 'object' ? [[door, to.default]] : [])),
);

/** Names of our dependencies from which this door loads a file. */
function loadedBy(door: string): string[] {
  const file = pathToFileURL(join(inject('built'), doors.get(door) ?? ''));
  const program = `import { registerHooks } from 'node:module';
const urls = [];
registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
await import('${file.href}');
console.log(JSON.stringify(urls));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  const urls = JSON.parse(stdout) as string[];
  return Object.keys(manifest.dependencies).filter((name) =>
    urls.some((url) => url.includes(`/node_modules/${name}/`)),
  );
}

const LOADED = {
  '.': [],
  './client': [],
  './emulator': [],
  './feed': ['@azure/cosmos'],
  './functions': ['@azure/cosmos', '@azure/functions'],
  './patterns': [],
  './shards': ['@azure/cosmos'],
  './testing': ['@azure/cosmos'],
};

test('every door is listed', () => {
  expect([...doors.keys()].toSorted()).toEqual(Object.keys(LOADED));
});

test.each(Object.entries(LOADED))('%s loads %j', (door, packages) => {
  expect(loadedBy(door)).toEqual(packages);
});
