// Runs rules over the documents. The report has findings, rules that couldn't be checked, and waived findings.
import type { Parser } from '../../sql-check/parser.ts';
import { type Documents, type Waiver, textsOf } from '../documents.ts';
import { type SetAside, judged } from '../review/verdicts.ts';
import { DEFAULTS, type RuleSettings } from '../estimate.ts';
import type { ModelFinding, Place } from '../model.ts';
import { VALUES } from './a-values.ts';
import { BELIEFS_OF_SERVICE } from './a-beliefs.ts';
import { CLAIMS } from './a-claims.ts';
import { AGREEMENT } from './a-completeness.ts';
import { DURATIONS } from './a-durations.ts';
import { FIGURES } from './a-figures.ts';
import { PROMPT } from './a-prompt.ts';
import { ROLES } from './a-roles.ts';
import { SDKS } from './a-sdk.ts';
import { UNDESIGNED } from './a-undesigned.ts';
import { UNSHOWN } from './a-unshown.ts';
import { TOTALS } from './a-totals.ts';
import { COST } from './b-cost.ts';
import { DATABASES } from './b-databases.ts';
import { ENDLESS } from './b-endless.ts';
import { PLANNED } from './b-planned.ts';
import { RETENTION } from './b-retention.ts';
import { SIZES } from './b-sizes.ts';
import { VISITS } from './b-visits.ts';
import { CHANGING } from './c-changing.ts';
import { DOUBLED } from './c-doubled.ts';
import { DUE_WORK } from './c-due.ts';
import { EXAMPLES } from './c-examples.ts';
import { GROWING_KEYS } from './c-growing.ts';
import { IDENTITY } from './c-identity.ts';
import { KEYS } from './c-keys.ts';
import { MADE_IDS } from './c-made-ids.ts';
import { MARKS } from './c-marks.ts';
import { NAMES } from './c-names.ts';
import { ONCE_EACH } from './c-once.ts';
import { ORDERS_BY_WORDS } from './c-order.ts';
import { OUTER } from './c-outer.ts';
import { PAIRS } from './c-pairs.ts';
import { PEOPLE_RULES } from './c-people.ts';
import { REFERENCES } from './c-references.ts';
import { REQUESTS } from './c-requests.ts';
import { SECRETS } from './c-secrets.ts';
import { SPELLING } from './c-spelling.ts';
import { SYNTAX } from './c-syntax.ts';
import { UNIQUENESS } from './c-uniqueness.ts';
import { AGGREGATES } from './d-aggregates.ts';
import { DASHBOARDS } from './d-dashboard.ts';
import { DERIVED } from './d-derived.ts';
import { GROWTH } from './d-growth.ts';
import { KEEPING } from './d-kept.ts';
import { MIXED } from './d-mixed.ts';
import { SHOWN } from './d-shown.ts';
import { SUMMARIES } from './d-summary.ts';
import { LOST } from './d-lost.ts';
import { OWNED } from './d-owned.ts';
import { PUBLIC } from './d-public.ts';
import { RANKINGS } from './d-ranking.ts';
import { ABSENT } from './e-absent.ts';
import { CREATED } from './e-created.ts';
import { INDEXES } from './e-index.ts';
import { LARGE_FIELDS } from './e-large.ts';
import { PAGES } from './e-pages.ts';
import { oncePerPolicy } from './e-shared.ts';
import { LIVES } from './e-ttl.ts';
import { VECTORS } from './e-vector.ts';
import { DONE_AGAIN } from './f-again.ts';
import { EXPIRES } from './f-expiry.ts';
import { FEED } from './f-feed.ts';
import { IMMUTABLES } from './f-immutable.ts';
import { REMOVED } from './f-removed.ts';
import { TEMPORARY } from './f-temporary.ts';
import { SENT } from './f-sent.ts';
import { SINGLES } from './f-single.ts';
import { WHOLES } from './f-whole.ts';
import { WRITE_RULES } from './f-writes.ts';
import { withoutContested } from './contested.ts';
import { Facts } from './facts.ts';
import { TENANCY } from './h-tenancy.ts';
import { SHARDS } from './i-shards.ts';
import { DELETIONS } from './j-deletion.ts';
import { ACCESS_RULES } from './j-access.ts';
import { COPIES } from './j-copies.ts';
import { COUNTS } from './j-counts.ts';
import { FLOWS } from './j-flows.ts';
import { GROWING } from './j-growth.ts';
import { LASTING } from './j-lasting.ts';
import { RELATIONS } from './j-relations.ts';
import { TTLS } from './j-ttl.ts';
import { UNIQUE_VALUES } from './j-unique.ts';
import { WITHOUT_STORE } from './j-without.ts';
import { WRITERS } from './j-writers.ts';
import { ACTORS } from './j-actors.ts';
import { AGAIN } from './j-again.ts';
import { KEPT } from './j-kept.ts';
import { STORED_SECRETS } from './j-secrets.ts';
import { FAN_OUTS } from './j-fanout.ts';
import { COARSE_IDS } from './j-coarse-ids.ts';
import { ANNOTATED_INDEXES } from './j-indexes.ts';
import { HEAVY_FIELDS } from './j-vectors.ts';
import { ORDERS } from './j-orders.ts';
import { UNDECLARED } from './j-undeclared.ts';
import { ANNOTATED_IDS } from './j-ids.ts';
import { KEY_CHANGES } from './j-key-changes.ts';
import { KEY_VALUES } from './j-key-values.ts';
import { ANNOTATED_FIGURES } from './j-sums.ts';
import { ANNOTATED_REFERENCES } from './j-references.ts';
import { STATED_TWICE } from './j-facts.ts';
import { STATED_KEYS } from './j-keys.ts';
import { CLOSED_LISTS } from './j-values.ts';
import { ACCOUNTS } from './j-account.ts';
import { KEY_FIELDS } from './j-key-fields.ts';
import { REQUEST_UNITS } from './j-request-units.ts';
import { THROUGHPUTS } from './j-throughput.ts';
import { WHO_DELETES } from './j-who-deletes.ts';
import { SERVICE } from './service.ts';
import { STATED } from './stated.ts';
import { type Relational, relationalOf } from './relational.ts';
import { QUESTIONS } from './questions.ts';
import { type Rule, type RuleFinding, type RuleId, missing } from './rule.ts';

