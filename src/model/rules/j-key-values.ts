// J10 and J11: what values a partition key has, and when a document gets its own.
import { type Annotation, type Annotations, fieldOf, same } from '../annotations/annotations.ts';
import { idOf, isCallers, keyValues } from '../annotations/known.ts';
import { accessesTo, alike, linesOf, plain, typesIn } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { isExisting, isSmall } from '../annotations/scale.ts';
import type { Place } from '../model.ts';
import {
  type Found,
  type Rule,
  type RuleResult,
  ANNOTATIONS,
  SOURCES,
  hinted,
  missing,
  quoted,
  together,
} from './rule.ts';

type KeyValue = Annotation<'keyValue'>;

const LIMITS = 'Each value is a logical partition with at most 20 GB and 10,000 RU/s';
/** A closed list of so many values is few. */
const FEW = 30;

const EVEN =
  /\b(?:even(?:ly)?|uniform\w*|balanced)\b[^.|]{0,40}\b(?:distribut\w*|spread|partition\w*)|\b(?:distribut\w*|spread)\b[^.|]{0,20}\b(?:even(?:ly)?|uniform\w*)\b/i;

/** The places that call the values evenly spread: the sentence may go on in the next line. */
const evenly = (annotations: Annotations, container: string): readonly { readonly at: Place }[] => [
  ...annotations
    .of('keyValue')
    .filter(
      (one) =>
        same(one.container, container) &&
        EVEN.test(annotations.lines.slice(one.at.line - 1, one.at.line + 1).join(' ')),
    ),
  ...annotations
    .of('fact')
    .filter(({ of, property, value }) => same(of, container) && EVEN.test(`${property} ${String(value)}`)),
];

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

const valueOf = (all: readonly KeyValue[], key: string): string => {
  const format = all.find((one) => one.format !== undefined)?.format;
  return format === undefined ? key : `${key} (${quoted(format, 40)})`;
};

/** The text owns the choice of one partition. */
const ON_PURPOSE =
  /\b(?:deliberate(?:ly)?|intentional(?:ly)?|on purpose|by design|single[- ]partition|one partition (?:per|for each))\b/i;

/**
 * The question isn't asked of the container: it is small, not designed here, or in one partition on purpose, so that a batch
 * holds its writes together.
 */
function isSettled(annotations: Annotations, container: string): boolean {
  if (isSmall(annotations, { container }) || isExisting(annotations, { container })) return true;
  const places = [...keyValues(annotations, container), ...annotations.keysOf(container)];
  return places.some(({ at }) => ON_PURPOSE.test(annotations.lines.slice(at.line - 1, at.line + 2).join(' ')));
}

const SMALL = /\bsmall\b|\b(?:far|well|safely|comfortably) (?:inside|below|under|within)\b|\bbounded\b/i;

const isReference = (annotations: Annotations, container: string): boolean => {
  const types = typesIn(annotations, container);
  return (
    (types.length > 0 &&
      types.every(({ purposes }) => purposes.has('reference') || purposes.has('lease') || purposes.has('counter'))) ||
    annotations.of('container').some((one) => same(one.container, container) && one.purpose === 'reference')
  );
};

/** A write sets the key: then a key with a further part still has the part that changes. */
const isSet = (annotations: Annotations, container: string, key: string): boolean =>
  accessesTo(annotations, container).some(({ sets = [] }) => sets.some((path) => alike(path, key)));

const wider = (annotations: Annotations, container: string, key: string): string =>
  isSet(annotations, container, key)
    ? `Key ${container} by a field that never changes, has many values, and that its reads know; keep ${key} as an indexed field.`
    : `Key ${container} by ${key} and a further value, as a hierarchical key (/${key.replaceAll('.', '/')}, /id) or with a suffix by hash, or by a field that has many values and that its reads know.`;

/** `agentName` of an AgentState: each value has one document, which its owner writes again and again. */
const isOfEach = (annotations: Annotations, container: string, key: string): boolean => {
  const types = typesIn(annotations, container);
  const whose = plain(key).replace(/(?:name|id|key)$/, '');
  return (
    whose !== '' &&
    types.length > 0 &&
    types.every(({ type }) => plain(type).replace(/(?:state|status|config\w*|settings?|profile)$/, '') === whose)
  );
};

/** A year or a season: its values are few at any time, and the load of one is that of a year. */
const YEARLY = /\b(?:years?|yearly|seasons?|annual(?:ly)?)\b|^\W*(?:yyyy|\d{4})\W*$/i;
const isYearly = ({ format = '', words, from = [] }: KeyValue): boolean =>
  [format, words, ...from].some((text) => YEARLY.test(text));

