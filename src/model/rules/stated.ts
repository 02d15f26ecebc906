// B19, B20, C19, C20: what a row of the mapping states beside its operation must follow from the operation.
import type { Mapping } from '../documents.ts';
import type { Query } from '../query.ts';
import { chargeOf } from '../estimate.ts';
import { FEED_RU } from '../load.ts';
import type { Container } from '../model.ts';
import { type Access, type Facts, examplesIn, isQuery, isWrite, namesKey, sum, written } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, MAPPING, SOURCES, missing, n } from './rule.ts';

/** Stated RU are compared with this many times the estimate, since estimates are rough. */
const TIMES = 4;

const limitOf = ({ text }: Query): number | undefined => {
  const [, limit] = /\b(?:top|limit)\s+(\d+)/i.exec(text) ?? [];
  return limit === undefined ? undefined : Number(limit);
};

/** `at most 113 rows`, `249 documents`, `one document`, `first 50`. */
export function rowsStated({ notes }: Pick<Mapping, 'notes'>): number | undefined {
  const [, before, after] =
    /\b(one|\d[\d,]*) (?:rows?|documents?|items?|results?)\b|\b(?:first|newest|latest|top) (\d[\d,]*)\b/i.exec(notes) ??
    [];
  const text = before ?? after;
  return text === undefined ? undefined : text.toLowerCase() === 'one' ? 1 : Number(text.replaceAll(',', ''));
}

/** RU by the document's own sizes and rows; undefined: they don't decide it. */
function expected(facts: Facts, { row, detail }: Access): { ru: number; text: string } | undefined {
  const text = `${row.operationText} ${row.notes}`;
  if (/\brestore\b/i.test(text) || row.operations.includes('batch')) return undefined;
  if (row.operations.length === 0)
    return /change feed/i.test(text) ? { ru: FEED_RU, text: `${FEED_RU} RU a change of the feed` } : undefined;
  const parts = row.operations.map((operation) => {
    const rows = isQuery(operation)
      ? (row.queries.map(limitOf).find((limit) => limit !== undefined) ?? rowsStated(row))
      : 1;
    if (rows === undefined) return undefined;
    const charge = { ...facts.charge(detail), bytes: rows * detail.size.average, rows };
    const times = operation === 'point-read' ? row.times : 1;
    const ru = times * chargeOf(operation, charge, facts.settings, facts.profile);
    return { ru, text: `${operation}${rows > 1 ? ` of ${n(rows)} documents` : ''} ${n(ru)} RU` };
  });
  const known = parts.filter((part) => part !== undefined);
  if (known.length < parts.length) return undefined;
  return { ru: sum(known.map(({ ru }) => ru)), text: known.map((part) => part.text).join(' + ') };
}

const fieldOf = (path: string): string => path.slice(1).replaceAll('/', '.');

/** The levels of the key that a query doesn't set equal to a value. */
const open = ({ partitionKey }: Container, { equal }: Query): string[] =>
  partitionKey.filter((path) => !equal.includes(fieldOf(path)));

const NEWEST = /\b(?:newest|latest|most recent|last ones?) first\b/i;
const OLDEST = /\b(?:oldest|earliest) first\b/i;
const TIME = /^\d{4}[-/]\d\d/;

/** A query by a time in the other direction than its pattern or its row asks for. */
function* turned(facts: Facts, row: Mapping, { order, equal }: Query): Iterable<RuleResult> {
  const by = order.find(({ path }) => !equal.includes(path));
  const patterns = row.ids.flatMap((id) => facts.pattern(id) ?? []);
  const words = [
    row.notes,
    ...patterns.map(({ description, requirements, considerations }) =>
      [description, requirements, considerations].join(' ; '),
    ),
  ].join(' ; ');
  const [newest, oldest] = [NEWEST.test(words), OLDEST.test(words)];
  const examples = row.containers.flatMap((name) => {
    const detail = facts.detail(name);
    return detail ? examplesIn(detail.container) : [];
  });
  const timed = by && examples.some((example) => TIME.test(String(example[by.path])));
  if (!by || !timed || newest === oldest || row.queries.length > 1 || by.descending === newest) return;
  yield {
    message: `Row ${row.printed} orders by ${by.path} ${by.descending ? 'downwards' : 'upwards'}, but its pattern asks for the ${newest ? 'newest' : 'oldest'} first`,
    at: row.at,
    words: by.path,
    related: patterns.map(({ at }) => at),
  };
}

