// J22: a TTL that removes others than meant, or later.
import { type Annotation, type Annotations, fieldOf, same } from '../annotations/annotations.ts';
import {
  type WholeType,
  accessesOf,
  article,
  hasPurpose,
  isChange,
  isEdit,
  listed,
  outerOf,
  typeOf,
  typesOf,
} from '../annotations/merged.ts';
import type { Place } from '../model.ts';
import { ACCUMULATING } from './j-lasting.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, n, together } from './rule.ts';

/** What a TTL is set on: types by their container or by a sentence on how long they stay. */
interface Expiring {
  readonly type: WholeType;
  readonly seconds: number | undefined;
  readonly at: Place;
}

const GONE = /\b(?:deleted|removed|withdrawn|discontinued|erased|tombstones?|trash\w*|soft-deleted|recycle)\b/i;

/** A time that a soft delete sets with its mark is for the deleted; the living documents stay. */
function isOfDeleted(annotations: Annotations, { type, seconds, words, at }: Annotation<'retention'>): boolean {
  const marks = annotations.of('deletion').filter((one) => one.way === 'soft' && same(one.type, type));
  const beside = (line: number): boolean => marks.some((one) => one.at.line === line);
  return (
    marks.length > 0 &&
    (beside(at.line) ||
      GONE.test(words) ||
      (seconds !== undefined &&
        annotations
          .of('retention')
          .some((one) => one.by === 'ttl' && same(one.type, type) && one.seconds === seconds && beside(one.at.line))))
  );
}

const expiringIn = (annotations: Annotations): Expiring[] => [
  ...annotations.of('container').flatMap(({ container, ttl, at }) =>
    typeof ttl === 'number'
      ? typesOf(annotations)
          .filter((type) => same(type.container, container))
          .map((type) => ({ type, seconds: ttl, at }))
      : [],
  ),
  ...annotations
    .of('retention')
    .filter((one) => one.by === 'ttl' && !isOfDeleted(annotations, one))
    .flatMap(({ type, container, seconds, at }) =>
      typesOf(annotations)
        .filter((one) => (type === undefined ? same(one.container, container) : same(one.name, type)))
        .map((one) => ({ type: one, seconds, at })),
    ),
];

const after = (seconds: number | undefined): string => {
  if (seconds === undefined) return '';
  const [size, unit] = (
    [
      [86_400, 'day'],
      [3600, 'hour'],
      [60, 'minute'],
    ] as const
  ).find(([one]) => seconds >= one * 2) ?? [1, 'second'];
  return ` after ${n(seconds / size)} ${unit}s`;
};

function* reference(annotations: Annotations): Iterable<Found> {
  const all = expiringIn(annotations).filter(({ type }) => hasPurpose(type, 'reference'));
  for (const group of Map.groupBy(all, ({ type }) => type.name).values()) {
    const [first] = group;
    if (!first) continue;
    const said = annotations
      .of('type')
      .filter(({ type, purpose }) => same(type, first.type.name) && purpose === 'reference');
    yield* hinted(
      together(
        group,
        `The TTL removes ${first.type.name} in ${first.type.container ?? 'its container'}${after(first.seconds)}, and the document calls it reference data, which seldom changes: an entry that nobody writes again is gone, and lookups of it find nothing`,
        said.map(({ at }) => at),
      ),
      `Give a \`ttl\` only to the ${first.type.name} documents that are temporary, and set the default TTL of ${first.type.container ?? 'the container'} to -1; or write the others again before they expire.`,
    );
  }
}

function* others(annotations: Annotations): Iterable<Found> {
  for (const { container, ttl, at } of annotations.of('container')) {
    if (typeof ttl !== 'number') continue;
    const there = typesOf(annotations).filter((type) => same(type.container, container));
    const meant = there.filter((type) => hasPurpose(type, ...ACCUMULATING));
    const lasting = there.filter(
      (type) =>
        type.purposes.size === 1 &&
        hasPurpose(type, 'state') &&
        !annotations.of('retention').some((one) => same(one.type, type.name)),
    );
    if (meant.length > 0 && lasting.length > 0)
      yield {
        message: `The TTL of ${container} is for all its documents: beside ${listed(meant.map(({ name }) => name))} it removes ${listed(lasting.map(({ name }) => name))}${after(ttl)}, which users or the business change`,
        at,
        related: lasting.flatMap(({ places }) => places.slice(0, 1)),
        hint: `Set the default TTL of ${container} to -1, and give only ${listed(meant.map(({ name }) => name))} a \`ttl\`.`,
      };
  }
}