/** All rules that need only the documents. Group G also needs the pipeline and is in the room `contract`. */
export const MODEL_RULES: readonly Rule[] = [
  ...AGREEMENT,
  ...PROMPT,
  ...DURATIONS,
  ...TOTALS,
  ...UNDESIGNED,
  ...CLAIMS,
  ...ROLES,
  ...UNSHOWN,
  ...SDKS,
  ...VALUES,
  ...FIGURES,
  ...EXAMPLES,
  ...SIZES,
  ...COST,
  ...ENDLESS,
  ...VISITS,
  ...RETENTION,
  ...DATABASES,
  ...PLANNED,
  ...KEYS,
  ...GROWING_KEYS,
  ...IDENTITY,
  ...REQUESTS,
  ...REFERENCES,
  ...SPELLING,
  ...ONCE_EACH,
  ...OUTER,
  ...MADE_IDS,
  ...UNIQUENESS,
  ...NAMES,
  ...SYNTAX,
  ...PAIRS,
  ...PEOPLE_RULES,
  ...DOUBLED,
  ...CHANGING,
  ...DUE_WORK,
  ...ORDERS_BY_WORDS,
  ...SECRETS,
  ...MARKS,
  ...AGGREGATES,
  ...GROWTH,
  ...DERIVED,
  ...MIXED,
  ...SUMMARIES,
  ...DASHBOARDS,
  ...SHOWN,
  ...LOST,
  ...OWNED,
  ...KEEPING,
  ...PUBLIC,
  ...RANKINGS,
  ...INDEXES.map(oncePerPolicy),
  ...LIVES,
  ...VECTORS,
  ...PAGES,
  ...LARGE_FIELDS,
  ...ABSENT.map(oncePerPolicy),
  ...CREATED,
  ...FEED,
  ...EXPIRES,
  ...TEMPORARY,
  ...REMOVED,
  ...SENT,
  ...WHOLES,
  ...SINGLES,
  ...DONE_AGAIN,
  ...IMMUTABLES,
  ...WRITE_RULES,
  ...TENANCY,
  ...SHARDS,
  ...STATED,
  ...SERVICE,
  ...BELIEFS_OF_SERVICE,
  ...UNIQUE_VALUES,
  ...LASTING,
  ...TTLS,
  ...DELETIONS,
  ...FLOWS,
  ...COUNTS,
  ...COPIES,
  ...GROWING,
  ...WRITERS,
  ...STORED_SECRETS,
  ...KEPT,
  ...ACTORS,
  ...AGAIN,
  ...RELATIONS,
  ...ACCESS_RULES,
  ...WITHOUT_STORE,
  ...STATED_KEYS,
  ...STATED_TWICE,
  ...CLOSED_LISTS,
  ...THROUGHPUTS,
  ...ACCOUNTS,
  ...KEY_FIELDS,
  ...REQUEST_UNITS,
  ...WHO_DELETES,
  ...FAN_OUTS,
  ...ANNOTATED_REFERENCES,
  ...ANNOTATED_IDS,
  ...KEY_VALUES,
  ...KEY_CHANGES,
  ...ANNOTATED_FIGURES,
  ...ORDERS,
  ...ANNOTATED_INDEXES,
  ...HEAVY_FIELDS,
  ...COARSE_IDS,
  ...UNDECLARED,
  ...QUESTIONS,
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
  /** What a second reader doesn't call right. */
  readonly setAside: readonly SetAside[];
  /** Findings of the reader, and waivers that expired or waive no finding. */
  readonly reading: readonly ModelFinding[];
}

