import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { markdownOf, recorded, reportOf } from './report.ts';

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

it('a run becomes the line of where it was in docs/azure-run.md, and no other', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/azure-run.md'), 'utf8');
  const report = reportOf('azure westeurope', new Date('2026-11-22'), [
    { number: 'ASM-A5', asks: 'five', verdict: 'holds' },
  ]);
  const after = recorded(page, report, 'somebody');
  expect(after).toContain('| Azure | 2026-11-22 | somebody | 1 | 0 | 0 |');
  const lines = after.split('\n');
  expect(lines.filter((line, at) => line !== page.split('\n')[at])).toHaveLength(1);
  expect(recorded(after, reportOf('https://localhost:8081', new Date(), []), 'me')).toContain('emulator | 20');
  expect(() => recorded('', report, 'me')).toThrow('no line for Azure');
});