function* embedded(annotations: Annotations): Iterable<Found> {
  const all = annotations.of('retention').filter(({ by }) => by === 'ttl' || by === undefined);
  for (const group of Map.groupBy(all, ({ type }) => type).values()) {
    const [first] = group;
    const outer = first?.type === undefined ? undefined : outerOf(annotations, first.type);
    if (!first || !outer || !group.some(({ by }) => by === 'ttl')) continue;
    yield* hinted(
      together(
        group,
        `A TTL can’t remove ${first.type}: they are elements of ${outer.field.path} inside ${outer.type.name}, and a TTL removes whole documents. Either all of ${article(outer.type.name)} goes, or nothing`,
        [outer.field.at],
      ),
      `Write each ${first.type} as a document of its own with a \`ttl\`; or set the TTL for ${outer.type.name}, and remove old elements of ${outer.field.path} when it is written.`,
    );
  }
}

/** The changes of a type after its creation, by accesses and flows. */
function changesOf(annotations: Annotations, type: string): { name: string; at: Place }[] {
  const steps = annotations
    .of('flow')
    .filter((flow) => flow.steps.some((step) => isChange(step) && same(step.type, type)));
  return [...accessesOf(annotations, type).filter(isChange), ...steps].map(({ name, at }) => ({ name, at }));
}

function* restarted(annotations: Annotations): Iterable<Found> {
  const stated = annotations
    .of('retention')
    .filter(
      (one) =>
        (one.from === 'creation' || one.from === 'field') &&
        (one.by === 'ttl' || one.by === undefined) &&
        !isOfDeleted(annotations, one),
    );
  for (const one of stated) {
    const types =
      one.type === undefined
        ? typesOf(annotations).filter((type) => same(type.container, one.container))
        : [typeOf(annotations, one.type)];
    for (const type of types) {
      if (!type) continue;
      const byTtl =
        one.by === 'ttl' ||
        annotations
          .of('container')
          .some(({ container, ttl }) => same(container, type.container) && typeof ttl === 'number');
      const changes = changesOf(annotations, type.name);
      const [change] = changes;
      if (!byTtl || !change) continue;
      yield {
        message: `The time of ${type.name} is said to count from ${one.from === 'creation' ? 'its creation' : 'a field of it'}, but a TTL counts from the last write: "${change.name}" starts ${one.seconds === undefined ? 'the time' : `the${after(one.seconds).replace(' after', '')}`} again, so the document stays longer than stated, or for ever if it is written often`,
        at: one.at,
        related: changes.map(({ at }) => at),
        hint: `Write \`ttl\` as the seconds that are left with each change of ${type.name}, or state that the time counts from the last write.`,
      };
    }
  }
}

/** A name of the first write of a document, whatever the operation is called. */
const WRITES_ONE = /^(?:write|log|record|store|emit|append|create|persist|save|insert|add)s?\b/i;

/** What a program adds soon after to what was recorded: a score, an embedding, a label. */
const isAddition = ({ sets = [], name }: Annotation<'access'>): boolean =>
  [...sets, ...(sets.length === 0 ? [name] : [])].every((one) =>
    /sentiment|embedding|vector|score|label|categor|summary|enrich|classif/i.test(one),
  );

/** A record of the past that is changed later: its TTL begins again, though the text says no word on when it counts. */
function* rewritten(annotations: Annotations): Iterable<Found> {
  for (const { type, seconds, at } of expiringIn(annotations)) {
    if (!hasPurpose(type, 'log', 'audit', 'event') || seconds === undefined) continue;
    if (annotations.of('retention').some((one) => one.from !== undefined && same(one.type, type.name))) continue;
    const changes = accessesOf(annotations, type.name).filter(
      (one) => (isEdit(one) || one.readFirst === true) && !WRITES_ONE.test(one.name),
    );
    const [change] = changes;
    if (!change || changes.every(isAddition)) continue;
    yield {
      message: `${type.name} is kept${after(seconds).replace(' after', '')} by a TTL as a record of what happened, and "${change.name}" changes it later: a TTL counts from the last write, so each change starts the time again, and overwrites what was recorded`,
      at,
      related: changes.map((one) => one.at),
      hint: `Write each change of ${article(type.name)} as a document of its own, or set \`ttl\` to the seconds that are left.`,
    };
    return;
  }
}

const WAITING = /^(?:pending|queued|new|open|waiting|submitted|todo)$/i;

/** Work that nobody has done yet goes as what is done does. */
function* unfinished(annotations: Annotations): Iterable<Found> {
  const all = expiringIn(annotations).filter(
    ({ type }) => hasPurpose(type, 'job') || /review|approval|ticket/i.test(type.name),
  );
  for (const group of Map.groupBy(all, ({ type }) => type.name).values()) {
    const [first] = group;
    const field = first?.type.fields.find(
      ({ values = [] }) => values.length > 1 && values.some((value) => WAITING.test(value)),
    );
    const waiting = field?.values?.find((value) => WAITING.test(value));
    if (!first || !field || waiting === undefined) continue;
    yield* hinted(
      together(
        group,
        `The TTL removes ${first.type.name}${after(group.find(({ seconds }) => seconds !== undefined)?.seconds)} whatever its ${field.path} is: one that is still ${waiting} disappears without a word, and its work is never done`,
        [field.at],
      ),
      `Set \`ttl\` only when ${field.path} becomes final, and report what is ${waiting} for too long.`,
    );
  }
}

