// J26: counts and totals that are counted twice, or that nothing keeps.
import { type Annotations, same, sameField } from '../annotations/annotations.ts';
import { type Derived, HARMLESS, derivedIn, isSaidBeside, namesOf, plural } from '../annotations/derived.ts';
import { accessesOf, hasPurpose, isChange, isWriting, listed, typeOf } from '../annotations/merged.ts';
import { isExisting } from '../annotations/scale.ts';
import { HEARTBEAT } from './j-flows.ts';
import { isCountedUp } from './j-writers.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, together } from './rule.ts';

const refersTo = (annotations: Annotations, from: string | undefined, to: string | undefined): boolean =>
  typeOf(annotations, from)?.fields.some((field) => same(field.refersTo, to)) ?? false;

/** A value that a document takes from the one which it belongs to, as a price: no count of many. */
const isOfParent = (annotations: Annotations, { type, of }: Derived): boolean =>
  of !== undefined && refersTo(annotations, type, of) && !refersTo(annotations, of, type);

/** The last or greatest of many isn't raised again by a repeated message. */
const EXTREME =
  /\b(?:highest|latest|newest|last|max\w*|min\w*|first|greatest|best)|(?:highest|latest|last|max|min)(?=[A-Z_])/i;

const isNumber = (one: Derived): boolean =>
  (one.form === 'counter' || one.form === 'aggregate') && !one.snapshot && !EXTREME.test(one.name);

/** A list in a document that follows from other documents goes stale as a count does. */
const isPart = ({ form, field, snapshot }: Derived): boolean => form === 'view' && field !== undefined && !snapshot;

const SCORE = /rating|average|count|total|score/i;

/** A write that sets the field by itself is what keeps it. */
const isSet = (annotations: Annotations, { type, field }: Derived): boolean =>
  type !== undefined &&
  field !== undefined &&
  accessesOf(annotations, type).some(({ sets = [] }) => sets.some((one) => sameField(one, field)));

/** `Venue.rating and Venue.reviewCount (of Review)` */
const withSources = (all: readonly Derived[]): string =>
  listed(
    [...Map.groupBy(all, ({ of }) => of)].map(
      ([of, some]) => `${namesOf(some)}${of === undefined ? '' : ` (of ${of})`}`,
    ),
  );

/** A whole is left out where its parts are named: `rollup` beside `rollup.failed`. */
const parts = (all: readonly Derived[]): Derived[] =>
  all.filter((one) => !all.some(({ name }) => name.startsWith(`${one.name}.`)));

/** Whether a use or a repair is named that writes the number: in a flow with what it counts, or in a sentence. */
const isWritten = (annotations: Annotations, { type, of, field }: Derived): boolean =>
  annotations
    .of('flow')
    .some(
      ({ steps, together: by }) =>
        by !== undefined && [type, of].every((one) => steps.some((step) => same(step.type, one) && isWriting(step))),
    ) ||
  annotations
    .of('fact')
    .some(
      (fact) =>
        field !== undefined &&
        fact.of.toLowerCase().includes(field.toLowerCase()) &&
        /recount|recalculat|recomput|updated? (?:by|when|on|with)|increment/i.test(`${fact.property} ${fact.value}`),
    );

/** A schema that is another system's: what is counted in it, that system counts. */
const MIRRORED =
  /\bschema (?:matches|mirrors|follows|is that of)|\bmirror(?:s|ed|ing)?\b(?! write)|\bbased on (?:the )?[\w ]+ schema\b|\bsame schema as\b|\bsynced from\b/i;

const isMirrored = (annotations: Annotations, type: string | undefined): boolean => {
  const named = annotations.lines.flatMap((line, index) =>
    type !== undefined && line.toLowerCase().includes(type.toLowerCase()) ? [index] : [],
  );
  return named.some((index) => MIRRORED.test(annotations.lines[index] ?? ''));
};

/** The figures of a run, which the run itself sets, and of a process that says with them how it is. */
const isOfItself = (annotations: Annotations, { type, field }: Derived): boolean => {
  const whole = typeOf(annotations, type);
  if (!whole) return false;
  if (whole.fields.some(({ path }) => HEARTBEAT.test(path))) return !VOTE.test(field ?? '');
  return (
    (hasPurpose(whole, 'job') || /(?:^|[-_ a-z])(?:run|job|batch|import|sync)s?$/i.test(whole.name)) &&
    accessesOf(annotations, whole.name).some(
      (one) => isChange(one) && (one.sets === undefined || one.readFirst === true),
    )
  );
};

