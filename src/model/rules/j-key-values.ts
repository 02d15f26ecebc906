// J10 and J11: what values a partition key has, and when a document gets its own.
import { type Annotation, type Annotations, fieldOf, same } from '../annotations/annotations.ts';
import { keyValues } from '../annotations/known.ts';
import { accessesOf, alike, linesOf, listed, plain, typesIn } from '../annotations/merged.ts';
import type { Place } from '../model.ts';
import { type Found, type Rule, type RuleResult, ANNOTATIONS, SOURCES, missing, quoted, together } from './rule.ts';

type KeyValue = Annotation<'keyValue'>;

const LIMITS = 'Each value is a logical partition with at most 20 GB and 10,000 RU/s';
/** A closed list of so many values is few. */
const FEW = 30;

/** The places that call the values evenly spread. */
const evenly = (annotations: Annotations, container: string): readonly { readonly at: Place }[] => [
  ...annotations
    .of('keyValue')
    .filter((one) => same(one.container, container) && /\b(?:even(?:ly)?|uniform\w*|balanced)\b/i.test(one.words)),
  ...annotations
    .of('fact')
    .filter(
      ({ of, property, value }) =>
        (same(of, container) || /partition/i.test(`${of} ${property}`)) && /\beven(?:ly)?\b/i.test(String(value)),
    ),
];

const valueOf = (all: readonly KeyValue[], key: string): string => {
  const format = all.find((one) => one.format !== undefined)?.format;
  return format === undefined ? key : `${key} (${quoted(format, 40)})`;
};

function* fewValues(annotations: Annotations, container: string, key: string): Iterable<Found> {
  const all = keyValues(annotations, container);
  const few = all.filter(({ distinct }) => distinct === 'few' || distinct === 'one');
  const lists = typesIn(annotations, container).flatMap(({ fields }) =>
    fields
      .filter(({ path }) => alike(path, key))
      .flatMap((field) => field.lists.filter(({ values }) => values.length <= FEW)),
  );
  const small =
    typesIn(annotations, container).every(({ purposes }) => purposes.has('reference')) ||
    annotations.of('container').some((one) => same(one.container, container) && one.purpose === 'reference');
  const places = [...few, ...lists];
  if (places.length === 0 || (small && few.length === 0)) return;
  const one = few.some(({ distinct }) => distinct === 'one');
  if (small && !one) return;
  const values = lists[0] ? ` (${listed(lists[0].values.slice(0, 6))})` : '';
  const even = evenly(annotations, container);
  yield* together(
    places,
    `${container}: the key ${valueOf(few, key)} has ${one ? 'one value for all documents' : `few values${values}`} (${linesOf(places)}). ${LIMITS}, so ${one ? 'the whole container is bound to these' : 'each of them takes a large share of data and load'}, and more throughput doesn’t help${even.length > 0 ? `; it isn’t the even distribution that ${linesOf(even)} ${even.length === 1 ? 'names' : 'name'}` : ''}`,
    even.map(({ at }) => at),
  );
}

function* unevenValues(annotations: Annotations, container: string, key: string): Iterable<Found> {
  const all = keyValues(annotations, container);
  const even = evenly(annotations, container);
  const claim = even.length > 0 ? `, although ${linesOf(even)} ${even.length === 1 ? 'calls' : 'call'} it even` : '';
  const skewed = all.filter((one) => one.skewed === true);
  yield* together(
    skewed,
    `${container}: some values of ${valueOf(skewed, key)} have much more than others${claim}. ${LIMITS}: the largest of them is throttled while the others are idle, and at 20 GB its writes are refused`,
    even.map(({ at }) => at),
  );
  const byTime = all.filter((one) => one.byTime === true);
  yield* together(
    byTime,
    `${container}: the key ${valueOf(byTime, key)} is the current time, so all writes of that time go to one logical partition, which gives 10,000 RU/s, and the other partitions are idle${claim}`,
    even.map(({ at }) => at),
  );
}

/** Fields for an owner whose documents are many. */
const COARSE =
  /(?:tenant|org|organi[sz]ation|company|team|project|domain|workspace|account|household|cluster|site|region|store|channel|room|group|school|factory|device|city|country|category)(?:id|key|name|segment)?$/;
const ACCUMULATES = new Set(['event', 'log', 'audit', 'message', 'telemetry', 'result', 'job']);

