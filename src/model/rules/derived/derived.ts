// D10 and D11: data that follows from other documents, and that nothing keeps.
import { isObject } from '../../../base/json.ts';
import type { ContainerDetail, Design } from '../../documents.ts';
import type { Container } from '../../model.ts';
import { endingLike, namedLike } from '../../reader/owners.ts';
import { isIn, linesOf } from '../declared.ts';
import { fieldsOfKeys } from '../contested.ts';
import { type Facts, examplesIn, fieldsIn } from '../facts.ts';
import { type Field, fieldsOf } from '../fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, together } from '../rule.ts';
import { linesSaying, textAround } from '../said.ts';

/** Whether a projection writes the field, or a sentence with its name says what keeps it. `origin`: where it is from. */
function isKept(
  facts: Facts,
  { container }: ContainerDetail,
  field: string,
  words: RegExp,
  origin?: ContainerDetail,
): boolean {
  const projected = facts
    .into(container.name)
    .some(
      ({ fieldsText, keyText }) =>
        fieldsText.includes(field) || keyText.includes(field) || /^\W*(?:all|everything)\b/i.test(fieldsText),
    );
  return projected || says(facts.design, field, words, origin);
}

/** What the section of the origin says of its own field keeps no copy. */
function says(design: Design | undefined, field: string, words: RegExp, origin?: ContainerDetail): boolean {
  if (!design) return false;
  const own = origin ? linesOf(design, origin) : { from: 0, to: 0 };
  return linesSaying(design, words).some(([line, text]) => hasWord(text, field) && !isIn(own, line));
}

/** `xp` isn't a word of "export". */
const hasWord = (text: string, field: string): boolean =>
  text.includes(field) && (field.length > SHORT || new RegExp(String.raw`\b${field}\b`).test(text));
const SHORT = 3;

/** How many there are now of what another container has. */
const USED = /^(?:current|used)_?(?<of>[A-Za-z][a-z]+s)$/;
const COUNTER = /^(?:total_?|num(?:ber_?of)?_?)?(?<of>[a-z]+?(?:[A-Z][a-z]+)?)(?:Count|_count|s_total|sTotal)$/;
/** A number that is called like what many people do. */
const TOTAL =
  /^total_?(?:sessions|queries|points|score|orders|users|questions|games|matches|views|messages|requests|visits|plays|spent)$/i;
/** The messages of a talk, by another name. */
const TALKS = /^(?:transcripts?|turns|history|dialogue?)$/i;
const SAID = /^(?:message|turn|reply)$/i;
const TALLY = /^(?:(?:up|down)?_?votes|likes|dislikes|views|downloads|shares|plays|followers)$/i;
/** What a game or a course gives for what a person has done; the things done are documents of their own. */
const EARNED = /^(?:xp|experience_?points|reputation|karma|loyalty_?points|(?:current|longest)_?streak)$/i;
/** Counters that others' requests raise, of things that may have no container here. */
const RAISED =
  /^(?:enrolled|completed|turn|event|session|question|request|verification|interaction|conversation|click|game|visit|login|view|download|like|save|share|play|comment|reply|follower|following|member|message|unread\w*|vote|upvote|review|post|favou?rite|rating|subscriber|participant|attendee|registration|enrol?lment)s?$/i;
const KEEPS_COUNT =
  /increment|patch|atomic|change feed|trigger|re-?(comput|calculat|count)|aggregat|etag|projection|derived|computed|maintain|denormali|updated (by|on|when)|sync|batch|approximate/i;
const KEEPS_COPY =
  /snapshot|refresh|change feed|at the time|when (it was )?(created|placed|written)|sync|never chang|immutable|historic|projection|propagat|updated (by|when)|stale/i;
const COPIED =
  /^(?<of>[a-z][a-z]+?)_?(?<part>(?:Name|Title|DisplayName|Email|AvatarUrl|Avatar|Role|Status|Tier|Price|Currency)|(?<=_)(?:name|title|display_name|email|avatar_url|avatar|role|status|tier|price|currency))$/;
