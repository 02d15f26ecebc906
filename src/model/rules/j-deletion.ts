// J23 and J24: what reads still show of deleted documents, and what their deletion leaves behind.
import { type Annotation, type Annotations, fieldOf, same, sameField } from '../annotations/annotations.ts';
import { RETRACTED } from '../annotations/derived.ts';
import { accessesOf, article, hasPurpose, listed, typesOf } from '../annotations/merged.ts';
import type { Place } from '../model.ts';
import { toldCounts } from './j-counts.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, together } from './rule.ts';

/** A station that is retired may be shown. */
const MARK = /delet|remov|trash|archiv|active|status|state|void|cancel|hidden/i;

/** Deletions of a type by a mark that says so. */
const isMarked = ({ way, field }: Annotation<'deletion'>): boolean =>
  way === 'soft' && field !== undefined && MARK.test(field);

const oneOf = (names: readonly string[], name: string): boolean => names.some((one) => same(one, name));

/** SQL that doesn't name the field which says that a document is deleted. */
function ignores({ sql, query, equals, ranges = [] }: Annotation<'access'>, fields: readonly string[]): boolean {
  if (sql === undefined) return false;
  const filters = [...(query?.filters ?? []), ...equals, ...ranges];
  return !fields.some(
    (field) =>
      filters.some((filter) => sameField(filter, field)) ||
      sql.toLowerCase().includes((field.split('.').at(-1) ?? field).toLowerCase()),
  );
}

/** A check whether a value is taken must see marked documents too: one that is restored has its value again. */
const isGuard = (annotations: Annotations, { type, equals, query }: Annotation<'access'>): boolean =>
  annotations
    .of('unique')
    .some(
      (one) =>
        same(one.type, type) &&
        one.fields.every((field) => [...equals, ...(query?.filters ?? [])].some((given) => sameField(given, field))),
    );

function* stillShown(annotations: Annotations): Iterable<Found> {
  const soft = annotations.of('deletion').filter(isMarked);
  for (const marks of Map.groupBy(soft, ({ type }) => type.toLowerCase()).values()) {
    const [first] = marks;
    if (!first) continue;
    const fields = marks.flatMap(({ field }) => (field === undefined ? [] : [fieldOf(field)]));
    const open = accessesOf(annotations, first.type).filter(
      (access) =>
        access.operation === 'query' &&
        (access.aim === undefined || access.aim === 'show') &&
        !isGuard(annotations, access) &&
        ignores(access, fields),
    );
    const names = [...new Set(open.map(({ name }) => `"${name}"`))];
    yield* hinted(
      together(
        open,
        `${listed(names)} ${names.length === 1 ? 'doesn’t' : 'don’t'} filter by ${listed(fields, 'or')}, which marks deleted documents of ${first.type}; these are still returned`,
        marks.map(({ at }) => at),
      ),
      `Add a condition on ${fields[0]} to ${listed(names)}, or delete ${article(first.type)} for good by a \`ttl\` that is set with the mark.`,
    );
  }
}

interface Deleted {
  readonly type: string;
  readonly hard: boolean;
  /** The types that go with it. */
  readonly also: readonly string[];
  readonly places: readonly { readonly at: Place }[];
}