/** Documents of an owner that only become more, under one value. */
function* endless(annotations: Annotations, container: string, key: string): Iterable<Found> {
  const own = keyValues(annotations, container);
  if (own.some(({ byTime, distinct }) => byTime === true || distinct === 'one')) return;
  const parts = own.find(({ from }) => from !== undefined && from.length > 0)?.from ?? [key];
  if (!parts.every((part) => COARSE.test(plain(part)))) return;
  const ends = (type: string): boolean =>
    annotations
      .of('retention')
      .some((one) => one.forever !== true && (same(one.container, container) || same(one.type, type))) ||
    annotations
      .of('container')
      .some((one) => same(one.container, container) && one.ttl !== undefined && one.ttl !== 'off');
  const types = typesIn(annotations, container).filter(
    ({ type, purposes }) => [...purposes].some((purpose) => ACCUMULATES.has(purpose)) && !ends(type),
  );
  const even = evenly(annotations, container);
  yield* together(
    types,
    `${container}: all ${listed(types.map(({ type }) => type))} documents of one ${parts.join(':')} have one key value, become more and are never removed. At 20 GB the logical partition takes no more writes, and it gives 10,000 RU/s at most${even.length > 0 ? `; ${linesOf(even)} calls the distribution even` : ''}`,
    [...annotations.keysOf(container).map(({ at }) => at), ...own.map(({ at }) => at), ...even.map(({ at }) => at)],
  );
}

function* unfixed(annotations: Annotations, container: string, key: string): Iterable<Found> {
  const types = typesIn(annotations, container);
  const later = annotations.of('keyValue').filter((one) => same(one.container, container) && one.required === false);
  const optional = types.flatMap(({ fields }) =>
    fields
      .filter(({ path }) => alike(path, key))
      .flatMap(({ declared }) => declared.filter((one) => one.optional === true)),
  );
  const names = listed([...later.flatMap(({ type }) => (type === undefined ? [] : [type]))]);
  yield* together(
    [...later, ...optional],
    `${container} is keyed by ${key}, and ${names === '' ? 'some documents' : names} may be created without it or get it later (${linesOf([...later, ...optional])}). A key value can’t be changed afterwards: the document must be deleted and created again under another key, which isn’t one transaction, and until then reads by ${key} don’t find it`,
    annotations.keysOf(container).map(({ at }) => at),
  );
  const changing = accessesOf(annotations, container).filter(
    ({ operation, sets = [] }) =>
      ['replace', 'patch'].includes(operation) &&
      sets.some((path) => alike(path, key) || (plain(path) === 'id' && plain(key) !== 'id')),
  );
  yield* together(
    changing,
    `${listed(changing.map(({ name }) => `"${quoted(name)}"`))} ${changing.length === 1 ? 'changes' : 'change'} ${listed(changing.flatMap(({ sets = [] }) => sets.filter((path) => alike(path, key) || plain(path) === 'id')))}, which is the key or the id of ${container}. The service refuses that: it takes a delete and a create, which aren’t one transaction over two key values, and references to the old one dangle`,
    annotations.keysOf(container).map(({ at }) => at),
  );
}

/** Containers with one key, and its path as a field. */
const keyed = (annotations: Annotations): { container: string; key: string }[] =>
  annotations.containers.flatMap((container) => {
    const key = annotations.keyOf(container);
    return key?.length === 1 && key[0] !== undefined ? [{ container, key: fieldOf(key[0]) }] : [];
  });

export const KEY_VALUES: readonly Rule[] = [
  {
    id: 'J10',
    title: 'The partition key has many values, evenly used',
    severity: 'warning',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'A key value is a logical partition: 20 GB, 10,000 RU/s, on one physical partition (ASM-E121). With one or few values, with some that are much larger, or with the current day as the value, the container doesn’t scale, whatever throughput it has. Events of a tenant or a project under one value reach 20 GB if nothing removes them. The rule takes what annotations say of the values, and closed lists of the key’s field. Reference data with few values is silent.',
    hint: 'Add a part to the key: the id of the owner, a time bucket or a suffix by hash. Or use a hierarchical key.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      const all = keyed(annotations);
      if (all.length === 0) yield missing('a partition key in an annotation');
      for (const { container, key } of all) {
        yield* fewValues(annotations, container, key);
        yield* unevenValues(annotations, container, key);
        yield* endless(annotations, container, key);
      }
    },
  },
  {
    id: 'J11',
    title: 'A document has its partition key’s value when it is created, and keeps it',
    severity: 'error',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'The value of the partition key and the id of a document can’t be changed. A user who registers before he has a team can’t be stored by team, and moving him is a delete and a create in two partitions. The rule takes keys of which an annotation says that some documents lack them or get them later, optional fields, and writes that set the key or the id.',
    hint: 'Key the container by a value that the document has from its creation for ever, and keep the other as a field.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      const all = keyed(annotations);
      if (all.length === 0) yield missing('a partition key in an annotation');
      for (const { container, key } of all) yield* unfixed(annotations, container, key);
    },
  },
];
