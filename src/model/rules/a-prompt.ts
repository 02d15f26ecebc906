// A9 to A14: what the modelling prompt asks of its documents.
import type { Pattern } from '../documents.ts';
import { type Facts, sum } from './facts.ts';
import {
  type Found,
  type Rule,
  type RuleFinding,
  SOURCES,
  type Verdict,
  missing,
  n,
  quoted,
  noDesign,
  noPatterns,
} from './rule.ts';

/** Read or written, with the writes of both documents' words. */
const isWrite = ({ type }: Pattern): boolean => type === 'write';
const peaks = (patterns: readonly Pattern[]): number => sum(patterns.map(({ rate }) => rate?.peak ?? 0));
const say = ({ printed, description }: Pattern): string => `${printed} "${quoted(description)}"`;

/** Peak writes a second over all patterns; mixed ones count whole. */
const writesPerSecond = (facts: Facts): number =>
  peaks(facts.patterns.filter(({ type }) => type === 'write' || type === 'mixed'));
const LARGE_SCALE = 10_000;

export const PROMPT: readonly Rule[] = [
  {
    id: 'A9',
    title: 'Hot partitions, trade-offs, distribution and validation are there, and what is ticked is true',
    severity: 'error',
    source: `${SOURCES.seed}; its upstream template`,
    why: 'The last sections are where a design is checked. It warns for a missing section and for an item not ticked; it fails for an item that is ticked though a rule says otherwise, or though a container has no entry under hot partitions.',
    mend: 'Write the section, or take the tick away until it is so.',
    *check({ design, requirements, containers }, earlier) {
      if (!design) {
        yield noDesign;
        return;
      }
      const sections = new Set(design.headings.map(({ section }) => section));
      const wanted = {
        hotPartitions: 'Hot Partition Analysis',
        tradeOffs: 'Trade-offs and Optimizations',
        distribution: 'Global Distribution Strategy',
        validation: 'Validation Results',
      };
      for (const [name, title] of Object.entries(wanted)) {
        if (!sections.has(name))
          yield {
            severity: 'warning',
            message: `The section "${title}" is missing`,
            at: { file: design.file, line: 1 },
          };
      }
      const checks = [...design.checks, ...(requirements?.checks ?? [])];
      for (const check of checks) {
        if (!check.ticked) yield { severity: 'warning', message: `Not ticked: "${quoted(check.text)}"`, at: check.at };
        else yield* contradicted(check, earlier);
      }
      const hot = checks.find(({ ticked, text }) => ticked && /hot[- ]partition|热分区/i.test(text));
      if (hot) {
        for (const detail of containers) {
          if (detail.hot.length === 0)
            yield {
              message: `"${quoted(hot.text)}" is ticked, but ${detail.container.name} has no entry under hot partitions`,
              at: hot.at,
              related: [detail.container.at],
            };
        }
      }
    },
  },
  {
    id: 'A10',
    title: 'More than 10,000 writes a second have an answer about binning',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'At that rate single small documents are the most expensive form; events are grouped into chunks by time or by size.',
    mend: 'Say how events are binned, or why they can’t be.',
    *check(facts) {
      if (facts.patterns.length === 0) {
        yield noPatterns;
        return;
      }
      const writes = writesPerSecond(facts);
      const answered = facts.prose.some(({ text }) => BINNING.test(text));
      const largest = facts.patterns.filter(isWrite).toSorted((a, b) => (b.rate?.peak ?? 0) - (a.rate?.peak ?? 0))[0];
      if (writes > LARGE_SCALE && !answered && largest)
        yield {
          message: `${n(writes)} writes/s, and nothing is said about binning or chunks`,
          at: largest.at,
          evidence: `Σ peak of the writes = ${n(writes)} > ${n(LARGE_SCALE)}`,
        };
    },
  },
  {
    id: 'A11',
    title: 'Nothing unvalidated goes into the model',
    severity: 'error',
    source: SOURCES.seed,
    why: 'The prompt writes the data model once all patterns are confirmed. A pattern whose Status is ⏳, pending or empty may still change, and the design with it.',
    mend: 'Confirm the pattern with its owner and set its Status to ✅, or take it out of the mapping.',
    *check({ design, patterns }) {
      if (patterns.length === 0) {
        yield noPatterns;
        return;
      }
      if (patterns.every(({ status }) => status === undefined)) {
        yield missing('the column Status');
        return;
      }
      if (!design) {
        yield noDesign;
        return;
      }
      const mapped = new Set(design.mapping.flatMap(({ ids }) => ids));
      for (const pattern of patterns) {
        if (
          mapped.has(pattern.id) &&
          !/✅|✔|☑|\b(done|validated|confirmed|complete|ok|yes|final)\b|完成|已确认/i.test(pattern.status ?? '')
        )
          yield {
            message: `Pattern ${say(pattern)} is in the model, but its Status is "${pattern.status ?? ''}"`,
            at: pattern.at,
          };
      }
    },
  },
  {
    id: 'A12',
    title: 'Each RPS states where it comes from',
    severity: 'warning',
    source: `${SOURCES.seed}: rates are never made up`,
    why: 'A rate without a source can’t be checked when the bill comes. A source is words (source, measured, estimated, based on), a column Source, or arithmetic such as `220 ÷ 5 s`.',
    mend: 'Write it beside the rate: `(source: analytics of 2025-11, peak hour)`.',
    *check({ patterns }) {
      if (patterns.length === 0) {
        yield noPatterns;
        return;
      }
      const source =
        /\bsource|\bmeasured|\bestimat|\bbased on|\bassum|\bfrom (the |our )?(logs?|analytics|billing|report|metrics)|\bper (user|day|hour|session|minute|month)|\d\s*[÷×/*]\s*\d.*=|来源|估算|测量/i;
      for (const pattern of patterns) {
        if (
          pattern.rate &&
          !source.test(Object.values(pattern.cells).join(' ')) &&
          !Object.entries(pattern.cells).some(([header, cell]) => /source|来源/i.test(header) && cell !== '')
        )
          yield {
            message: `Pattern ${say(pattern)} doesn't say where its ${quoted(pattern.rateText, 24)} comes from`,
            at: pattern.at,
          };
      }
    },
  },
  {
    id: 'A13',
    title: 'All three large-scale questions are answered above 10,000 writes/s',
    severity: 'error',
    source: SOURCES.seed,
    why: 'Above 10,000 writes a second the prompt asks whether records can be binned, which writes can be saved or batched, and what the data’s size means for physical partitions and the queries across them.',
    mend: 'Answer each in the requirements, with its numbers.',
    *check(facts) {
      const { requirements } = facts;
      if (!requirements || facts.patterns.length === 0) {
        yield noPatterns;
        return;
      }
      const writes = writesPerSecond(facts);
      if (writes <= LARGE_SCALE) return;
      const questions = [
        ['binning or chunks', BINNING],
        [
          'fewer or batched writes',
          /\bbatch|write reduction|fewer writes|coalesc|buffer|minimum number of (actual )?writes|批量|减少写/i,
        ],
        ['physical partitions', /physical partition|物理分区/i],
      ] as const;
      const at = facts.patterns.toSorted((a, b) => (b.rate?.peak ?? 0) - (a.rate?.peak ?? 0))[0]?.at ?? {
        file: requirements.file,
        line: 1,
      };
      for (const [what, answer] of questions) {
        if (!requirements.prose.some(({ text, label }) => answer.test(`${label ?? ''} ${text}`)))
          yield { message: `${n(writes)} writes/s, and the requirements say nothing about ${what}`, at };
      }
    },
  },
  {
    id: 'A14',
    title: 'No other cloud’s services are named',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'A service of another provider in a Cosmos DB design is a leftover of another document, and its limits and prices are not these.',
    mend: 'Name the Azure service, or delete the sentence.',
    *check({ prose }) {
      const other =
        /\b(DynamoDB|AWS|Amazon (S3|Kinesis|Aurora|RDS|SQS|SNS)|Kinesis|Redshift|EventBridge|GCP|Google Cloud|BigQuery|Bigtable|Cloud Spanner|Firestore|Firebase|Pub\/Sub|Aurora DSQL|DocumentDB on AWS)\b/;
      for (const { text, label, at } of prose) {
        const found = other.exec(`${label ?? ''} ${text}`);
        if (found) yield { message: `${found[0]} is another cloud's`, at };
      }
    },
  },
];

const BINNING = /\bbin(s|ned|ning)?\b|\bchunk|\bbucket(s|ed|ing)?\b|group(ed|ing)? into|分箱|分块/i;

/** What a ticked item claims, and the rules that deny it. */
const CLAIMS: readonly (readonly [RegExp, RegExp])[] = [
  [/pattern.*(mapped|solved)|every (access )?pattern solved/i, /^A[23]$/],
  [/\bRPS\b/i, /^A1$/],
  [/load|throughput|under \d+ ?%/i, /^B11$/],
  [/cross-partition.*(eliminat|avoid|none)/i, /^B10$/],
  [/denormali/i, /^G2$/],
  [/read and a? ?write|write pattern exists/i, /^A4$/],
  [/tenant/i, /^H[158]$/],
];

function* contradicted(
  { text, at }: { text: string; at: Found['at'] },
  earlier: readonly RuleFinding[],
): Iterable<Verdict> {
  for (const [claim, rules] of CLAIMS) {
    const found = claim.test(text)
      ? earlier.find(({ rule, severity }) => rules.test(rule) && severity !== 'information')
      : undefined;
    if (found)
      yield {
        message: `"${quoted(text)}" is ticked, but ${found.rule} says: ${quoted(found.message, 90)}`,
        at,
        related: [found.at],
      };
  }
}
