// K31 to K35: queries, indexes and code.
import { SOURCES } from './rule.ts';
import { questions } from './question.ts';

export const QUERY_QUESTIONS = questions('queries', [
  {
    id: 'K31',
    title: 'The SQL is that of Cosmos DB',
    ask: [
      'Read each query letter by letter: UPDATE, INSERT, DELETE, COUNT(*), LIMIT alone, JOIN of two containers, LEFT JOIN, HAVING, CASE, UNION, a subquery over other documents, LIKE with what isn’t supported, functions of another database, ORDER BY with GROUP BY, an alias that isn’t bound, a parameter that isn’t passed, a missing FROM.',
      'Can the SDK that is used execute it over several partitions (some can’t sort or aggregate)?',
      'Several ORDER BY fields without a composite index, an ORDER BY of an expression.',
    ],
    not: 'Pseudo code that is called so.',
    known:
      'The query language has no statement that writes, joins only within one document, and lacks parts of other dialects (ASM-E118, ASM-E34, ASM-E32).',
    hint: 'Write it as the service reads it, or describe it in words.',
    source: SOURCES.microsoft('Query language in Azure Cosmos DB for NoSQL'),
  },
  {
    id: 'K32',
    title: 'Each query gives what its use says',
    ask: [
      'Does it name existing fields in their case, ask for the type in a shared container, for the tenant, for what isn’t deleted or expired, for the right window of time?',
      'Is it a "point read" that is a query, or the read of one that gives many, or the first of several?',
      'Paging: a page size, a continuation, a stable order, a total; deep OFFSET. A read of all documents without a limit, or to keep a few, `SELECT *` of large documents for a list, one read for each element of a list, heavy or secret fields in a list.',
      'Comparisons that aren’t what is meant: letters of another case, a substring where a word is meant, null against absent, text against number.',
    ],
    not: 'A sketch whose purpose is something else.',
    known:
      'A query is charged for what it loads and returns (ASM-E120, ASM-E128); a comparison with a field that isn’t there is never true, nor is its NOT (ASM-E19), and `=` compares letter by letter (ASM-E159).',
    hint: 'Correct the query, and give its page size and its fields.',
  },
  {
    id: 'K33',
    title: 'The service takes the indexing policy as it stands',
    ask: [
      'A root path `/*` in included or excluded paths; `/?` at a scalar, `/*` at the end only, `[]` for arrays, quotes where a name needs them; no mode `lazy`.',
      'A composite index is a list of at least two paths with an order, in `compositeIndexes`; no wildcard, no array.',
      'A vector index needs a vector policy with path, type, dimensions and distance, set at creation; a full-text index needs its policy; a `flat` index takes at most 505 dimensions.',
      'An index by words ("index on status and date") that has no such kind; a unique key written as an index.',
    ],
    not: 'A shortened policy that is called so.',
    known:
      'A policy with a wrong path is refused (ASM-E33), `lazy` isn’t offered any more, and a composite index has at least two scalar paths (ASM-E102).',
    hint: 'Write the policy as JSON that a container was created with.',
    source: SOURCES.microsoft('Indexing policies in Azure Cosmos DB'),
  },
  {
    id: 'K34',
    title: 'The indexes fit the queries, and nothing large is indexed for nothing',
    ask: [
      'For each filter and sort: is its path included? An excluded path that a query filters is scanned, one that it sorts by is refused.',
      'Composite indexes: same fields, same order, directions all same or all opposite; one that no query uses; one that is promised and isn’t there.',
      'Long texts, embeddings, raw payloads, maps with free names under the default policy; no policy at all for containers with many writes.',
      'Filters by LOWER, CONTAINS, a date function or inside arrays on a frequent read; a vector search over everything where the user or tenant should narrow it.',
    ],
    not: 'Small documents under the default policy.',
    known:
      'Without a policy every property is indexed and each write pays for it (ASM-E141). Several ORDER BY fields need a composite index (ASM-E32). UPPER, LOWER, mathematical functions and the current time in a filter aren’t served by the index (ASM-E119).',
    hint: 'Include what is filtered and sorted, exclude what is large, add the composite index of each sort.',
    source: SOURCES.microsoft('Indexing policies in Azure Cosmos DB'),
  },
  {
    id: 'K35',
    title: 'Sample code and configuration work as they stand',
    ask: [
      'Walk through each line as the SDK of that language would: names and order of arguments, the partition key option, parameters of a query, the name of an option in this version, the type of a returned value, `await`, paging, 404 and 409 and 412 and 429.',
      'Values that JSON can’t hold (dates, UUID objects, sets, undefined), names in another case than the stored ones, an ETag that is read and not passed, a condition on an item that doesn’t exist yet, a patch with more than ten operations or on the id or key.',
      'A client that is made for each request or closed while others use it, an initialisation that races, an exception that is swallowed, a promise that nobody awaits, a secret in code.',
      'Bindings, triggers, environment names, infrastructure code: do names match what the text and the library say, in the version that is named?',
    ],
    not: 'A sketch that leaves out imports and error handling plainly, old spellings that still work, a slip that fails at the first call and stands correctly elsewhere in the document.',
    known:
      'A process has one client for its whole life (ASM-E93). A patch has at most ten operations and can’t touch id or key (ASM-E16).',
    hint: 'Run the sample once, and copy it from the code that ran.',
  },
]);
