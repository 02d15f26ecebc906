// J11: when a document gets its partition key's value, and whether it keeps it.
import { type Annotations, same } from '../annotations/annotations.ts';
import { idOf, keyValues } from '../annotations/known.ts';
import { accessesTo, alike, linesOf, plain, typesIn } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { isExisting } from '../annotations/scale.ts';
import { keyed } from './j-key-values.ts';
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

const OLD =
  /\b(?:legacy|pre-?migration|old (?:docs|documents|records|data)|before the migration|backfill\w*|not yet migrated)\b/i;

/** The line speaks of documents from before the key. */
const isOld = ({ lines }: Annotations, { at }: { readonly at: { readonly line: number } }): boolean =>
  OLD.test(lines[at.line - 1] ?? '');

/** What lives shorter is gone before anybody changes such a value. */
const SHORT = 7 * 86_400;

/** Every type of the container, or the container itself, lives for a short time only. */
function isShortLived(annotations: Annotations, container: string): boolean {
  const own = annotations.of('container').filter((one) => same(one.container, container));
  const isShort = (seconds: number | undefined): boolean => seconds !== undefined && seconds < SHORT;
  if (own.some(({ ttl }) => typeof ttl === 'number' && ttl < SHORT)) return true;
  const kept = annotations.of('retention');
  if (kept.some((one) => one.type === undefined && same(one.container, container) && isShort(one.seconds))) return true;
  const types = typesIn(annotations, container);
  return (
    types.length > 0 &&
    types.every(
      ({ type, purposes }) => purposes.has('token') || kept.some((one) => same(one.type, type) && isShort(one.seconds)),
    )
  );
}

function* unfixed(annotations: Annotations, container: string, key: string): Iterable<Found> {
  const types = typesIn(annotations, container);
  // Old documents without a value are a task for a repair; new ones have it.
  const later = annotations
    .of('keyValue')
    .filter((one) => same(one.container, container) && one.required === false && !isOld(annotations, one));
  const hasOld = annotations.of('keyValue').some((one) => same(one.container, container) && isOld(annotations, one));
  const optional = (hasOld ? [] : types).flatMap(({ fields }) =>
    fields
      .filter(({ path }) => alike(path, key))
      .flatMap(({ declared }) => declared.filter((one) => one.optional === true && !isOld(annotations, one))),
  );
  const names = listed(later.flatMap(({ type }) => (type === undefined ? [] : [type])));
  yield* together(
    [...later, ...optional],
    `${container} is keyed by ${key}, and ${names === '' ? 'some documents' : names} may be created without it or get it later (${linesOf([...later, ...optional])}). A key value can’t be changed afterwards: the document must be deleted and created again under another key, which isn’t one transaction, and until then reads by ${key} don’t find it`,
    annotations.keysOf(container).map(({ at }) => at),
  );
  const writes = accessesTo(annotations, container).filter(({ operation }) =>
    ['replace', 'patch', 'update'].includes(operation),
  );
  const named = (all: typeof writes): string =>
    `${listed(all.map(({ name }) => `"${quoted(name)}"`))} ${all.length === 1 ? 'changes' : 'change'}`;
  const moving = writes.filter(({ sets = [] }) => sets.some((path) => alike(path, key)));
  yield* together(
    moving,
    `${named(moving)} ${key}, by which ${container} is keyed. The service refuses that: it takes a create under the new value and a delete under the old one, which are two partitions and no transaction, and who refers to the document by the old value doesn’t find it`,
    annotations.keysOf(container).map(({ at }) => at),
  );
  for (const { type } of types) {
    const { from = [], places } = idOf(annotations, type);
    const made = from.filter((path) => plain(path) !== 'id' && !alike(path, key));
    const renaming = writes.filter(
      (one) => same(one.type, type) && (one.sets ?? []).some((path) => made.some((part) => alike(part, path))),
    );
    for (const found of together(
      renaming,
      `${named(renaming)} ${listed(made)}, of which the id of ${type} is made (${linesOf(places.filter((one) => one.from !== undefined))}). The id stays what it was: who computes it from the new value doesn’t find the document, and a new one with the old value is refused or overwrites it`,
      places.map(({ at }) => at),
    ))
      yield {
        ...found,
        severity: 'warning',
        hint: `Make the id of ${type} of values that never change, and keep a document of its own for each ${listed(made)}.`,
      };
  }
}