/** What went into a model and what came out of it is a record of that time. */
const isOfModel = (annotations: Annotations, one: Derived): boolean =>
  hasPurpose(typeOf(annotations, one.type), 'result') &&
  isSaidBeside(annotations, one.places, /\b(?:input|output|feature vector|probabilit\w+|predict\w+|inference)\b/i);

const isOpen = (annotations: Annotations, one: Derived): boolean =>
  one.keptBy.size === 0 &&
  !one.onRepeat &&
  !same(one.of, one.type) &&
  !isOfParent(annotations, one) &&
  !isWritten(annotations, one) &&
  !isExisting(annotations, { type: one.type }) &&
  !isMirrored(annotations, one.type) &&
  !isOfItself(annotations, one) &&
  !isOfModel(annotations, one) &&
  !isSet(annotations, one);

function* unkept(annotations: Annotations, values: readonly Derived[]): Iterable<Found> {
  const open = values.filter((one) => one.field !== undefined && isOpen(annotations, one));
  const counted = open.filter(({ of }) => of !== undefined);
  for (const all of Map.groupBy(counted, ({ type }) => type?.toLowerCase()).values()) {
    const group = parts(all);
    const sources = listed(group.map(({ of }) => annotations.containerOf({ type: of }) ?? of ?? ''));
    yield* hinted(
      together(
        all.flatMap(({ places }) => places),
        `${withSources(group)} ${plural(group, 'follows', 'follow')} from other documents, and no place says what keeps ${plural(group, 'it', 'them')} right when one of those is written, changed or deleted: ${plural(group, 'it goes', 'they go')} stale, or a retry counts twice`,
      ),
      `Compute ${namesOf(group)} from the change feed of ${sources} by a projection that knows what it has counted, with a recount for repair; or count at each read.`,
    );
  }
  // Without a source only what its name calls a count is one.
  const bare = open.filter(({ of, form, field = '' }) => of === undefined && (form === 'counter' || SCORE.test(field)));
  for (const all of Map.groupBy(bare, ({ type }) => type?.toLowerCase()).values()) {
    const group = parts(all);
    const votes = group.some(({ field = '' }) => VOTE.test(field));
    yield* hinted(
      together(
        all.flatMap(({ places }) => places),
        `No stored documents are named that ${namesOf(group)} could be counted from, and no place says what changes ${plural(group, 'it', 'them')}: a repeated ${votes ? 'click or ' : ''}request counts again, and a wrong value can’t be found or repaired`,
      ),
      votes
        ? `Store what is counted as documents of their own with an id for each person and thing (one vote a user), and derive ${namesOf(group)} from them.`
        : `Name the documents that ${namesOf(group)} ${plural(group, 'is', 'are')} counted from and what sets ${plural(group, 'it', 'them')}, or store them with an id that a repeated request has too.`,
    );
  }
}

/** What persons raise by a click. */
const VOTE = /like|vote|view|click|rating|feedback|share|follow|helpful|reaction|upvote/i;

/** Whether one batch can write the number and what it counts. */
function inOneBatch(annotations: Annotations, { type, of }: Derived): boolean {
  const [own, source] = [annotations.containerOf({ type }), annotations.containerOf({ type: of })];
  return own === undefined || source === undefined || (same(own, source) && annotations.keyOf(own)?.join() !== '/id');
}

const AGAIN: ReadonlySet<string> = new Set(['queue', 'change-feed']);

