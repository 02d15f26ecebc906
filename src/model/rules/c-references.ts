// C32: references that have an id, and not the key of the container that they point into.
import type { ContainerDetail } from '../documents.ts';
import type { Place } from '../model.ts';
import { namedLike } from '../reader/owners.ts';
import { isAlone } from './d-owned.ts';
import { type Facts, examplesIn, isOfId, valueAt } from './facts.ts';
import { fieldsOf } from './fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, more } from './rule.ts';
import { linesSaying } from './said.ts';

interface Reference {
  readonly target: ContainerDetail;
  /** Undefined: a sentence reads it by its id. */
  readonly from: string | undefined;
  readonly at: Place;
}

const REFERENCE = /^(?<of>\w*?[a-z])(?:_id|Id|_ids|Ids)$/;
/** Whose data it is: the request knows that, because the person has signed in. */
const OF_ASKER =
  /^(?:tenant|org(?:ani[sz]ation)?|company|workspace|household|family|account|user|owner|member|customer|client)_?(?:id|key)?$/i;
/** A key that says nothing of its value is another value in each container. */
const UNNAMED = /^_?(?:pk|partition_?key|partition)$/i;
/** The id has the key in it. */
const CARRIED =
  /\bids?\b[^.|]{0,30}\b(?:contains?|includes?|carr(?:y|ies)|encodes?|embeds?|starts? with|prefixed)\b[^.|]{0,40}\b(?:key|partition|tenant|pk)\b/i;

const BY_ID =
  /\b(?:get|read|fetch|load|find|look ?up|retrieve)s?\s+(?:an? |the |one |single )?(?<first>[a-z]\w*)(?:\s+(?!by\b)\w+)?\s+by\s+(?:its\s+)?(?:\w+\s+)?ids?\b/i;