/** The values of the key, without years of what has no writes all the time. */
function valuesOf(annotations: Annotations, container: string): readonly KeyValue[] {
  const all = keyValues(annotations, container);
  const isWritten = typesIn(annotations, container).some(({ purposes }) =>
    ['event', 'log', 'audit', 'message', 'telemetry'].some((purpose) => purposes.has(purpose)),
  );
  const yearly = all.filter(({ byTime }) => byTime === true).some(isYearly);
  return yearly && !isWritten ? all.filter((one) => one.byTime !== true && one.distinct !== 'few') : all;
}

function* fewValues(annotations: Annotations, container: string, key: string): Iterable<Found> {
  const all = valuesOf(annotations, container);
  // Few values are enough for what the text calls small.
  const few = all.filter(
    ({ distinct, at }) =>
      distinct === 'one' ||
      (distinct === 'few' &&
        !isCallers(annotations, key) &&
        !SMALL.test(annotations.lines.slice(at.line - 1, at.line + 2).join(' '))),
  );
  const lists = typesIn(annotations, container).flatMap(({ fields }) =>
    fields
      .filter(({ path }) => alike(path, key))
      .flatMap((field) => field.lists.filter(({ values }) => values.length <= FEW)),
  );
  const small = isReference(annotations, container);
  const places = [...few, ...lists];
  const single = few.filter(({ distinct }) => distinct === 'one');
  // Each type with a value of its own: the container has as many values as types.
  const one =
    single.length > 0 &&
    new Set(single.map(({ format = '' }) => format)).size === 1 &&
    // The documents of another type have other values.
    lists.every(({ values }) => values.length < 2) &&
    !few.some(({ distinct, type }) => distinct === 'few' && !single.some((own) => same(own.type, type)));
  // One value of the field that says whose the documents are is first a matter of access.
  const isOwner = annotations.of('tenancy').some(({ field }) => field !== undefined && alike(field, key));
  if (places.length === 0 || small || isOfEach(annotations, container, key) || (one && isOwner)) return;
  const values = lists[0] ? ` (${listed(lists[0].values.slice(0, 6))})` : '';
  const even = evenly(annotations, container);
  const many = one ? all.filter(({ distinct }) => distinct === 'many') : [];
  const owners = listed(single.flatMap(({ type }) => (type === undefined ? [] : [type])));
  const others = many.filter(
    ({ type }) => type !== undefined && owners !== '' && !single.some((own) => same(own.type, type)),
  );
  const whose = others.length > 0 ? `all ${owners} documents` : 'all documents';
  const claims = [
    ...(even.length > 0
      ? [`It isn’t the even distribution that ${linesOf(even)} ${even.length === 1 ? 'names' : 'name'}`]
      : []),
    ...(many.length > 0 && others.length === 0
      ? [`${capital(linesOf(many))} ${many.length === 1 ? 'counts' : 'count'} on many values`]
      : []),
  ];
  for (const found of together(
    places,
    `${container}: the key ${valueOf(few, key)} has ${one ? `one value for ${whose}` : `few values${values}`} (${linesOf(places)}). ${LIMITS}, so ${one ? `they are bound to these together` : 'each of them takes a large share of data and load'}, and more throughput doesn’t help${claims.map((claim) => `. ${claim}`).join('')}`,
    [...(others.length === 0 ? many : []), ...even].map(({ at }) => at),
  ))
    yield {
      ...found,
      hint: one
        ? `Take a value for ${key} that differs from user to user or from document to document.`
        : wider(annotations, container, key),
    };
}

const ANSWERED =
  /\b(?:suffix\w*|salt\w*|buckets?|sub-?partition\w*|hierarchical|headroom)\b|\b(?:split|shard)(?:s|ded|ting)?\b[^.|]{0,40}\b(?:by|into|over|across)\b|\b(?:into|over|across) (?:\w+ ){0,2}shards\b/i;

const UNANSWERED = /\b(?:no|not|never|without|nor)\b[^.|]{0,20}\b(?:suffix|salt|bucket|split|shard)/i;
/** A size of the value, and not of one document. */
const LARGEST = /\b(?:largest|biggest|most|at most|up to|maximum|worst)\b|\bof 20 GB\b/i;

