// C13 and C14: what requests must name so that they read one partition, or one document.
import type { SourceLine } from '../../model.ts';
import { type Facts, type Question, examplesIn, namesKey, otherCase, valueAt } from '../facts.ts';
import { type Found, type Rule, DESIGN, SOURCES, more, part, together } from '../rule.ts';
import { linesSaying, ruleWordsOf } from '../said.ts';

const QUERIES = SOURCES.microsoft('Query a container in Azure Cosmos DB');

/** The fields of "by `userId` + `updatedAt`", if the text says what one request knows, and only once. */
function namedIn(text: string): string[] {
  const phrases = [...text.matchAll(/\b(?:by|with|on|key)\s+((?:`[\w./]+`(?:\s*(?:\+|,|and|&)\s*)?)+)/gi)];
  if (phrases.length !== 1 || /\bor\b/i.test(text)) return [];
  return [...(phrases[0]?.[1] ?? '').matchAll(/`\/?([\w./]+)`/g)].map((match) => match[1] ?? '');
}

const POINT = /\bpoint[- ](?:read|write|delete)s?\b|\bupserts?\b|\bpatch(?:es)?\b/i;
const field = (path: string): string => path.slice(1).replaceAll('/', '.');
const filters = ({ text, queries }: Question): string =>
  [...new Set([...queries.flatMap((query) => query.filters), ...namedIn(text)])].join(', ') || 'no field';

/** Whether a request names the first level of the key; undefined if the document doesn't say what it names. */
function known(question: Question): boolean | undefined {
  const { container } = question.detail;
  if (question.scoped && !question.crossing) return undefined;
  if (question.queries.length > 0) return question.queries.every((query) => namesKey(container, query));
  const names = namedIn(question.text);
  if (!question.mapped) return undefined;
  const [first = ''] = container.partitionKey;
  if (names.length === 0 || POINT.test(question.text) || !/\bquer/i.test(question.text)) return undefined;
  return names.includes(field(first));
}

interface Called {
  readonly at: SourceLine;
  readonly byId: boolean;
}

