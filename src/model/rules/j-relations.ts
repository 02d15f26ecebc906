// J33 and J36: relations that are stored on both sides, and what by its nature is there once.
import { type Annotations, fieldOf, same, sameField } from '../annotations/annotations.ts';
import {
  type TypeField,
  type WholeType,
  accessesOf,
  article,
  covers,
  listed,
  outerOf,
  typesOf,
} from '../annotations/merged.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, together } from './rule.ts';

const isList = ({ path, type, grows }: TypeField): boolean => type === 'array' || grows === true || path.includes('[');

function* onBothSides(annotations: Annotations): Iterable<Found> {
  for (const parent of typesOf(annotations))
    for (const list of parent.fields) {
      if (list.refersTo === undefined || !isList(list)) continue;
      const child = typesOf(annotations).find((type) => same(type.name, list.refersTo));
      const back = child?.fields.find((field) => same(field.refersTo, parent.name) && field !== list && !isList(field));
      if (!child || !back) continue;
      const kept =
        annotations
          .of('derived')
          .some(
            (one) =>
              one.keptBy !== undefined &&
              ((same(one.type, parent.name) && sameField(one.field ?? '', list.path)) ||
                (same(one.type, child.name) && sameField(one.field ?? '', back.path))),
          ) ||
        annotations
          .of('flow')
          .some(
            ({ steps, together: by }) =>
              by !== undefined && [parent, child].every(({ name }) => steps.some((step) => same(step.type, name))),
          );
      if (kept) continue;
      yield* hinted(
        together(
          annotations
            .of('type')
            .filter(
              (one) =>
                (same(one.type, parent.name) && one.fields.some(({ path }) => sameField(path, list.path))) ||
                (same(one.type, child.name) && one.fields.some(({ path }) => sameField(path, back.path))),
            ),
          `Which ${child.name} belong to ${article(parent.name)} is stored twice, in ${parent.name}.${list.path} and in ${child.name}.${back.path}, and nothing keeps both in step: after a failure between the two writes, or two changes at once, they disagree`,
        ),
        `Keep only ${child.name}.${back.path}, and find the ${child.name} of ${article(parent.name)} by a query; or write both in one batch, which takes the same partition key.`,
      );
    }
}

/** A list that repeats another list of the same document. */
function* withinOne(annotations: Annotations): Iterable<Found> {
  const all = annotations
    .of('derived')
    .filter(
      ({ type, of, field, form, keptBy, snapshot }) =>
        form === 'copy' &&
        same(type, of) &&
        keptBy === undefined &&
        snapshot === undefined &&
        field !== undefined &&
        typesOf(annotations).some(
          (one) => same(one.name, type) && one.fields.some((each) => sameField(each.path, field) && isList(each)),
        ),
    );
  for (const group of Map.groupBy(all, ({ type, field = '' }) => `${type}.${fieldOf(field)}`)) {
    const [name, places] = group;
    yield* hinted(
      together(
        places,
        `${name} repeats what the same ${places[0]?.type} has in another place, and nothing keeps both the same: a change of one leaves the other, and the document is larger by it`,
      ),
      `Keep one of the two, and collect ${name} when the document is read.`,
    );
  }
}

const PERSON = /user|member|customer|person|people|owner|account|player|student|patient|author|profile|client/i;
/** What one person makes once for one thing. */
const ONCE =
  /^(?:\w*[-_ ])?(?:reviews?|ratings?|votes?|upvotes?|likes?|favou?rites?|bookmarks?|follows?|followers?|friendships?|memberships?|subscriptions?|rsvps?|reactions?|enrol?lments?|flags?)$|(?:Review|Rating|Vote|Like|Favou?rite|Bookmark|Follow|Membership|Subscription|Reaction|Enrol?lment)s?$/i;
/** A ticket may be reviewed again. */
const OF_WORK = /pending|code|peer|performance|human/i;
/** What only one may have for a time. */
const TIMED = /booking|reservation|appointment|rental/i;
const TIME = /date|time|slot|start|from|begin|day|hour/i;

