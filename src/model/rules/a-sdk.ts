// A25: queries that the client of the document's language can't run.
import type { Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { saysCrossing } from '../reader/asked.ts';
import { type Facts, namesKey } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying, textAround, wordsOf } from './said.ts';

/** Clients without a query plan of their own. */
const BARE = /\bazcosmos\b|\bazure_data_cosmos\b|\bazure-data-cosmos\b|\bRust SDK\b|\bGo SDK\b/;
const NEEDS_PLAN = /\bORDER BY\b|\bGROUP BY\b|\b(?:SELECT|VALUE)\s+(?:COUNT|SUM|AVG|MIN|MAX)\s*\(|\bOFFSET\s+[@\d]/i;
const ALL = /\ball\b|\bacross (?:all )?partitions\b|\bacross (?:users|tenants|customers|accounts)\b/i;
/** The text knows it. */
const KNOWN =
  /\b(?:query engine|query plan|unsupported|not support\w*|doesn['’]t support|can['’]?t|cannot|sort\w* (?:in|by) the (?:client|program|application|service)|in memory|client-side)\b/i;

const AWARE = /\bquery plan\b|\b(?:does(?:n['’]t| not)|can['’]?t|cannot)\b[^.|]{0,40}\bcross-partition\b/i;

/** Rows and sentences that order or count over partitions. */
const said = (design: Design): { readonly at: Place }[] =>
  linesSaying(design, NEEDS_PLAN)
    .filter(([line, text]) => {
      const near = textAround(design, line, 1, 0);
      return (
        (saysCrossing(near) || (text.trimStart().startsWith('|') && ALL.test(text)) || ALL_PARTITIONS.test(text)) &&
        !KNOWN.test(near)
      );
    })
    .map(([line]) => ({ at: { file: design.file, line } }));
const ALL_PARTITIONS = /\bacross (?:all )?partitions\b/i;

const asked = ({ questions }: Facts): { readonly at: Place }[] =>
  questions.filter(
    ({ queries, text, scoped, detail }) =>
      scoped === undefined &&
      !KNOWN.test(text) &&
      queries.some((query) => NEEDS_PLAN.test(query.text) && !namesKey(detail.container, query)),
  );

export const SDKS: readonly Rule[] = [
  {
    id: 'A25',
    title: 'The client library can run the queries',
    severity: 'warning',
    source: SOURCES.microsoft('Query items in Azure Cosmos DB for NoSQL with Go'),
    why: 'An ORDER BY, a GROUP BY, an aggregate or an OFFSET over several partitions takes a client that merges what the partitions give. The libraries for .NET, Java, JavaScript and Python do; those for Go and Rust leave it out, and the service answers with 400 (ASM-E151). Within one partition the query works, so a test with one partition doesn’t show it. The rule looks at documents that name one of these two libraries.',
    hint: 'Give the list a container whose key it names, and keep it by a projection. Or read the documents and sort them in the program, and write how many there are.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      // Who knows it, has designed for it.
      if (linesSaying(design, AWARE).length > 0) return;
      const client = linesSaying(design, BARE);
      if (client.length === 0) {
        yield missing('a client library for Go or Rust');
        return;
      }
      const found = new Map([...asked(facts), ...said(design)].map(({ at }) => [at.line, { at }]));
      yield* together(
        [...found.values()],
        `A query orders or combines over several partitions, and the client library can’t merge them: ${wordsOf(design, [...found.values()])}`,
        client.slice(0, 1).map(([line]) => ({ file: design.file, line })),
      );
    },
  },
];