const REACHED = /(?:e?mail(?:address)?|phone(?:number)?|msisdn)$/;
/** What a person or a thing is called by, and may be called otherwise tomorrow. */
const CALLED =
  /(?:e?mail(?:address)?|phone(?:number)?|msisdn|(?:^|team|company|display|group|project|store|shop|product|customer|organization)name|title)$/;

/** Keys of values that people change, where the text doesn't say that they stay. */
function* renamable(annotations: Annotations): Iterable<Found> {
  const all = keyed(annotations).flatMap(({ container, key }) => {
    const values = keyValues(annotations, container);
    const made = values.flatMap(({ from = [] }) => from);
    const parts = [
      ...[key].filter((part) => CALLED.test(plain(part))),
      ...made.filter((part) => REACHED.test(plain(part))),
    ];
    const fixed = values.some(({ words }) => /immutable|never change|stable|unver[aä]nderlich/i.test(words));
    return parts.length === 0 || fixed || isExisting(annotations, { container }) || isShortLived(annotations, container)
      ? []
      : [{ container, key, part: parts[0] ?? key, places: annotations.keysOf(container) }];
  });
  for (const found of together(
    all.flatMap(({ places }) => places),
    `${all.map(({ container, key, part }) => `${container} is keyed by ${key}${alike(key, part) ? '' : `, which is made of ${part}`}`).join('; ')}. People change such a value, and a document’s key can’t be changed: with the new one they lose what they had, or every document is created again under it and deleted under the old one, in no transaction`,
  ))
    yield {
      ...found,
      severity: 'warning',
      hint: `Key ${listed(all.map(({ container }) => container))} by an id that never changes, and keep a small document that leads from ${listed(all.map(({ part }) => part))} to it.`,
    };
}

const FIXED = /\bimmutable\b|\b(?:must not|may not|can(?:no|['’])t|never) (?:be )?chang\w+|\bread-?only\b/i;

/** The text lists fields that an update may not change, and the key isn't among them. */
function* notListed(annotations: Annotations, container: string, key: string): Iterable<Found> {
  const types = typesIn(annotations, container);
  const fields = types.flatMap((type) => type.fields.map(({ path }) => path)).filter((path) => /^\w+$/.test(path));
  const has = (text: string, path: string): boolean => new RegExp(String.raw`(?<!\w)${path}(?!\w)`).test(text);
  const fixed = annotations
    .of('fact')
    .filter(({ property, value, words }) => FIXED.test(`${property} ${String(value)} ${words}`))
    .flatMap(({ of, at }) => fields.filter((path) => has(of, path)).map((path) => ({ path, at })));
  const names = [...new Set(fixed.map(({ path }) => path))];
  const writes = accessesTo(annotations, container).filter(
    ({ operation, sets = [] }) => ['replace', 'update', 'upsert'].includes(operation) && sets.length === 0,
  );
  if (plain(key) === 'id' || !fields.includes(key) || names.length < 2 || names.some((path) => alike(path, key)))
    return;
  if (annotations.lines.some((text) => FIXED.test(text) && has(text, key))) return;
  yield* hinted(
    together(
      writes,
      `${listed(names.slice(0, 4))} may not change (${linesOf(fixed)}), and ${key}, by which ${container} is keyed, isn’t among them. ${listed(writes.map(({ name }) => `"${quoted(name)}"`))} with another ${key} is refused by the service, or writes a second document into another partition while the first stays`,
      [...fixed, ...annotations.keysOf(container)].map(({ at }) => at),
    ),
    `Add ${key} to the fields that may not change, and refuse a request that has another value.`,
    'warning',
  );
}

export const KEY_CHANGES: readonly Rule[] = [
  {
    id: 'J11',
    title: 'A document has its partition key’s value when it is created, and keeps it',
    severity: 'error',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'The value of a document’s partition key can’t be changed (ASM-E167). A user who registers before he has a team can’t be stored by team, and moving him is a delete and a create in two partitions. The rule takes keys of which an annotation says that some documents lack them or get them later, optional fields, keys of e-mail addresses, phone numbers and names, and writes that set the key’s field or a field of which the id is made. It also asks for the key where the text lists fields that an update may not change.',
    hint: 'Key the container by a value that the document has from its creation for ever, and keep the other as a field.',
    instead: ['C30'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      const all = keyed(annotations);
      if (all.length === 0) yield missing('a partition key in an annotation');
      for (const { container, key } of all)
        if (!isExisting(annotations, { container })) {
          yield* unfixed(annotations, container, key);
          yield* notListed(annotations, container, key);
        }
      yield* renamable(annotations);
    },
  },
];
