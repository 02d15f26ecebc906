// The files of a review beside a data model: answers to the questions, and a second reader's verdicts.
import { basename } from 'node:path';
import { suggestion } from '../../base/near.ts';
import { type Lined, type Review, reviewOf } from '../../model/review/review.ts';
import { type Verdicts, reviewSchema, verdictsSchema } from '../../model/review/schema.ts';
import { plainLines, readDocument } from '../../model/reader/source.ts';
import { QUESTIONS } from '../../model/rules/questions.ts';
import { filesBeside, pathBeside, readBeside, unreadable } from './beside.ts';

/** `docs/orders.review.json`, or `docs/orders.ada.review.json` of a reader with a name. */
export const reviewPath = (design: string, by: string | undefined): string =>
  pathBeside(design, by === undefined ? 'review' : `${by}.review`);

export const verdictsPath = (design: string): string => pathBeside(design, 'verdicts');

const ASKED = QUESTIONS.map(({ id }) => id);

/** The answers of all readers. Undefined without a review. @throws UsageError `review-unreadable` */
export async function readReview(design: string, requirements: Lined | undefined): Promise<Review | undefined> {
  const reviews = [];
  for (const from of await filesBeside(design, 'review')) {
    const review = await readBeside(from, reviewSchema, 'review-unreadable');
    if (!review || isOfAnother(review.document, design, from)) continue;
    const unknown = review.answers.find(({ question }) => !ASKED.some((id) => id === question));
    if (unknown)
      throw unreadable(
        'review-unreadable',
        from,
        `there is no question ${unknown.question}${suggestion(unknown.question, ASKED)}`,
      );
    reviews.push({ review, from: basename(from) });
  }
  if (reviews.length === 0) return undefined;
  return reviewOf(reviews, await linesOf(design), requirements, ASKED);
}

/**
 * `orders.v2.review.json` is the review of `orders.v2.md`, or that of a reader v2 of `orders.md`: the file says which.
 * @throws UsageError `review-unreadable` if it names a document that has its review elsewhere
 */
function isOfAnother(document: string, design: string, from: string): boolean {
  if (document === basename(design)) return false;
  if (basename(reviewPath(document, undefined)) === basename(from)) return true;
  throw unreadable('review-unreadable', from, `it is of ${document}, and not of ${basename(design)}`);
}

/** Undefined without verdicts. @throws UsageError `review-unreadable` */
export async function readVerdicts(design: string): Promise<Verdicts | undefined> {
  const file = verdictsPath(design);
  const read = await readBeside(file, verdictsSchema, 'review-unreadable');
  if (!read) return undefined;
  isOfAnother(read.document, design, file);
  const names = read.verdicts.map(({ finding }) => finding);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) throw unreadable('review-unreadable', file, `there are two verdicts on ${twice}`);
  return { file: basename(file), document: design, all: read.verdicts };
}

export const linesOf = async (file: string): Promise<Lined> => ({
  file,
  lines: plainLines(await readDocument(file)).split('\n'),
});
