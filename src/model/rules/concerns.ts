// The concerns of a review as findings. Millrace judges none of them: it only looks whether their words are in the document.
import type { Review } from '../review/review.ts';
import type { RuleFinding, RuleId } from './rule.ts';

/** How much harm, as the reader grades it. */
const SEVERITIES = { high: 'error', medium: 'warning', low: 'information' } as const;

/** The concerns as findings, by the numbers of their questions. */
export const concernFindings = (review: Review | undefined): RuleFinding[] =>
  (review?.concerns ?? []).map(({ question, what, remedy, harm, at, related }) => ({
    rule: question as RuleId,
    severity: SEVERITIES[harm],
    message: what.replace(/\.$/, ''),
    hint: remedy,
    at,
    related,
  }));
