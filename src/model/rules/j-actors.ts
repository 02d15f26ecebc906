// J54 to J56 and J59: writes that are right alone and wrong beside others: what is used once, what is written unread, a
// state that several programs set, one document that all write.
import { type Annotation, type Annotations, fieldOf, same, sameField } from '../annotations/annotations.ts';
import {
  type WholeType,
  accessesOf,
  article,
  hasPurpose,
  isChange,
  isEdit,
  listed,
  typeOf,
  typesOf,
} from '../annotations/merged.ts';
import { idOf } from '../annotations/known.ts';
import type { Place } from '../model.ts';
import { isWriteGuarded } from './j-writers.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, together } from './rule.ts';

type Access = Annotation<'access'>;

const namesOf = (all: readonly { readonly name: string }[]): string =>
  listed([...new Set(all.map(({ name }) => `"${name}"`))]);

const STATE = /status|state|decision|outcome|phase|stage/i;
const ONE_TIME = /otp|one-?time|passcode|invit|nonce|magic|verif|reset|voucher|coupon|ticket|approval/i;

const readsOne = ({ operation, returns }: Access): boolean =>
  operation === 'point-read' || (operation === 'query' && returns !== 'list' && returns !== 'count');

/** A token or code that is read, and then deleted. */
function deletedOnce(annotations: Annotations, type: WholeType): { name: string; at: Place }[] {
  if (
    !hasPurpose(type, 'token') &&
    !(ONE_TIME.test(type.name) && type.fields.some(({ secret }) => secret !== undefined))
  )
    return [];
  const flows = annotations.of('flow').filter(({ steps, together: by, recovery }) => {
    const removal = steps.findIndex((step) => step.operation === 'delete' && same(step.type, type.name));
    return (
      by === undefined &&
      recovery === undefined &&
      steps.some(
        ({ operation, type: name }, index) =>
          index < removal && (operation === 'query' || operation === 'point-read') && same(name, type.name),
      )
    );
  });
  return flows.map(({ name, at }) => ({ name, at }));
}

/** A change of a state by a token, with no condition on the state. */
function changedOnce(annotations: Annotations, type: WholeType): Access[] {
  const tokens = type.fields.filter(({ secret, random }) => secret !== undefined && random === true);
  const by = ({ equals }: Access): boolean =>
    equals.some((path) => tokens.some((token) => sameField(token.path, path)));
  const accesses = accessesOf(annotations, type.name);
  if (!accesses.some((one) => readsOne(one) && by(one))) return [];
  return accesses.filter(
    (one) => isChange(one) && by(one) && one.readFirst !== true && (one.sets ?? []).some((set) => STATE.test(set)),
  );
}

function* once(annotations: Annotations): Iterable<Found> {
  for (const type of typesOf(annotations)) {
    if (isWriteGuarded(annotations, type.name)) continue;
    const removed = deletedOnce(annotations, type);
    const reads = accessesOf(annotations, type.name).filter(readsOne);
    yield* hinted(
      together(
        removed,
        `${namesOf(removed)} reads ${article(type.name)}, checks it and deletes it, with no condition: two requests with the same one both read it before either deletes it, and both are let in`,
        reads.map(({ at }) => at),
      ),
      `Delete the ${type.name} with If-Match on the ETag that was read, before anything is granted, and go on only if that delete succeeds (404 or 412: it was used).`,
    );
    const changed = removed.length > 0 ? [] : changedOnce(annotations, type);
    const states = listed(changed.flatMap(({ sets = [] }) => sets.filter((set) => STATE.test(set)).map(fieldOf)));
    yield* hinted(
      together(
        changed,
        `${namesOf(changed)} sets ${states} of ${article(type.name)} found by its token, with no condition: the same call delivered twice finds it open both times, and both go on`,
        reads.map(({ at }) => at),
      ),
      `Patch ${states} with the condition that it is still open (\`from c where c.${states.split(',')[0] ?? ''} = …\`), or replace with If-Match; go on only if that succeeds.`,
    );
  }
}

const CREATES = /creat|sign-?(?:in|up)|log-?in|first|register|ensure|provision|onboard|init|bootstrap/i;

