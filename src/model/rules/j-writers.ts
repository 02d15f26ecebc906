// J29 and J39: changes that two writers at the same time lose, work that two take, numbers that two get.
import { type Annotation, type Annotations, fieldOf, same, sameField } from '../annotations/annotations.ts';
import {
  type WholeType,
  accessesOf,
  article,
  hasPurpose,
  isChange,
  isEdit,
  isSerialized,
  listed,
  typeOf,
  typesOf,
} from '../annotations/merged.ts';
import type { Place } from '../model.ts';
import { orphaned } from './j-checks.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, n, together } from './rule.ts';

type Access = Annotation<'access'>;

const guarded = (annotations: Annotations, type: string | undefined): boolean =>
  annotations.of('type').some((one) => one.guard !== undefined && same(one.type, type)) ||
  isSerialized(annotations, type);

/** Lists to which each use adds something. */
const SHARED_LIST =
  /(?:^|\.)(?:items|lines|messages|entries|members|participants|events|history|posts|comments|steps|tasks)$/i;

/** Whether the write puts a whole document over a list in which another writer may have added something. */
function writesOver(annotations: Annotations, access: Access): boolean {
  const { operation, readFirst, type, sets, ifAbsent, unread, aim, accepted } = access;
  // One that is created if it isn't there changes nothing, and what is written unread is J55's.
  if (ifAbsent === true || unread === true || aim === 'maintenance' || aim === 'guard') return false;
  if (accepted === true || deletesByMark(annotations, access)) return false;
  if (annotations.of('scale').some(({ users }) => users === 1) || isCreation(annotations, access)) return false;
  // Of an update the text doesn’t say whether it writes the whole document.
  if (operation === 'update') return readFirst === true;
  if (operation !== 'replace' && operation !== 'upsert') return false;
  if (readFirst === true) return true;
  const lists = (typeOf(annotations, type)?.fields ?? []).flatMap(({ path, type: kind, grows }) =>
    kind === 'array' || grows === true || path.includes('[') ? [path.replace(/\[.*/, '')] : [],
  );
  return sets === undefined
    ? lists.some((path) => SHARED_LIST.test(path)) && !isDerivedType(annotations, type)
    : lists.some((path) => sets.some((set) => sameField(set, path)));
}

/**
 * A soft delete: what it overwrites was about to go, and a guarded writer that comes after it reads the mark first. One that
 * can be restored must come back as it was.
 */
const deletesByMark = (annotations: Annotations, { type, sets = [] }: Access): boolean =>
  sets.some((set) => sameField(set, 'ttl')) &&
  annotations
    .of('deletion')
    .some(
      ({ way, field, restorable, type: own }) =>
        way === 'soft' &&
        restorable !== true &&
        field !== undefined &&
        same(own, type) &&
        sets.some((set) => sameField(set, field)),
    );

const CHANGES = /^(?:updat|chang|edit|modif|mark|complet|finish|merg)/i;

/** An upsert after a read that sets no field, of documents that nothing changes later: it writes what isn't there. */
const isCreation = (annotations: Annotations, { operation, readFirst, sets, type, name }: Access): boolean =>
  operation === 'upsert' &&
  !CHANGES.test(name) &&
  readFirst === true &&
  sets === undefined &&
  type !== undefined &&
  !accessesOf(annotations, type).some((one) => isEdit(one) || (one.sets?.length ?? 0) > 0) &&
  !(typeOf(annotations, type)?.fields ?? []).some(({ grows }) => grows === true);

/** What is worked out as a whole is written as a whole. */
const isDerivedType = (annotations: Annotations, type: string | undefined): boolean =>
  hasPurpose(typeOf(annotations, type), 'view', 'result', 'cache') ||
  annotations.of('derived').some((one) => same(one.type, type) && one.field === undefined);

/** Whether a place names what keeps writers of the type apart, for all of them or for one of its writes. */
export const isWriteGuarded = (annotations: Annotations, type: string): boolean =>
  guarded(annotations, type) || accessesOf(annotations, type).some(({ guard }) => guard !== undefined);

const isGuarded = (annotations: Annotations, { name, type }: Access): boolean =>
  guarded(annotations, type) ||
  // An access stands in several places; the guard that one of them names is there for all.
  annotations.of('access').some((other) => other.guard !== undefined && same(other.name, name));

const STATE = /status|state|decision|phase|stage|outcome/i;

/** A patch alone is no guard of a state: the second one wins as a replace does. */
function remedyOf(fields: readonly string[]): string {
  const replace = 'Replace with If-Match on the ETag that was read, and read again on 412';
  const state = fields.find((field) => STATE.test(field));
  return state === undefined
    ? `${replace}; or patch only ${fields.length > 0 ? listed(fields) : 'the fields that change'} (\`add\` to a list, \`incr\` of a number).`
    : `${replace}; or patch with a condition on the ${state} that is expected, as in \`from c where c.${state} = …\`. A patch without a condition overwrites it just so.`;
}

function* lost(annotations: Annotations): Iterable<Found> {
  const open = annotations.of('access').filter((one) => writesOver(annotations, one) && !isGuarded(annotations, one));
  const read = open.filter(({ readFirst }) => readFirst === true);
  const s = new Set(open.map(({ name }) => name)).size === 1 ? 's' : '';
  const who = [...Map.groupBy(open, ({ type, container }) => type ?? container ?? '')]
    .map(
      ([type, all]) => `${listed([...new Set(all.map(({ name }) => `"${name}"`))])}${type === '' ? '' : ` of ${type}`}`,
    )
    .join(', ');
  const fields = [...new Set(open.flatMap(({ sets = [] }) => sets.map(fieldOf)))];
  const how =
    read.length === open.length
      ? `read${s} a document, change${s} it and write${s} it whole`
      : `write${s} a whole document with its lists over the one that is there`;
  yield* hinted(
    together(
      open.toSorted((a, b) => Number(b.readFirst ?? false) - Number(a.readFirst ?? false)),
      `${who} ${how}, with no ETag: of two at the same time the second overwrites what the first wrote${fields.length > 0 ? ` (${listed(fields)})` : ''}, without an error`,
    ),
    remedyOf(fields),
  );
}

const WAITING = /^(?:pending|queued|new|ready|waiting|scheduled|todo|open|created|submitted)$/i;
const WORKING = /^(?:in[-_ ]?progress|processing|running|claimed|leased|locked|started|executing|working)$/i;
const TAKES = /\b(?:poll|claim|pick|pending|queued|due|next|dequeue|scan|waiting)/i;

/** A type whose documents are work: its states, the reads that look for what waits, the writes that take it. */
interface Work {
  readonly type: WholeType;
  readonly state: string;
  readonly waiting: string;
  readonly working: string;
  readonly reads: readonly Access[];
  readonly writes: readonly Access[];
  readonly at: Place;
}

function worksIn(annotations: Annotations): Work[] {
  return typesOf(annotations).flatMap((type): Work[] => {
    for (const { path, values = [], at } of type.fields) {
      const [waiting, working] = [WAITING, WORKING].map((form) => values.find((value) => form.test(value)));
      if (waiting === undefined || working === undefined) continue;
      const accesses = accessesOf(annotations, type.name);
      const reads = accesses.filter(
        ({ operation, name, equals }) =>
          operation === 'query' &&
          equals.some((one) => sameField(one, path)) &&
          (TAKES.test(name) || hasPurpose(type, 'job')),
      );
      const writes = accesses.filter((one) => isChange(one) && (one.sets ?? []).some((set) => sameField(set, path)));
      return reads.length > 0 ? [{ type, state: path, waiting, working, reads, writes, at }] : [];
    }
    return [];
  });
}

function* taken(annotations: Annotations): Iterable<Found> {
  for (const { type, state, waiting, working, reads, writes, at } of worksIn(annotations)) {
    const safe = [...accessesOf(annotations, type.name)].some(({ guard }) => guard !== undefined);
    const leased = type.fields.some(({ path }) => /lease|lock|claimed|owner|worker|heartbeat/i.test(path));
    if (safe || guarded(annotations, type.name) || leased) continue;
    const names = listed([...new Set(reads.map(({ name }) => `"${name}"`))]);
    yield* hinted(
      together(
        reads,
        `${names} find${new Set(reads.map(({ name }) => name)).size === 1 ? 's' : ''} ${type.name} by ${state} = ${waiting}, and nothing says how one worker takes it from another: two that look at the same time both do the work, and one that dies leaves it ${working} for ever`,
        [at, ...writes.map((one) => one.at)],
      ),
      `Take ${article(type.name)} by a patch with the condition \`from c where c.${state} = '${waiting}'\` (or with If-Match) that also sets who has it and until when, and let a later run take back what is past that time.`,
    );
  }
}

/** A place in a list, as the fourth step of a plan: what makes the list counts it. */
export const isPosition = (field: string): boolean =>
  /^(?:.*[._])?(?:step|line|position|pos|ordinal|index|idx|rank|order|seat|page|part|chunk)(?:_?(?:number|no|index|id))?$/i.test(
    field.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_'),
  );

/** Numbers in a row. A phone, an account or a card has a number too. */
const SEQUENCE =
  /(?:^|[._])(?:usn|seq|sequence|serial|counter)$|usn|sequence|serial|(?:^|invoice|order|ticket|case|receipt|bill|quote|job|entry|version|revision|document)_?(?:number|num|no|nr|seq)$/i;
const SEVERAL_REGIONS = /multi-?(?:region|master)|several (?:write )?regions|active[- ]active/i;

/** Words that a program of this design hands out the number. One of a source system, or in a file, is only taken over. */
const HANDED_OUT =
  /\bnext (?:\w+ )?(?:id|number|value|one)|\bcounted? up|sequential|sequence|increment|auto-?(?:number|id)|running number|consecutive|monoton|\bmax\w*\s*(?:\(.*\))?\s*\+ ?1|\+\+|serial/i;
const BY_DATABASE = /\bid\b.*auto[-_ ]?increment|auto[-_ ]?increment.*\bids?\b|identity\s*\(1|\bserial primary/i;
const TAKEN_OVER =
  /\b(?:from|in|of) (?:the |an? |its |their )?(?:file|source|csv|import\w*|data ?set|upstream|legacy|external)/i;

/** Whether the name of the field or the text beside it says that the number is the next of a row. */
const isHandedOut = (
  { lines }: Annotations,
  { field, places }: { field: string; places: readonly { readonly at: Place }[] },
): boolean => {
  const near = places.map(({ at }) => lines[at.line - 1] ?? '').join(' ');
  if (TAKEN_OVER.test(near)) return false;
  // A relational schema that hands out its ids may stand far from the documents that have them now.
  const byDatabase = field === 'id' && lines.some((line) => BY_DATABASE.test(line));
  return byDatabase || /usn|sequence|serial|counter/i.test(field) || HANDED_OUT.test(near);
};

/** Numbers that are counted up: a field that is expected once, or ids such as "1". */
function numbersIn(annotations: Annotations): { name: string; type: string; field: string; places: { at: Place }[] }[] {
  const unique = annotations.of('unique').flatMap((one) => {
    const [field = '', second] = one.fields.map(fieldOf);
    const known = typeOf(annotations, one.type)?.fields.find(({ path }) => path === field);
    const isNumber = known?.type === 'number' || /usn|sequence|serial|counter/i.test(field);
    return second === undefined && SEQUENCE.test(field) && !isPosition(field) && isNumber && one.by === undefined
      ? [{ name: `${one.type}.${field}`, type: one.type, field, places: [{ at: one.at }] }]
      : [];
  });
  const ids = typesOf(annotations).flatMap((type) => {
    const stated = annotations.of('id').filter((one) => same(one.type, type.name));
    const counted =
      stated.some(({ format }) => /^"?\d{1,4}"?$/.test(format ?? '')) ||
      (type.examples.length > 0 && type.examples.every(({ id }) => /^\d{1,4}$/.test(String(id))));
    return counted && !stated.some(({ from, random }) => random === true || (from?.length ?? 0) > 0)
      ? [
          {
            name: `${type.name}.id`,
            type: type.name,
            field: 'id',
            places: [...stated, ...type.places.map((at) => ({ at }))].map(({ at }) => ({ at })),
          },
        ]
      : [];
  });
  const all = [...new Map([...unique, ...ids].map((one) => [one.name, one])).values()];
  return all.filter((one) => isHandedOut(annotations, one));
}

/** Whether J39 has a finding on this field, so that J20 needs none. */
export const isCountedUp = (annotations: Annotations, type: string, field: string): boolean =>
  numbersIn(annotations).some((one) => same(one.type, type) && one.field === field);

/** What the text near the number says of who hands it out. */
function handedOut(
  annotations: Annotations,
  type: string,
  field: string,
  places: readonly { readonly at: Place }[],
): 'memory' | 'said' | undefined {
  const derived = annotations
    .of('derived')
    .filter((one) => same(one.type, type) && one.field !== undefined && sameField(one.field, field));
  if (derived.some(({ keptBy }) => keptBy === 'memory')) return 'memory';
  const near = places.flatMap(({ at }) => annotations.lines.slice(Math.max(0, at.line - 2), at.line + 2)).join(' ');
  if (/interlocked|in[- ]memory|in the process|\bper[- ]process|dictionary|singleton|atomicinteger/i.test(near))
    return 'memory';
  return derived.some(({ keptBy }) => keptBy !== undefined) ||
    /counter document|sequence (?:document|container)|max\s*\(|stored procedure|\betag\b/i.test(near)
    ? 'said'
    : undefined;
}

function* numbered(annotations: Annotations): Iterable<Found> {
  for (const { name, type, field, places } of numbersIn(annotations)) {
    const writes = annotations
      .of('access')
      .filter((one) => one.sets?.some((set) => sameField(set, field)) && same(one.type, type));
    if (writes.some(({ guard }) => guard !== undefined) || guarded(annotations, type)) continue;
    const by = handedOut(annotations, type, field, places);
    if (by === 'said') continue;
    if (by === 'memory') {
      yield* hinted(
        together(
          places,
          `${name} is counted in the memory of a process: a restart or another instance begins again at the first number, so numbers repeat and their order is wrong`,
          writes.map(({ at }) => at),
        ),
        `Order ${type} by a time-ordered id (ULID) or by the time of the write; or keep the last number in a document of the same partition, and raise it in the batch that writes ${article(type)}.`,
      );
      continue;
    }
    const regions = annotations
      .of('fact')
      .filter((fact) => SEVERAL_REGIONS.test(`${fact.of} ${fact.property} ${fact.value}`));
    yield* hinted(
      together(
        places,
        `${name} is a number that is counted up, and nothing says what hands out the next one: Cosmos DB has no sequence, so two writers that read the last number both write the same one${regions.length > 0 ? ', and with writes in several regions no counter can be shared' : ''}`,
        [...writes, ...regions].map(({ at }) => at),
      ),
      field === 'id'
        ? `Make the id of ${type} from values that tell its documents apart, or a UUID.`
        : `Keep one counter document in the partition of the numbers, and raise it by a conditional replace or in the same batch as ${article(type)}${regions.length > 0 ? ', with one write region' : ''}; or use a value that needs no order, such as a UUID.`,
    );
  }
}

const LEASED = /lease|lock|heartbeat|expires|claimed_?(?:at|until)|visible|deadline|timeout/i;
const SWEEP = /stale|stuck|time-?d?-?out|sweep|recover|reset|requeue|re-?claim|orphan|expired/i;

/** Work that is taken by a guard, and stays taken when its worker dies. A queue gives it to another. */
function* abandoned(annotations: Annotations): Iterable<Found> {
  const queued =
    annotations.of('derived').some(({ keptBy }) => keptBy === 'queue') ||
    annotations.of('flow').some(({ steps }) => steps.some(({ outside = '' }) => /queue|bus|topic/i.test(outside))) ||
    annotations
      .of('fact')
      .some((fact) => /queue|service bus|redeliver/i.test(`${fact.of} ${fact.property} ${fact.value}`));
  for (const type of queued ? [] : typesOf(annotations)) {
    if (!hasPurpose(type, 'job') || type.fields.some(({ path }) => LEASED.test(path))) continue;
    const accesses = accessesOf(annotations, type.name);
    const kept = accesses.some(({ name, guard }) => guard === 'lease' || SWEEP.test(name));
    const field = type.fields.find(
      ({ values = [] }) => values.some((value) => WAITING.test(value)) && values.some((value) => WORKING.test(value)),
    );
    const working = field?.values?.find((value) => WORKING.test(value));
    const taking = accesses.filter((one) => one.guard !== undefined);
    if (kept || taking.length === 0 || !field || working === undefined) continue;
    yield* hinted(
      together(
        [field, ...taking],
        `${article(type.name).replace(/^a/, 'A')} whose worker dies stays ${working} for ever: its ${field.path} says that it is taken, and no place says until when, or what takes it back`,
      ),
      `Write into the ${type.name} until when its worker has it, and let a job set those past that time to what they were before, with a number of attempts.`,
    );
  }
}

const SAFE: ReadonlySet<Annotation<'quota'>['by']> = new Set(['reservation', 'etag', 'batch', 'patch-condition']);

/** Caps that several requests pass together. */
function* exceeded(annotations: Annotations): Iterable<Found> {
  const all = annotations.of('quota');
  const kept = ({ what, type, by }: Annotation<'quota'>): boolean =>
    all.some((one) => SAFE.has(one.by) && same(one.what, what)) ||
    (by === 'counter' && accessesOf(annotations, type ?? '').some(({ guard }) => guard !== undefined)) ||
    // A rate limit of no documents may be kept by something in front of the application.
    (by === undefined && type === undefined);
  const open = [...Map.groupBy(all, ({ what }) => what.toLowerCase()).values()].filter(
    (places) => !places.every(kept) && !places.some((one) => SAFE.has(one.by)),
  );
  const caps = open.flatMap((places) => {
    const [first] = places;
    const max = places.find((one) => one.max !== undefined)?.max;
    return first ? [`${first.what}${max === undefined ? '' : ` (${n(max)})`}`] : [];
  });
  const counted = open.flat().some(({ by }) => by === 'count-first');
  yield* hinted(
    together(
      open.flat(),
      `${counted ? 'A count before the write doesn’t keep' : 'Nothing is said to keep'} the cap on ${listed(caps)} when several requests come at once: each of them finds room and writes, and together they pass the cap${counted ? '' : ', because Cosmos DB has no constraint that counts'}`,
    ),
    `Keep ${caps.length === 1 ? 'the number' : 'each number'} in one document of its scope, and raise it with a condition on the cap (a conditional patch, or a replace with If-Match) before or in the same batch as the write.`,
  );
}

/** "At least one": a count before the removal of one of the last two. */
function* lastOnes(annotations: Annotations): Iterable<Found> {
  const all = annotations
    .of('access')
    .filter(
      ({ aim, returns, name, words, guard, type = '' }) =>
        aim === 'guard' &&
        returns === 'count' &&
        guard === undefined &&
        !isSerialized(annotations, type) &&
        /\blast\b|at least|remaining|only (?:active )?(?:admin|owner)/i.test(`${name} ${words}`),
    );
  const types = listed(all.map(({ type, container }) => type ?? container ?? 'document'));
  const s = new Set(all.map(({ name }) => name)).size === 1 ? 's' : '';
  yield* hinted(
    together(
      all,
      `${listed([...new Set(all.map(({ name }) => `"${name}"`))])} count${s} ${types} before one is removed: two requests at the same time both count the other one, both go on, and none is left`,
    ),
    `Keep the ids of those that must not all go in one document, and replace it with If-Match in each removal; or remove with the ETag of one document that all such removals raise.`,
  );
}

export const WRITERS: readonly Rule[] = [
  {
    id: 'J29',
    title: 'Writers at the same time don’t lose a change, and don’t do the same work',
    severity: 'warning',
    source: SOURCES.microsoft('Transactions and optimistic concurrency control'),
    why: 'A replace or an upsert without If-Match writes the whole document over what is there (ASM-E137). Two messages that are added at the same time become one. A worker that reads what waits, and writes that it works on it, is no claim: another reads the same before that write. A cap that is counted first is passed by requests that count at the same time. A parent that is found and a parent without children are both true until one request writes a child and another deletes the parent. The rule takes caps, writes that are said to read first, and types with states of work that a query looks for; any guard that is stated makes it silent. A soft delete that sets its mark and a ttl is left out.',
    hint: 'Write with If-Match, or patch with a condition.',
    instead: ['D20', 'F21'],
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (annotations.of('access').length === 0) yield missing('a write');
      yield* lost(annotations);
      yield* taken(annotations);
      yield* abandoned(annotations);
      yield* exceeded(annotations);
      yield* lastOnes(annotations);
      yield* orphaned(annotations);
    },
  },
  {
    id: 'J39',
    title: 'Numbers that are counted up have something that hands them out',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'Cosmos DB has no sequence and no auto-increment (ASM-E172). The largest number plus one is read by two writers at the same time, and both store the same. A counter document decides only with an ETag or in a batch, it is one hot document, and regions that write at the same time can’t share it. The rule takes number fields that are expected once and named as numbers in a row, and ids such as "1", if the text near them says that they are counted up (next, sequential, auto-increment). A number that comes from a file or a source system is none.',
    hint: 'State what hands out the numbers, or use ids that need none.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      yield* numbered(annotations);
    },
  },
];
