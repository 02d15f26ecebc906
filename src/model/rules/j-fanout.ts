// J5 and J6: reads that don't have the partition key's value, or the id, and what the document says of them.
import { type Annotation, type Annotations, fieldOf, same } from '../annotations/annotations.ts';
import { idOf, isCallers, keyGiven, keyValues, knownOf } from '../annotations/known.ts';
import { accessesTo, alike, plain, typesIn } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { isAccepted, isMaintenance, isSmall } from '../annotations/scale.ts';
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

type Access = Annotation<'access'>;

const READS = new Set(['point-read', 'query']);
/** Such a write must find its document first. */
const FINDING = new Set(['replace', 'patch', 'update', 'delete']);
const CLAIMS = new Set(['point read', 'one partition', 'efficient']);

const claimOf = ({ says = [] }: Access): string | undefined => says.find((one) => CLAIMS.has(one));

const named = (accesses: readonly Access[]): string =>
  listed(
    accesses.map(({ name, equals, often }) => {
      const by = equals.length > 0 ? `by ${equals.join(', ')}` : '';
      const details = [often === 'often' ? 'often' : '', by].filter(Boolean).join(', ');
      return `"${quoted(name)}"${details === '' ? '' : ` (${details})`}`;
    }),
  );

/** Fields by which the reads ask, without the key. */
const askedBy = (accesses: readonly Access[]): string[] => [
  ...new Set(
    accesses.flatMap(({ equals, ranges = [] }) => [...equals, ...ranges]).filter((field) => plain(field) !== 'type'),
  ),
];

/** A field that can be the key of a copy: an owner or a name, no flag, state or time. */
const COPY_KEY =
  /(?:id|ids|email|mail|phone|name|slug|code|number|sku|isbn|tag|tags|category|categories|department|city|repo|url|hash)$/i;

/** What to do for these reads, with their own fields. */
function hintOf(accesses: readonly Access[], key: string, types: string): string {
  const one = accesses.filter(
    ({ returns, operation, equals }) =>
      returns === 'one' || operation !== 'query' || (equals.length > 0 && equals.every((path) => plain(path) === 'id')),
  );
  const many = accesses.filter((access) => !one.includes(access));
  const parts: string[] = [];
  // Who has the id needs the key beside it.
  const single = askedBy(one.filter(({ equals }) => !equals.some((field) => plain(field) === 'id')));
  const what = plain(key) === 'id' ? 'the id of the document' : key;
  if (one.length > 0)
    parts.push(
      single.length === 0
        ? `Carry ${what} ${plain(key) === 'id' ? '' : 'beside the id '}in links, tokens and references`
        : `Keep a small document with the ${listed(single)} as its id and key and ${what} in it, or carry ${what} in the link or the token`,
    );
  const keys = askedBy(many).filter((field) => COPY_KEY.test(field));
  const read = listed(many.flatMap(({ type }) => (type === undefined ? [] : [type]))) || types;
  if (many.length > 0)
    parts.push(
      keys.length > 0
        ? `Keep a copy of ${read} keyed by ${listed(keys)} for the lists, filled by the change feed, or choose a key that these reads have`
        : `Keep in a container of its own, under one or few keys and filled by the change feed, only the ${read} documents and fields that these lists need`,
    );
  return `${parts.join('. ')}.`;
}

interface Crossing {
  readonly container: string;
  readonly key: string;
  readonly types: string;
  readonly sure: readonly Access[];
  /** Reads whose annotation doesn't say whether the caller has the key. */
  readonly unsaid: readonly Access[];
}

/** A check before a write is told by the rule on uniqueness, a search in texts by the rule on searches. */
const isToldElsewhere = (annotations: Annotations, { aim, name, type, equals, searches = [] }: Access): boolean =>
  (searches.length > 0 && equals.length === 0) ||
  ((aim === 'guard' || /\bcheck|\bunique|\bduplicate|\balready\b/i.test(name)) &&
    equals.length > 0 &&
    annotations
      .of('unique')
      .some(
        ({ type: whose, fields, by }) =>
          by !== 'id' &&
          by !== 'unique-key' &&
          same(whose, type) &&
          equals.every((path) => fields.some((one) => alike(one, path))),
      ));

/** Small data that seldom changes is in one physical partition. */
const isReference = (annotations: Annotations, container: string): boolean => {
  const own = annotations.of('container').filter((one) => same(one.container, container));
  const types = typesIn(annotations, container);
  return (
    own.some(({ purpose }) => purpose === 'reference') ||
    (types.length > 0 && types.every(({ purposes }) => purposes.size === 1 && purposes.has('reference')))
  );
};