export const STATED: readonly Rule[] = [
  {
    id: 'B19',
    title: 'Stated RU aren’t far above what the operation costs',
    severity: 'warning',
    source: `${SOURCES.seed}; ${SOURCES.microsoft('Request Units in Azure Cosmos DB')}`,
    why: 'A container that is sized by RU which are too high is paid for and not used. The rule estimates the operation by the size of the documents, and a query by the rows that it limits or that its row states ("at most 20 rows"). It fails if the stated RU are more than four times the estimate.',
    hint: 'Correct the RU. Or state the size of the document, or the number of rows, that causes them.',
    needs: [DESIGN, MAPPING],
    *check(facts) {
      const accesses = facts.accesses.filter((access) => access.stated);
      if (accesses.length === 0) yield missing('RU in the mapping’s notes');
      for (const access of accesses) {
        const { row, ru, detail } = access;
        const estimate = expected(facts, access);
        if (!estimate || ru <= TIMES * estimate.ru) continue;
        yield {
          message: `Row ${row.printed} states ${n(ru)} RU; ${row.operations.some(isWrite) ? 'the write' : 'the read'} costs about ${n(estimate.ru)}`,
          at: row.at,
          evidence: `${estimate.text}; ${n(ru)} > ${TIMES} × ${n(estimate.ru)}`,
          related: [detail.size.at],
        };
      }
    },
  },
  {
    id: 'B20',
    title: 'The load that a container’s design states is what its patterns and projections give',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'The rule adds up the load: rate × RU of each pattern, the writes of projections (each element of a list, the groups of an aggregate of an aggregate, the copies of a joined document that changes), the reads of joined documents and of the feed. It compares the sum with the figure that the text states ("together 1,388 RU/s"). It fails if one is more than twice the other.',
    hint: 'Correct the figure, or the rates and RU that it is made of. `millrace model cost --terms` shows the terms.',
    needs: [DESIGN],
    *check(facts) {
      const all = facts.containers.flatMap((detail) => {
        const prose = facts.labelled(detail, /throughput|ru planning|吞吐量/i);
        const [, text] =
          /\b(?:together|in total|total of|altogether),? (?:about |~)?(\d[\d,]*)/i.exec(prose?.text ?? '') ?? [];
        return text === undefined || !prose ? [] : [{ detail, stated: Number(text.replaceAll(',', '')), at: prose.at }];
      });
      if (all.length === 0) yield missing('a container’s load ("together 300 RU/s")');
      for (const { detail, stated, at } of all) {
        const computed = facts.peak(detail);
        if (computed === 0 || (computed <= 2 * stated && stated <= 2 * computed)) continue;
        yield {
          message: `${detail.container.name} states a load of ${n(stated)} RU/s; its patterns and projections give ${n(computed)}`,
          at,
          evidence: written(facts.load(detail), n),
        };
      }
    },
  },
  {
    id: 'C19',
    title: 'A query returns as many documents as its row says, in an order that the query determines',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'TOP and LIMIT must be the number that the row states: "at most 10 rows" beside `TOP 11` is a mistake in one of them. An ORDER BY by fields that the query sets equal to a value sorts nothing. And a pattern that asks for the newest first is shown the oldest, if its query orders by a time upwards.',
    hint: 'Correct the number or the direction, or order by a field that differs among the results.',
    needs: [DESIGN, MAPPING],
    *check(facts) {
      const rows = facts.mapping.filter(({ queries }) => queries.length > 0);
      if (rows.length === 0) yield missing('a query in the mapping');
      for (const row of rows) {
        const stated = rowsStated(row);
        for (const query of row.queries) {
          const limit = limitOf(query);
          if (limit !== undefined && stated !== undefined && limit !== stated && row.queries.length === 1)
            yield {
              message: `Row ${row.printed} states ${n(stated)} documents, but its query returns at most ${n(limit)}`,
              at: row.at,
            };
          const { order, equal } = query;
          if (order.length > 0 && order.every(({ path }) => equal.includes(path)))
            yield {
              message: `Row ${row.printed} orders by ${order.map(({ path }) => path).join(', ')}, which has one value in all results`,
              at: row.at,
            };
          yield* turned(facts, row, query);
        }
      }
    },
  },
  {
    id: 'C20',
    title: 'A hierarchical key has different levels, and a query that reads one partition names all of them',
    severity: 'error',
    source: SOURCES.microsoft('Hierarchical partition keys in Azure Cosmos DB'),
    why: 'A query that names only the first levels reads every logical partition below them, on one or more physical partitions. So "one partition" beside it is wrong, and so are its RU as soon as the prefix has more than one physical partition. The service refuses a key that names a path twice.',
    hint: 'Add the missing level to the WHERE clause, or write that the query reads all partitions of the prefix.',
    needs: [DESIGN],
    *check(facts) {
      const all = facts.containers.filter(({ container }) => container.partitionKey.length > 1);
      if (all.length === 0) yield missing('a hierarchical key');
      for (const detail of all) {
        // The paths as written: the reader takes each of them once.
        const [head = ''] = facts.keyText(detail)?.text.split(/ [-–—] /) ?? [];
        const paths: readonly string[] = head.match(/\/[\p{L}_]\w*/gu) ?? [];
        const twice = paths.find((path, at) => paths.indexOf(path) !== at);
        if (twice !== undefined)
          yield {
            message: `The key of ${detail.container.name} names ${twice} twice`,
            at: facts.place(detail, 'partitionKey'),
          };
        for (const question of facts.questions) if (question.detail === detail) yield* ofPrefix(facts, question);
      }
    },
  },
];

function* ofPrefix(facts: Facts, { detail, who, text, queries, at }: Facts['questions'][number]): Iterable<RuleResult> {
  if (!/\b(?:one|single)[- ](?:logical )?partition\b/i.test(text)) return;
  for (const query of queries) {
    const lacking = open(detail.container, query);
    if (namesKey(detail.container, query) && lacking.length > 0)
      yield {
        message: `${who} is said to read one partition of ${detail.container.name}, but its query doesn't name ${lacking.join(', ')}`,
        at,
        related: [facts.place(detail, 'partitionKey')],
      };
  }
}
