import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const script = join(import.meta.dirname, '../../scripts/check-errors.ts');
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'millrace-errors-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const LEASE = `'lease-lost': { meaning: 'Another host has the lease.', hint: 'Let it work.', retryable: true },`;
const CLEAN = {
  'src/feed/errors.ts': `export const FEED_ERRORS = { ${LEASE} };`,
  'src/feed/lease.ts': `export class LeaseLost extends MillraceError<'lease-lost'> {}`,
  'src/host/errors.ts': `export const HOST_ERRORS = { 'cannot-listen': { meaning: 'The port is taken.', hint: 'Name another.', usage: true } };`,
  'src/host/listen.ts': `throw hostError('cannot-listen', 'Port 80 is taken');`,
};

function run(files: Readonly<Record<string, string>>): { code: number | null; errors: string[] } {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const { status, stderr } = spawnSync(process.execPath, [script, root], { encoding: 'utf8' });
  return { code: status, errors: stderr.split('\n').filter(Boolean) };
}

it('the check of errors passes codes that are thrown and explained', () => {
  expect(run(CLEAN)).toEqual({ code: 0, errors: [] });
});

it.each([
  [
    'a code that stands in two catalogues',
    'src/host/errors.ts',
    CLEAN['src/host/errors.ts'].replace('{', `{ ${LEASE}`),
    /^lease-lost: stands in the catalogues of (feed and host|host and feed)$/,
  ],
  ['a code that nothing throws', 'src/host/listen.ts', '', /^cannot-listen \(host\): nothing throws it$/],
  [
    'an error that is made beside the catalogue',
    'src/host/more.ts',
    `\nthrow new UsageError('port-odd', 'No');`,
    /^src\/host\/more\.ts:2: makes an error beside/,
  ],
  [
    'a class whose code stands in no catalogue',
    'src/feed/more.ts',
    `class Odd extends MillraceError<'lease-odd'> {}`,
    /^src\/feed\/more\.ts:1: lease-odd stands in no catalogue$/,
  ],
  [
    'a hint that is a fragment',
    'src/feed/errors.ts',
    CLEAN['src/feed/errors.ts'].replace('Let it work.', 'let it work'),
    /^lease-lost \(feed\): its hint isn't/,
  ],
  [
    'a meaning that leaves a value out',
    'src/feed/errors.ts',
    CLEAN['src/feed/errors.ts'].replace('Another host', 'Host …'),
    /^lease-lost \(feed\): its meaning isn't/,
  ],
])('the check of errors finds %s', (_, file, text, message) => {
  const { code, errors } = run({ ...CLEAN, [file]: text });
  expect(errors).toEqual([expect.stringMatching(message)]);
  expect(code).toBe(1);
});
