import { expect, test } from 'vitest';
import { annotationsOf } from '../../../src/model/annotations/annotations.ts';
import { annotationsSchema } from '../../../src/model/annotations/schema.ts';
import type { RuleFinding, RuleId } from '../../../src/model/rules/rule.ts';
import { toldOnce } from '../../../src/model/rules/told-once.ts';

const LINES = ['# Design', 'The containers notes and users.', '## Non-goals', 'A ranking of notes.'];
const annotations = (...all: object[]) =>
  annotationsOf(
    annotationsSchema.parse({
      version: 1,
      document: 'm.md',
      annotations: all.map((one) => ({ line: 2, words: 'The containers', ...one })),
    }),
    LINES,
    'm.md',
    'm.annotations.json',
  );
const finding = (rule: RuleId, message: string, line = 2): RuleFinding => ({
  rule,
  severity: 'warning',
  message,
  at: { file: 'm.md', line },
});
const kept = (findings: readonly RuleFinding[], ...all: object[]): string[] =>
  toldOnce(findings, [], annotations(...all)).map(({ rule }) => rule);
const notes = { kind: 'container', container: 'notes', key: ['/userId'] };
const users = { kind: 'container', container: 'users', key: ['/id'] };
const small = { kind: 'scale', container: 'notes', documents: 200, bounded: true };

test('what matters at size isn’t told of small containers', () => {
  const findings = [finding('C13', 'Line 2 queries notes'), finding('E13', 'notes has no policy')];
  expect(kept(findings, notes, users)).toEqual(['C13', 'E13']);
  expect(kept(findings, notes, users, small)).toEqual(['E13']);
  // One that names no container is of all.
  expect(kept([finding('B24', 'This reads every partition')], notes, users, small)).toEqual(['B24']);
  expect(kept([finding('B24', 'This reads every partition')], notes, small)).toEqual([]);
});

test('nothing is asked of the design of a container that is there already', () => {
  const findings = [finding('E15', 'notes: no program creates it'), finding('C13', 'Line 2 queries notes')];
  expect(kept(findings, { ...notes, existing: true })).toEqual(['C13']);
});

test('what the document leaves out is no requirement', () => {
  expect(kept([finding('D15', 'A ranking', 4), finding('D15', 'A ranking', 2)], notes)).toEqual(['D15']);
});