function crossings(annotations: Annotations): Crossing[] {
  return annotations.containers.flatMap((container): Crossing[] => {
    const key = annotations.keyOf(container);
    if (!key) return [];
    const all = accessesTo(annotations, container).filter(
      (one) =>
        (READS.has(one.operation) || (FINDING.has(one.operation) && one.unknownKey === true)) &&
        !isMaintenance(one) &&
        one.accepted !== true &&
        !isSmall(annotations, { container, type: one.type }) &&
        !isToldElsewhere(annotations, one),
    );
    const levels = all.map((access) => ({ access, level: keyGiven(annotations, access, key) }));
    const small = isReference(annotations, container);
    const sure = levels.flatMap(({ access, level }) =>
      level === 'lacking' &&
      (access.often === 'often' || (access.often === undefined && !small && !isAccepted(annotations, access)))
        ? [access]
        : [],
    );
    const unsaid = levels.flatMap(({ access, level }) =>
      !small &&
      access.often !== 'rarely' &&
      access.equals.length > 0 &&
      READS.has(access.operation) &&
      (level === 'unsaid' || (level === 'lacking' && access.often === undefined && isAccepted(annotations, access)))
        ? [access]
        : [],
    );
    const types = listed(typesIn(annotations, container).map(({ type }) => type)) || container;
    return [{ container, key: key.map(fieldOf).join(' and '), types, sure, unsaid }];
  });
}

/** Two reads by one name at several lines are one. */
const distinct = (all: readonly Access[]): Access[] =>
  [...new Map(all.toReversed().map((one) => [`${one.name} ${one.equals.join(' ')}`, one])).values()].toReversed();

/** A key whose name says nothing of its value. */
const isNameless = (key: string): boolean => /^(?:partition_?key|pk|key)$/i.test(key);

/** The key as a read of it must give it: what a key of no meaning is made of, too. */
function keyText(annotations: Annotations, container: string, key: string): string {
  const format = keyValues(annotations, container).find((one) => one.format?.includes('{'))?.format;
  return isNameless(key) && format !== undefined ? `${key} (${format})` : key;
}

/** Containers of which only whole lists lack one and the same key are said in one finding. */
const alikeOnes = (all: readonly Crossing[]): readonly (readonly Crossing[])[] => [
  ...Map.groupBy(all, ({ container, key, sure, unsaid }) =>
    unsaid.length === 0 && sure.every(({ equals }) => equals.length === 0) ? key : `of ${container}`,
  ).values(),
];

/**
 * The reads of which the document claims more. That one is efficient is only a word: beside other reads without the key it
 * is one more of them.
 */
function claimedOf({ sure, unsaid }: Crossing): readonly Access[] {
  const all = [...sure, ...unsaid];
  const isFact = ({ says = [] }: Access): boolean => says.includes('point read') || says.includes('one partition');
  const plainOnes = sure.some((access) => claimOf(access) === undefined);
  return all.filter((access) => isFact(access) || (claimOf(access) !== undefined && !plainOnes));
}

function* fanOuts(annotations: Annotations): Iterable<Found> {
  const open = crossings(annotations).flatMap((one): Crossing[] => {
    // J6 says it of those of which the document claims more.
    const claimed = new Set(claimedOf(one).map(({ name }) => name));
    const sure = one.sure.filter(({ name }) => !claimed.has(name));
    const unsaid = one.unsaid.filter(({ name }) => !claimed.has(name) && !sure.some((access) => access.name === name));
    return sure.length === 0 ? [] : [{ ...one, sure, unsaid }];
  });
  for (const group of alikeOnes(open)) {
    const container = listed(group.map((one) => one.container));
    const types = listed(group.map((one) => one.types));
    const key = group[0]?.key ?? '';
    const all = group.flatMap(({ sure }) => sure);
    const also = group.flatMap(({ unsaid }) => unsaid);
    const often = distinct(all).filter((access) => access.often === 'often').length;
    const runs =
      often === 0 ? '' : often === distinct(all).length ? ', and this runs often' : ', and some of these run often';
    const rest =
      also.length === 0
        ? ''
        : `; ${named(distinct(also))} ${distinct(also).length === 1 ? 'names' : 'name'} no ${key} either`;
    for (const found of together(
      [...all, ...also],
      `${container} ${group.length === 1 ? 'is' : 'are'} keyed by ${keyText(annotations, group[0]?.container ?? '', key)}, and ${named(distinct(all))} ${distinct(all).length === 1 ? 'doesn’t' : 'don’t'} have it${rest}. Each such request asks every physical partition: its cost and latency grow with the container${runs}`,
    ))
      yield { ...found, hint: hintOf([...all, ...also], key, types) };
  }
}