export interface CheckOptions {
  readonly settings?: Partial<RuleSettings>;
  /** Decides which waivers have expired. */
  readonly today?: Date;
  /** PostgreSQL's, for the SQL of relational copies (`parserFor`). Without it the rules don't see them. */
  readonly parser?: Parser | undefined;
}

export const factsOf = (documents: Documents, { settings, parser, today = new Date() }: CheckOptions = {}): Facts =>
  new Facts(documents, relationalOf(documents, parser), { ...DEFAULTS, ...settings }, today);

/** Pure: the same documents, rules and day give the same report. */
export function checkDocuments(
  documents: Documents,
  rules: readonly Rule[] = MODEL_RULES,
  options: CheckOptions = {},
): Report {
  const facts = factsOf(documents, options);
  const { annotations } = documents;
  const certain = annotations ? documents : withoutContested(documents);
  const settled = certain === documents ? facts : factsOf(certain, options);
  const all: RuleFinding[] = [];
  const notChecked: NotChecked[] = [];
  // In a layout of its own, a document's words tell less than what somebody read in them.
  const replaced = new Set(annotations && !facts.templated ? rules.flatMap(({ instead = [] }) => instead) : []);
  for (const rule of rules) {
    if (replaced.has(rule.id)) continue;
    // The contract compares the code with the key that is stated first, as `run` does.
    const seen = rule.seesAllKeys || rule.id.startsWith('G') ? facts : settled;
    const absent = rule.needs?.find((need) => !need.there(seen));
    const lacking = new Set<string>();
    for (const result of absent ? [missing(absent.what)] : rule.check(seen)) {
      if ('missing' in result) lacking.add(result.missing);
      else
        all.push({
          ...result,
          rule: rule.id,
          severity: result.severity ?? rule.severity,
          hint: result.hint ?? rule.hint,
        });
    }
    notChecked.push(
      ...[...lacking].map((what) => ({
        rule: rule.id,
        missing: what,
        ...(absent && absent.whole !== false && { whole: true as const }),
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
  const texts = textsOf(documents);
  const { findings, setAside, unused } = judged(
    unwaived,
    waived.map(({ finding }) => finding),
    documents.verdicts,
    ({ file, line }) => texts.get(file)?.[line - 1],
  );
  return {
    findings: findings.toSorted(byPlace),
    notChecked: notChecked.toSorted((a, b) => compareIds(a.rule, b.rule)),
    waived,
    setAside: setAside.toSorted((a, b) => byPlace(a.finding, b.finding)),
    reading: [
      ...(documents.requirements?.findings ?? []),
      // C31 reports it, with all places.
      ...(documents.design?.findings ?? []).filter(
        ({ code, at }) => code !== 'partition-key-twice' || !all.some((finding) => contests(finding, at)),
      ),
      ...(documents.annotations?.findings ?? []),
      ...(documents.review?.findings ?? []),
      ...unused,
      ...facts.relational.unread.map(unreadFinding),
      ...waivers.flatMap((waiver) => waiverFinding(waiver, waived, facts.today)),
    ],
  };
}

const contests = ({ rule, at, related = [] }: RuleFinding, place: Place): boolean =>
  rule === 'C31' && [at, ...related].some(({ line }) => Math.abs(line - place.line) <= 2);

const covers = ({ rule, at, from, to }: Waiver, finding: RuleFinding): boolean =>
  rule === finding.rule && at.file === finding.at.file && finding.at.line >= from && finding.at.line <= to;

const expired = ({ until }: Waiver, today: Date): boolean => until === undefined || today.getTime() >= until;

const unreadFinding = ({ kind, text, at }: Relational['unread'][number]): ModelFinding => ({
  code: 'sql-unread',
  severity: 'information',
  ...(kind === 'syntax'
    ? {
        message: `Neither PostgreSQL nor Cosmos DB reads this SQL, so H1, H2, H4, H6 and H7 don't know what it says: ${text}`,
        hint: 'Write it in full, or name another language than sql at the fence.',
      }
    : {
        message: `H4 doesn't know which columns this NATURAL JOIN compares: ${text}`,
        hint: 'Name the columns: USING (tenant_id, …).',
      }),
  at,
});

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
