// A9 to A14: requirements of the modelling prompt for its documents.
import { TEMPLATE } from './facts.ts';
import { type Rule, PATTERNS, SOURCES, missing, more, noDesign, quoted, say } from './rule.ts';

export const PROMPT: readonly Rule[] = [
  {
    id: 'A9',
    title: 'The sections on hot partitions, trade-offs, distribution and validation exist, and every item is ticked',
    severity: 'warning',
    source: `${SOURCES.seed}; its upstream template`,
    why: 'These last sections check a design. The rule warns about a missing section and about an item that isn’t ticked. It doesn’t check that a ticked item is true: the other rules do, each for its own subject.',
    hint: 'Write the section. Do what the item asks, then tick it.',
    *check({ design, requirements }) {
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
      const lacking = Object.entries(wanted).flatMap(([name, title]) => (sections.has(name) ? [] : [`"${title}"`]));
      // A document that follows no part of the template owes none of its sections.
      const follows = [...TEMPLATE].some((name) => sections.has(name)) || lacking.length < 3;
      if (lacking.length > 0 && follows)
        yield {
          message: `${lacking.length === 1 ? 'The section' : 'The sections'} ${lacking.join(', ')} ${lacking.length === 1 ? 'is' : 'are'} missing`,
          at: { file: design.file, line: 1 },
        };
      // Boxes of a plan or of acceptance criteria aren't the template's.
      const owed = follows || sections.has('validation') || sections.has('checklist') ? design.checks : [];
      const [first, ...others] = [...owed, ...(requirements?.checks ?? [])].filter(({ ticked }) => !ticked);
      if (first)
        yield {
          message: `The item "${quoted(first.text)}"${more(others.length)} isn't ticked`,
          at: first.at,
          related: others.map(({ at }) => at),
        };
    },
  },
  {
    id: 'A11',
    title: 'The model contains only confirmed patterns',
    severity: 'error',
    source: SOURCES.seed,
    why: 'By the prompt, the data model is written after all patterns are confirmed. A pattern with the Status ⏳, pending or empty may still change, and then the design changes too.',
    hint: 'Confirm the pattern with its owner and set its Status to ✅. Or remove it from the mapping.',
    needs: [PATTERNS],
    *check({ design, patterns }) {
      if (patterns.every(({ status }) => status === undefined)) {
        yield missing('the column Status');
        return;
      }
      if (!design) {
        yield noDesign;
        return;
      }
      const mapped = new Set(design.mapping.flatMap(({ ids }) => ids));
      const [first, ...others] = patterns.filter(
        ({ id, status }) =>
          mapped.has(id) &&
          !/✅|✔|☑|\b(done|validated|confirmed|complete|ok|yes|final)\b|完成|已确认/i.test(status ?? ''),
      );
      if (first)
        yield {
          message: `Pattern ${say(first)}${more(others.length)} is in the model, but its Status is "${first.status ?? ''}"`,
          at: first.at,
          related: others.map(({ at }) => at),
        };
    },
  },
  {
    id: 'A12',
    title: 'Every RPS states its source',
    severity: 'warning',
    source: `${SOURCES.seed}: rates are never invented`,
    why: 'A rate without a source can’t be checked later. The rule accepts words (source, measured, estimated, based on), a column Source, or arithmetic such as `220 ÷ 5 s`.',
    hint: 'Write the source next to the rate: `(source: analytics of 2025-11, peak hour)`.',
    needs: [PATTERNS],
    *check({ patterns }) {
      const source =
        /\bsource|\bmeasured|\bestimat|\bbased on|\bassum|\bfrom (the |our )?(logs?|analytics|billing|report|metrics)|\bper (user|day|hour|session|minute|month)|\d\s*[÷×/*]\s*\d.*=|来源|估算|测量/i;
      const [first, ...others] = patterns.filter(
        ({ rate, cells }) =>
          rate &&
          !source.test(Object.values(cells).join(' ')) &&
          !Object.entries(cells).some(([header, cell]) => /source|来源/i.test(header) && cell !== ''),
      );
      if (first)
        yield {
          message: `Pattern ${say(first)}${more(others.length)} states no source for its rate ${quoted(first.rateText, 24)}`,
          at: first.at,
          related: others.map(({ at }) => at),
        };
    },
  },
  {
    id: 'A14',
    title: 'The documents name no services of other clouds',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'A service of another provider in a Cosmos DB design was probably copied from another document. Its limits and prices don’t apply to Cosmos DB.',
    hint: 'Name the Azure service, or delete the sentence.',
    *check({ prose }) {
      const other =
        /\b(DynamoDB|AWS|Amazon (S3|Kinesis|Aurora|RDS|SQS|SNS)|Kinesis|Redshift|EventBridge|GCP|Google Cloud|BigQuery|Bigtable|Cloud Spanner|Firestore|Firebase Realtime Database|(?<!Redis |Web )Pub\/Sub|Aurora DSQL|DocumentDB on AWS)\b/;
      for (const { text, label, at } of prose) {
        const found = other.exec(`${label ?? ''} ${text}`);
        if (found) yield { message: `${found[0]} is a service of another cloud`, at };
      }
    },
  },
];