/** Why a read that is called a point read can't be one. */
function lacksId(annotations: Annotations, access: Access): string | undefined {
  if (access.operation !== 'point-read' && !access.says?.includes('point read')) return undefined;
  const known = knownOf(annotations, access);
  if (known.has('id') || access.equals.length === 0) return undefined;
  const id = idOf(annotations, access.type);
  // A fixed id needs no value, and of a type without a word on its id nobody knows.
  if (id.places.length === 0 || id.places.some(({ constant }) => constant === true)) return undefined;
  const lacking = id.from?.filter((field) => !known.has(plain(field))) ?? [];
  if (lacking.length > 0) return `the id is made of ${listed(id.from ?? [])}, and the caller has no ${listed(lacking)}`;
  if (id.random) return 'the id is random, and the caller doesn’t have it';
  return access.says?.includes('point read') && id.from === undefined
    ? `nothing says how the id of ${access.type ?? 'its documents'} follows from ${listed(access.equals)}`
    : undefined;
}

function* falseClaims(annotations: Annotations): Iterable<Found> {
  for (const crossing of crossings(annotations)) {
    const { container, key, types, unsaid } = crossing;
    const claimed = claimedOf(crossing).filter(
      (access) =>
        !unsaid.includes(access) ||
        ((access.says?.includes('point read') === true || access.says?.includes('one partition') === true) &&
          !isCallers(annotations, key) &&
          // Of what such a key is made, an annotation would say.
          !isNameless(key)),
    );
    const claims = claimed.flatMap((access) => (access.says ?? []).filter((one) => CLAIMS.has(one)));
    const calls =
      distinct(claimed).length === 1 ? ['the caller doesn’t', 'it asks'] : ['the callers don’t', 'each asks'];
    yield* hinted(
      together(
        claimed,
        `${named(distinct(claimed))}: called ${listed(claims)}, but ${container} is keyed by ${key}, which ${calls[0]} have. So ${calls[1]} every physical partition, and its cost and latency grow with the container`,
      ),
      hintOf(claimed, key, types),
      // Efficient is a word; the others are facts that don’t hold.
      claims.every((claim) => claim === 'efficient') ? 'warning' : 'error',
    );
  }
}

export const FAN_OUTS: readonly Rule[] = [
  {
    id: 'J5',
    title: 'Reads have the value of the partition key',
    severity: 'warning',
    source: SOURCES.microsoft('Query an Azure Cosmos DB container'),
    why: 'A query without the key’s value goes to every physical partition. It costs some RU in each, also where it finds nothing (ASM-E152), and it is as slow as the slowest. A container keyed by a user’s id makes each sign-in by e-mail such a query. The rule takes the reads of which an annotation says that the caller has no key value, and queries in full whose filters lack the key. A key that follows from the id or from the fields that it is made of counts as known. A read that runs rarely is silent, and so are a sweep, an export and small reference data.',
    hint: 'Carry the key’s value to the read, or keep a document or a copy that is keyed by what the caller has.',
    instead: ['B10', 'B24', 'C13', 'C14', 'C22', 'C26', 'C28', 'C37', 'D12', 'D19'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('access').length === 0) yield missing('an access in an annotation');
      yield* fanOuts(annotations);
    },
  },
  {
    id: 'J6',
    title: 'A read that is called a point read, or one of one partition, has what it takes',
    severity: 'error',
    source: SOURCES.microsoft('Read items in Azure Cosmos DB for NoSQL'),
    why: 'A point read takes the id and the partition key’s value. With the id alone it is a query over all partitions, and with the key alone it is a query in one. A design that counts on 1 RU and some milliseconds is wrong there. The id counts as known where its fields are.',
    hint: 'Give the caller the id and the key’s value, or call it a query.',
    instead: ['C13', 'C14'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      const all = annotations.of('access');
      if (all.length === 0) yield missing('an access in an annotation');
      yield* falseClaims(annotations);
      const lacking = all.flatMap((access) => {
        const why = lacksId(annotations, access);
        return why === undefined ? [] : [{ access, why }];
      });
      for (const group of Map.groupBy(lacking, ({ why }) => why).values()) {
        const accesses = group.map(({ access }) => access);
        const claimed = accesses.some(({ says = [] }) => says.includes('point read'));
        for (const found of together(
          accesses,
          `${named(distinct(accesses))}: a point read takes the id, and ${group[0]?.why ?? ''}. So it is a query`,
        ))
          yield {
            ...found,
            severity: claimed ? 'error' : 'warning',
            hint: `Make the id of ${accesses[0]?.type ?? 'the documents'} from ${listed(accesses.flatMap(({ equals }) => equals))}, or plan a query and its RU.`,
          };
      }
    },
  },
];
