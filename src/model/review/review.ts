// A review as `model check` reports it: concerns by question, each with places that the document has.
import { createHash } from 'node:crypto';
import { finderOf } from '../evidence.ts';
import { type ModelFinding, type SourceLine, otherPlaces } from '../model.ts';
import type { RawReview } from './schema.ts';

/** A text with its file. */
export interface Lined {
  readonly file: string;
  readonly lines: readonly string[];
}

export interface Concern {
  /** Its number, such as K3. */
  readonly question: string;
  readonly what: string;
  readonly remedy: string;
  readonly harm: 'high' | 'medium' | 'low';
  readonly at: SourceLine;
  readonly related: readonly SourceLine[];
}

export interface Review {
  /** The data model, and its text. */
  readonly file: string;
  readonly lines: readonly string[];
  /** Those whose words are in the documents. */
  readonly concerns: readonly Concern[];
  readonly findings: readonly ModelFinding[];
}

/** Eight hexadecimal digits of a text; they change with it. */
export const reviewMarkOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);

/**
 * Finds the words of each concern. A concern with a place whose words the document doesn't have is left out and reported:
 * the place was corrected, or the words were made up.
 */
export function reviewOf({ answers, text }: RawReview, design: Lined, requirements: Lined | undefined): Review {
  const findings: ModelFinding[] = [];
  const concerns: Concern[] = [];
  const find = { design: finderOf(design.lines), requirements: finderOf(requirements?.lines ?? []) };
  for (const { question, concerns: all } of answers)
    for (const { places, ...said } of all) {
      const found = places.map(({ line, words, of }): SourceLine & { readonly lost?: string } => {
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
      if (at && !lost) concerns.push({ question, ...said, at, related: otherPlaces(at, related) });
      else
        findings.push({
          code: 'concern-unfounded',
          severity: 'warning',
          message: `A concern under ${question} isn't used, because these words aren't in the document: "${lost?.lost ?? ''}". It says: ${said.what}`,
          hint: 'Remove the concern if the document was corrected; else copy the words from it.',
          at: { file: lost?.file ?? design.file, line: lost?.line ?? 1 },
        });
    }
  return { ...design, concerns, findings: [...findings, ...outdated(text, design)] };
}

function outdated(text: string, { file, lines }: Lined): ModelFinding[] {
  const mark = reviewMarkOf(lines.join('\n'));
  if (text === mark) return [];
  return [
    {
      code: 'review-outdated',
      severity: 'information',
      message: 'The data model has changed since it was reviewed, so what is new was not reviewed',
      hint: `Review what changed, and then write "text": "${mark}" into the review.`,
      at: { file, line: 1 },
    },
  ];
}
