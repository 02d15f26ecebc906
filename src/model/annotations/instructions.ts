// What a person or an assistant is told who annotates a document: the rules, an example, the JSON Schema, the document.
import { z } from 'zod';
import { numbered } from '../evidence.ts';
import { annotationsSchema } from './schema.ts';

/** The JSON Schema of a file of annotations. */
export const annotationsJsonSchema = (): object => z.toJSONSchema(annotationsSchema, { io: 'input' });

const RULES = (document: string, into: string): string => `# Annotate ${document}

Read the document below, and write \`${into}\`: JSON of the schema below. \`millrace model check\` compares the annotations with one another and with the document.

1. Read every line: prose, tables, diagrams, code, JSON, comments in code, logs, lists of tasks. Write annotations from top to bottom.
2. **Say what a place states, and do not judge it.** What is wrong or missing is found by the check. Do not correct, complete or improve anything, and do not write what a good design would have.
3. **Never even out a difference.** If two places say different things, or spell a name, a path or a value differently, each has its own annotation with its own value. Places that say the same have one annotation each, too: keys, TTL, ids, values of a field, figures.
4. \`words\` are copied from the document, from one line or lines that follow one another; marks such as \`*\`, \`|\` and backticks may be left out. Annotations whose words the document doesn't have are not used.
5. Leave a property out if the document doesn't say it. Where the schema says "shows" or "implies", what follows from the text without doubt is enough.
6. Use one name for one container and one type in \`container\` and \`type\`, also where the document varies it.
7. Read accesses from everything that shows one: tables of patterns, endpoints, methods of repositories, screens, jobs, "find all X of Y", "look up by e-mail", what a token or a page must contain, what a delete must find. \`equals\` are the fields for which the caller has a value at that moment. If it doesn't have the partition key value, write \`unknownKey\`.
8. Write \`unique\` for each value of which the document expects only one: what users sign in by, numbers of documents, one vote or review for each user, one booking for each slot, idempotency keys, "find or create".
9. Write \`flow\` for each use that plainly changes several documents, or a document and something outside, also where no sentence lists the steps: sign-up, checkout, booking, transfer, invitation, merge, a job with its result and its parent's counter, a document with a message or a blob.
10. Write \`derived\` for each value that follows from other documents, also where nothing says how it is kept: counts, ratings, totals, last-activity times, copied names, caches, search indexes, embeddings.
11. Write \`retention\` only where the text speaks of how long documents stay. Give each type its \`purpose\`.
12. Write \`scale\` for each figure of how much there is, also for words such as "a single user", "a small team", "fine at our size".
13. Write \`fact\` for values that stand in several places and that somebody builds by: lists of values, versions, names, sizes, counts, times, forms of an id, who owns a list, how something is created. Use the same \`of\` and \`property\` for the same thing, chosen by the subject before you compare. Goals, savings and slogans are no facts. Write \`sum\` for figures that add up or multiply in an example or a calculation, whether they agree or not.
14. A value by chance (a token, a UUID) is no \`unique\`: its field has \`random\`. Nor is "not the same twice in a row", nor what is unique among the elements of a list inside one document.
15. What the text only plans (future work, tasks to do, a later phase) is annotated with \`planned\`. What it calls out of date, or describes as the present state that it changes, is annotated with \`superseded\`. Containers and types that are there already and that it neither designs nor changes have \`existing\`. What holds in one environment only has \`environment\`.
16. What the text excludes (non-goals, out of scope), another database's own tables, and options that weren't chosen have no annotations.
17. A sentence about several containers or types has an annotation for each.

## Example

\`\`\`
12  ### users (key: /userId)
13  Users sign in by e-mail. Deleted users have \`isDeleted: true\`.
14  | orderCount | number | raised by the order service |
\`\`\`

\`\`\`json
${JSON.stringify(
  {
    version: 1,
    document: 'example.md',
    annotations: [
      { kind: 'container', line: 12, words: 'users (key: /userId)', container: 'users', key: ['/userId'] },
      { kind: 'type', line: 12, words: 'users', type: 'user', container: 'users', purpose: 'state' },
      {
        kind: 'access',
        line: 13,
        words: 'Users sign in by e-mail',
        name: 'Find a user by e-mail',
        operation: 'query',
        container: 'users',
        type: 'user',
        equals: ['email'],
        unknownKey: true,
        returns: 'one',
        often: 'often',
      },
      { kind: 'unique', line: 13, words: 'Users sign in by e-mail', type: 'user', fields: ['email'] },
      {
        kind: 'deletion',
        line: 13,
        words: 'Deleted users have isDeleted: true',
        type: 'user',
        way: 'soft',
        field: 'isDeleted',
      },
      {
        kind: 'type',
        line: 14,
        words: 'orderCount | number',
        type: 'user',
        container: 'users',
        fields: [{ path: 'orderCount', type: 'number', computed: true }],
      },
      {
        kind: 'derived',
        line: 14,
        words: 'raised by the order service',
        what: 'orderCount of a user',
        form: 'counter',
        type: 'user',
        field: 'orderCount',
        of: 'order',
        keptBy: 'same-request',
      },
    ],
  },
  null,
  2,
)}
\`\`\`

The order service raises the count when it handles an order: that is \`same-request\`. The text says nothing of retries, so there is no \`onRepeat\`.`;

/** The whole text for the one who annotates. `into`: the name of the file to write. */
export function instructions(document: string, into: string, lines: readonly string[]): string {
  return [
    RULES(document, into),
    `## JSON Schema\n\n${JSON.stringify(annotationsJsonSchema())}`,
    `## The document, with the number of each line\n\n${numbered(lines)}`,
  ].join('\n\n');
}