/** The text gives a figure for the largest value, and it is below the limits of one value; or it says what is done. */
function isWithinLimits({ lines }: Annotations, { at }: KeyValue): boolean {
  // Of "5 % of 20,000 RU/s = 1,000 RU/s" the share is the value's.
  const text = (lines[at.line - 1] ?? '').replaceAll(/%\s+of\s+[\d,.]+(?:\s*RUs?\/s)?/g, '%');
  if (ANSWERED.test(text) && !UNANSWERED.test(text)) return true;
  const figures = [...text.matchAll(/(\d[\d,]*(?:\.\d+)?)\s*(RUs?\/s|[MGT]i?B)\b/g)].map(
    ([, digits = '', unit = '']) => ({
      isRu: unit.startsWith('RU'),
      value: Number(digits.replaceAll(',', '')) * ({ M: 1e-3, T: 1e3 }[unit[0] ?? ''] ?? 1),
    }),
  );
  const most = ({ isRu }: (typeof figures)[number]): number => (isRu ? 10_000 : 20);
  // The limit itself may stand beside the figure.
  return (
    figures.some((one) => one.value < most(one) && (one.isRu || LARGEST.test(text))) &&
    figures.every((one) => one.value <= most(one))
  );
}

function* unevenValues(annotations: Annotations, container: string, key: string): Iterable<Found> {
  const all = valuesOf(annotations, container);
  const even = evenly(annotations, container);
  const claim = even.length > 0 ? `, although ${linesOf(even)} ${even.length === 1 ? 'calls' : 'call'} it even` : '';
  const skewed = all.filter((one) => one.skewed === true && !isWithinLimits(annotations, one));
  // Where each value has one document, all writes of a hot value rewrite that document.
  const single = typesIn(annotations, container).some(({ type }) => {
    const { from } = idOf(annotations, type);
    return from?.length === 1 && from.every((path) => alike(path, key));
  });
  for (const found of together(
    skewed,
    single
      ? `${container}: some values of ${valueOf(skewed, key)} are written much more than others${claim}, and each has one document. All writes of such a value rewrite this document in one logical partition, which gives 10,000 RU/s, and they wait for or overwrite one another`
      : `${container}: some values of ${valueOf(skewed, key)} have much more than others${claim}. ${LIMITS}: the largest of them is throttled while the others are idle, and at 20 GB its writes are refused`,
    even.map(({ at }) => at),
  ))
    yield {
      ...found,
      hint: single
        ? `Split the document of a hot ${key} into several with a suffix, write one of them at random, and put them together at the read or by the change feed.`
        : wider(annotations, container, key),
    };
  yield* byTimeValues(annotations, container, key);
}

function* byTimeValues(annotations: Annotations, container: string, key: string): Iterable<Found> {
  const all = valuesOf(annotations, container);
  const even = evenly(annotations, container);
  const claim = even.length > 0 ? `, although ${linesOf(even)} ${even.length === 1 ? 'calls' : 'call'} it even` : '';
  const byTime = all.filter((one) => one.byTime === true);
  const otherwise = all.filter(({ byTime: time, from = [] }) => time !== true && from.length > 0 && byTime.length > 0);
  const other =
    otherwise.length === 0
      ? ''
      : `. But ${linesOf(otherwise)} ${otherwise.length === 1 ? 'makes' : 'make'} it of ${(otherwise[0]?.from ?? []).join(' and ')}`;
  yield* hinted(
    together(
      byTime,
      `${container}: the key ${valueOf(byTime, key)} is the current time, so all writes of that time go to one logical partition, which gives 10,000 RU/s, and the other partitions are idle${claim}${other}`,
      [...otherwise, ...even].map(({ at }) => at),
    ),
    `Put something before the time that spreads the writes: the owner, the source, or a suffix by hash.`,
  );
}

/** Where places state different keys, one of them may be a time. */
function* timeAmongKeys(annotations: Annotations): Iterable<Found> {
  for (const container of annotations.containers) {
    if (annotations.keyOf(container) !== undefined || isSettled(annotations, container)) continue;
    const keys = annotations.keysOf(container).flatMap(({ key }) => (key.length === 1 ? key.map(fieldOf) : []));
    const [from] = keyValues(annotations, container)
      .filter(({ byTime }) => byTime === true)
      .flatMap((one) => one.from ?? []);
    if (from !== undefined && keys.some((key) => alike(key, from))) yield* byTimeValues(annotations, container, from);
  }
}

/** Fields whose values are few, or some of which have most of the documents, by what they mean. */
const UNEVEN =
  /^(?:country|countrycode|region|city|state|category|status|language|locale|currency|brand|department|severity|priority|platform|environment|\w*type)$/;

/** What the key's name says, where the document says nothing of its values. */
function* unevenByName(annotations: Annotations, container: string, key: string): Iterable<Found> {
  const all = keyValues(annotations, container);
  const types = typesIn(annotations, container);
  const answered = all.some(
    ({ distinct, skewed, byTime }) => distinct !== undefined || skewed === true || byTime === true,
  );
  const lists = types.some(({ fields }) => fields.some((field) => alike(field.path, key) && field.lists.length > 0));
  if (answered || lists || !UNEVEN.test(plain(key)) || isReference(annotations, container)) return;
  const stated = annotations.keysOf(container);
  for (const found of together(
    stated,
    `${container} is keyed by ${key}, and all ${listed(types.map(({ type }) => type))} documents of one ${key} are one logical partition. Values of such a field are few, and some have most of the documents: the largest is bound to 20 GB and 10,000 RU/s while the others are idle, and a correction of ${key} is a delete and a create`,
    all.map(({ at }) => at),
  ))
    yield { ...found, hint: wider(annotations, container, key) };
}