function* doubled(annotations: Annotations, numbers: readonly Derived[]): Iterable<Found> {
  const open = numbers.filter(({ keptBy, onRepeat }) => keptBy.size > 0 && !onRepeat && !keptBy.has('query'));
  const redelivered = open.filter(
    (one) => [...one.keptBy].some((by) => AGAIN.has(by)) && !isSaidBeside(annotations, one.places, HARMLESS),
  );
  for (const all of Map.groupBy(redelivered, ({ type }) => type?.toLowerCase()).values()) {
    const group = parts(all);
    const by = listed([...new Set(group.flatMap(({ keptBy }) => [...keptBy].filter((one) => AGAIN.has(one))))]);
    yield* hinted(
      together(
        all.flatMap(({ places }) => places),
        `${withSources(group)} ${plural(group, 'is', 'are')} changed for each message of the ${by === 'queue' ? 'queue' : 'change feed'}, which delivers a message at least once, and nothing remembers what is counted: a message that comes again is counted twice, and no recount repairs it`,
      ),
      `Keep beside ${namesOf(group)} the ids of ${listed(group.map(({ of }) => `each ${of ?? 'message'}`))} that is counted, or the position of the source; write both in one replace with the ETag, and have a recount.`,
    );
  }
  const apart = open.filter(
    (one) =>
      one.keptBy.has('same-request') &&
      one.form === 'counter' &&
      !redelivered.includes(one) &&
      !inOneBatch(annotations, one),
  );
  for (const all of Map.groupBy(apart, ({ type, of }) => `${type} ${of}`).values()) {
    const group = parts(all);
    const [first] = group;
    if (!first) continue;
    const [own, source] = [annotations.containerOf({ type: first.type }), annotations.containerOf({ type: first.of })];
    yield* hinted(
      together(
        all.flatMap(({ places }) => places),
        `${namesOf(group)} ${plural(group, 'is', 'are')} in ${own ?? 'one container'}, and what ${plural(group, 'it counts', 'they count')}, ${first.of ?? ''}, in ${same(own, source) ? 'other partitions of it' : (source ?? 'another')}: one transaction can’t change both. A failure between the two writes leaves a wrong number, a retry counts twice, and nothing is said to recount`,
      ),
      `Derive ${namesOf(group)} from the change feed of ${source ?? first.of ?? 'the source'}, with a marker of what is counted, or recount by a job.`,
    );
  }
}

/** The names of numbers and lists of which J26 says that nothing keeps them right, deletions among it. */
export function toldCounts(annotations: Annotations): ReadonlySet<string> {
  const open = derivedIn(annotations).filter(
    (one) => one.field !== undefined && (isNumber(one) || isPart(one)) && isOpen(annotations, one),
  );
  return new Set(open.flatMap(({ name, type, field = '' }) => [name, `${type}.${field.replace(/\[.*/, '')}`]));
}

/** A number in the memory of a process. Where it hands out numbers it is J39's. */
function* inMemory(annotations: Annotations, numbers: readonly Derived[]): Iterable<Found> {
  const open = numbers.filter(
    ({ keptBy, onRepeat, type, field }) =>
      keptBy.size === 1 && keptBy.has('memory') && !onRepeat && !isCountedUp(annotations, type ?? '', field ?? ''),
  );
  yield* hinted(
    together(
      open.flatMap(({ places }) => places),
      `${namesOf(open)} ${plural(open, 'is', 'are')} counted in the memory of a process: a restart begins again at nothing, and each instance has its own number`,
    ),
    `Keep ${namesOf(open)} in a document, raised by a patch with \`incr\`, or count ${listed(open.map(({ of }) => of ?? 'the documents'))} when it is asked for.`,
  );
}

export const COUNTS: readonly Rule[] = [
  {
    id: 'J26',
    title: 'Counts and totals are kept by something that counts each document once',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A count that a request raises is wrong after a failure between two writes, and too high after a retry: a write whose answer is lost may have happened (ASM-A5). Queues and the change feed deliver at least once. Only a number that knows what it has counted, or is counted again, stays right. The rule takes counters and aggregates, and accepts any word on repetition or a recount, and what a projection of the document keeps. Figures that a run or a process sets of itself, that another system’s schema has, or that went into a model or came out of it, are left out.',
    hint: 'State what keeps the number, what makes a repetition harmless, and how it is counted again.',
    instead: ['D10', 'D14', 'D15', 'D17', 'F12', 'F19'],
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      const all = derivedIn(annotations);
      const numbers = all.filter(isNumber);
      if (all.length === 0) yield missing('a count or a total');
      yield* unkept(
        annotations,
        all.filter((one) => isNumber(one) || isPart(one)),
      );
      yield* doubled(annotations, numbers);
      yield* inMemory(annotations, numbers);
    },
  },
];