const AS_POINT = /\bpoint[- ]read|~?\s?\b1 RU\b/i;
const KEYED = /\bpartition key\b|\+ ?pk\b|\bid\b[^|]{0,5}(?:\+|,|and|&)\s*`?\/?\w/i;

const names = ({ container }: ContainerDetail): string[] =>
  container.partitionKey.map((path) => path.slice(1).split('/')[0] ?? '');

/** A document of it can't be read by its id alone. */
function isKept(detail: ContainerDetail): boolean {
  const { container, derived } = detail;
  if (derived || container.partitionKey.length === 0) return false;
  if (isAlone(container.name, container.partitionKey.join()) || isOfId(container)) return false;
  if (names(detail).every((name) => OF_ASKER.test(name))) return false;
  // `store1|order7`.
  const examples = examplesIn(container);
  return !examples.some((one) =>
    container.partitionKey.every((path) => {
      const [value, id] = [valueAt(one, path), one['id']];
      return typeof value === 'string' && value.length > 2 && typeof id === 'string' && id.includes(value);
    }),
  );
}

/** The container that `primaryTicketId` and `ticket_ids` point into. */
function targetOf(field: string, kept: readonly ContainerDetail[]): ContainerDetail | undefined {
  const of = REFERENCE.exec(field)?.groups?.['of'];
  if (of === undefined) return undefined;
  const containers = kept.map(({ container }) => container);
  const last = of.split(/_|(?<=[a-z])(?=[A-Z])/).at(-1) ?? '';
  const found = namedLike(of, containers) ?? namedLike(last, containers);
  return kept.find(({ container }) => container === found);
}

/** Names of the objects in the lists of an example: `members: [{ ticketId }]`. */
const innerOf = (one: Readonly<Record<string, unknown>>): string[] =>
  Object.values(one).flatMap((value) =>
    Array.isArray(value)
      ? value.flatMap((element: unknown) => (typeof element === 'object' && element ? Object.keys(element) : []))
      : [],
  );

function referencesOf(facts: Facts, kept: readonly ContainerDetail[]): Reference[] {
  return facts.containers.flatMap((detail): Reference[] => {
    const { container } = detail;
    const shown = fieldsOf(facts, detail);
    const inner = examplesIn(container).flatMap((one) =>
      innerOf(one).map((field) => ({ field, at: facts.field(one, field, container.at) })),
    );
    const asked = facts
      .asked(detail)
      .flatMap(({ queries, at }) => queries.flatMap(({ filters }) => filters.map((field) => ({ field, at }))));
    const keys = names(detail).map((field) => ({ field, at: facts.place(detail, 'partitionKey') }));
    const all = [...shown, ...inner, ...keys, ...asked];
    const has = new Set(all.map(({ field }) => field));
    return all.flatMap(({ field, at }, index): Reference[] => {
      const target = all.findIndex((one) => one.field === field) === index ? targetOf(field, kept) : undefined;
      if (!target || target === detail) return [];
      const made = madeOf(facts, target);
      const known = names(target).every((name) =>
        UNNAMED.test(name)
          ? hasKeyOf(field, has) || (made.length > 0 && made.every((part) => has.has(part)))
          : has.has(name) || OF_ASKER.test(name),
      );
      return known ? [] : [{ target, from: `${container.name}.${field}`, at }];
    });
  });
}

/** The fields of `/partitionKey` = `{tenantId}:{projectId}`, where the key is stated. */
function madeOf(facts: Facts, detail: ContainerDetail): string[] {
  const line = facts.design?.lines[facts.place(detail, 'partitionKey').line - 1] ?? '';
  const value = /\/\w+`?\s*(?:=|:|→|\()\s*`?(?<value>[^`|)\s]*\{\w+\}[^`|)\s]*)/.exec(line)?.groups?.['value'] ?? '';
  return [...value.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}

/** `ticketPk` beside `ticketId`. */
const hasKeyOf = (field: string, has: ReadonlySet<string>): boolean => {
  const of = (REFERENCE.exec(field)?.groups?.['of'] ?? '').toLowerCase();
  return [...has].some((other) => other.toLowerCase().startsWith(of) && /(?:pk|partition\w*|key)s?$/i.test(other));
};

/** "Get ticket by ID: point read", without a word about the key. */
function claims(facts: Facts, kept: readonly ContainerDetail[]): Reference[] {
  const { design } = facts;
  const containers = kept.map(({ container }) => container);
  return design
    ? linesSaying(design, BY_ID).flatMap(([line, text]): Reference[] => {
        // Below a comment stands the query, which is judged by itself.
        if (!AS_POINT.test(text) || KEYED.test(text) || /^\s*(?:--|\/\/|#)/.test(text)) return [];
        const found = namedLike(BY_ID.exec(text)?.groups?.['first'] ?? '', containers);
        const target = kept.find(({ container }) => container === found);
        return target && !names(target).some((name) => text.includes(name))
          ? [{ target, from: undefined, at: { file: design.file, line } }]
          : [];
      })
    : [];
}

export const REFERENCES: readonly Rule[] = [
  {
    id: 'C32',
    title: 'What is read by its id has the key beside it',
    severity: 'warning',
    source: SOURCES.microsoft('Read an item in Azure Cosmos DB for NoSQL'),
    why: 'A point read takes the id and the partition key (ASM-E133). A reference such as `ticketId` into a container with another key says only half: whoever follows it asks every partition, and a change by the id alone can’t be made at all. The rule compares the fields of each container that point into another one with that container’s key. It also reads "get a ticket by ID: point read". It accepts the key’s field in the same document, an id that has the key in it, and a key that is the asker’s own id.',
    hint: 'Store the key of the other document beside its id, make the id of both, or use the id as the key.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design || facts.containers.length < 2) return;
      const kept = facts.containers.filter(isKept);
      if (kept.length === 0) {
        yield missing('a container whose key isn’t its id');
        return;
      }
      if (linesSaying(design, CARRIED).length > 0) return;
      const all = [...claims(facts, kept), ...referencesOf(facts, kept)];
      const [first, ...others] = all;
      if (!first) return;
      const said = all
        .slice(0, 4)
        .map(
          ({ target: { container }, from }) =>
            `${from === undefined ? '' : `${from} → `}${container.name} (key ${container.partitionKey.join(', ')})`,
        );
      yield {
        message: `${[...new Set(said)].join(', ')}${more(Math.max(0, all.length - 4))}: with the id alone this is no point read, and asks every partition`,
        at: first.at,
        related: others.map(({ at }) => at),
      };
    },
  },
];
