// What a review of a data-model document is: a JSON file with concerns by question, which a person or an assistant writes.
import { z } from 'zod';

const name = z.string().min(1).max(200);
const sentence = z.string().min(15).max(500);

const place = z.strictObject({
  line: z.int().min(1).describe('the line where the words begin'),
  words: z
    .string()
    .min(3)
    .max(300)
    .describe('words of the document, copied from this line and at most eleven more; no paraphrase'),
  of: z.literal('requirements').optional().describe('the words are in the requirements, not in the data model'),
});

const concern = z.strictObject({
  what: sentence.describe(
    'what goes wrong, for whom and when: the cause in the document and the result of it, so that a reader of this sentence alone understands it',
  ),
  remedy: sentence.describe('what to write or build instead, which fits the rest of the document and does no harm'),
  harm: z
    .enum(['high', 'medium', 'low'])
    .describe(
      'high: data is lost, wrong or seen by others, money is lost, or the design fails at its stated load. medium: it costs a rebuild, misleads an implementer, or is wrong at times. low: small, but the team would correct it',
    ),
  places: z
    .array(place)
    .min(1)
    .describe(
      'first the place that must change; then each place that it contradicts or that shows it. What is missing has the place that needs it',
    ),
});

const answer = z.strictObject({
  question: z
    .string()
    .regex(/^K\d+$/)
    .describe('number of the question'),
  concerns: z.array(concern),
  because: sentence
    .optional()
    .describe('if there is no concern: what in the document answers the question, or why it doesn’t arise'),
});

export const reviewSchema = z.strictObject({
  version: z.literal(1),
  document: name.describe('file name of the document'),
  text: name.describe('the mark of the document’s text, as the instructions give it'),
  answers: z.array(answer),
});

export type RawReview = z.output<typeof reviewSchema>;
