import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PROBES, WITHOUT_PROBE } from './probes/index.ts';
import { markdownOf, reportOf } from './report.ts';

const ROOT = join(import.meta.dirname, '../..');
const assumptions = readFileSync(join(ROOT, 'docs/assumptions.md'), 'utf8');
const numbers = [...assumptions.matchAll(/^- \*\*(ASM-[AEHF]\d+)\*\*/gm)].map(([, number = '']) => number);

it('every numbered assumption has a probe, or a reason for having none', () => {
  expect(numbers.length).toBeGreaterThan(80);
  const known = [...PROBES.map(({ number }) => number), ...WITHOUT_PROBE.keys()];
  expect(known.filter((number, at) => known.indexOf(number) !== at)).toEqual([]);
  expect(known.toSorted()).toEqual(numbers.toSorted());
});

it('a report has a verdict for every number, and a table of those that were asked', () => {
  const findings = [
    { number: 'ASM-E16', asks: 'sixteen', verdict: 'does not hold', why: 'a | b' },
    { number: 'ASM-A5', asks: 'five', verdict: 'holds' },
  ] as const;
  const report = reportOf('somewhere', new Date('2026-11-22'), findings);
  expect(report.findings.map(({ number }) => number).slice(0, 2)).toEqual(['ASM-A3', 'ASM-A5']);
  expect(report.counts).toEqual({ holds: 1, 'does not hold': 1, 'not probed': WITHOUT_PROBE.size });
  expect(markdownOf(report).split('\n').slice(4, 6)).toEqual([
    '| ASM-A5 | five | holds |  |',
    '| ASM-E16 | sixteen | does not hold | a \\| b |',
  ]);
});
