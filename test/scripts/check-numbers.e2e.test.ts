import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const script = join(import.meta.dirname, '../../scripts/check-numbers.ts');
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'millrace-numbers-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const HEADER = '| | holds | enforced in | shown by |\n|---|---|---|---|\n';
const row = (number: string, enforced: string, shown: string): string =>
  `| SUM-${number} | it holds | ${enforced} | ${shown} |\n`;
const spec = (...rows: string[]): string => `# Sums\n\n${HEADER}${rows.join('')}\nAs in [SUM-G1](SPEC-sums.md).\n`;
const G1 = row(
  'G1',
  '`sums/fold.ts` (`fold`): one batch',
  '`sums.unit` (adds up; each row), `npm run soak -- --all`, BENCH-B1',
);

const GOOD = {
  'package.json': '{ "scripts": { "soak": "node soak.ts" } }',
  'docs/SPEC-sums.md': spec(G1),
  'docs/assumptions.md': `- **ASM-A3** A read may be old. \`A9\` is code.\n`,
  'docs/benchmarks.md': '| B1 | sums |\n',
  'bench/b1-sums.ts': '// What B1 is.\n',
  'src/sums/fold.ts': `/** Adds up (SUM-G1, ASM-A3). */\nexport const fold = 'A7';\n`,
  'test/sums/sums.unit.test.ts': `describe('sums', () => { it.each([['each row']])('adds up %s', () => {}); });\n`,
};

function check(changed: Readonly<Record<string, string>>): { code: number | null; out: string; errors: string[] } {
  for (const [name, text] of Object.entries({ ...GOOD, ...changed })) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, root], { encoding: 'utf8' });
  return { code: status, out: stdout, errors: stderr.split('\n').filter(Boolean) };
}

it('the check of numbers passes what is defined, enforced, shown and cited, and counts it', () => {
  const { code, out, errors } = check({});
  expect(errors).toEqual([]);
  expect(out).toMatch(/^numbers: 1 assumptions, 1 invariants in 1 documents; \d+ citations.*; 3 tests named/);
  expect(code).toBe(0);
});

it.each<[string, string, string, RegExp]>([
  [
    'a number that no document defines',
    'src/b.ts',
    `\n// Because of SUM-G2.`,
    /^src\/b\.ts:2: \S+-G2 is cited, and no document defines it/,
  ],
  ['a prefix that no document has', 'docs/page.md', 'See XYZ-A1.', /^docs\/page\.md:1: XYZ-A1 is cited/],
  ['such a number in a text of code', 'test/probe.ts', `export const number = 'ASM-E99';`, /ASM-E99 is cited/],
  [
    'a number defined twice',
    'docs/SPEC-sums.md',
    spec(G1, G1),
    /^docs\/SPEC-sums\.md:6: \S+-G1 is defined twice, at docs\/SPEC-sums\.md:5/,
  ],
  [
    'a row without a number',
    'docs/SPEC-sums.md',
    spec(G1, '| two | it | `fold.ts` | BENCH-B1 |\n'),
    /:6: a row of invariants/,
  ],
  [
    'code that is gone',
    'docs/SPEC-sums.md',
    spec(G1, row('G2', '`lost.ts`', 'BENCH-B1')),
    /:6: \S+-G2: there is no lost\.ts/,
  ],
  [
    'no code at all',
    'docs/SPEC-sums.md',
    spec(G1, row('G2', 'the order', 'BENCH-B1')),
    /-G2: names no file that enforces it/,
  ],
  [
    'a function that is gone',
    'docs/SPEC-sums.md',
    spec(G1, row('G2', '`sums/fold.ts` (`unfold`)', 'BENCH-B1')),
    /-G2: sums\/fold\.ts has no unfold/,
  ],
  ['code that may be two files', 'src/model/fold.ts', '', /-G1: fold\.ts may be .* or .*\. Name the folder too/],
  [
    'a test that is gone',
    'docs/SPEC-sums.md',
    spec(G1, row('G2', '`fold.ts`', '`lost.int`')),
    /-G2: there is no lost\.int/,
  ],
  [
    'a test of another title',
    'docs/SPEC-sums.md',
    spec(G1, row('G2', '`fold.ts`', '`sums.unit` (adds up; subtracts)')),
    /-G2: no test in test\/sums\/sums\.unit\.test\.ts has "subtracts" in its title/,
  ],
  ['no test at all', 'docs/SPEC-sums.md', spec(G1, row('G2', '`fold.ts`', 'same')), /-G2: "same" names no test/],
  ['a script that is gone', 'docs/SPEC-sums.md', spec(G1, row('G2', '`fold.ts`', '`npm run lost`')), /no script lost/],
])('the check of numbers refuses %s', (_, file, text, message) => {
  const ambiguous =
    file === 'src/model/fold.ts' ? { 'docs/SPEC-sums.md': spec(G1.replace('sums/fold.ts', 'fold.ts')) } : {};
  const { code, errors } = check({ ...ambiguous, [file]: text });
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatch(message);
  expect(code).toBe(1);
});