/** SQL below a comment that calls it a point read. By the id a point read can be made, and C15 asks for it. */
const calledPoint = ({ design }: Facts): Called[] =>
  (design ? linesSaying(design, /^\s*(?:--|\/\/|#)[^#].*\bpoint[- ]read\b/i) : []).flatMap(([line, text]) => {
    const below = (design?.lines ?? []).slice(line, line + 4);
    return /^\s*["'`]?SELECT\b/i.test(below[0] ?? '') && !/\b(?:not|instead|avoid|use)\b/i.test(text)
      ? [{ at: { file: design?.file ?? '', line }, byId: below.some((one) => /\bid\s*=/.test(one)) }]
      : [];
  });

const asked = (facts: Facts): Question[] =>
  facts.questions.filter(({ detail }) => detail.container.partitionKey.length > 0);

/** A query of one document costs at least 2 RU, and the point read of it 1. */
function* couldBePoint(facts: Facts): Iterable<Found> {
  const all = asked(facts).flatMap((question) => question.queries.map((query) => ({ ...question, query })));
  for (const { detail, who, at, query } of all) {
    const { name, partitionKey } = detail.container;
    const single = /\bid\s*=|=\s*\w+\.id\b/.test(query.text);
    if (single && query.equal.includes('id') && partitionKey.every((path) => query.equal.includes(field(path))))
      yield { message: `${who} queries ${name} by its id and key; a point read costs less`, at };
  }
}

export const REQUESTS: readonly Rule[] = [
  {
    id: 'C13',
    title: 'A query names the partition key, or the document says that it crosses partitions',
    source: QUERIES,
    why: 'Only a condition that sets the key equal to a value, or to one of a list, sends the query to one partition. Every other query reads all of them, whatever the document says. The rule works this out from the SQL: an equality in one branch of an OR doesn’t count. It fails for a row of the mapping, and for a query that is called single-partition. It warns about SQL elsewhere, and about a query that is said to cross partitions although it names the key. Keys of several levels have rule C8. Reference data is exempt.',
    hint: 'Add the key to the WHERE clause, or write "cross-partition" beside the query. For a frequent query, derive a copy with another key.',
    needs: [DESIGN],
    *check(facts) {
      const all = asked(facts).map((question) => ({ question, names: known(question) }));
      const wide = all.flatMap(({ question, names }) =>
        names === false &&
        !question.crossing &&
        !question.detail.container.reference &&
        question.detail.container.partitionKey.length === 1
          ? [question]
          : [],
      );
      const isClaimed = ({ mapped, text }: Question): boolean =>
        mapped || /single[- ]partition|one partition/i.test(text);
      // A row of the mapping is a pattern of its own. Other queries of a container are one fault.
      const same = (question: Question): string =>
        question.mapped ? question.who + filters(question) : `${question.detail.container.name} ${isClaimed(question)}`;
      for (const [question, ...others] of Map.groupBy(wide, same).values()) {
        if (!question) continue;
        const { detail, who, at } = question;
        const { name, partitionKey } = detail.container;
        yield {
          severity: isClaimed(question) ? 'error' : 'warning',
          message: `${who}${more(others.length)} ${others.length === 0 ? 'queries' : 'query'} ${name} by ${[...new Set([question, ...others].map(filters))].join('; ')}; without the key ${partitionKey.join(', ')} ${others.length === 0 ? 'it reads' : 'they read'} every partition${question.queries.map((query) => otherCase(detail.container, query))[0] ?? ''}`,
          at,
          related: [...others.map((other) => other.at), facts.place(detail, 'partitionKey')],
        };
      }
      for (const { question, names } of all) {
        const { detail, who, at, text, crossing } = question;
        const { name, partitionKey } = detail.container;
        if (partitionKey.length > 1) continue;
        if (names === true && crossing && question.queries.length + namedIn(text).length > 0)
          yield {
            severity: 'warning',
            message: `${who} is said to cross partitions, but it names the key ${partitionKey.join(', ')} of ${name}`,
            at,
            related: [facts.place(detail, 'partitionKey')],
            hint: 'Delete "cross-partition", or correct the query.',
          };
      }
    },
  },
  {
    id: 'C14',
    title: 'A point read or write names the id and the partition key',
    source: SOURCES.microsoft('Read an item in Azure Cosmos DB for NoSQL'),
    why: 'Id and partition key together identify a document, so a request needs both (ASM-E133). With the key alone it is a query. With the id alone, Cosmos DB can’t find the partition. An upsert by another field than the id creates a second document. The rule reads what the text names in backticks, and accepts a field whose value is the id in every example. It also finds SQL that a comment above it calls a point read, and a query that sets the id and the whole key equal to a value: a point read costs less.',
    hint: 'Name both: "Point read by `id` and `storeId`". Or let the id be the value that requests know.',
    needs: [DESIGN],
    *check(facts) {
      yield* part(couldBePoint(facts), 'warning', 'Write "Point read", and read the item by its id and key.');
      const points = asked(facts).filter(
        ({ mapped, text, queries }) => mapped && queries.length === 0 && POINT.test(text),
      );
      const named = points.filter(({ text }) => namedIn(text).length > 0);
      const called = calledPoint(facts);
      const queries = called.filter(({ byId }) => !byId);
      for (const found of together(
        queries,
        `A query is called a point read; it costs at least 2 RU, and more without the key: ${facts.design ? ruleWordsOf(facts.design, queries) : ''}`,
      ))
        yield { severity: 'warning', ...found };
      for (const { detail, who, at, text } of named) {
        const { container } = detail;
        const names = namedIn(text);
        const keys = container.partitionKey.map(field);
        const examples = examplesIn(container);
        const isId = (name: string): boolean =>
          name === 'id' ||
          (examples.length > 0 && examples.every((example) => valueAt(example, name) === valueAt(example, 'id')));
        const related = [facts.place(detail, 'partitionKey')];
        const rest = text.replaceAll(/`[^`]*`/g, '');
        if (!names.some(isId) && names.every((name) => keys.includes(name)) && !/\bid\b/i.test(rest))
          yield {
            message: `${who} names ${names.join(', ')}, but the id of ${container.name} is another value`,
            at,
            related,
          };
        // An upsert sends the document, which has the key.
        else if (
          names.every(isId) &&
          !keys.every(isId) &&
          !/\bupserts?\b/i.test(rest) &&
          !/partition key|\bPK\b/i.test(rest)
        )
          yield {
            message: `${who} names only the id, but the key of ${container.name} is ${container.partitionKey.join(', ')}`,
            at,
            related,
          };
      }
    },
  },
];
