// The answers of reviews as the rules of group K read them: concerns by question, each with places that the document has.
import { createHash } from 'node:crypto';
import { finderOf } from '../evidence.ts';
import { type ModelFinding, type Place, otherPlaces } from '../model.ts';
import type { RawReview } from './schema.ts';

/** A text with its file. */
export interface Lined {
  readonly file: string;
  readonly lines: readonly string[];
}

export interface Concern {
  readonly what: string;
  readonly remedy: string;
  readonly harm: 'high' | 'medium' | 'low';
  readonly at: Place;
  readonly related: readonly Place[];
}

export class Review {
  readonly file: string;
  /** Of the data model. */
  readonly lines: readonly string[];
  readonly findings: readonly ModelFinding[];
  /** The number of concerns whose words are in the documents. */
  readonly concerns: number;
  readonly #byQuestion: ReadonlyMap<string, readonly Concern[]>;

  constructor(
    { file, lines }: Lined,
    byQuestion: ReadonlyMap<string, readonly Concern[]>,
    findings: readonly ModelFinding[],
  ) {
    this.file = file;
    this.lines = lines;
    this.findings = findings;
    this.#byQuestion = byQuestion;
    this.concerns = byQuestion.values().reduce((all, { length }) => all + length, 0);
  }

  concernsOf(question: string): readonly Concern[] {
    return this.#byQuestion.get(question) ?? [];
  }
}

/** Eight hexadecimal digits of a text; they change with it. */
export const markOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);

/** One review, and the file that it was read from. */
export interface FromFile {
  readonly review: RawReview;
  readonly from: string;
}

/**
 * Finds the words of each concern. A concern with a place whose words the document doesn't have is left out and reported:
 * the place was corrected, or the words were made up.
 * @param asked the questions, by their numbers
 */
export function reviewOf(
  reviews: readonly FromFile[],
  design: Lined,
  requirements: Lined | undefined,
  asked: readonly string[],
): Review {
  const findings: ModelFinding[] = [];
  const byQuestion = new Map<string, Concern[]>();
  const find = { design: finderOf(design.lines), requirements: finderOf(requirements?.lines ?? []) };
  for (const { review, from } of reviews) {
    for (const { question, concerns } of review.answers) {
      const own = byQuestion.get(question) ?? [];
      byQuestion.set(question, own);
      for (const { places, ...said } of concerns) {
        const found = places.map(({ line, words, of }): Place & { readonly lost?: string } => {
          const document = (of === 'requirements' ? requirements : undefined) ?? design;
          const at = find[of ?? 'design'](words, line);
          return {
            file: document.file,
            line: at?.line ?? Math.min(line, document.lines.length),
            ...(!at && { lost: words }),
          };
        });
        const lost = found.find((one) => one.lost !== undefined);
        const [at, ...related] = found;
        if (at && !lost) own.push({ ...said, at, related: otherPlaces(at, related) });
        else
          findings.push({
            code: 'concern-unfounded',
            severity: 'warning',
            message: `A concern under ${question} of ${from} isn't used, because these words aren't in the document: "${lost?.lost ?? ''}". It says: ${said.what}`,
            hint: 'Remove the concern if the document was corrected; else copy the words from it.',
            at: { file: lost?.file ?? design.file, line: lost?.line ?? 1 },
          });
      }
    }
  }
  findings.push(...unanswered(reviews, design, asked), ...outdated(reviews, design));
  return new Review(design, byQuestion, findings);
}

/** A free review answers only what it finds. Without another one the questions weren't asked: worth a word, and no warning. */
function unanswered(reviews: readonly FromFile[], { file }: Lined, asked: readonly string[]): ModelFinding[] {
  const full = reviews.filter(({ review }) => !review.free);
  const answered = new Set(full.flatMap(({ review }) => review.answers.map(({ question }) => question)));
  const open = asked.filter((question) => !answered.has(question));
  const free = full.length === 0;
  if (open.length === 0) return [];
  return [
    {
      code: 'review-incomplete',
      severity: free ? 'information' : 'warning',
      message: free
        ? 'The review is free, so the questions have no answers'
        : `The review has no answer to ${open.join(', ')}`,
      hint: free
        ? 'Have another reader answer them: millrace model review.'
        : 'Answer each question, also where there is no concern.',
      at: { file, line: 1 },
    },
  ];
}

function outdated(reviews: readonly FromFile[], { file, lines }: Lined): ModelFinding[] {
  const mark = markOf(lines.join('\n'));
  const old = reviews.filter(({ review }) => review.text !== mark).map(({ from }) => from);
  if (old.length === 0) return [];
  return [
    {
      code: 'review-outdated',
      severity: 'information',
      message: `The data model has changed since it was reviewed (${old.join(', ')}), so the questions weren't asked of what is new`,
      hint: `Review what changed, and then write "text": "${mark}" into the review.`,
      at: { file, line: 1 },
    },
  ];
}
