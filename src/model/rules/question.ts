// Group K: questions that a reader of the document answers, because an answer takes judgement. Millrace has the questions,
// looks whether the answer's words are in the document, and reports what was answered.
import type { Facts } from './facts.ts';
import { type Found, type Need, type Rule, type RuleId, type Severity, SOURCES } from './rule.ts';

/** In the order in which a reader goes through the document, once for each. */
export const PARTS = {
  keys: 'Keys, ids and uniqueness',
  writes: 'Writes that meet, stop halfway or come twice',
  derived: 'Derived data',
  life: 'Growth, time to live, deletion, change of the design',
  shape: 'Completeness and agreement',
  queries: 'Queries, indexes and code',
  capacity: 'Load, capacity and cost',
  trust: 'Access, secrets and beliefs about the service',
} as const;

/** Whether a number is that of a question. */
export const isQuestion = (id: string): boolean => id.startsWith('K');

export interface Question extends Rule {
  readonly part: keyof typeof PARTS;
  /** What to look for, each a sentence. */
  readonly ask: readonly string[];
  /** What is no concern. */
  readonly not: string;
  /** What is known of the service, with the number of the assumption. */
  readonly known: string;
}

export const REVIEW: Need = {
  what: 'a review of the data model (millrace model review)',
  whole: false,
  there: ({ review }) => review !== undefined,
};

/** How much harm, as the reader grades it. */
const SEVERITIES = { high: 'error', medium: 'warning', low: 'information' } as const satisfies Record<string, Severity>;

function* answered(id: RuleId, { review }: Facts): Iterable<Found> {
  for (const { what, remedy, harm, at, related } of review?.concernsOf(id) ?? [])
    yield { message: what.replace(/\.$/, ''), hint: remedy, severity: SEVERITIES[harm], at, related };
}

interface Asked {
  readonly id: RuleId;
  /** What must be true, as a sentence without a full stop. */
  readonly title: string;
  readonly ask: readonly string[];
  readonly not: string;
  readonly known: string;
  readonly hint: string;
  /** Absent: Millrace. */
  readonly source?: string;
}

/** The questions of one part, as rules. */
export const questions = (part: Question['part'], all: readonly Asked[]): Question[] =>
  all.map(({ source = SOURCES.ours, ...asked }) => ({
    ...asked,
    why: `${asked.known} A reader is asked: ${asked.ask.join(' ')} No concern: ${asked.not}`,
    part,
    source,
    severity: 'warning',
    needs: [REVIEW],
    check: (facts) => answered(asked.id, facts),
  }));
