// Runs rules over the documents. The report has findings, rules that couldn't be checked, and waived findings.
import type { ModelDocuments, Waiver } from '../documents.ts';
import type { ModelFinding, SourceLine } from '../model.ts';
import { concernFindings } from './concerns.ts';
import { BELIEFS_OF_SERVICE } from './a-beliefs.ts';
import { AGREEMENT } from './a-completeness.ts';
import { COST } from './b-throughput.ts';
import { STATED } from './b-planning.ts';
import { SIZES } from './b-sizes.ts';
import { DOUBLED } from './keys/doubled.ts';
import { GROWING_KEYS } from './keys/growing.ts';
import { IDENTITY } from './keys/identity.ts';
import { KEYS } from './keys/keys.ts';
import { NAMES } from './keys/names.ts';
import { PEOPLE_RULES } from './keys/people.ts';
import { REQUESTS } from './keys/query-keys.ts';
import { SECRETS } from './keys/secrets.ts';
import { CHANGING } from './keys/stated-keys.ts';
import { SYNTAX } from './keys/syntax.ts';
import { UNIQUENESS } from './keys/uniqueness.ts';
import { AGGREGATES } from './derived/aggregates.ts';
import { DERIVED } from './derived/derived.ts';
import { GROWTH } from './derived/growth.ts';
import { UNTYPED } from './derived/untyped-queries.ts';
import { CREATED } from './indexes/created.ts';
import { INDEXES } from './indexes/index.ts';
import { LIVES } from './indexes/ttl.ts';
import { VECTORS } from './indexes/vector.ts';
import { FEED } from './f-feed.ts';
import { oncePerPolicy } from './indexes/shared.ts';
import { withoutContested } from './contested.ts';
import { Facts } from './facts.ts';
import { type Rule, type RuleFinding, type RuleId, missing } from './rule.ts';

/** All rules that need only the documents. Those of code against documents are in the room `contract`. */
export const MODEL_RULES: readonly Rule[] = [
  ...BELIEFS_OF_SERVICE,
  ...AGREEMENT,
  ...COST,
  ...STATED,
  ...SIZES,
  ...DOUBLED,
  ...GROWING_KEYS,
  ...IDENTITY,
  ...KEYS,
  ...NAMES,
  ...PEOPLE_RULES,
  ...REQUESTS,
  ...SECRETS,
  ...CHANGING,
  ...SYNTAX,
  ...UNIQUENESS,
  ...AGGREGATES,
  ...DERIVED,
  ...GROWTH,
  ...UNTYPED,
  ...CREATED,
  ...INDEXES.map(oncePerPolicy),
  ...LIVES,
  ...VECTORS,
  ...FEED,
];

export interface NotChecked {
  readonly rule: RuleId;
  readonly missing: string;
  /** A whole document or section that the rule can't do without. Absent: only what the rule asks about isn't there. */
  readonly whole?: true;
}

export interface Waived {
  readonly finding: RuleFinding;
  readonly waiver: Waiver;
}

export interface Report {
  readonly findings: readonly RuleFinding[];
  readonly notChecked: readonly NotChecked[];
  readonly waived: readonly Waived[];
  /** Findings of the reader, and waivers that expired or waive no finding. */
  readonly reading: readonly ModelFinding[];
}

export interface CheckOptions {
  /** Decides which waivers have expired. */
  readonly today?: Date;
}

export const factsOf = (documents: ModelDocuments, { today = new Date() }: CheckOptions = {}): Facts =>
  new Facts(documents, today);

/** Pure: the same documents, rules and day give the same report. */
export function checkDocuments(
  documents: ModelDocuments,
  rules: readonly Rule[] = MODEL_RULES,
  options: CheckOptions = {},
): Report {
  const facts = factsOf(documents, options);
  const certain = withoutContested(documents);
  const uncontested = certain === documents ? facts : factsOf(certain, options);
  const all: RuleFinding[] = concernFindings(documents.review);
  const notChecked: NotChecked[] = [];
  for (const rule of rules) {
    // The contract compares the code with the key that is stated first, as `run` does.
    const seen = rule.seesAllKeys || rule.id.startsWith('G') ? facts : uncontested;
    const absent = rule.needs?.find((need) => !need.there(seen));
    const lacking = new Set<string>();
    for (const result of absent ? [missing(absent.what)] : rule.check(seen)) {
      if ('missing' in result) lacking.add(result.missing);
      else
        all.push({
          ...result,
          rule: rule.id,
          severity: result.severity ?? rule.severity ?? 'error',
          hint: result.hint ?? rule.hint,
        });
    }
    notChecked.push(
      ...[...lacking].map((what) => ({
        rule: rule.id,
        missing: what,
        ...(absent && { whole: true as const }),
      })),
    );
  }
  const waivers = [
    ...[documents.requirements, documents.design].flatMap((document) => document?.waivers ?? []),
    ...(documents.waivers ?? []),
  ];
  const waived: Waived[] = [];
  const unwaived: RuleFinding[] = [];
  for (const finding of all) {
    const waiver = waivers.find((candidate) => covers(candidate, finding) && !expired(candidate, facts.today));
    if (waiver) waived.push({ finding, waiver });
    else unwaived.push(finding);
  }
  return {
    findings: unwaived.toSorted(byPlace),
    notChecked: notChecked.toSorted((a, b) => compareIds(a.rule, b.rule)),
    waived,
    reading: [
      ...(documents.requirements?.findings ?? []),
      // C31 reports it, with all places.
      ...(documents.design?.findings ?? []).filter(
        ({ code, at }) => code !== 'partition-key-twice' || !all.some((finding) => contests(finding, at)),
      ),
      ...(documents.review?.findings ?? []),
      ...waivers.flatMap((waiver) => waiverFinding(waiver, waived, facts.today)),
    ],
  };
}

const contests = ({ rule, at, related = [] }: RuleFinding, place: SourceLine): boolean =>
  rule === 'C31' && [at, ...related].some(({ line }) => Math.abs(line - place.line) <= 2);

const covers = ({ rule, at, from, to }: Waiver, finding: RuleFinding): boolean =>
  rule === finding.rule && at.file === finding.at.file && finding.at.line >= from && finding.at.line <= to;

const expired = ({ until }: Waiver, today: Date): boolean => until === undefined || today.getTime() >= until;

function waiverFinding(waiver: Waiver, waived: readonly Waived[], today: Date): ModelFinding[] {
  const { rule, at } = waiver;
  if (expired(waiver, today))
    return [
      {
        code: 'waiver-expired',
        severity: 'warning',
        message: `The waiver of ${rule} has expired`,
        hint: 'Fix the finding, or give the waiver a later date.',
        at,
      },
    ];
  if (waived.some((entry) => entry.waiver === waiver)) return [];
  return [
    {
      code: 'waiver-unused',
      severity: 'information',
      message: `The waiver of ${rule} waives no finding in its section`,
      hint: 'Remove the waiver.',
      at,
    },
  ];
}

/** A2 before A10. */
export const compareIds = (a: string, b: string): number =>
  a.charCodeAt(0) - b.charCodeAt(0) || Number(a.slice(1)) - Number(b.slice(1));

const FILES = new Intl.Collator();
const byPlace = (a: RuleFinding, b: RuleFinding): number =>
  compareIds(a.rule, b.rule) || FILES.compare(a.at.file, b.at.file) || a.at.line - b.at.line;
