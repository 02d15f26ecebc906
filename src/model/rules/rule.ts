import type { Pattern } from '../documents.ts';
import type { Fix } from '../fix.ts';
import { type SourceLine, otherPlaces } from '../model.ts';
import type { Facts } from './facts.ts';

export type Severity = 'error' | 'warning' | 'information';
/** K: the concerns of a review, by its questions. */
export type RuleId = `${'A' | 'B' | 'C' | 'D' | 'E' | 'F' | 'G' | 'H' | 'I' | 'K'}${number}`;

/** A finding of a rule, at a line. */
export interface Found {
  /** Absent: the rule's. */
  readonly severity?: Severity;
  readonly message: string;
  readonly at: SourceLine;
  /** The arithmetic, written out. */
  readonly evidence?: string;
  readonly hint?: string;
  /** What of the line it is about; absent: the longest word that line and message share. */
  readonly words?: string;
  /** Other places of the finding: in the pipeline, in the other document. */
  readonly related?: readonly SourceLine[];
  /** What `--fix` replaces. Only where nothing else can be meant. */
  readonly fixes?: readonly Fix[];
}

/** The rule couldn't be checked without this input; the report says so. */
export interface Missing {
  readonly missing: string;
}
export type RuleResult = Found | Missing;

/** An input that a rule needs, by the name that the documents use. */
export interface Need {
  readonly what: string;
  there(facts: Facts): boolean;
}

export interface Rule {
  readonly id: RuleId;
  /** What must be true, as a sentence without a full stop. */
  readonly title: string;
  /** Absent: an error. */
  readonly severity?: Severity;
  /** Where the rule comes from. Absent: it is Millrace's own. */
  readonly source?: string;
  /** Why it matters and when it fails, for the rule's page. */
  readonly why: string;
  readonly hint: string;
  /** If one is missing, the rule doesn't run, and the report names the first missing one. */
  readonly needs?: readonly Need[];
  /** Also sees the key of a container for which the document states several (C31). */
  readonly seesAllKeys?: true;
  check(facts: Facts): Iterable<RuleResult>;
}

export interface RuleFinding extends Found {
  readonly rule: RuleId;
  readonly severity: Severity;
}

/** One finding of all places: it stands at the first, and the others are related. None for no place. */
export function* together(
  all: readonly { readonly at: SourceLine }[],
  message: string,
  further: readonly SourceLine[] = [],
): Iterable<Found> {
  const [first, ...others] = all;
  if (!first) return;
  yield { message, at: first.at, related: otherPlaces(first.at, [...others.map(({ at }) => at), ...further]) };
}

/** Findings of a part of a rule, whose severity and hint are others than the rule's. */
export function* part(results: Iterable<RuleResult>, severity: Severity, hint?: string): Iterable<RuleResult> {
  for (const result of results)
    yield 'missing' in result ? result : { severity, ...(hint !== undefined && { hint }), ...result };
}

export const missing = (what: string): Missing => ({ missing: what });

export const DESIGN: Need = {
  what: 'the data model (cosmosdb_data_model.md)',
  there: ({ design }) => design !== undefined,
};
export const MAPPING: Need = { what: 'the access pattern mapping', there: ({ accesses }) => accesses.length > 0 };
export const PATTERNS: Need = {
  what: 'the access patterns (cosmosdb_requirements.md)',
  there: ({ patterns }) => patterns.length > 0,
};
export const noDesign = missing(DESIGN.what);

const [WHOLE, TENTHS, HUNDREDTHS] = [0, 1, 2].map(
  (maximumFractionDigits) => new Intl.NumberFormat('en-US', { maximumFractionDigits }),
);

/** `1,234.5` */
export const n = (value: number): string =>
  (Math.abs(value) < 10 ? HUNDREDTHS : Math.abs(value) < 1000 ? TENTHS : WHOLE)?.format(value) ?? '';

/** The text without backticks, cut so that it fits into a line. */
export const quoted = (text: string, length = 60): string => {
  const plain = text.replaceAll('`', '').replaceAll('"', '’');
  return plain.length > length ? `${plain.slice(0, length - 1).trimEnd()}…` : plain;
};

/** ` and 13 more`, of a finding with several places; empty for none. */
export const more = (count: number): string => (count === 0 ? '' : ` and ${count} more`);

/** `7 "Read an order"` */
export const say = ({ printed, description }: Pattern): string => `${printed} "${quoted(description)}"`;

export const SOURCES = {
  seed: 'the modelling prompt (cosmosdb-datamodeling 1.0)',
  feed: 'the change feed’s contract, as Microsoft documents it',
  tenancy: 'multi-tenant PostgreSQL guidance (Citus), by analogy for Cosmos DB',
  shards: 'the Elastic Database shard map manager’s documentation',
  ours: 'Millrace',
  microsoft: (page: string): string => `Microsoft Learn, "${page}"`,
} as const;
