import { expect, it } from 'vitest';
import { markdownOf, reportOf } from './report.ts';

it('a report has the verdicts in the order of the assumptions, and a table of them', () => {
  const findings = [
    { number: 'ASM-E16', asks: 'sixteen', verdict: 'does not hold', why: 'a | b' },
    { number: 'ASM-A5', asks: 'five', verdict: 'holds' },
  ] as const;
  const report = reportOf('somewhere', new Date('2026-11-22'), findings);
  expect(report.findings.map(({ number }) => number)).toEqual(['ASM-A5', 'ASM-E16']);
  expect(report.counts).toEqual({ holds: 1, 'does not hold': 1, 'not probed': 0 });
  expect(markdownOf(report).split('\n').slice(4, 6)).toEqual([
    '| ASM-A5 | five | holds |  |',
    '| ASM-E16 | sixteen | does not hold | a \\| b |',
  ]);
});
