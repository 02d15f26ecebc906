// C24: SQL that Cosmos DB refuses.
import type { Design } from '../../documents.ts';
import { fencedIn } from '../fenced.ts';
import { type Found, type Rule, type RuleResult, DESIGN, SOURCES, more } from '../rule.ts';

/** What other databases have; each with what Cosmos DB has instead. */
export const REFUSED: readonly {
  readonly has: RegExp;
  readonly what: string;
  readonly instead: string;
  readonly unnamed?: true;
}[] = [
  {
    has: /\bLIMIT\s+[@\d]/i,
    what: 'LIMIT without OFFSET',
    instead: 'Write `SELECT TOP 50 *`, or `OFFSET 0 LIMIT 50`.',
  },
  { has: /\bCOUNT\s*\(\s*\*\s*\)/i, what: 'COUNT(*)', instead: 'Write `COUNT(1)`.' },
  { has: /\bHAVING\b/i, what: 'HAVING', instead: 'Filter the groups of a subquery, or in the program.' },
  { has: /\bUNION\b/i, what: 'UNION', instead: 'Send two queries.', unnamed: true },
  {
    has: /\b(?:LEFT|RIGHT|INNER|OUTER|FULL)\s+(?:OUTER\s+)?JOIN\b|\bJOIN\s+\w+\s+(?:AS\s+)?\w*\s*ON\b/i,
    what: 'JOIN … ON',
    instead: 'A JOIN unfolds an array of the same document: `JOIN line IN c.lines`. Copy what another document has.',
  },
  { has: /\bCASE\s+WHEN\b/i, what: 'CASE', instead: 'Write `condition ? a : b`.', unnamed: true },
  { has: /\bILIKE\b/i, what: 'ILIKE', instead: 'Write `CONTAINS(c.name, @part, true)`.', unnamed: true },
  {
    has: /\b(?:NOW|GETDATE|SYSDATE|CURDATE)\s*\(|\bCURRENT_TIMESTAMP\b(?!\s*\()|\bINTERVAL\s+'/i,
    what: 'dates of other databases',
    instead: 'Send the time as a parameter.',
  },
  {
    has: /[\w\])]\s+(?:NOT\s+)?(?:CONTAINS|STARTSWITH|ENDSWITH)\s+(?:'[^']*'|"[^"]*"|@\w+)/i,
    what: 'CONTAINS as an operator',
    instead: 'Write the function: `CONTAINS(c.content, @part)`.',
  },
];

export const NOT_REFUSED = /\bOFFSET\s+[@\d]/i;

/** Statements that write. A document with CREATE TABLE also describes a relational database. */
function* statements(design: Design | undefined): Iterable<Found> {
  if (!design || design.lines.some((line) => /\bCREATE TABLE\b/i.test(line))) return;
  for (const { begin, block } of fencedIn(design.lines))
    for (const [index, line] of block.entries()) {
      const [, verb] = /^\s*(INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM)\s/.exec(line) ?? [];
      if (verb !== undefined)
        yield {
          message: `Cosmos DB has no ${verb.replace(/\s.*/, '')}`,
          at: { file: design.file, line: begin + 2 + index },
          hint: 'Name the request: create, replace, patch, upsert or delete.',
        };
    }
}

export const SYNTAX: readonly Rule[] = [
  {
    id: 'C24',
    title: 'Queries use what the query language has',
    source: SOURCES.microsoft('Queries in Azure Cosmos DB for NoSQL'),
    why: 'The query language looks like SQL and lacks much of it: LIMIT without OFFSET, `COUNT(*)`, HAVING, UNION, CASE, joins of documents, and `name CONTAINS ’x’`, which is a function (ASM-E118). The service answers such a query with 400. UNION, CASE and ILIKE are only a warning, because its reference doesn’t name them and no page denies them. The language only reads: INSERT, UPDATE and DELETE are requests of the SDK. The rule reads the queries that the document asks of a container, and statements in fences.',
    hint: 'Write the query in the language of Cosmos DB.',
    needs: [DESIGN],
    *check({ questions, design }): Iterable<RuleResult> {
      const all = questions.flatMap(({ queries, who, at }) => queries.map(({ text }) => ({ text, who, at })));
      yield* statements(design);
      for (const { has, what, instead, unnamed } of REFUSED) {
        const [first, ...others] = all.filter(
          ({ text }) => has.test(text) && !(what.startsWith('LIMIT') && NOT_REFUSED.test(text)),
        );
        if (first)
          yield {
            // No page says that these don't exist; the reference of the language doesn't name them.
            ...(unnamed && { severity: 'warning' }),
            message: `${first.who}${more(others.length)}: ${unnamed ? 'the reference of Cosmos DB’s language' : 'Cosmos DB'} has no ${what}`,
            at: first.at,
            related: others.map(({ at }) => at),
            hint: instead,
          };
      }
    },
  },
];
