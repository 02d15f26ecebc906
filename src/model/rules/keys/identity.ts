// C8 to C12: hierarchical and synthetic keys, ids and uniqueness.
import { refusalOfId } from '../../../base/item-id.ts';
import type { ContainerDetail } from '../../documents.ts';
import type { Container } from '../../model.ts';
import { type Facts, examplesIn, fieldsIn, isOfId, namesKey, otherCase, sum, valueAt } from '../facts.ts';
import { declaredOf } from '../declared.ts';
import type { Field } from '../fields.ts';
import { type Found, type Rule, DESIGN, SOURCES, more, n, quoted } from '../rule.ts';

const LIMITS = SOURCES.microsoft('Azure Cosmos DB service quotas');
const HPK = SOURCES.microsoft('Hierarchical partition keys in Azure Cosmos DB');

const hierarchical = ({ containers }: Facts): ContainerDetail[] =>
  containers.filter(({ container }) => container.partitionKey.length > 1);
/** A key of one level that its text calls hierarchical, and doesn't plan to be so later. */
const claimed = (facts: Facts): ContainerDetail[] =>
  facts.containers.filter(
    (detail) =>
      detail.container.partitionKey.length === 1 &&
      /\bhierarch/i.test(facts.keyText(detail)?.text ?? '') &&
      !/\b(not?|never|future|later|if|consider\w*|instead|than|simple|would|migrate)\b/i.test(
        facts.keyText(detail)?.text ?? '',
      ),
  );
/** The key's paths as written, because the reader takes each of them once. */
function pathTwice(facts: Facts, detail: ContainerDetail): string | undefined {
  const [head = ''] = facts.keyText(detail)?.text.split(/ [-–—] /) ?? [];
  const paths: readonly string[] = head.match(/\/[\p{L}_]\w*/gu) ?? [];
  return paths.find((path, at) => paths.indexOf(path) !== at);
}

/** A row that is said to read one partition, with a query that names only a prefix of the key. */
function* ofPrefix(facts: Facts, detail: ContainerDetail): Iterable<Found> {
  for (const { who, text, queries, at, mapped } of facts.asked(detail)) {
    if (!mapped || !/\b(?:one|single)[- ](?:logical )?partition\b/i.test(text)) continue;
    for (const query of queries) {
      const lacking = detail.container.partitionKey.filter(
        (path) => !query.equal.includes(path.slice(1).replaceAll('/', '.')),
      );
      if (namesKey(detail.container, query) && lacking.length > 0)
        yield {
          message: `${who} is said to read one partition of ${detail.container.name}, but its query doesn't name ${lacking.join(', ')}`,
          at,
          related: [facts.place(detail, 'partitionKey')],
          hint: 'Add the missing level to the WHERE clause, or write that the query reads all partitions of the prefix.',
        };
    }
  }
}

/** `users` by `/userId` and `user-profiles` by `/userId`: without examples, the name says that each value has one document. */
function isOwn({ name, partitionKey, types }: Container): boolean {
  const [, of] = /^\/(\w+?)_?id$/i.exec(partitionKey.join()) ?? [];
  if (of === undefined || types.length > 0) return false;
  const words = name
    .replaceAll(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[-_ ]/);
  const [first = '', second, ...rest] = words;
  const isOf = first.replace(/s$/, '') === of.toLowerCase();
  return (
    isOf &&
    rest.length === 0 &&
    (second === undefined || /^(?:profile|account|setting|preference|detail)s?$/.test(second))
  );
}

/** Not "unique identifier", which is what an id is. */
const CALLED_UNIQUE = /\bunique\b(?! (?:identifier|id|key)\b)|一意(?!の)|唯一(?!标识)/i;
/** Fields that are ids, or have values that don't meet. */
const OF_CHANCE = /^_|(?:^|[a-z_])id$|Id$|guid$|uuid$|token$|hash$|key$|slug$/i;

