import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PARTS } from '../../../src/model/rules/question.ts';
import { QUESTIONS } from '../../../src/model/rules/questions.ts';
import { reviewOf } from '../../../src/model/review/review.ts';
import { checkDocuments } from '../../../src/model/rules/index.ts';

describe('the questions of a review', () => {
  it('are numbered in the order in which they are asked, and every part has some', () => {
    expect(QUESTIONS.map(({ id }) => id)).toEqual(QUESTIONS.map((_, index) => `K${index + 1}`));
    expect([...new Set(QUESTIONS.map(({ part }) => part))]).toEqual(Object.keys(PARTS));
  });

  it('each say what to look for, what is no concern, and what is known', () => {
    for (const { id, ask, not, known } of QUESTIONS) {
      expect([id, ask.length > 1, not.length > 20, known.length > 20]).toEqual([id, true, true, true]);
    }
  });

  it('name assumptions that are there', () => {
    const assumptions = readFileSync(new URL('../../../docs/assumptions.md', import.meta.url), 'utf8');
    const named = QUESTIONS.flatMap(({ known }) => [...known.matchAll(/ASM-[A-Z]\d+/g)].map(([name]) => name));
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((name) => !assumptions.includes(`**${name}**`))).toEqual([]);
  });

  it('report each concern with its harm as severity', () => {
    const design = { file: 'm.md', lines: ['one', 'two', 'three'] };
    const concerns = (['high', 'medium', 'low'] as const).map((harm, index) => ({
      harm,
      what: `what ${harm} harm does`,
      remedy: `what mends ${harm} harm`,
      places: [{ line: index + 1, words: design.lines[index] ?? '' }],
    }));
    const answers = QUESTIONS.map(({ id }) => ({ question: id, concerns: id === 'K9' ? concerns : [] }));
    const review = { version: 1 as const, document: 'm.md', text: '', answers };
    const { findings } = checkDocuments({
      requirements: undefined,
      design: undefined,
      review: reviewOf([{ review, from: 'm.review.json' }], design, undefined, []),
    });
    expect(findings).toMatchObject([
      { rule: 'K9', severity: 'error', message: 'what high harm does', hint: 'what mends high harm', at: { line: 1 } },
      { rule: 'K9', severity: 'warning', at: { line: 2 } },
      { rule: 'K9', severity: 'information', at: { line: 3 } },
    ]);
  });
});
