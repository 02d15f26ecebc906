import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { packageVersion } from '../../../src/base/package.ts';
import { dependencyFor, tarballOf, unbuiltCheckoutOf } from '../../../src/host/init/origin.ts';

let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'millrace-origin-'));
  mkdirSync(join(place, 'cache/_npx/1/node_modules/millrace'), { recursive: true });
  writeFileSync(join(place, 'millrace-0.1.0.tgz'), '');
});
afterEach(() => {
  rmSync(place, { recursive: true, force: true });
});

const installed = (): string => join(place, 'cache/_npx/1/node_modules/millrace/');
const target = (): string => join(place, 'work/my-app');
const version = `^${packageVersion()}`;

it.each([
  ['the registry', { dependencies: { millrace: '^0.1.0' } }, version],
  ['a tag of the registry', { dependencies: { millrace: 'latest' } }, version],
  ['a tarball', { dependencies: { millrace: 'file:../../../millrace-0.1.0.tgz' } }, 'file:../../millrace-0.1.0.tgz'],
  [
    'a tarball for development',
    { devDependencies: { millrace: 'file:../../../millrace-0.1.0.tgz' } },
    'file:../../millrace-0.1.0.tgz',
  ],
  ['a tarball that is gone', { dependencies: { millrace: 'file:../gone.tgz' } }, version],
  ['a tarball at an address', { dependencies: { millrace: 'https://host/millrace.tgz' } }, 'https://host/millrace.tgz'],
  ['nothing that is written down, as a global installation', {}, version],
])('a package that came from %s', (_, project, expected) => {
  writeFileSync(join(place, 'cache/_npx/1/package.json'), JSON.stringify(project));
  expect(dependencyFor(target(), installed())).toBe(expected);
});

it('a package in a checkout is that folder, and one whose package.json is broken the version', () => {
  mkdirSync(join(place, 'millrace/.git'), { recursive: true });
  expect(dependencyFor(target(), join(place, 'millrace/'))).toBe('file:../../millrace');
  writeFileSync(join(place, 'cache/_npx/1/package.json'), '{');
  expect(dependencyFor(target(), installed())).toBe(version);
});

it('the origin of Millrace knows which dependency is a tarball', () => {
  expect(tarballOf('file:../../millrace-0.1.0.tgz', target())).toBe(join(place, 'millrace-0.1.0.tgz'));
  for (const other of ['^0.1.0', 'file:../../cache', 'https://host/x.tgz'])
    expect(tarballOf(other, target())).toBeUndefined();
});

it('the origin of Millrace knows a checkout that must be built before the tests of a project', () => {
  const checkout = join(place, 'millrace');
  mkdirSync(join(checkout, '.git'), { recursive: true });
  expect(unbuiltCheckoutOf('file:../../millrace', target())).toBe(checkout);
  mkdirSync(join(checkout, 'dist'));
  for (const other of ['file:../../millrace', 'file:../../millrace-0.1.0.tgz', '^0.1.0'])
    expect(unbuiltCheckoutOf(other, target())).toBeUndefined();
});
