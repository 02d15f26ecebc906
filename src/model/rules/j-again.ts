// J57 and J58: what a repetition writes twice, and what nobody repeats.
import { type Annotation, type Annotations, fieldOf, same } from '../annotations/annotations.ts';
import { alike } from '../annotations/described.ts';
import { accessesOf, isWriting, listed } from '../annotations/merged.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, together } from './rule.ts';

type Flow = Annotation<'flow'>;

/** Who calls again after an error without knowing what was done. */
const REPEATS = /\bagents?\b|\btools?\b|\bllm\b|assistant|retr(?:y|ies)|repeat|again|queue|trigger|webhook/i;

const randomIds = (annotations: Annotations, type: string): readonly Annotation<'id'>[] => {
  const ids = annotations.of('id').filter((one) => same(one.type, type));
  return ids.some(({ from = [], constant }) => from.length > 0 || constant === true)
    ? []
    : ids.filter(({ random }) => random === true);
};

const isUnique = (annotations: Annotations, type: string): boolean =>
  annotations.of('unique').some((one) => same(one.type, type)) ||
  annotations
    .of('container')
    .some(
      ({ container, uniqueKeys = [] }) => uniqueKeys.length > 0 && same(container, annotations.containerOf({ type })),
    );

function* doubled(annotations: Annotations): Iterable<Found> {
  const loops = annotations.of('flow').flatMap((flow) => {
    const types = flow.steps.flatMap(({ operation, type }) =>
      operation === 'create' && type !== undefined ? [type] : [],
    );
    const [type, other] = [...new Set(types)];
    const near = annotations.lines.slice(Math.max(0, flow.at.line - 3), flow.at.line + 2).join(' ');
    const who = type === undefined ? [] : accessesOf(annotations, type).map(({ by = '' }) => by);
    const ids = type === undefined ? [] : randomIds(annotations, type);
    return flow.many === true &&
      flow.together === undefined &&
      type !== undefined &&
      other === undefined &&
      ids.length > 0 &&
      flow.steps.every((step) => !isWriting(step) || same(step.type, type)) &&
      !isUnique(annotations, type) &&
      REPEATS.test(`${flow.recovery ?? ''} ${who.join(' ')} ${near}`)
      ? [{ flow, type, ids }]
      : [];
  });
  for (const [type, all] of Map.groupBy(loops, (one) => one.type)) {
    const names = listed([...new Set(all.map(({ flow }) => `"${flow.name}"`))]);
    yield* hinted(
      together(
        all.map(({ flow }) => flow),
        `${names} creates several ${type} one after another, each with an id by chance: an error halfway leaves the first ones, and who then repeats the call writes these a second time`,
        all.flatMap(({ ids }) => ids.map(({ at }) => at)),
      ),
      `Make the id of ${type} from what it is (its owner and name, or the id of the request and its number), so that a repetition meets 409 or replaces; and write those of one partition in one batch.`,
    );
  }
}

const REPEATED = /idempoten|dedup/i;

/** A value that is called an idempotency key, and that no id, unique key, read or condition has. */
function* unusedKeys(annotations: Annotations): Iterable<Found> {
  const called = annotations
    .of('unique')
    .filter(({ words, by, fields }) => by === undefined && fields.length === 1 && REPEATED.test(words));
  // A receipt of each request is where the key is kept, and a value that is made of others is in the id with them.
  const receipts = annotations.types.some((type) => /idempoten|receipt|dedup|processed|inbox/i.test(type));
  if (receipts) return;
  const open = called.filter(({ type, fields: [field = ''] }) => {
    if (field.includes('-') || annotations.lines.some((line) => isMade(line, field))) return false;
    const container = annotations.containerOf({ type });
    const ids = annotations.of('id').filter((one) => same(one.type, type));
    const accesses = accessesOf(annotations, type);
    return (
      accesses.some(isWriting) &&
      !isIn(
        ids.flatMap(({ from = [] }) => from),
        field,
      ) &&
      !isIn([...(annotations.keyOf(container) ?? [])].map(fieldOf), field) &&
      !annotations
        .of('container')
        .some((one) => same(one.container, container) && isIn((one.uniqueKeys ?? []).flat(), field)) &&
      !accesses.some(
        (one) =>
          isIn([...one.equals, ...(one.ranges ?? []), ...(one.sets ?? [])], field) || one.guard === 'create-conflict',
      ) &&
      !annotations.of('unique').some((one) => same(one.type, type) && one.by !== undefined && isIn(one.fields, field))
    );
  });
  yield* hinted(
    together(
      open,
      `${listed(open.map(({ type, fields }) => `${type}.${fields[0]}`))} is called an idempotency key, and no id, unique key, read or condition of a write has it: a message that is delivered again is not known, and is applied again`,
      open.flatMap(({ type }) =>
        accessesOf(annotations, type)
          .filter(({ operation }) => operation === 'upsert' || operation === 'create')
          .map(({ at }) => at),
      ),
    ),
    `Make an id from ${listed(open.flatMap(({ fields }) => fields))} and create a document with it in the same batch as the change: the second create fails with 409, and nothing is changed twice.`,
  );
}