/** What a document may call its own name. */
const NAMES = ['name', 'title', 'displayName', 'display_name', 'fullName', 'full_name'];

const SUMMARY = /metric|stat(s|istic)|summar|analytic|report|aggregat|rollup|daily|monthly|total|snapshot/i;

/** Fields that most documents have, whatever they are. */
const COMMON =
  /^(?:id|type|pk|partition_?key|name|title|status|state|description|summary|text|body|ttl|\w*_?number|version|amount|total|currency|date|notes?|_.*|.*_?id|(?:is|has)_?[A-Z]?\w*|(?:created|updated|modified)\w*)$/i;

/**
 * Copies that two examples show: an object with `accountId` and with fields of the account's own example, or with an
 * object that has an id and is called like another container.
 */
function copiesIn(facts: Facts, detail: ContainerDetail): Field[] {
  const { container } = detail;
  // Without a key, a reference may be it.
  const keys = fieldsOfKeys(container);
  if (keys.size === 0) return [];
  const all = facts.containers.map((one) => one.container);
  const found = new Map<string, Field>();
  /** `productName` beside `productId` in an element of a list. */
  const elements = (part: Readonly<Record<string, unknown>>, one: object): void => {
    if (OF_MOMENT.test(container.name)) return;
    for (const field of Object.keys(part)) {
      const { of = '', part: copied = '' } = COPIED.exec(field)?.groups ?? {};
      const other = RENAMED.test(copied) && `${of}Id` in part ? namedLike(of, all) : undefined;
      const origin = facts.containers.find((each) => each.container === other);
      if (!origin || other === container || !NAMES.some((name) => fieldsIn(origin.container).has(name))) continue;
      if (!isKept(facts, detail, field, KEEPS_COPY))
        found.set(field, { field, at: facts.field(one, field, container.at) });
    }
  };
  const own = new Set<string>();
  for (const one of examplesIn(container)) {
    for (const part of partsOf(one)) {
      const names = Object.keys(part);
      if (part !== one) elements(part, one);
      for (const reference of names) {
        const [, of] = /^(\w+?)_?id$/i.exec(reference) ?? [];
        const called = of === undefined || of === '' ? undefined : namedLike(of, all);
        const other = called ?? referredTo(facts, of ?? '', part[reference]);
        if (!other || other === container || keys.has(reference)) continue;
        const itself = examplesIn(other).find(({ id }) => id === part[reference]);
        // Of a type in a container with another name, the example itself is the proof.
        const theirs = called ? fieldsIn(other) : new Set(Object.keys(itself ?? {}));
        const origin = facts.containers.find((each) => each.container === other);
        for (const field of names) {
          // With another value than the document that it refers to has, it is no copy: a member's role in a group.
          if (itself && theirs.has(field) && JSON.stringify(itself[field]) !== JSON.stringify(part[field]))
            own.add(field);
          if (theirs.has(field) && !COMMON.test(field) && !isKept(facts, detail, field, KEEPS_COPY, origin))
            found.set(field, { field, at: facts.field(one, field, container.at) });
        }
      }
    }
    for (const [field, value] of Object.entries(one)) {
      const other = isObject(value) && 'id' in value ? namedLike(field, all) : undefined;
      if (other && other !== container && !isKept(facts, detail, field, KEEPS_COPY))
        found.set(field, { field, at: facts.field(one, field, container.at) });
    }
  }
  return [...found.values()].filter(({ field }) => !own.has(field));
}

interface Shown {
  readonly container: Container;
  /** Of the type. */
  readonly name: string;
}

/** The types by the ids of their examples, once for a list of containers. */
function byId(facts: Facts): ReadonlyMap<unknown, readonly Shown[]> {
  const known = shownOf.get(facts);
  if (known) return known;
  const all = facts.containers.flatMap(({ container }) =>
    container.types.flatMap(({ name, examples }) => examples.map(({ id }) => ({ id, container, name }))),
  );
  const found = Map.groupBy(all, ({ id }) => id);
  shownOf.set(facts, found);
  return found;
}

const shownOf = new WeakMap<Facts, ReadonlyMap<unknown, readonly Shown[]>>();

