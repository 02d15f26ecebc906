// C24 and E10: SQL that Cosmos DB refuses, and filters that no index serves.
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, more, together } from './rule.ts';
import { linesSaying, wordsOf } from './said.ts';

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
  {
    has: /[\w\])]\s+(?:CONTAINS|STARTSWITH|ENDSWITH)\s+['"@]/i,
    what: 'operator CONTAINS, STARTSWITH or ENDSWITH',
    instead: "They are functions: write `CONTAINS(c.name, 'part')`.",
  },
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
];

export const NOT_REFUSED = /\bOFFSET\s+[@\d]/i;

/** "Uses `LOWER()` and `LIKE` for searches": the text has the function without its query. */
const TOLD =
  /\b(?:LOWER|UPPER|REPLACE|TRIM)\(\)[^.|]{0,80}\b(?:match\w*|search\w*|compar\w*|normali[sz]\w*|filter\w*|case[- ]insensitive|substring|LIKE)\b|\b(?:search|match\w*|filter\w*|compar\w*|lookup)\b[^.|]{0,60}\b(?:LOWER|UPPER|REPLACE|TRIM)\(\)/i;
const NOT_TOLD =
  /\b(?:avoid\w*|instead of|rather than|never|not|don['’]t|without|before (?:writing|storing|saving)|stored|on write|at write)\b(?! values)/i;

/** A filter by what a function makes of a field. */
const FUNCTION =
  /\b(?<name>LOWER|UPPER|TimestampToDateTime|DateTimeToTimestamp|DateTimePart|ABS|ROUND|FLOOR|CEILING|POWER|SQRT|TRIM|REVERSE|SUBSTRING|CONCAT)\s*\(\s*(?<field>[a-z]\w*\.[\w.]+)/i;

/** A condition of a query that the text has alone, in backticks. */
const CONDITION = /`(?![^`]*\bSELECT\b)[^`]*\b(?:LOWER|UPPER)\(\s*c\.\w+[^`]*`/i;
const AVOIDED = /\b(?:avoid\w*|not|never|instead|rather)\b/i;

export const SYNTAX: readonly Rule[] = [
  {
    id: 'C24',
    title: 'Queries use what the query language has',
    severity: 'error',
    source: SOURCES.microsoft('Queries in Azure Cosmos DB for NoSQL'),
    why: 'The query language looks like SQL and lacks much of it: LIMIT without OFFSET, `COUNT(*)`, HAVING, UNION, CASE, joins of documents, and `name CONTAINS ’x’`, which is a function (ASM-E118). The service answers such a query with 400. UNION, CASE and ILIKE are only a warning, because its reference doesn’t name them and no page denies them. The rule reads the queries that the document asks of a container.',
    hint: 'Write the query in the language of Cosmos DB.',
    needs: [DESIGN],
    *check({ questions }): Iterable<RuleResult> {
      const all = questions.flatMap(({ queries, who, at }) => queries.map(({ text }) => ({ text, who, at })));
      if (all.length === 0) {
        yield missing('a query');
        return;
      }
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
  {
    id: 'E10',
    title: 'A query filters by a field, not by what a function makes of it',
    severity: 'warning',
    source: SOURCES.microsoft('Troubleshoot query issues when using Azure Cosmos DB'),
    why: 'The index has the values of fields. A filter such as `LOWER(c.email) = @e` or `TimestampToDateTime(c._ts * 1000) < @t` loads every document that the other conditions leave (ASM-E119). The rule reads queries, conditions alone in backticks, and sentences that say so without the query: "text search uses `LOWER()` and `LIKE`".',
    hint: 'Compare the field itself: work out the bound in the program, or store the value that queries need, such as the address in lower case.',
    needs: [DESIGN],
    *check({ questions, design }): Iterable<RuleResult> {
      const placed = ([line]: readonly [number, string]) => ({ at: { file: design?.file ?? '', line } });
      const conditions = design ? linesSaying(design, CONDITION) : [];
      const compared = conditions.filter(([, text]) => !AVOIDED.test(text)).map(placed);
      yield* together(
        compared,
        `A condition compares what LOWER or UPPER makes of a field, which no index serves: ${design ? wordsOf(design, compared) : ''}`,
      );
      const told = (design ? linesSaying(design, TOLD) : []).filter(
        ([line]) => !conditions.some(([other]) => other === line),
      );
      const filtered = told.filter(([, text]) => !NOT_TOLD.test(text));
      const functions = new Set(
        filtered.flatMap(([, text]) => text.match(/\b(?:LOWER|UPPER|REPLACE|TRIM)(?=\()/g) ?? []),
      );
      yield* together(
        filtered.map(placed),
        `A filter by what ${[...functions].join(' or ')} makes of a field is served by no index, and loads every document: ${design ? wordsOf(design, filtered.map(placed)) : ''}`,
      );
      const all = questions.flatMap(({ queries, who, at, detail }) =>
        queries.map(({ text }) => ({
          text: text.replace(/^[^]*?\bWHERE\b/i, ''),
          who,
          at,
          detail,
          filters: /\bWHERE\b/i.test(text),
        })),
      );
      if (all.length + conditions.length + told.length === 0) {
        yield missing('a query');
        return;
      }
      for (const { text, who, at, detail, filters } of all) {
        const { name, field } = (filters ? FUNCTION.exec(text) : null)?.groups ?? {};
        if (name !== undefined && field !== undefined)
          yield {
            message: `${who} filters ${detail.container.name} by ${name} of ${field.split('.').slice(1).join('.')}, which no index serves`,
            at,
          };
      }
    },
  },
];