/** The fields that a row, a declaration, or `sku (unique)` under Attributes calls unique, and that no key holds. */
function calledUnique(facts: Facts, detail: ContainerDetail): Field[] {
  const { design } = facts;
  const { container } = detail;
  if (!design) return [];
  const held = new Set([...container.partitionKey, ...(container.uniqueKeys ?? []).flatMap(({ paths }) => paths)]);
  const attributes = facts.labelled(detail, /^attributes$|属性/i);
  const listed = [...(attributes?.text.matchAll(/([A-Za-z]\w*)`? \(unique\)/g) ?? [])].flatMap(([, field = '']) =>
    attributes && fieldsIn(container).has(field) ? [{ field, at: attributes.at }] : [],
  );
  const declared = declaredOf(design, detail).filter(({ at }) => CALLED_UNIQUE.test(design.lines[at.line - 1] ?? ''));
  return [...declared, ...listed].filter(
    ({ field }) =>
      !OF_CHANCE.test(field) &&
      !held.has(`/${field}`) &&
      !facts.containers.some((other) => other !== detail && other.container.partitionKey.join() === `/${field}`),
  );
}

export const IDENTITY: readonly Rule[] = [
  {
    id: 'C8',
    title: 'A hierarchical key has two or three different levels, and every query filters by the first',
    source: `${SOURCES.seed}; ${HPK}`,
    why: 'A query without the first level reads every partition, and one that names a prefix reads every logical partition below it. The service accepts only the kind MultiHash with version 2. The limit of 20 GB then applies to the full key (ASM-E136).',
    hint: 'Filter by the first level, or put the level first that queries know.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of claimed(facts))
        yield {
          message: `${detail.container.name}: the key is called hierarchical, but it has the one level ${detail.container.partitionKey.join()}`,
          at: facts.place(detail, 'partitionKey'),
          hint: 'Name the other levels, or call it a simple key: its partitions hold 20 GB.',
        };
      for (const detail of hierarchical(facts)) {
        const { name, partitionKey } = detail.container;
        if (partitionKey.length > 3)
          yield {
            message: `${name} has ${partitionKey.length} key levels; the maximum is three`,
            at: facts.place(detail, 'partitionKey'),
          };
        const twice = pathTwice(facts, detail);
        if (twice !== undefined)
          yield {
            message: `The key of ${name} names ${twice} twice`,
            at: facts.place(detail, 'partitionKey'),
            hint: 'Name another level: the service refuses a key that names a path twice.',
          };
        yield* ofPrefix(facts, detail);
        const [first = ''] = partitionKey;
        const wide = facts.questions
          .filter((question) => question.detail === detail && (question.crossing || !question.scoped))
          .flatMap(({ who, queries, at }) =>
            queries.filter((query) => !namesKey(detail.container, query)).map((query) => ({ who, query, at })),
          );
        const [asked, ...askedToo] = wide;
        if (asked)
          yield {
            message: `${asked.who}${more(askedToo.length)} ${askedToo.length === 0 ? "doesn't" : "don't"} filter by ${first.slice(1)}, the first level of ${name}'s key, so ${askedToo.length === 0 ? 'it reads' : 'they read'} every partition${otherCase(detail.container, asked.query)}`,
            at: asked.at,
            related: askedToo.map(({ at }) => at),
          };
        for (const { text, at } of detail.prose) {
          const kind = /"kind"\s*:\s*"(\w+)"/.exec(text)?.[1];
          if (kind !== undefined && kind !== 'MultiHash')
            yield { message: `${name}: the kind of a hierarchical key is MultiHash, not ${kind}`, at };
        }
      }
    },
  },
  {
    id: 'C10',
    title: 'A synthetic key was compared with a hierarchical key',
    severity: 'information',
    source: SOURCES.seed,
    why: 'Every reader and writer needs code for a synthetic key such as `tenant_user`. A hierarchical key needs none, and queries can filter by a prefix of it.',
    hint: 'Write why the synthetic key is better here.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        if (detail.container.partitionKey.length !== 1) continue;
        const [path = ''] = detail.container.partitionKey;
        const values = examplesIn(detail.container).map((example) => valueAt(example, path));
        // `user_id` is one word of a style; `tenant_user` joins two fields, and `storeId_day` a field with another.
        const fields = fieldsIn(detail.container);
        const parts = path.slice(1).split('_');
        const glued =
          (parts.length > 1 &&
            // `user_id_session_id` is two.
            !/^[^_]+(_[^_]+)?_(id|key|guid|hash)$/i.test(path.slice(1)) &&
            (parts.filter((part) => part === 'id').length > 1 ||
              parts.some((part) => /[a-z](Id|ID|Key)$/.test(part)) ||
              parts.every((part) => [part, `${part}Id`, `${part}_id`].some((name) => fields.has(name))))) ||
          (values.length > 0 && values.every((value) => typeof value === 'string' && /^[^_]+_[^_]+_[^_]/.test(value)));
        if (
          (glued || /synthetic|合成/i.test(facts.keyText(detail)?.text ?? '')) &&
          !detail.prose.some(({ text }) => /hierarchical|\bHPK\b|层级/i.test(text))
        )
          yield {
            message: `${detail.container.name}: ${path} is a synthetic key, and the design doesn't mention a hierarchical key`,
            at: facts.place(detail, 'partitionKey'),
          };
      }
    },
  },
  {
    id: 'C11',
    title: 'Cosmos DB accepts all ids and key values',
    source: LIMITS,
    why: 'An id is a string of 1 to 1,023 bytes without / \\ #. A key value is a string, number, boolean or null of at most 2,048 bytes.',
    hint: 'Escape or shorten the value, or use a value of another type.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        const { container } = detail;
        for (const { name, examples, at: place } of container.types) {
          for (const example of examples) {
            const at = facts.example(example, place);
            const { id } = example;
            const why = typeof id === 'string' ? refusalOfId(id) : undefined;
            if (why !== undefined)
              yield { message: `${container.name}: the id "${quoted(String(id), 40)}" of a ${name} ${why}`, at };
            else if (id !== undefined && typeof id !== 'string')
              yield { message: `${container.name}: the id of a ${name} is a ${typeof id}, not a string`, at };
            for (const path of container.partitionKey) {
              const value = valueAt(example, path);
              if (typeof value === 'string' && Buffer.byteLength(value) > 2048)
                yield {
                  message: `${container.name}: a value of ${path} has ${n(Buffer.byteLength(value))} bytes; the maximum is 2,048`,
                  at,
                };
              if (typeof value === 'object' && value !== null)
                yield {
                  message: `${container.name}: the key ${path} holds ${Array.isArray(value) ? 'a list' : 'an object'}, not a string, number, boolean or null`,
                  at,
                };
            }
          }
        }
      }
    },
  },
  {
    id: 'C12',
    title: 'The design relies only on uniqueness that Cosmos DB can enforce',
    source: `${SOURCES.seed}; ${SOURCES.microsoft('Unique key constraints in Azure Cosmos DB')}`,
    why: 'Id and partition key together are unique (ASM-E135). A unique key policy (the prompt says that there is none) makes values unique within one logical partition. It is fixed when the container is created, counts a missing value as null, and has at most 10 constraints and 16 paths. Cosmos DB enforces no uniqueness across partitions, so a unique key under the partition key /id has no effect. A word enforces nothing: the rule warns about a field that a table, a declaration or the bullet Attributes calls unique, if no unique key, no key and no id holds it.',
    hint: 'Reserve the value: first write a document whose partition key and id are the value.',
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        const { container } = detail;
        const at = facts.place(detail, 'uniqueKeys');
        const keys = container.uniqueKeys ?? [];
        if (keys.length > 10)
          yield { message: `${container.name} has ${keys.length} unique keys; the maximum is 10`, at };
        const paths = sum(keys.map((key) => key.paths.length));
        if (paths > 16) yield { message: `${container.name} has ${paths} paths in unique keys; the maximum is 16`, at };
        // A key whose value is the id of each document, such as a user's name, has one document a partition too.
        if (keys.length > 0 && (container.partitionKey.join() === '/id' || isOfId(container) || isOwn(container)))
          yield {
            message: `${container.name}: the unique key ${keys.map((key) => key.paths.join(', ')).join('; ')} enforces nothing, because each partition of the key ${container.partitionKey.join(', ')} has one document`,
            at,
            related: [facts.place(detail, 'partitionKey')],
          };
        const called = calledUnique(facts, detail);
        const [first, ...others] = called;
        if (first)
          yield {
            severity: 'warning',
            message: `${container.name}: only a word makes ${called.map(({ field }) => field).join(', ')} unique`,
            at: first.at,
            related: others.map((one) => one.at),
            hint: 'Add a unique key policy if the field is unique within the partition key. Otherwise reserve the value: a document whose key and id are the value.',
          };
      }
    },
  },
];