/** A time after which documents go, and nothing that removes them. */
function* meansless(annotations: Annotations): Iterable<Found> {
  const stated = annotations
    .of('retention')
    .filter((one) => one.seconds !== undefined && (one.type ?? one.container) !== undefined);
  const open = stated.filter((one) => {
    const container = annotations.containerOf(one);
    const means = annotations
      .of('retention')
      .some(
        (other) =>
          other.by !== undefined &&
          (other.type === undefined
            ? same(other.container, container) || other.container === undefined
            : same(other.type, one.type)),
      );
    const ttl = annotations
      .of('container')
      .some((other) => same(other.container, container) && other.ttl !== undefined && other.ttl !== 'off');
    return !means && !ttl && !typeOf(annotations, one.type)?.fields.some(({ path }) => path === 'ttl');
  });
  const names = [...new Set(open.map((one) => `${one.type ?? one.container}${after(one.seconds)}`))];
  yield* hinted(
    together(
      open,
      `${listed(names)}: the document says how long they stay, and nothing removes them then: no TTL of their container, no \`ttl\` in them, no job`,
    ),
    `Set a TTL of ${listed(open.map(({ seconds = 0 }) => `${n(seconds)} s`))} on ${listed(open.map((one) => annotations.containerOf(one) ?? one.type ?? ''))}, or name the job that deletes them.`,
  );
}

function* withoutDefault(annotations: Annotations): Iterable<Found> {
  const open = typesOf(annotations).flatMap((type) => {
    const field = type.fields.find(({ path }) => fieldOf(path) === 'ttl');
    const stated = annotations
      .of('container')
      .some(({ container, ttl }) => ttl !== undefined && ttl !== 'off' && same(container, type.container));
    return field && type.container !== undefined && !stated ? [{ type, at: field.at }] : [];
  });
  yield* hinted(
    together(
      open,
      `\`ttl\` of ${listed(open.map(({ type }) => type.name))} has no effect while TTL is off for ${listed(open.map(({ type }) => type.container ?? ''))}, and no place turns it on: the documents stay for ever`,
    ),
    `Set the default TTL of ${listed(open.map(({ type }) => type.container ?? ''))} to -1: then documents without a \`ttl\` stay, and the others go.`,
  );
}

function* earlier(annotations: Annotations): Iterable<Found> {
  for (const later of annotations.of('retention')) {
    if (later.seconds === undefined || (later.by !== 'archive' && later.by !== 'job')) continue;
    const first = expiringIn(annotations).find(
      ({ type, seconds }) =>
        seconds !== undefined &&
        seconds < (later.seconds ?? 0) &&
        (same(type.name, later.type) || (later.type === undefined && same(type.container, later.container))),
    );
    if (first)
      yield {
        message: `The TTL removes ${first.type.name}${after(first.seconds)}, before the ${later.by === 'job' ? 'job' : 'archive'} takes it${after(later.seconds)}: it then finds nothing`,
        at: first.at,
        related: [later.at],
        hint: `Set the TTL of ${first.type.name} above${after(later.seconds).replace(' after', '')}, with room for a ${later.by} that is late.`,
      };
  }
}

const TTL_CHECKS: readonly ((annotations: Annotations) => Iterable<Found>)[] = [
  reference,
  others,
  embedded,
  restarted,
  rewritten,
  unfinished,
  meansless,
  withoutDefault,
  earlier,
];

const speaksOfTtl = (one: Annotation): boolean =>
  (one.kind === 'container' && one.ttl !== undefined) ||
  one.kind === 'retention' ||
  (one.kind === 'type' && one.fields.some(({ path }) => path === 'ttl'));

export const TTLS: readonly Rule[] = [
  {
    id: 'J22',
    title: 'A TTL removes what is meant, at the time that is meant',
    severity: 'warning',
    source: SOURCES.microsoft('Time to Live (TTL) in Azure Cosmos DB'),
    why: 'A TTL removes whole documents of all types of a container, and counts from the last write of each (ASM-E112). So it can’t remove elements of a list, it starts again with each update, and reference data that nobody writes disappear. A `ttl` in a document has no effect while the container’s TTL is off. A time that a soft delete sets is for the deleted documents only.',
    hint: 'Set the TTL only for the documents that are to go, by a `ttl` in them, and state from when it counts.',
    instead: ['E7', 'F15'],
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (!annotations.all.some(speaksOfTtl)) yield missing('a TTL or a retention');
      for (const check of TTL_CHECKS) yield* check(annotations);
    },
  },
];