/** The types that something deletes, with all that is said to go with them. */
function deletedIn(annotations: Annotations): Deleted[] {
  // What a flow deletes first is what is asked for. The other types go with it, and may be deleted alone elsewhere.
  const steps = annotations.of('flow').flatMap((flow) => {
    const first = flow.steps.find(({ operation, type }) => operation === 'delete' && type !== undefined);
    return first?.type === undefined ? [] : [{ type: first.type, flow, at: flow.at }];
  });
  const accesses = annotations
    .of('access')
    .flatMap(({ operation, type, at, aim }) =>
      operation === 'delete' && type !== undefined && aim !== 'maintenance' ? [{ type, at }] : [],
    );
  return annotations.types.flatMap((type): Deleted[] => {
    const stated = annotations
      .of('deletion')
      .filter(
        (one) =>
          one.allowed !== false &&
          same(one.type, type) &&
          (one.way === 'hard' || one.field === undefined || isMarked(one)),
      );
    const removing = accesses.filter((one) => same(one.type, type));
    const flows = steps.filter((one) => same(one.type, type));
    const places = [...stated, ...removing, ...flows];
    // "Nothing else goes with it" is an answer.
    if (places.length === 0 || stated.some(({ also }) => also?.length === 0)) return [];
    return [
      {
        type,
        hard: stated.some(({ way }) => way === 'hard') || removing.length + flows.length > 0,
        also: [
          ...stated.flatMap(({ also = [] }) => also),
          ...flows.flatMap(({ flow }) => flow.steps.flatMap((step) => step.type ?? [])),
        ],
        places,
      },
    ];
  });
}

/** What was bought or told stays as it was. */
const KEEPS_PAST = /orders?$|invoice|receipt|payment|purchase|notification/i;

const QUARTER = 90 * 86_400;

/** What a TTL removes soon takes its references with it. */
const isShortLived = (annotations: Annotations, type: string): boolean =>
  annotations
    .of('retention')
    .some((one) => one.by === 'ttl' && same(one.type, type) && (one.seconds ?? Infinity) <= QUARTER);

/** `createdBy`: who did it. No read goes from there to the person. */
const isStamp = (annotations: Annotations, type: string, path: string): boolean =>
  /(?:created|updated|modified|deleted|approved|reviewed|changed|published)_?by(?:_?(?:user)?_?id)?$/i.test(path) &&
  !accessesOf(annotations, type).some(({ equals, ranges = [] }) =>
    [...equals, ...ranges].some((one) => sameField(one, path)),
  );

/** `Dog.ownerId`: what keeps the id of the deleted. Records of the past keep theirs. */
function referringTo(annotations: Annotations, { type, hard, also }: Deleted): { name: string; at: Place }[] {
  // Where a mark keeps the document, references still find it.
  if (!hard || annotations.of('deletion').some((one) => same(one.type, type) && isMarked(one))) return [];
  return typesOf(annotations)
    .filter(
      (one) =>
        !oneOf(also, one.name) &&
        !KEEPS_PAST.test(one.name) &&
        !isShortLived(annotations, one.name) &&
        !hasPurpose(one, 'audit', 'log', 'event', 'telemetry', 'message', 'view', 'result'),
    )
    .flatMap((one) =>
      one.fields.flatMap(({ path, refersTo, at }) =>
        same(refersTo, type) && !isStamp(annotations, one.name, path) && !(same(one.name, type) && path === 'id')
          ? [{ name: `${one.name}.${path}`, at }]
          : [],
      ),
    );
}

/** The last of many isn’t lowered when one of them goes. */
const EXTREME = /highest|latest|newest|last|max|min|first/i;

const inList = (annotations: Annotations, { type, field }: Annotation<'derived'>): boolean =>
  field !== undefined &&
  (field.includes('[') ||
    typesOf(annotations).some(
      (one) =>
        same(one.name, type) &&
        one.fields.some((each) => sameField(each.path, field) && (each.type === 'array' || each.grows === true)),
    ));

