// A: the documents are complete, and agree with each other and with themselves.
import type { Pattern } from '../documents.ts';
import { near } from '../near.ts';
import { quantities } from '../reader/quantity.ts';
import { type Facts, sum } from './facts.ts';
import { type Found, type Rule, type RuleFinding, SOURCES, type Verdict, missing, n, quoted } from './rule.ts';

const noPatterns = missing('the access patterns (cosmosdb_requirements.md)');
const noDesign = missing('the data model (cosmosdb_data_model.md)');

/** Read or written, with the writes of both documents' words. */
const isWrite = ({ type }: Pattern): boolean => type === 'write';
const peaks = (patterns: readonly Pattern[]): number => sum(patterns.map(({ rate }) => rate?.peak ?? 0));
const say = ({ printed, description }: Pattern): string => `${printed} "${quoted(description)}"`;

/** Peak writes a second over all patterns; mixed ones count whole. */
const writesPerSecond = (facts: Facts): number =>
  peaks(facts.patterns.filter(({ type }) => type === 'write' || type === 'mixed'));
const LARGE_SCALE = 10_000;

export const A: readonly Rule[] = [
  {
    id: 'A1',
    title: 'Every access pattern states its RPS',
    severity: 'error',
    source: SOURCES.seed,
    why: 'Throughput, hot keys and cost are all sums over rates; a pattern without one is left out of each of them. It fails where the cell is empty, a placeholder such as `TBD` or `[…]`, or holds no number, and warns where the average is above the peak.',
    mend: 'Write peak and average, `50/20`, or one figure, `500 RPS`; estimate it with the owner of the feature.',
    *check({ requirements, patterns }) {
      if (!requirements || patterns.length === 0) return yield noPatterns;
      for (const pattern of patterns) {
        const { peak, average } = pattern.rate ?? {};
        if (peak !== undefined && average !== undefined && average > peak)
          yield {
            severity: 'warning',
            message: `Pattern ${say(pattern)} has an average above its peak`,
            at: pattern.at,
            evidence: `${n(average)} > ${n(peak)}`,
          };
        if (peak !== undefined || average !== undefined) continue;
        yield {
          message: `Pattern ${say(pattern)} has no RPS`,
          at: pattern.at,
          evidence: pattern.rateText === '' ? 'the cell is empty' : `the cell says "${quoted(pattern.rateText)}"`,
          mend: 'Give peak and average; `50/20` or `500 RPS` are both read.',
        };
      }
    },
  },
  {
    id: 'A2',
    title: 'Pattern ids are unique, each is mapped, and each reference exists',
    severity: 'error',
    source: `${SOURCES.seed}; its upstream template`,
    why: 'A pattern that no row of the mapping serves was forgotten, and a reference to a pattern that isn’t there points at nothing. It fails for an id given twice, one without a mapping row, and one that is only referred to.',
    mend: 'Number patterns once, in the requirements; give each a row under "Access Pattern Mapping".',
    *check(facts) {
      const { requirements, design, patterns } = facts;
      if (!requirements || patterns.length === 0) return yield noPatterns;
      const seen = new Map<string, Pattern>();
      for (const pattern of patterns) {
        const before = seen.get(pattern.id);
        if (before)
          yield { message: `Pattern ${pattern.printed} is given twice, in line ${before.at.line} too`, at: pattern.at };
        else seen.set(pattern.id, pattern);
      }
      if (!design) return yield noDesign;
      const mapped = new Set(design.mapping.flatMap(({ ids }) => ids));
      for (const pattern of seen.values()) {
        if (!mapped.has(pattern.id)) {
          yield {
            message: `Pattern ${say(pattern)} has no row in the mapping of ${quoted(design.file.split('/').at(-1) ?? '')}`,
            at: pattern.at,
            mend: 'Give it a row with its container and operation. A blank line ends a table.',
          };
        }
      }
      const references = [
        ...design.mapping.map(({ ids, at }) => ({ ids, at, where: 'the mapping' })),
        ...facts.containers.flatMap(({ serves, container }) => (serves ? [{ ...serves, where: container.name }] : [])),
        ...facts.rows.map(({ serves, at, name }) => ({ ids: serves, at, where: `projection ${name}` })),
      ];
      for (const { ids, at, where } of references) {
        for (const id of ids) {
          if (!seen.has(id)) yield { message: `Pattern ${id} is used in ${where}, but no pattern ${id} exists`, at };
        }
      }
      // Both say who serves whom, so they must say the same.
      for (const { container, serves } of facts.containers) {
        if (!serves) continue;
        const rows = design.mapping.filter(({ containers }) => containers.includes(container.name));
        const lacking = rows.flatMap(({ ids }) => ids).filter((id) => !serves.ids.includes(id));
        if (lacking.length > 0) {
          yield {
            severity: 'warning',
            message: `${container.name} doesn't list pattern ${lacking.join(', ')}, which the mapping gives it`,
            at: serves.at,
          };
        }
      }
    },
  },
  {
    id: 'A3',
    title: 'Mapping rows name containers that are designed',
    severity: 'error',
    source: 'the modelling prompt’s upstream template',
    why: 'A row whose container isn’t designed can’t be built. Names are compared without case and backticks.',
    mend: 'Correct the name, or design the container.',
    *check(facts) {
      if (!facts.design) return yield noDesign;
      if (facts.design.mapping.length === 0) return yield missing('the access pattern mapping');
      for (const row of facts.design.mapping) {
        for (const name of row.unknown)
          yield {
            message: `Row ${row.printed} uses container ${name}, which has no design`,
            at: row.at,
            mend: facts.suggest(name),
          };
        if (row.containers.length + row.unknown.length === 0 && row.operations.length > 0)
          yield { message: `Row ${row.printed} names no container`, at: row.at };
      }
      const names = facts.containers.map(({ container }) => container.name);
      for (const { text, at } of facts.design.headings) {
        const head = /^([\p{L}_][\w-]*) container\b/iu.exec(text)?.[1];
        if (head === undefined || names.some((name) => name.toLowerCase() === head.toLowerCase())) continue;
        const best = near(head, names);
        if (best !== undefined)
          yield {
            severity: 'warning',
            message: `The heading names container ${head}, which has no design`,
            at,
            mend: `Did you mean ${best}?`,
          };
      }
    },
  },
  {
    id: 'A4',
    title: 'What is read is written, and what is written is read',
    severity: 'warning',
    source: `${SOURCES.seed}; its upstream template`,
    why: 'A container that is only read stays empty, and one that is only written is for nobody: mostly a pattern was forgotten. Projections count: a sink is written by its projection, a source is read by it.',
    mend: 'Add the missing pattern, or take the container away.',
    *check(facts) {
      if (!facts.design) return yield noDesign;
      if (facts.accesses.length === 0) return yield missing('the access pattern mapping');
      for (const detail of facts.containers) {
        const own = facts.accesses.filter((access) => access.detail === detail);
        const [reads, writes] = [own.filter(({ write }) => !write), own.filter(({ write }) => write)];
        const read = facts.rows.some(({ source, joins }) =>
          [source, ...joins].some((of) => facts.detail(of?.container) === detail),
        );
        const at = facts.place(detail);
        const printed = (list: typeof own): string => list.map(({ row }) => row.printed).join(', ');
        if (reads.length > 0 && writes.length === 0 && !detail.derived)
          yield { message: `${detail.container.name} is read (${printed(reads)}) but nothing writes it`, at };
        if (writes.length > 0 && reads.length === 0 && !read)
          yield { message: `${detail.container.name} is written (${printed(writes)}) but nothing reads it`, at };
        if (own.length === 0 && !read && !detail.derived)
          yield { message: `${detail.container.name} is used by no pattern and no projection`, at };
      }
    },
  },
  {
    id: 'A5',
    title: 'No text of the template is left',
    severity: 'error',
    source: 'the modelling prompt’s upstream template',
    why: 'A placeholder in brackets is a decision nobody took.',
    mend: 'Replace it, or delete the line.',
    *check({ prose }) {
      const template =
        /\[(?:X|Y|N)\]|\[(?:e\.g\.|explain|list|describe|reasoning|what|why|how|expected|specific|containername|entity ?\d|field|pattern #|parent|child|overlap|analysis of|attribute|cost vs|per-operation|policy|regions|automatic|independent|single document|session|critical business|multi-property|paths excluded|properties|show how|todo|fill)(?!\w)[^\]]*\]/i;
      for (const { text, at } of prose) {
        const found = template.exec(text.replaceAll(/`[^`]*`/g, ''));
        if (found) yield { message: `Still template text: ${quoted(found[0])}`, at };
      }
    },
  },
  {
    id: 'A6',
    title: 'Percentages and cardinalities agree with themselves',
    severity: 'warning',
    source: `${SOURCES.seed}, whose own example adds up to 120 %`,
    why: 'Queries that need one, the other or both are all queries, so the three parts make 100 %, and "both" is the correlation. It fails where the parts are outside 95 to 105 % or the two figures differ by more than 2, and for an average number of children above the largest.',
    mend: 'Count the patterns again, weighted by RPS.',
    *check({ requirements }) {
      for (const { parent, child, average, max, at } of requirements?.relationships ?? []) {
        if (average !== undefined && max !== undefined && average > max)
          yield {
            message: `${parent} → ${child}: the average is above the largest`,
            at,
            evidence: `${n(average)} > ${n(max)}`,
          };
      }
      const pairs = requirements?.pairs.filter(({ only, both }) => only !== undefined && both !== undefined) ?? [];
      if (pairs.length === 0) return yield missing('the query patterns of an aggregate analysis');
      for (const { parent, child, only = [], both = 0, correlation, at, places } of pairs) {
        const parts = [...only, both];
        const total = sum(parts);
        const place = places.correlation ?? at;
        if (total < 95 || total > 105)
          yield {
            message: `${parent} + ${child}: the parts add up to ${n(total)} %`,
            at: place,
            evidence: `${parts.map(n).join(' + ')} = ${n(total)}`,
          };
        if (correlation !== undefined && Math.abs(correlation - both) > 2)
          yield {
            message: `${parent} + ${child}: correlation is ${n(correlation)} %, but both together are ${n(both)} %`,
            at: place,
          };
      }
    },
  },
  {
    id: 'A7',
    title: 'The scale agrees with the pattern table',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'The total in "Scale" and the sum of the table come from the same people; 20 % apart means that a pattern is missing or a figure is wrong.',
    mend: 'Correct the one that is wrong.',
    *check({ requirements, patterns }) {
      const scale = requirements?.prose.find(
        ({ section, label }) => section === 'overview' && /scale|规模/i.test(label ?? ''),
      );
      if (!scale) return yield missing('Scale in the application overview');
      const stated = (units: RegExp): number | undefined =>
        quantities(scale.text).find(({ unit }) => units.test(unit))?.high;
      const totals = [
        { what: 'requests', said: stated(/^(requests|operations|ops)\/s$|^[rqt]ps$/), of: patterns },
        { what: 'reads', said: stated(/^reads\/s$/), of: patterns.filter((pattern) => !isWrite(pattern)) },
        { what: 'writes', said: stated(/^writes\/s$/), of: patterns.filter(isWrite) },
      ].filter(({ said }) => said !== undefined);
      if (totals.length === 0) return yield missing('a rate in Scale');
      for (const { what, said = 0, of } of totals) {
        const total = peaks(of);
        if (Math.abs(said - total) > 0.2 * Math.max(said, total)) {
          const terms = of
            .filter(({ rate }) => (rate?.peak ?? 0) > 0)
            .map(({ printed, rate }) => `${printed}: ${n(rate?.peak ?? 0)}`);
          yield {
            message: `Scale says ${n(said)} ${what}/s; the patterns add up to ${n(total)}`,
            at: scale.at,
            related: of
              .toSorted((a, b) => (b.rate?.peak ?? 0) - (a.rate?.peak ?? 0))
              .slice(0, 1)
              .map((pattern) => pattern.at),
            evidence: terms.join(' + '),
          };
        }
      }
    },
  },
  {
    id: 'A8',
    title: 'Data sizes agree across the documents',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'Partitions, and with them the cost of every cross-partition query, follow from the size. It fails where the total in the requirements and the containers’ sizes differ more than twice. Where an archive takes data out, the containers may hold less.',
    mend: 'State the size of each container as `- **Size**: 12 GB`, and the total under Scale.',
    *check(facts) {
      const scale = facts.requirements?.prose.find(
        ({ section, label }) => section === 'overview' && /scale|规模/i.test(label ?? ''),
      );
      const total = quantities(scale?.text ?? '').find(({ unit }) => unit === 'gb' || unit === 'tb');
      if (!scale || !total) return yield missing('a total size under Scale');
      const sized = facts.containers.filter(({ data }) => data !== undefined);
      if (sized.length === 0) return yield missing('the containers’ sizes');
      const stated = total.high * (total.unit === 'tb' ? 1000 : 1);
      const containers = sum(sized.map(({ data }) => data?.gb ?? 0));
      const archived = facts.rows.some(({ kind }) => kind === 'archive');
      if (
        containers > 2 * stated ||
        (stated > 2 * containers && !archived && sized.length === facts.containers.length)
      ) {
        yield {
          message: `The requirements have ${n(stated)} GB, the containers ${n(containers)} GB`,
          at: sized[0]?.data?.at ?? scale.at,
          evidence: sized.map(({ container, data }) => `${container.name} ${n(data?.gb ?? 0)} GB`).join(' + '),
          related: [scale.at],
        };
      }
    },
  },
  {
    id: 'A9',
    title: 'Hot partitions, trade-offs, distribution and validation are there, and what is ticked is true',
    severity: 'error',
    source: `${SOURCES.seed}; its upstream template`,
    why: 'The last sections are where a design is checked. It warns for a missing section and for an item not ticked; it fails for an item that is ticked though a rule says otherwise, or though a container has no entry under hot partitions.',
    mend: 'Write the section, or take the tick away until it is so.',
    *check({ design, requirements, containers }, earlier) {
      if (!design) return yield noDesign;
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
      if (facts.patterns.length === 0) return yield noPatterns;
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
      if (patterns.length === 0) return yield noPatterns;
      if (patterns.every(({ status }) => status === undefined)) return yield missing('the column Status');
      if (!design) return yield noDesign;
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
      if (patterns.length === 0) return yield noPatterns;
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
      if (!requirements || facts.patterns.length === 0) return yield noPatterns;
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
