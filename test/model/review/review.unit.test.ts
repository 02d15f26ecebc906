import { describe, expect, it } from 'vitest';
import { reviewMarkOf, reviewOf } from '../../../src/model/review/review.ts';
import { concernFindings } from '../../../src/model/rules/concerns.ts';
import type { RawReview } from '../../../src/model/review/schema.ts';

const DESIGN = { file: 'orders.md', lines: ['# Orders', 'Orders are keyed by /status.', 'Read by customer: often.'] };
const NEEDS = { file: 'needs.md', lines: ['A customer sees the own orders.'] };
const MARK = reviewMarkOf(DESIGN.lines.join('\n'));
const STATUS = { line: 2, words: 'keyed by /status' };

type Places = RawReview['answers'][number]['concerns'][number]['places'];

const read = (places: Places, text = MARK) =>
  reviewOf(
    {
      version: 1,
      document: 'orders.md',
      text,
      answers: [
        {
          question: 'K1',
          concerns: [
            {
              what: 'Orders change their key with each status.',
              remedy: 'Key orders by the customer.',
              harm: 'high',
              places,
            },
          ],
        },
        { question: 'K2', concerns: [], because: 'The text gives few orders.' },
      ],
    },
    DESIGN,
    NEEDS,
  );

describe('a review', () => {
  it('a review has its concerns at the places of their words, in both documents, as findings', () => {
    const review = read([
      STATUS,
      { line: 3, words: 'Read by customer' },
      { line: 1, words: 'the own orders', of: 'requirements' },
    ]);
    expect(review.findings).toEqual([]);
    expect(concernFindings(review)).toEqual([
      {
        rule: 'K1',
        severity: 'error',
        message: 'Orders change their key with each status',
        hint: 'Key orders by the customer.',
        at: { file: 'orders.md', line: 2 },
        related: [
          { file: 'orders.md', line: 3 },
          { file: 'needs.md', line: 1 },
        ],
      },
    ]);
  });

  it('a review names each place once', () => {
    expect(read([STATUS, { line: 2, words: 'Orders are keyed' }]).concerns[0]?.related).toEqual([]);
  });

  it('a review does not use a concern with words that the document does not have, and says so', () => {
    const made = read([STATUS, { line: 3, words: 'Read by shop' }]);
    expect(made.concerns).toEqual([]);
    expect(made.findings).toMatchObject([{ code: 'concern-unfounded', severity: 'warning', at: { line: 3 } }]);
    expect(made.findings[0]?.message).toContain('"Read by shop"');
    expect(read([STATUS, { line: 1, words: 'A shop sees', of: 'requirements' }]).findings).toMatchObject([
      { at: { file: 'needs.md', line: 1 } },
    ]);
  });

  it('a review says that the document has changed since', () => {
    const [found] = read([STATUS], '00000000').findings;
    expect(found).toMatchObject({ code: 'review-outdated', severity: 'information' });
    expect(found?.hint).toContain(MARK);
  });
});