/** The container whose type is called like a reference, and has an example with its id: `identityUserId` → `identity-user`. */
const referredTo = (facts: Facts, of: string, id: unknown): Container | undefined =>
  typeof id === 'string' && of !== '' ? namedLike(of, byId(facts).get(id) ?? [])?.container : undefined;

/** "A denormalized copy sits next to its id": a convention for all copies, with what a rename does to them. */
const CONVENTION = /\bdenormali[sz]ed (?:cop(?:y|ies)|fields?|names?)\b/i;
const RENAME = /\brenam\w+\b|\bbackfill\w*\b|\bstale\b/i;
const keepsAll = (design: Design): boolean =>
  linesSaying(design, CONVENTION).some(([line]) => RENAME.test(textAround(design, line, 0, AFTER)));
const AFTER = 4;

/** Documents that are about a moment, so that a copy in them is right for ever. */
const OF_MOMENT =
  /order|invoice|receipt|payment|transaction|log|audit|histor|event|ticket|booking|reservation|registration|snapshot|report|message|notification/i;
const RENAMED = /^(?:name|title|display_?name|avatar(?:_?url)?|role)$/i;

/** `authorName` beside `authorId`, which refers to another document: a user's own `userId` doesn't. */
const isBeside = (fields: readonly Field[], { container }: ContainerDetail, of: string, part: string): boolean =>
  of !== '' &&
  RENAMED.test(part) &&
  !OF_MOMENT.test(container.name) &&
  namedLike(of, [container]) === undefined &&
  endingLike(of, [container]) === undefined &&
  fields.some(
    ({ field }) =>
      (field === `${of}Id` || field === `${of}_id`) &&
      !examplesIn(container).some((one) => one[field] !== undefined && one[field] === one['id']),
  );