/** It runs again for a user who is there already. */
const SIGN_IN = /sign-?in|log-?in|first (?:use|visit)/i;

/** The id is by chance, or has the time of the write: the next one has another. */
const isNewEachTime = (annotations: Annotations, type: string): boolean => {
  const { random, from = [] } = idOf(annotations, type);
  return random || from.some((field) => /time|(?:created|started|generated|run)_?at$|\bnow\b/i.test(field));
};

function* unread(annotations: Annotations): Iterable<Found> {
  const all = annotations
    .of('access')
    .filter(
      ({ operation, unread: blind, readFirst, ifAbsent, aim, name, words }) =>
        (operation === 'upsert' || operation === 'replace') &&
        readFirst !== true &&
        ifAbsent !== true &&
        aim !== 'maintenance' &&
        (blind === true ? CREATES.test(`${name} ${words}`) : operation === 'upsert' && SIGN_IN.test(name)),
    );
  for (const group of Map.groupBy(all, ({ type }) => type?.toLowerCase()).values()) {
    const [first] = group;
    const type = typeOf(annotations, first?.type);
    if (!first || !type || hasPurpose(type, 'view', 'cache', 'result', 'token', 'lease')) continue;
    if (isNewEachTime(annotations, type.name)) continue;
    const again = group.some(({ name, words }) => SIGN_IN.test(`${name} ${words}`));
    const own = new Set(group.flatMap(({ sets = [] }) => sets.map(fieldOf)));
    const others = accessesOf(annotations, type.name).filter(
      (one) => (isEdit(one) || one.readFirst === true) && !group.some(({ name }) => same(name, one.name)),
    );
    const set = [...new Set(others.flatMap(({ sets = [] }) => sets.map((path) => fieldOf(path).replace(/\[.*/, ''))))];
    const lists = type.fields
      .filter(({ type: kind, grows }) => kind === 'array' || grows === true)
      .map(({ path }) => path);
    const lost = (set.length > 0 ? set : lists).filter((path) => !own.has(path) && !/updated|modified|_ts/i.test(path));
    if (others.length === 0 || lost.length === 0) continue;
    yield* hinted(
      together(
        group,
        `${namesOf(group)} writes the whole ${type.name} without having read it: where one is there already, as after ${again ? 'a second sign-in' : 'a repeated request'} or a read that failed, ${listed(lost)} of it ${lost.length === 1 ? 'is' : 'are'} gone`,
        others.map(({ at }) => at),
      ),
      `Create the ${type.name} and take 409 as "it is there", and patch what a later ${again ? 'sign-in' : 'request'} changes.`,
    );
  }
}

/** People, and the interface by which they act. */
const PEOPLE =
  /^(?:the |an? )?(?:\w+ )?(?:users?|admins?|administrators?|owners?|players?|customers?|clients?|staff|managers?|operators?|members?|teachers?|students?|reviewers?|approvers?|sellers?|buyers?|authors?|moderators?|api|ui|frontend|web|app|browser|dashboard)s?$/i;

/** Programs or roles that set the same state. */
function* actors(annotations: Annotations): Iterable<Found> {
  for (const type of typesOf(annotations)) {
    if (isWriteGuarded(annotations, type.name)) continue;
    const setters = accessesOf(annotations, type.name).filter(
      (one) => isChange(one) && one.by !== undefined && (one.sets ?? []).some((set) => STATE.test(set)),
    );
    const states = [...new Set(setters.flatMap(({ sets = [] }) => sets.filter((set) => STATE.test(set)).map(fieldOf)))];
    for (const state of states) {
      const mine = setters.filter(({ sets = [] }) => sets.some((set) => sameField(set, state)));
      const who = [...new Set(mine.map(({ by = '' }) => by))];
      // People one after another are no race; a program that works on what it read before is one.
      if (!who.some((one) => !PEOPLE.test(one))) continue;
      // What is read first is J29's.
      if (who.filter((one, index) => !who.some((other, at) => at < index && same(one, other))).length < 2) continue;
      if (mine.some(({ readFirst }) => readFirst === true)) continue;
      yield* hinted(
        together(
          mine,
          `${listed(who)} set ${type.name}.${state} (${namesOf(mine)}), and none of them with a condition on what it was: one overwrites what another has just decided, as a cancellation by a step that is still under way`,
          type.fields.filter(({ path }) => path === state).map(({ at }) => at),
        ),
        `Patch ${state} with a condition on the values from which each change may come (\`from c where c.${state} = …\`), or replace with If-Match, and read again on 412.`,
      );
    }
  }
}

/** A document of which there is one, and that each request writes. */
function* hot(annotations: Annotations): Iterable<Found> {
  for (const type of typesOf(annotations)) {
    const single = annotations.of('id').filter((one) => one.constant === true && same(one.type, type.name));
    const key = annotations.keyOf(type.container)?.map(fieldOf) ?? [];
    const values = annotations.of('keyValue').filter((one) => same(one.type, type.name));
    const spread =
      values.some(({ from = [], distinct }) => from.length > 0 || distinct === 'many') ||
      key.some((path) => path !== 'id' && type.fields.some((field) => sameField(field.path, path)));
    const serialized = annotations.of('unique').some(({ by }) => by === 'serialized');
    const writes = accessesOf(annotations, type.name).filter(
      (one) => one.often === 'often' && (isChange(one) || one.operation === 'create'),
    );
    if (single.length === 0 || spread || serialized || hasPurpose(type, 'lease', 'reference') || writes.length === 0)
      continue;
    yield* hinted(
      together(
        single,
        `There is one ${type.name} for all, and ${namesOf(writes)} writes it each time: all these writes go to one document, so they lose each other’s change or meet 412, and their number has an end, whatever the container’s throughput is`,
        writes.map(({ at }) => at),
      ),
      `Write a document for each event or user with a \`ttl\`, and sum them up when the ${type.name} is read.`,
    );
  }
}

export const ACTORS: readonly Rule[] = [
  {
    id: 'J54',
    title: 'What may be used once is taken by a write with a condition',
    severity: 'warning',
    source: SOURCES.microsoft('Transactions and optimistic concurrency control'),
    why: 'A code is read, compared and deleted. Two requests with the same code can both read before one deletes, and a delete of what is gone is no error that anybody looks at. The same holds for an approval that a call with a token decides. Only a conditional write has one winner. The rule takes flows that read and then delete a token, and changes of a state by a secret token; any guard that is stated makes it silent.',
    hint: 'Delete with If-Match, or patch with a condition, and go on only if it succeeds.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (annotations) yield* once(annotations);
    },
  },
  {
    id: 'J55',
    title: 'A document that may be there isn’t written whole by who has not read it',
    severity: 'warning',
    source: SOURCES.microsoft('Transactions and optimistic concurrency control'),
    why: 'An upsert at the first sign-in is right once. At the second it replaces the document, and what the user entered since is gone. The rule takes upserts that a sign-in makes, and writes that are said not to read by a use that creates, of types that other accesses change.',
    hint: 'Create, and take 409 as success.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (!annotations.of('access').some(({ operation }) => operation === 'upsert')) yield missing('an upsert');
      yield* unread(annotations);
    },
  },
  {
    id: 'J56',
    title: 'A state that several programs set is set with a condition',
    severity: 'warning',
    source: SOURCES.microsoft('Transactions and optimistic concurrency control'),
    why: 'A user cancels, and at the same time an agent that has read the state before sets the next one. The last write wins, and the cancellation is gone. The rule takes fields of a state that writes of different programs or roles set, where no place names a guard.',
    hint: 'Patch with a condition on the state that is expected.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (!annotations.of('access').some(({ by }) => by !== undefined)) yield missing('who writes');
      yield* actors(annotations);
    },
  },
  {
    id: 'J59',
    title: 'No single document is written by all requests',
    severity: 'warning',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'Writes of one document are done one after another in one logical partition (ASM-E121). A document of totals or diagnostics that each save of each user writes is the slowest part of all of them, and without an ETag it is wrong. The rule takes types with a constant id and no key that spreads them, with writes that the text calls frequent.',
    hint: 'Write a document each, and sum up when reading.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (annotations) yield* hot(annotations);
    },
  },
];