const isStated = (annotations: Annotations, { name }: WholeType): boolean =>
  annotations.of('unique').some((one) => same(one.type, name)) ||
  accessesOf(annotations, name).some(({ operation, guard }) => operation === 'create' && guard !== undefined);

function* twice(annotations: Annotations): Iterable<Found> {
  for (const type of typesOf(annotations)) {
    if (isStated(annotations, type) || outerOf(annotations, type.name)) continue;
    const references = type.fields.filter((field) => field.refersTo !== undefined && !isList(field));
    const person = references.find((field) => PERSON.test(field.refersTo ?? ''));
    const thing = references.find(
      (field) => field !== person && !PERSON.test(field.refersTo ?? '') && !/tenant|org/i.test(field.refersTo ?? ''),
    );
    const ids = annotations.of('id').filter((one) => same(one.type, type.name));
    if (!thing) continue;
    if (
      person &&
      ONCE.test(type.name) &&
      !OF_WORK.test(type.name) &&
      !ids.some(({ from }) => from && covers(from, [person.path, thing.path]))
    )
      yield* hinted(
        together(
          [person, thing],
          `Nothing keeps ${article(person.refersTo ?? '')} from making several ${type.name} of the same ${thing.refersTo}: the id isn’t said to be made of ${person.path} and ${thing.path}, so a second request or a retry stores a second one, and counts and averages take both`,
          type.places,
        ),
        `Make the id of ${type.name} from ${thing.path} and ${person.path}, so that the second create fails with 409, or an upsert changes the first.`,
      );
    const times = type.fields.filter(
      ({ path, type: kind }) => TIME.test(path) && !/creat|updat|modif|cancel/i.test(path) && kind !== 'array',
    );
    const [time] = times;
    if (!TIMED.test(type.name) || !time) continue;
    const key = annotations.keyOf(type.container);
    const apart = key !== undefined && !key.some((path) => sameField(fieldOf(path), thing.path));
    const keyPlaces = annotations.of('container').filter((one) => one.key && same(one.container, type.container));
    yield* hinted(
      together(
        [thing, ...times],
        `Nothing keeps two ${type.name} of the same ${thing.refersTo} at the same time (${listed([thing.path, ...times.map(({ path }) => path)])}) apart: two requests at once both find it free, and both store theirs${apart ? `. ${type.container} has the key ${key.join(', ')}, so the check for others reads all partitions, and no transaction holds check and write together` : ''}`,
        [...keyPlaces.slice(0, 1).map(({ at }) => at), ...type.places],
      ),
      `Keep a document for each ${thing.refersTo} and slot whose id is made of ${[thing.path, ...times.map(({ path }) => path)].join(', ')}, under the partition key ${thing.path}, and create it before the ${type.name}: the second create fails with 409. Or keep the taken times in one document of the ${thing.refersTo} a day, and replace it with its ETag.`,
    );
  }
}

export const RELATIONS: readonly Rule[] = [
  {
    id: 'J33',
    title: 'A relation is stored once, or something keeps both sides in step',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A list of ids in the parent and the parent’s id in each child say the same. Two writes keep them, and one can fail alone. Then a page that reads the list shows other children than a query does. The rule takes a list that refers to a type whose documents refer back, and accepts any way that is stated to keep either.',
    hint: 'Keep only the id of the parent in the child.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (!typesOf(annotations).some(({ fields }) => fields.some(({ refersTo }) => refersTo !== undefined)))
        yield missing('a reference between types');
      yield* onBothSides(annotations);
      yield* withinOne(annotations);
    },
  },
  {
    id: 'J36',
    title: 'What is there once by its nature has an id that says so',
    severity: 'warning',
    source: SOURCES.microsoft('Unique key constraints in Azure Cosmos DB'),
    why: 'One person reviews, likes or follows a thing once, and a room has one booking for a time. With an id by chance a repeated request makes a second document, and a query before the write is no guard. The rule takes types with such a name which refer to a person and a thing, or to a thing and have a time, where no place says that they are unique. J20 takes what a document calls unique itself.',
    hint: 'Make the id from the person and the thing, or from the thing and the slot.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      yield* twice(annotations);
    },
  },
];