/** A document, and the elements of its lists. */
const partsOf = (document: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>[] => [
  document,
  ...Object.values(document).flatMap((value) =>
    Array.isArray(value) ? value.filter((element) => isObject(element)) : [],
  ),
];

const usedOf = (field: string, all: readonly Container[]): string | undefined => {
  const of = USED.exec(field)?.groups?.['of'];
  return of !== undefined && namedLike(of, all) ? of : undefined;
};

/** Numbers in objects of the examples, such as `enrollment.enrolledCount`; the elements of lists are others' documents. */
function nestedIn(facts: Facts, { container }: ContainerDetail): Field[] {
  const found = new Map<string, Field>();
  const visit = (part: Readonly<Record<string, unknown>>, one: object): void => {
    for (const [field, value] of Object.entries(part))
      if (isObject(value)) visit(value, one);
      else if (part !== one && typeof value === 'number' && !found.has(field))
        found.set(field, { field, at: facts.field(one, field, container.at) });
  };
  for (const one of examplesIn(container)) visit(one, one);
  return [...found.values()];
}

export const DERIVED: readonly Rule[] = [
  {
    id: 'D10',
    title: 'A counter of other documents has a path that keeps it',
    severity: 'warning',
    source: `${SOURCES.ours}; ${SOURCES.microsoft('Data modeling in Azure Cosmos DB')}`,
    why: 'A field such as `likeCount` beside a container `likes` follows from other documents, and Cosmos DB has no trigger that keeps it. Without a path it drifts; with `+= 1` it counts a repeated request twice. The same holds for `viewCount` and other counters that the requests of many people raise, for what a course or a game gives (`xp`), and for numbers in objects of the document (`usage.currentUsers`). The rule looks for a projection, or a sentence with the field’s name that says what updates it, and passes over a document that has the counted elements itself.',
    hint: 'Declare an aggregate, or write what keeps the counter: "likeCount: aggregate of likes by the change feed".',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const all = facts.containers.map(({ container }) => container);
      const unkept: { readonly name: string; readonly fields: readonly Field[] }[] = [];
      for (const detail of facts.containers) {
        // The whole document is a summary, and something writes it.
        if (detail.derived || SUMMARY.test(detail.container.name)) continue;
        const nested = nestedIn(facts, detail);
        const fields = [...fieldsOf(facts, detail), ...nested];
        const isNumber = (field: string): boolean =>
          nested.some((one) => one.field === field) ||
          examplesIn(detail.container).some((one) => typeof one[field] === 'number');
        const found = fields.filter(({ field }) => {
          if (TALLY.test(field) || TOTAL.test(field) || EARNED.test(field))
            return isNumber(field) && !isKept(facts, detail, field, KEEPS_COUNT);
          const of = COUNTER.exec(field)?.groups?.['of'] ?? usedOf(field, all) ?? '';
          if (of === '') return false;
          const other = namedLike(of, all);
          // A document that has the counted elements is written with its counter.
          const within = fields.some(
            (one) =>
              one.field !== field &&
              ((one.field.endsWith('s') && namedLike(of, [{ name: one.field }]) !== undefined) ||
                (SAID.test(of) && TALKS.test(one.field))),
          );
          return (
            (other === undefined ? RAISED.test(of) && !within : other !== detail.container) &&
            !isKept(facts, detail, field, KEEPS_COUNT)
          );
        });
        if (found.length > 0) unkept.push({ name: detail.container.name, fields: found });
      }
      const named = unkept.map(({ name, fields }) => `${fields.map(({ field }) => field).join(', ')} of ${name}`);
      yield* together(
        unkept.flatMap(({ fields }) => fields),
        `Nothing is said to keep ${named.join('; ')} up to date`,
      );
    },
  },
  {
    id: 'D11',
    title: 'A copied field has a path that keeps it fresh, or is called a snapshot',
    severity: 'warning',
    source: `${SOURCES.ours}; ${SOURCES.microsoft('Data modeling in Azure Cosmos DB')}`,
    why: 'A field such as `providerName` beside `providerId` is a copy of `name` in another container. After a rename it is wrong in every document until something writes them again. The rule takes a field for a copy if a container of that name exists and has the field, or if two examples show it: the same field beside the other’s id, or an object with an id that is called like the other container. It reads `productName` beside `productId` in the elements of lists too. It passes over containers that are derived, which group G compares with the code. It accepts a projection, and a sentence with the field’s name that says what keeps it or that it is a snapshot.',
    hint: 'Declare an embed or a copy that refreshes it. Or write beside the field that it is a snapshot, and of which moment.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const all = facts.containers.map(({ container }) => container);
      if (facts.design && keepsAll(facts.design)) return;
      for (const detail of facts.containers) {
        // A projection writes it, and the contract compares its fields with the code.
        if (detail.derived) continue;
        const fields = fieldsOf(facts, detail);
        const found = fields.filter(({ field }) => {
          const { of = '', part = '' } = COPIED.exec(field)?.groups ?? {};
          const other = of === '' ? undefined : (namedLike(of, all) ?? endingLike(of, all));
          const own = `${part.charAt(0).toLowerCase()}${part.slice(1)}`;
          const origins = [field, ...(own === 'name' ? NAMES : [own])];
          const known = facts.containers.find(({ container }) => container === other);
          // The other's documents may not be described here, or lie elsewhere; its id beside the field shows them.
          if (!known || fieldsOf(facts, known).length === 0)
            return isBeside(fields, detail, of, part) && !isKept(facts, detail, field, KEEPS_COPY);
          return (
            known &&
            known !== detail &&
            ![...known.container.partitionKey, ...detail.container.partitionKey].includes(`/${field}`) &&
            fieldsOf(facts, known).some((one) => origins.includes(one.field)) &&
            !isKept(facts, detail, field, KEEPS_COPY)
          );
        });
        found.push(...copiesIn(facts, detail).filter(({ field }) => !found.some((one) => one.field === field)));
        const [first, ...others] = found;
        if (first)
          yield {
            message: `${detail.container.name}: ${found.map(({ field }) => field).join(', ')} ${others.length === 0 ? 'is' : 'are'} copied, and nothing is said to refresh ${others.length === 0 ? 'it' : 'them'}`,
            at: first.at,
            related: others.map(({ at }) => at),
          };
      }
    },
  },
];
