// J20: values that the document expects once, and that no key, id or document of their own keeps so.
import { type Annotation, type Annotations, fieldOf, same, sameField } from '../annotations/annotations.ts';
import {
  accessesOf,
  covers as coversExactly,
  hasPurpose,
  listed,
  named,
  outerOf,
  typeOf,
  isSerialized,
} from '../annotations/merged.ts';
import { isExisting } from '../annotations/scale.ts';
import type { Facts } from './facts.ts';
import { type Expected, type Made, type Open, covers, hintOf, sameFields } from './j-unique-remedies.ts';
import { isCountedUp, isPosition } from './j-writers.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, together } from './rule.ts';

/** "Differs from the last one" and "one a minute" are compared when they happen; the value may come again later. */
const isOnce = ({ words }: Annotation<'unique'>): boolean =>
  !/\b(?:last|previous) (?:one|match|value|hash|known|sent|seen)|\b(?:once|one|\d+) (?:per|every|each|an?) (?:\d+ )?(?:minute|min|hour)/i.test(
    words,
  );

/** What is expected once, each once: many places say it. */
function expectedIn(annotations: Annotations): Expected[] {
  const all: Annotation<'unique'>[][] = [];
  for (const one of annotations.of('unique')) {
    if (!isOnce(one)) continue;
    const group = all.find(([first]) => first && same(first.type, one.type) && sameFields(first.fields, one.fields));
    if (group) group.push(one);
    else all.push([one]);
  }
  return all.flatMap((places): Expected[] => {
    const [first] = places;
    return first
      ? [
          {
            type: first.type,
            fields: first.fields.map(fieldOf),
            within: [...new Set(places.flatMap(({ within = [] }) => within.map(fieldOf)))],
            by: new Set(places.flatMap(({ by }) => by ?? [])),
            places,
          },
        ]
      : [];
  });
}