/** `idempotencyKey = jobId:chapterId` */
const isMade = (line: string, field: string): boolean => {
  const at = line.indexOf(field);
  return at >= 0 && /^\W{0,3}=\W{0,3}\w+[:|_+-]\w/.test(line.slice(at + field.length));
};

const isIn = (fields: readonly string[], field: string): boolean => fields.some((one) => alike(one, field));

const PROMISE =
  /\bnever (?:be )?(?:lost|loses?|missed)|\b(?:not|n’t|n't) (?:be )?(?:lost|lose)\b|\bno \w+ (?:is|are|gets?) lost|without (?:any )?loss|guaranteed? to be|exactly once/i;
const BY_CHANCE =
  /logged|swallow|ignored|best[- ]effort|client|user|player|caller|visit|until (?:it|the|re-?)|delete-time|on delete|by hand|manual/i;
const SURE = /\bjob\b|schedul|timer|queue|feed|sweep|outbox|cron|worker|reject|rolled? back|redeliver|transaction/i;

function* unsure(annotations: Annotations): Iterable<Found> {
  const promised = annotations.lines.flatMap((line, index) =>
    PROMISE.test(line) ? [{ at: { file: annotations.file, line: index + 1 } }] : [],
  );
  if (promised.length === 0) return;
  const flows = Map.groupBy(
    annotations.of('flow').filter(({ steps }) => steps.length > 1),
    ({ name }) => name.toLowerCase(),
  );
  const open = [...flows.values()].filter((places) => {
    const recoveries = places.flatMap(({ recovery }) => recovery ?? []);
    return (
      recoveries.length > 0 &&
      recoveries.every((one) => !SURE.test(one)) &&
      recoveries.some((one) => BY_CHANCE.test(one)) &&
      !places.some(({ together: by }) => by === 'outbox' || by === 'change-feed' || by === 'batch')
    );
  });
  const all: Flow[] = open.flat().filter(({ recovery }) => recovery !== undefined);
  const words = [...new Set(all.map(({ recovery = '' }) => recovery))];
  const types = listed(all.flatMap(({ steps }) => steps.flatMap(({ type }) => type ?? [])));
  yield* hinted(
    together(
      all,
      `${listed([...new Set(all.map(({ name }) => `"${name}"`))])} (${types}) is repaired only by ${words.map((one) => `“${one}”`).join(' and ')}: nothing runs by itself, so after a failed write the data stay wrong until somebody happens to do that, against the promise that nothing is lost`,
      promised.map(({ at }) => at),
    ),
    `Let a reader of the change feed or a job that runs by itself find what is half done and complete it; or take back the promise.`,
  );
}

export const AGAIN: readonly Rule[] = [
  {
    id: 'J57',
    title: 'A repeated call doesn’t write the same documents again',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A loop of creates can stop in the middle. A person looks what is there; an agent, a queue or a client with retries calls again with all of it. With ids by chance the first ones are then there twice. The rule takes uses that create many documents of one type with a random id, where something that repeats calls is named, and values that are called idempotency keys and that nothing compares.',
    hint: 'Make the ids from what the documents are, and write one batch.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (annotations.of('flow').length === 0) yield missing('a use that changes several documents');
      yield* doubled(annotations);
      yield* unusedKeys(annotations);
    },
  },
  {
    id: 'J58',
    title: 'What the text promises not to lose is repaired by something that runs by itself',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A repair that runs when a user happens to delete, to open or to save something may never run. For a hint that is enough, for a promise it isn’t. The rule takes uses whose recovery is logging, a client or a later action, in a document that says that nothing is lost.',
    hint: 'Let a reader of the change feed or a job complete what is half done.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (!annotations.of('flow').some(({ recovery }) => recovery !== undefined)) yield missing('a recovery');
      yield* unsure(annotations);
    },
  },
];
