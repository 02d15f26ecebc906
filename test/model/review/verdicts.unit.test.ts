import { describe, expect, it } from 'vitest';
import { judged, nameOf } from '../../../src/model/review/verdicts.ts';
import type { RuleFinding } from '../../../src/model/rules/rule.ts';

const LINES = ['# Orders', 'Orders are keyed by `/status`.', 'Counts are raised.'];
const lineOf = ({ line }: { line: number }): string | undefined => LINES[line - 1];
const finding = (rule: RuleFinding['rule'], line: number, message = 'it changes'): RuleFinding => ({
  rule,
  severity: 'warning',
  message,
  hint: 'Mend it.',
  at: { file: 'orders.md', line },
});
const verdicts = (
  ...all: { finding: string; verdict: 'right' | 'minor' | 'wrong' | 'repeats'; remedy?: string }[]
) => ({
  file: 'orders.verdicts.json',
  document: 'orders.md',
  all: all.map((one) => ({ because: 'line 3 says that it is so', ...one })),
});

const KEY = finding('K3', 2);
const COUNT = finding('J26', 3);

describe('the name of a finding', () => {
  it('changes with its rule, its message and the words of its line', () => {
    const names = [KEY, finding('K4', 2), finding('K3', 2, 'another'), finding('K3', 3)].map((one) =>
      nameOf(one, lineOf),
    );
    expect(new Set(names).size).toBe(4);
    expect(names[0]).toMatch(/^K3-[0-9a-f]{8}$/);
  });

  it('stays if lines that its message names move', () => {
    const named = (line: number): string =>
      nameOf(finding('K3', 2, `Line ${line} and lines ${line + 4}, ${line + 6} and 99 differ`), lineOf);
    expect(named(3)).toBe(named(4));
    expect(nameOf(finding('K3', 2, 'a deadline of 3 days'), lineOf)).not.toBe(
      nameOf(finding('K3', 2, 'a deadline of 4 days'), lineOf),
    );
  });

  it('stays if lines are added above, or marks change', () => {
    const moved = ['', ...LINES.map((line) => line.replaceAll('`', ''))];
    expect(nameOf(finding('K3', 3), ({ line }) => moved[line - 1])).toBe(nameOf(KEY, lineOf));
  });
});

describe('verdicts', () => {
  it('set aside what is minor, wrong or a repetition, with the reason', () => {
    const { findings, setAside, unused } = judged(
      [KEY, COUNT],
      [],
      verdicts({ finding: nameOf(COUNT, lineOf), verdict: 'wrong' }),
      lineOf,
    );
    expect(findings).toEqual([KEY]);
    expect(setAside).toMatchObject([
      { finding: COUNT, verdict: { verdict: 'wrong', because: 'line 3 says that it is so' } },
    ]);
    expect(unused).toEqual([]);
  });

  it('leave what is right, with a better remedy if there is one', () => {
    const { findings } = judged(
      [KEY, COUNT],
      [],
      verdicts(
        { finding: nameOf(KEY, lineOf), verdict: 'right' },
        { finding: nameOf(COUNT, lineOf), verdict: 'right', remedy: 'Count from the change feed.' },
      ),
      lineOf,
    );
    expect(findings.map(({ hint }) => hint)).toEqual(['Mend it.', 'Count from the change feed.']);
  });

  it('on what is not found are reported once', () => {
    const { findings, unused } = judged([KEY], [], verdicts({ finding: 'K3-00000000', verdict: 'wrong' }), lineOf);
    expect(findings).toEqual([KEY]);
    expect(unused).toMatchObject([{ code: 'verdict-unused', severity: 'information' }]);
    expect(unused[0]?.message).toContain('K3-00000000');
  });

  it('on what is waived are not called unused', () => {
    const { unused } = judged([KEY], [COUNT], verdicts({ finding: nameOf(COUNT, lineOf), verdict: 'wrong' }), lineOf);
    expect(unused).toEqual([]);
  });

  it('without any, everything stands', () => {
    expect(judged([KEY, COUNT], [], undefined, lineOf).findings).toEqual([KEY, COUNT]);
  });
});
