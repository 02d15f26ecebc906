// A9 to A14: what the modelling prompt asks of its documents.
import { type Rule, PATTERNS, SOURCES, missing, noDesign, quoted, say } from './rule.ts';

export const PROMPT: readonly Rule[] = [
  {
    id: 'A9',
    title: 'Hot partitions, trade-offs, distribution and validation are there, and every item is ticked',
    severity: 'warning',
    source: `${SOURCES.seed}; its upstream template`,
    why: 'The last sections are where a design is checked. It warns for a missing section and for an item that isn’t ticked. Whether what is ticked is true it doesn’t judge: the other rules do, each with its own line.',
    mend: 'Write the section; do what the item asks, and tick it.',
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
      for (const [name, title] of Object.entries(wanted)) {
        if (!sections.has(name))
          yield { message: `The section "${title}" is missing`, at: { file: design.file, line: 1 } };
      }
      for (const { ticked, text, at } of [...design.checks, ...(requirements?.checks ?? [])])
        if (!ticked) yield { message: `Not ticked: "${quoted(text)}"`, at };
    },
  },
  {
    id: 'A11',
    title: 'Nothing unvalidated goes into the model',
    severity: 'error',
    source: SOURCES.seed,
    why: 'The prompt writes the data model once all patterns are confirmed. A pattern whose Status is ⏳, pending or empty may still change, and the design with it.',
    mend: 'Confirm the pattern with its owner and set its Status to ✅, or take it out of the mapping.',
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
    needs: [PATTERNS],
    *check({ patterns }) {
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