/** Fields for an owner whose documents are many. */
const COARSE =
  /(?:tenant|org|organi[sz]ation|company|team|project|domain|workspace|account|household|cluster|site|region|store|channel|room|group|school|factory|device|city|country|category)(?:id|key|name|segment)?$/;
const ACCUMULATES = new Set(['event', 'log', 'audit', 'message', 'telemetry', 'result', 'job']);

interface Endless {
  readonly container: string;
  readonly parts: readonly string[];
  readonly types: readonly { readonly type: string; readonly at: Place }[];
  readonly even: readonly { readonly at: Place }[];
}

/**
 * Documents of an owner that are kept for ever under one value, or are said to be spread evenly. Where the text says nothing
 * of how long they stay, a rule on retention asks.
 */
function endless(annotations: Annotations, container: string, key: string): Endless | undefined {
  const own = keyValues(annotations, container);
  if (own.some(({ byTime, distinct }) => byTime === true || distinct === 'one' || distinct === 'few')) return undefined;
  const made = own.flatMap(({ from = [] }) => (from.length > 0 ? [from] : []));
  const parts = (made.length > 0 ? made : [[key]]).find((all) => all.every((part) => COARSE.test(plain(part))));
  if (!parts) return undefined;
  const even = evenly(annotations, container);
  const all = typesIn(annotations, container);
  const kept = all.filter(
    ({ type, purposes }) =>
      [...purposes].some((purpose) => ACCUMULATES.has(purpose)) &&
      annotations
        .of('retention')
        .some(
          (one) =>
            one.forever === true &&
            (same(one.type, type) || (one.type === undefined && same(one.container, container))),
        ),
  );
  const types = kept.length > 0 ? kept : even.length > 0 ? all : [];
  return types.length === 0 ? undefined : { container, parts, types, even };
}

function* endlessOnes(annotations: Annotations, all: readonly Endless[]): Iterable<Found> {
  const even = all.flatMap((one) => one.even);
  yield* hinted(
    together(
      all.flatMap(({ types }) => types),
      `${all.map(({ container, parts, types }) => `${container}: all ${listed(types.map(({ type }) => type))} documents of one ${parts.join(':')} have one key value`).join('; ')}. That is one logical partition: at 20 GB it takes no more writes, and it gives 10,000 RU/s at most, whatever the container has${even.length > 0 ? `. It isn’t the even distribution that ${linesOf(even)} ${even.length === 1 ? 'names' : 'name'}` : ', and they are kept for ever'}`,
      all.flatMap(({ container, even: claims }) => [
        ...claims.map(({ at }) => at),
        ...annotations.keysOf(container).map(({ at }) => at),
        ...keyValues(annotations, container).map(({ at }) => at),
      ]),
    ),
    `Use a hierarchical key (${all[0]?.parts.map((part) => `/${part}`).join(', ') ?? ''}, then /id or a month) for ${listed(all.map(({ container }) => container))}.`,
  );
}

/** Containers with one key, and its path as a field. */
export const keyed = (annotations: Annotations): { container: string; key: string }[] =>
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
    why: 'A key value is a logical partition: 20 GB, 10,000 RU/s, on one physical partition (ASM-E121). With one or few values, with some that are much larger, or with the current day as the value, the container doesn’t scale, whatever throughput it has. Events of a tenant or a project that are kept for ever under one value reach 20 GB. The rule takes what annotations say of the values, and closed lists of the key’s field. Reference data with one or few values are silent, and so are a year or a season of what isn’t written all the time, a state document of each value, and a large value whose load or size the text gives below the limits, or for which it names a suffix or a split.',
    hint: 'Add a part to the key: the id of the owner, a time bucket or a suffix by hash. Or use a hierarchical key.',
    instead: ['B23', 'B27', 'C2', 'C3', 'C7'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      const stated = keyed(annotations);
      if (stated.length === 0) yield missing('a partition key in an annotation');
      const all = stated.filter(({ container }) => !isSettled(annotations, container));
      for (const { container, key } of all) {
        yield* fewValues(annotations, container, key);
        yield* unevenValues(annotations, container, key);
        yield* unevenByName(annotations, container, key);
      }
      yield* timeAmongKeys(annotations);
      yield* endlessOnes(
        annotations,
        all.flatMap(({ container, key }) => endless(annotations, container, key) ?? []),
      );
    },
  },
];
