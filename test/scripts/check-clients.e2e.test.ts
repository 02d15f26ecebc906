// What keeps a client from being tried is told apart from what is wrong: exit code 0 and the reason, or exit code 1.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const script = join(import.meta.dirname, '../../scripts/check-clients.ts');
let packages: string;
beforeEach(() => {
  packages = mkdtempSync(join(tmpdir(), 'millrace-packages-'));
});
afterEach(() => {
  rmSync(packages, { recursive: true, force: true });
});

function check(env: Readonly<Record<string, string>>, ...args: string[]): { code: number | null; out: string } {
  const all = ['--conditions=millrace-source', script, '--packages', packages, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, all, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return { code: status, out: stdout + stderr };
}

const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0;

test('clients whose programs are not on PATH are skipped by name', () => {
  const { code, out } = check({ PATH: dirname(process.execPath) });
  expect(out.trim().split('\n')).toEqual([
    'skipped: python (no python3 on PATH)',
    'skipped: java (no mvn on PATH)',
    'skipped: keda (no go on PATH)',
    'skipped: keys-python (no python3 on PATH)',
    'skipped: keys-java (no java on PATH)',
    'clients: 0 tried, 5 skipped, 0 broke; 0 checks, 0 differences',
  ]);
  expect(code).toBe(0);
});

const nowhere = 'http://127.0.0.1:1';
const offline = { PIP_INDEX_URL: nowhere, PIP_NO_CACHE_DIR: '1', PIP_CONFIG_FILE: '/dev/null', PIP_RETRIES: '0' };

test.skipIf(!has('python3'))('a client whose packages can’t be fetched is skipped with the reason', () => {
  const { code, out } = check(offline, '--only', 'python');
  expect(out).toMatch(/^skipped: python \(its packages can't be fetched: .*\)$/m);
  expect(code).toBe(0);
});

test('another name is wrong usage', () => {
  expect(check({}, '--only', 'cobol')).toEqual({
    code: 2,
    out: '--only takes one of python, java, keda, keys-python, keys-java.\n',
  });
});