/** Somebody else sees to it before the value comes here. */
const KEPT_ELSEWHERE =
  /\b(?:team|staff|editor|operator|office|authority|publisher)s?['’]s? care\b|\bunique (?:in|at|by) (?:the |its |their )?(?:source|upstream|legacy|\w+ (?:team|authority|registry|office))\b|\b(?:assigned|issued|guaranteed|ensured|curated|kept unique) by (?:the |an? |our |another )?(?:[\w-]+ )?(?:team|staff|authority|registry|office|publisher|source system|vendor|supplier|manufacturer|ERP)\b/i;

const isKeptElsewhere = (annotations: Annotations, { places }: Expected): boolean =>
  places.some(({ at }) => KEPT_ELSEWHERE.test(annotations.lines[at.line - 1] ?? ''));

/** A document that something keeps as a copy of another has the values of its source, of which it is asked. */
const isOfCopy = (annotations: Annotations, { type, fields }: Expected): boolean =>
  annotations
    .of('derived')
    .some(
      (one) =>
        same(one.type, type) &&
        one.field === undefined &&
        one.keptBy !== undefined &&
        one.of !== undefined &&
        !same(one.of, type) &&
        ['copy', 'view', 'replica', 'cache', 'search-index'].includes(one.form) &&
        coversExactly(typeOf(annotations, one.of)?.fields.map(({ path }) => path) ?? [], fields),
    );

/** The id of a document that is created anew with this one: another request has another. */
const isCreatedWith = (annotations: Annotations, { type, fields: [field = '', second] }: Expected): boolean => {
  const of = typeOf(annotations, type)?.fields.find(({ path }) => sameField(path, field))?.refersTo;
  const creates = (flow: Annotation<'flow'>, name: string): boolean =>
    flow.steps.some((step) => step.operation === 'create' && same(step.type, name));
  return (
    second === undefined &&
    of !== undefined &&
    annotations.of('flow').some((flow) => creates(flow, type) && creates(flow, of))
  );
};

const PROVIDER = /firebase|auth0|entra|azure ad\b|cognito|okta|clerk|identity provider/i;

/** An e-mail of accounts that an identity provider keeps, where its uid is the id and nothing looks up by the e-mail. */
const isOfProvider = (annotations: Annotations, { type, fields: [field = '', second], by }: Expected): boolean =>
  second === undefined &&
  by.size === 0 &&
  /e-?mail|phone/i.test(field) &&
  annotations.of('id').some((one) => same(one.type, type) && PROVIDER.test(`${one.words} ${one.format ?? ''}`)) &&
  !accessesOf(annotations, type).some(({ equals }) => covers(equals, [field]));

const PERSON = /user|account|owner|member|customer|participant|tenant|author|creat|org/i;

/**
 * "Per session" of a survey that also has the id of a module: it tells what it is about, and there is one for each module.
 * A reference that the session has itself tells nothing apart.
 */
function isOnePerMore(annotations: Annotations, { type, fields: [field = '', second], within, by }: Expected): boolean {
  const whole = typeOf(annotations, type);
  const target = whole?.fields.find(({ path }) => sameField(path, field))?.refersTo;
  if (second !== undefined || by.size > 0 || target === undefined) return false;
  const there = typeOf(annotations, target)?.fields.map(({ path }) => path) ?? [];
  return (whole?.fields ?? []).some(
    ({ path }) =>
      /_id$|(?<=[a-z])Id$/.test(path) &&
      !PERSON.test(path) &&
      !path.includes('.') &&
      !path.includes('[') &&
      there.length > 0 &&
      !covers([field, ...within, ...there], [path]) &&
      !isIdentifier(annotations, { type, fields: [path], within, by, places: [] }),
  );
}

/** "Daily" says how often something comes, and not that a second one is refused. */
const isRhythm = (annotations: Annotations, { type, fields: [field = '', second], by }: Expected): boolean =>
  second === undefined &&
  by.size === 0 &&
  /date|day|week|month/i.test(field) &&
  annotations
    .of('unique')
    .filter((one) => same(one.type, type) && covers([field], one.fields))
    .every(
      ({ words }) =>
        /\b(?:daily|weekly|monthly)\b/i.test(words) && !/\b(?:one|once|only|unique|each|per)\b/i.test(words),
    );

/** `team_slug` is made of `team_name`. */
const stemOf = (field: string): string => field.replace(/(?<=\w)_?(?:slug|name|normali[sz]ed|hash|key)$/i, '');
const stems = (fields: readonly string[]): string[] => fields.map(stemOf);

/** Values by chance don't meet: a UUID needs nothing that keeps it. */
const BY_CHANCE = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$|^[0-9A-HJKMNP-TV-Z]{26}$/i;

/** Ids that a program makes anew each time. */
const RUN = /^(?:session|correlation|request|trace|conversation|chat|run|thread|operation)_?id$/i;

/** A token is made by chance, and so is what the text calls random. */
function isByChance(annotations: Annotations, type: string, field: string): boolean {
  const known = typeOf(annotations, type)?.fields.find(({ path }) => sameField(path, field));
  return (
    known?.random === true || /(?:^|[._])(?:token|nonce|uuid|guid)$|(?:Token|Nonce|Uuid|Guid|UUID|GUID)$/.test(field)
  );
}

/** The value is the document's own identifier (`jobId` of a job), a place in a list, or one by chance. */
function isIdentifier(annotations: Annotations, { type, fields }: Expected): boolean {
  const [field = '', second] = fields;
  if (second !== undefined) return false;
  if (isPosition(field)) return true;
  const refers = typeOf(annotations, type)?.fields.find(({ path }) => path === field)?.refersTo;
  if (refers === undefined && RUN.test(field)) return true;
  const name = field.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const whose = type.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  if (name.endsWith('id') && name.length > 3 && whose.includes(name.slice(0, -2))) return true;
  if (annotations.of('fact').some((fact) => fact.of.includes(field) && /uu?id|ulid|random/i.test(String(fact.value))))
    return true;
  const values = typeOf(annotations, type)?.examples.map((example) => example[field]) ?? [];
  return values.length > 0 && values.every((value) => typeof value === 'string' && BY_CHANCE.test(value));
}

/** Whether all documents with the same `given` have one value of the container's key. Undefined: no key is stated. */
function keyFollows(annotations: Annotations, container: string | undefined, given: readonly string[], id: Made) {
  const key = annotations.keyOf(container);
  if (!key || container === undefined) return undefined;
  return key.every((path) => {
    const field = fieldOf(path);
    if (covers(given, [field])) return true;
    if (field === 'id') return id.from !== undefined && covers(given, id.from);
    const values = annotations.of('keyValue').filter((one) => same(one.container, container));
    if (key.length === 1 && values.length > 0 && values.every(({ distinct }) => distinct === 'one')) return true;
    const from = values.find((one) => one.from && one.from.length > 0)?.from;
    return from !== undefined && !from.some((one) => sameField(one, field)) && covers(given, from);
  });
}

/** How the id of a type is made: as a place says it, or as every example has it. */
function madeOf(annotations: Annotations, { type, fields, within }: Expected): Made {
  const ids = annotations.of('id').filter((one) => same(one.type, type));
  const formulas = ids.filter(({ from }) => from !== undefined && from.length > 0);
  // Places may give different formulas: the one that suits counts.
  const stated =
    formulas.find(({ from = [] }) => covers([...fields, ...within], from)) ??
    formulas.find(({ from = [] }) => covers(from, fields)) ??
    formulas[0];
  if (stated) return { from: stated.from, random: false, at: stated.at };
  const constant = ids.find((one) => one.constant);
  if (constant) return { from: [], random: false, at: constant.at };
  const random = ids.find((one) => one.random);
  if (random) return { from: undefined, random: true, at: random.at };
  const examples = typeOf(annotations, type)?.examples ?? [];
  const has = (field: string): boolean =>
    examples.length > 0 &&
    examples.every(({ id, ...example }) => {
      const value = example[field];
      return typeof value === 'string' && value.length > 1 && String(id).includes(value);
    });
  return fields.every((field) => field === 'id' || has(field))
    ? { from: [...fields, ...within.filter(has)], random: false, at: undefined }
    : { from: undefined, random: false, at: undefined };
}

/** The fields that the container's key is made of. */
function keyFields(annotations: Annotations, container: string | undefined): string[] {
  const values = annotations.of('keyValue').filter((one) => same(one.container, container));
  return [...(annotations.keyOf(container) ?? []).map(fieldOf), ...values.flatMap(({ from = [] }) => from)];
}

/** `gameId` of a completion, where there are games. */
function isIdOfAnother(annotations: Annotations, type: string, field: string): boolean {
  const [, stem] = /^(\w{3,}?)_?Id$/i.exec(field) ?? [];
  return (
    stem !== undefined &&
    annotations.types.some((other) => !same(other, type) && other.toLowerCase().endsWith(stem.toLowerCase()))
  );
}

/**
 * Whether the value is expected once in all of the container: a place calls it unique by a unique key and names no scope,
 * or a read looks it up without the key. Ids of other documents are unique where these documents are.
 */
function isGlobal(annotations: Annotations, { type, fields, within, by }: Expected): boolean {
  const looked = annotations
    .of('access')
    .some((one) => same(one.type, type) && one.unknownKey === true && covers(one.equals, fields));
  const refers = typeOf(annotations, type)?.fields.filter(({ refersTo }) => refersTo !== undefined) ?? [];
  const ofOthers = fields.every(
    (field) => refers.some(({ path }) => sameField(path, field)) || isIdOfAnother(annotations, type, field),
  );
  return !ofOthers && (looked || within.length > 0 || by.has('unique-key'));
}

/**
 * An upsert finds the document of before by an id that must be made of these fields, also where the text leaves it out. And
 * a cache with two documents of one value does no harm.
 */
function isUpserted(annotations: Annotations, { type, fields }: Expected, id: Made): boolean {
  const whole = typeOf(annotations, type);
  const accesses = accessesOf(annotations, type);
  const upserted = accesses.some(({ operation }) => operation === 'upsert');
  const created = accesses.some(({ operation }) => operation === 'create');
  // A read that searches for the value shows that the id is another.
  const searched = accesses.some(
    (one) => one.unknownKey === true && covers([...one.equals, ...(one.searches ?? [])], fields),
  );
  return hasPurpose(whole, 'cache') || (upserted && !created && !id.random && !searched);
}

/** Parts of the id that tell documents of one value apart. A kind or the container's own name is the same in all of them. */
function furtherOf(annotations: Annotations, { fields, within }: Expected, id: Made, container?: string): string[] {
  const discriminators = annotations.of('type').flatMap(({ discriminator }) => discriminator?.path ?? []);
  const given = [...fields, ...within, ...keyFields(annotations, container), ...discriminators];
  return (id.from ?? []).filter(
    (one) =>
      !covers(given, [one]) &&
      !/^(?:container|collection|type|kind|prefix|discriminator|schema|(?:entity|doc|document)_?type)$/i.test(one),
  );
}

/** Documents that this text designs, with these fields. What is only sent, or compared with one value, has no such field. */
function isStored(annotations: Annotations, { type, fields }: Expected): boolean {
  const whole = typeOf(annotations, type);
  if (outerOf(annotations, type) || isExisting(annotations, { type })) return false;
  if (!whole)
    return (
      annotations.containerOf({ type }) !== undefined ||
      [...annotations.of('id'), ...annotations.of('access')].some((one) => same(one.type, type))
    );
  const complete = annotations.of('type').some((one) => one.complete === true && same(one.type, type));
  const key = keyFields(annotations, whole.container);
  const used = annotations
    .of('access')
    .flatMap(({ equals, sets = [], ranges = [], searches = [] }) => [...equals, ...sets, ...ranges, ...searches]);
  const paths = [...whole.fields.map(({ path }) => path), ...key, ...used, ...whole.examples.flatMap(Object.keys)];
  return !complete || fields.some((field) => covers(paths, [field]) || covers(paths, [field.split('.')[0] ?? field]));
}

/** The fields that a value is made of, as a sentence has it: `idempotencyKey = jobId:chapterId`. */
const partsOf = (annotations: Annotations, { fields: [field = '', second], places }: Expected): string[] => {
  const made = new RegExp(`\\b${field.replaceAll(/\W/g, '')}\\W{0,3}=\\W{0,3}(\\w+(?:[:|_+-]\\w+)+)`);
  return second === undefined
    ? places.flatMap(({ at }) => made.exec(annotations.lines[at.line - 1] ?? '')?.[1]?.split(/\W/) ?? [])
    : [];
};

/** Why nothing keeps the value. Undefined: something does, or the document doesn't say enough. */
function openOf(annotations: Annotations, expected: Expected): Open | undefined {
  const { by, type, fields, within } = expected;
  if (by.has('reservation') || isSerialized(annotations, type) || !isStored(annotations, expected)) return undefined;
  if (
    [isKeptElsewhere, isOfCopy, isCreatedWith, isOfProvider, isOnePerMore, isRhythm].some((is) =>
      is(annotations, expected),
    )
  )
    return undefined;
  if (fields.some((field) => isByChance(annotations, type, field))) return undefined;
  const container = annotations.containerOf({ type });
  const key = annotations.keyOf(container);
  const given = [...fields, ...within, ...partsOf(annotations, expected)];
  const id = madeOf(annotations, expected);
  const follows = keyFollows(annotations, container, given, id);
  const open = (cause: Open['cause']): Open => ({
    ...expected,
    cause,
    container,
    key,
    could: follows === true,
    id,
    further,
  });
  const further = furtherOf(annotations, expected, id, container);
  const declared = annotations
    .of('container')
    .filter((one) => same(one.container, container))
    .flatMap(({ uniqueKeys = [] }) => uniqueKeys)
    .some((one) => covers(given, one));
  const byId = id.from !== undefined && (covers(given, id.from) || covers(stems(given), stems(id.from)));
  if (declared || byId || by.has('unique-key'))
    return follows === false && isGlobal(annotations, expected) ? open('partition') : undefined;
  if (by.has('id')) {
    if (id.random) return open('random');
    if (further.length > 0) return open('wider');
    return follows === false && isGlobal(annotations, expected) ? open('partition') : undefined;
  }
  if (id.from !== undefined && covers(id.from, fields)) return undefined;
  if (by.has('check-first')) return open('check-first');
  if (by.has('index')) return open('index');
  if (isIdentifier(annotations, expected) || isUpserted(annotations, expected, id)) return undefined;
  return open('none');
}

const inside = ({ within }: Expected): string => (within.length > 0 ? ` within ${within.join(', ')}` : '');

function whyOf({ cause, container, key = [], id, could, fields, further }: Open): string {
  const where = container === undefined ? 'their container' : container;
  const partitioned = `${where} has the key ${key.join(', ')}`;
  const outside =
    could || key.length === 0 ? '' : `; ${partitioned}, so a unique key there holds only for one value of the key`;
  switch (cause) {
    case 'partition':
      return `${partitioned}, and ids and unique keys hold only inside one value of the key. Under another value the same ${fields.join(', ')} is stored again`;
    case 'random':
      return `the id is said to keep it, but the id is a value by chance, so two requests store two documents`;
    case 'wider':
      return `the id is said to keep it, but the id also has ${listed(further)}, so documents that differ there are stored beside one another`;
    case 'check-first':
      return `a query before the write is no guard: two requests at the same time both find nothing, and both write${outside}`;
    case 'index':
      return `an index doesn’t refuse a second document with the same value${outside}`;
    case 'none':
      break;
  }
  if (id.random)
    return `the id is a value by chance and no unique key is named, so two requests at the same time, or a retry, store it twice${outside}`;
  return `neither the id nor a unique key is made of it, so two requests at the same time, or a retry, store it twice${outside}`;
}

/** Each cause once, with its fields where there are several. */
function whysOf(group: readonly Open[]): string {
  const causes = [...Map.groupBy(group, (one) => `${one.cause} ${one.could}`).values()];
  return causes
    .flatMap((all) => {
      const [first] = all;
      const whose = causes.length === 1 ? '' : `of ${listed(all.map(({ fields }) => fields.join(', ')))}, `;
      return first ? [`${whose}${whyOf(first)}`] : [];
    })
    .join('; ');
}

function* findingsOf(facts: Facts): Iterable<Found> {
  const { annotations } = facts;
  if (!annotations) return;
  const open = expectedIn(annotations)
    .filter(
      ({ type, fields }) =>
        !fields.every((field) => field === 'id') &&
        !fields.some((field) => field.includes('[')) &&
        !(fields.length === 1 && isCountedUp(annotations, type, fields[0] ?? '')),
    )
    .flatMap((one) => openOf(annotations, one) ?? []);
  // Fields of one type are one finding: e-mail and user name of a user.
  for (const group of Map.groupBy(open, ({ type }) => type).values()) {
    const [first] = group;
    if (!first) continue;
    const what = listed(group.map((one) => `${named(one.type, one.fields)}${inside(one)}`));
    const keys = annotations.of('container').filter((one) => one.key && same(one.container, first.container));
    yield* hinted(
      together(
        group.flatMap(({ places }) => places),
        `Nothing keeps ${what} unique: ${whysOf(group)}`,
        [...group.flatMap(({ id }) => id.at ?? []), ...keys.slice(0, 1).map(({ at }) => at)],
      ),
      hintOf(annotations, group),
    );
  }
}

export const UNIQUE_VALUES: readonly Rule[] = [
  {
    id: 'J20',
    title: 'What the document expects once is kept by an id, a unique key or a document of its own',
    severity: 'warning',
    source: SOURCES.microsoft('Unique key constraints in Azure Cosmos DB'),
    why: 'An id and a unique key are unique inside one logical partition (ASM-E135). If the fields don’t decide the value of the container’s key, the same e-mail can be stored in two partitions. An index refuses nothing. A query before the write doesn’t help either: two requests at the same time both find nothing. The rule takes what the annotations call unique, and looks for an id made of these fields, a unique key, or a document that reserves the value. Values by chance, a document’s own identifier, elements of a list and writes that replace one document of the partition each time need nothing. Nor does an e-mail that an identity provider keeps, if nothing is looked up by it.',
    hint: 'Make the id from the value, or keep a document of its own for it.',
    instead: ['C12', 'C17', 'C23', 'C29', 'C33', 'C34'],
    needs: [ANNOTATIONS],
    *check(facts) {
      if (facts.annotations?.of('unique').length === 0) {
        yield missing('a value that exists once');
        return;
      }
      yield* findingsOf(facts);
    },
  },
];
