// What bin/millrace.mjs starts, and what it says where it can't. That it runs on each Node is test/functions/worker.e2e.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { OLDEST, nodeOf } from '../support/nodes.ts';

let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'millrace-launcher-'));
  cpSync(join(import.meta.dirname, '../../bin'), join(place, 'bin'), { recursive: true });
});
afterEach(() => rmSync(place, { recursive: true }));

function has(file: string, text = ''): void {
  mkdirSync(dirname(join(place, file)), { recursive: true });
  writeFileSync(join(place, file), text);
}
const SOURCES = ['src/cli/main.ts', "console.log('sources' satisfies string);"] as const;
const BUILT = ['dist/src/cli/main.js', "console.log('built');"] as const;
const PACKAGES = ['node_modules/commander/package.json', '{}'] as const;

function run(node = process.execPath): [number | null, string] {
  const { status, stdout, stderr } = spawnSync(node, ['--no-warnings', join(place, 'bin/millrace.mjs')], {
    encoding: 'utf8',
  });
  return [status, (stdout + stderr).trim()];
}

it('the launcher starts the sources of a checkout, and what was built where there is nothing else', () => {
  has(...BUILT);
  expect(run()).toEqual([0, 'built']);
  has(...SOURCES);
  has(...PACKAGES);
  expect(run()).toEqual([0, 'sources']);
});

it('the launcher starts what was built where a checkout has lost its development packages', () => {
  has(...SOURCES);
  has(...BUILT);
  expect(run()).toEqual([0, 'built']);
});

it('the launcher says what to do in a checkout that has neither packages nor a build', () => {
  has(...SOURCES);
  expect(run()).toEqual([2, expect.stringMatching(/packages that are not installed\.\n {2}Run `npm install`/)]);
});

it('the launcher says which Node the sources need where the checkout has none of its own, and runs what was built on that one', () => {
  has(...SOURCES);
  has(...PACKAGES);
  const older = nodeOf(OLDEST);
  expect(run(older)).toEqual([2, expect.stringContaining(`need Node.js 24.4 or newer; this is v${OLDEST}`)]);
  rmSync(join(place, 'src'), { recursive: true });
  has(...BUILT);
  expect(run(older)).toEqual([0, 'built']);
});
