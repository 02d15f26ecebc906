import { expect, test } from 'vitest';
import { type Checked, checkText, excerpt } from '../../../src/verbs/model/check-text.ts';

const LINE = '{ "origin": "DTW", "destination": "LAS" }';
const MESSAGE = 'makes no arrival; the nearest row has destination "DTW", not "LAS"';
const marked = (of: ReturnType<typeof excerpt>): string => of.text.slice(of.from, of.from + of.length);

test('the caret is below the words that the finding names, else below what line and message share', () => {
  expect(marked(excerpt(LINE, MESSAGE, '"destination"'))).toBe('"destination"');
  expect(marked(excerpt(LINE, MESSAGE))).toBe('DTW');
  expect(marked(excerpt(LINE, MESSAGE, '"gone"'))).toBe('DTW');
});

test('lines that follow each other are one place', () => {
  const at = (line: number, file = 'm.md') => ({ file, line });
  const checked = {
    findings: [
      {
        rule: 'G15',
        severity: 'error',
        message: 'x',
        at: at(1),
        related: [at(5), at(6), at(7), at(9), at(26, 'pipeline.ts')],
      },
    ],
    notChecked: [],
    waived: [],
    reading: [],
    fixed: [],
    folder: '.',
    unchecked: false,
    rules: 1,
    counts: { error: 1, warning: 0, information: 0 },
  } satisfies Checked;
  expect(checkText(checked)).toContain('see m.md:5–7, m.md:9, pipeline.ts:26');
});
