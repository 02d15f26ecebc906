// The review beside a data model: a JSON file that somebody wrote who read it.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { z } from 'zod';
import { sharedError } from '../../base/shared-errors.ts';
import { messageOf } from '../../base/errors.ts';
import { plainLines, readMarkdown } from '../../model/reader/text/source.ts';
import { type Lined, type Review, reviewOf } from '../../model/review/review.ts';
import { reviewSchema } from '../../model/review/schema.ts';

/** `docs/orders.md` has its review in `docs/orders.review.json`. */
export const reviewPath = (design: string): string => design.replace(/\.[^./\\]+$/, '.review.json');

/** Undefined without a review. @throws UsageError `unreadable` */
export async function readReview(design: string, requirements: Lined | undefined): Promise<Review | undefined> {
  const file = reviewPath(design);
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw unreadable(file, messageOf(cause), cause);
  });
  if (text === undefined) return undefined;
  const { data, error } = reviewSchema.safeParse(jsonOf(text, file));
  if (!data) throw unreadable(file, whatIsWrong(error), error);
  if (data.document !== basename(design))
    throw unreadable(file, `it is of ${data.document}, and not of ${basename(design)}`);
  return reviewOf(data, await reviewLinesOf(design), requirements);
}

export const reviewLinesOf = async (file: string): Promise<Lined> => ({
  file,
  lines: plainLines(await readMarkdown(file)).split('\n'),
});

function jsonOf(text: string, file: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw unreadable(file, messageOf(cause), cause);
  }
}

/** The first three mistakes, each with its place: `answers.3.concerns: …`. */
function whatIsWrong({ issues }: z.ZodError): string {
  const shown = issues.slice(0, 3).map(({ path, message }) => `${path.join('.')}: ${message}`);
  return `${shown.join('; ')}${issues.length > 3 ? `; and ${issues.length - 3} more` : ''}`;
}

const unreadable = (file: string, why: string, cause?: unknown) =>
  sharedError('unreadable', `${file}: ${why}`, {
    hint: 'Compare it with the schema that `millrace model review --schema` prints.',
    cause,
  });
