import { describe, expect, it } from 'vitest';
import { markOf, reviewOf } from '../../../src/model/review/review.ts';
import type { RawReview } from '../../../src/model/review/schema.ts';

const DESIGN = { file: 'orders.md', lines: ['# Orders', 'Orders are keyed by /status.', 'Read by customer: often.'] };
const NEEDS = { file: 'needs.md', lines: ['A customer sees the own orders.'] };
const MARK = markOf(DESIGN.lines.join('\n'));

const concern = (...places: RawReview['answers'][number]['concerns'][number]['places']) => ({
  what: 'Orders change their key with each status.',
  remedy: 'Key orders by the customer.',
  harm: 'high' as const,
  places,
});
const review = (answers: RawReview['answers'], text = MARK) => ({
  review: { version: 1 as const, document: 'orders.md', text, answers },
  from: 'orders.review.json',
});
const read = (answers: RawReview['answers'], text?: string) =>
  reviewOf([review(answers, text)], DESIGN, NEEDS, ['K1', 'K2']);

const FINE = { question: 'K2', concerns: [], because: 'The text gives few orders.' };
const STATUS = { line: 2, words: 'keyed by /status' };

describe('a review', () => {
  it('has its concerns at the places of their words, in both documents', () => {
    const places = [
      STATUS,
      { line: 3, words: 'Read by customer' },
      { line: 1, words: 'the own orders', of: 'requirements' as const },
    ];
    const { findings, concerns, ...rest } = read([{ question: 'K1', concerns: [concern(...places)] }, FINE]);
    expect(findings).toEqual([]);
    expect(concerns).toBe(1);
    expect(rest.lines).toBe(DESIGN.lines);
    const [found] = read([{ question: 'K1', concerns: [concern(...places)] }, FINE]).concernsOf('K1');
    expect(found).toMatchObject({
      harm: 'high',
      at: { file: 'orders.md', line: 2 },
      related: [
        { file: 'orders.md', line: 3 },
        { file: 'needs.md', line: 1 },
      ],
    });
  });

  it('names each place once', () => {
    const places = [STATUS, { line: 2, words: 'Orders are keyed' }];
    expect(read([{ question: 'K1', concerns: [concern(...places)] }, FINE]).concernsOf('K1')[0]?.related).toEqual([]);
  });

  it('does not use a concern with words that the document does not have, and says so', () => {
    const made = read([{ question: 'K1', concerns: [concern(STATUS, { line: 3, words: 'Read by shop' })] }, FINE]);
    expect(made.concernsOf('K1')).toEqual([]);
    expect(made.findings).toMatchObject([{ code: 'concern-unfounded', severity: 'warning', at: { line: 3 } }]);
    expect(made.findings[0]?.message).toContain('"Read by shop"');
    const needs = { line: 1, words: 'A shop sees', of: 'requirements' as const };
    const lost = read([{ question: 'K1', concerns: [concern(STATUS, needs)] }, FINE]).findings;
    expect(lost).toMatchObject([{ at: { file: 'needs.md', line: 1 } }]);
  });

  it('says which questions nobody answered', () => {
    expect(read([FINE]).findings).toMatchObject([
      { code: 'review-incomplete', message: 'The review has no answer to K1' },
    ]);
  });

  it('that is free owes no answers', () => {
    const free = review([{ question: 'K1', concerns: [concern(STATUS)] }]);
    const { findings } = reviewOf([{ ...free, review: { ...free.review, free: true } }], DESIGN, undefined, [
      'K1',
      'K2',
    ]);
    expect(findings).toMatchObject([{ code: 'review-incomplete', severity: 'information' }]);
  });

  it('that is free does not hide what a full one left out', () => {
    const free = review([{ question: 'K1', concerns: [concern(STATUS)] }]);
    const both = [{ ...free, review: { ...free.review, free: true as const } }, review([FINE])];
    expect(reviewOf(both, DESIGN, undefined, ['K1', 'K2']).findings).toMatchObject([
      { severity: 'warning', message: 'The review has no answer to K1' },
    ]);
  });

  it('says that the document has changed since', () => {
    const [found] = read([{ question: 'K1', concerns: [] }, FINE], '00000000').findings;
    expect(found).toMatchObject({ code: 'review-outdated', severity: 'information' });
    expect(found?.hint).toContain(MARK);
  });

  it('takes the answers of several readers together', () => {
    const both = reviewOf(
      [
        review([{ question: 'K1', concerns: [concern(STATUS)] }]),
        review([{ question: 'K1', concerns: [concern(STATUS)] }, FINE]),
      ],
      DESIGN,
      undefined,
      ['K1', 'K2'],
    );
    expect(both.findings).toEqual([]);
    expect(both.concernsOf('K1')).toHaveLength(2);
  });
});