/** Derived data of the deleted that no place takes it out of. What the feed keeps of hard deletes is J27's. */
function derivedOf(annotations: Annotations, deleted: Deleted): { name: string; at: Place; counted: boolean }[] {
  const all = annotations
    .of('derived')
    .filter(
      (one) => same(one.of, deleted.type) && !same(one.type, deleted.type) && !oneOf(deleted.also, one.type ?? ''),
    );
  // A list is named once, by its own field and not by those of its elements.
  const name = ({ type, field, what }: Annotation<'derived'>): string =>
    type === undefined ? what : field === undefined ? type : `${type}.${fieldOf(field).replace(/\[.*/, '')}`;
  const handled = new Set(
    all.flatMap((one) =>
      one.onDelete !== undefined || one.onRepeat === 'recount' || one.snapshot || RETRACTED.test(one.words)
        ? [name(one)]
        : [],
    ),
  );
  const taken = annotations
    .of('derived')
    .filter((one) => one.field === undefined && (one.onDelete !== undefined || RETRACTED.test(one.words)));
  const isTaken = ({ type }: Annotation<'derived'>): boolean => taken.some((one) => same(one.type, type));
  const told = toldCounts(annotations);
  const found = all.flatMap((one) => {
    const counted = (one.form === 'counter' || one.form === 'aggregate') && !EXTREME.test(name(one));
    const shown = one.form === 'view' || (one.form === 'copy' && inList(annotations, one));
    const byFeed = one.keptBy === 'change-feed' && deleted.hard;
    const recomputed = one.keptBy === 'query' || one.keptBy === 'schedule';
    return (counted || shown) && !byFeed && !recomputed && !isTaken(one) && !handled.has(name(one))
      ? [{ name: name(one), at: one.at, counted }]
      : [];
  });
  // Where fields of a type are named, its documents as a whole needn't be.
  const named = found.filter((one) => !found.some((other) => other.name.startsWith(`${one.name}.`)));
  return [...new Map(named.map((one) => [one.name, one])).values()].filter((one) => !told.has(one.name));
}

function* leftBehind(annotations: Annotations): Iterable<Found> {
  for (const deleted of deletedIn(annotations)) {
    const derived = derivedOf(annotations, deleted);
    const references = referringTo(annotations, deleted).filter(
      ({ name }) => !derived.some((one) => name.startsWith(`${one.name}[`)),
    );
    const counts = derived.filter(({ counted }) => counted);
    const views = derived.filter(({ counted }) => !counted);
    const names = (all: readonly { readonly name: string }[]): string => listed(all.map(({ name }) => name));
    const harms = [
      ...(references.length > 0
        ? [
            `${names(references)} then refer${references.length === 1 ? 's' : ''} to ${article(deleted.type)} that is gone`,
          ]
        : []),
      ...(views.length > 0 ? [`${names(views)} still show${views.length === 1 ? 's' : ''} it`] : []),
      ...(counts.length > 0 ? [`${names(counts)} still count${counts.length === 1 ? 's' : ''} it`] : []),
    ];
    if (harms.length === 0) continue;
    yield* hinted(
      together(
        deleted.places,
        `No place says what the deletion of ${article(deleted.type)} does to what depends on it: ${harms.join(', and ')}`,
        [...references, ...derived].map(({ at }) => at),
      ),
      `State for each of ${names([...references, ...derived])} whether it is deleted, changed or kept with the ${deleted.type}, and by what that a retry completes: the change feed after a mark of deletion, or a job.`,
    );
  }
}

export const DELETIONS: readonly Rule[] = [
  {
    id: 'J23',
    title: 'A query leaves out the documents that are marked as deleted',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A document with a mark such as `isDeleted` is returned like any other, unless the query has a condition. One query that forgets it shows what a user deleted. The rule reads the SQL of queries of a type that is deleted by a mark; a query without SQL isn’t judged.',
    hint: 'Add the condition to the query.',
    instead: ['C40'],
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (!annotations.of('deletion').some(({ way }) => way === 'soft')) yield missing('a deletion by a mark');
      yield* stillShown(annotations);
    },
  },
  {
    id: 'J24',
    title: 'A deletion says what becomes of the documents, lists and counts that depend on the deleted one',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'Cosmos DB has no foreign keys and no cascade. The documents that keep the id of a deleted one point to nothing, lists and summaries still show it, and counts are too high for ever. The rule takes fields that refer to a type, and data that follow from it, and looks whether any place says that they go, change or stay with it. Records of the past (audit, logs, events) may keep the id.',
    hint: 'State what is deleted or changed with it, and by what.',
    instead: ['F18'],
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (deletedIn(annotations).length === 0) yield missing('a deletion');
      yield* leftBehind(annotations);
    },
  },
];
