// D9: arrays inside documents that grow as long as the document lives.
import { isObject } from '../../../base/json.ts';
import { namedLike } from '../../reader/owners.ts';
import { declaredOf } from '../declared.ts';
import { examplesIn } from '../facts.ts';
import { type Rule, DESIGN, SOURCES } from '../rule.ts';

/** Names of things that are added one by one, without an end. */
export const GROWING =
  /^(messages|transcripts?|comments|history|events|logs?|entries|members|memberIds|participants|participantIds|attendees|rsvps|followers|followerIds|subscribers|likes|likedBy|reactions|notifications|transactions|orders|readings|measurements|versions|activities|visits|attempts|reviews|ratings|replies|posts|bookmarks|sessions|auditTrail)$|^(?:liked|saved|followed|blocked|watched|viewed|completed|visited|favou?rite)_?[A-Z]?\w*s$|(History|Log|Logs|Messages|Comments|MemberIds|Events|Versions|Attempts)$/;

/** What classifies a document: someone chooses a few. */
const CLASSES = /^(?:category|tag|role|label|topic|genre|skill|permission|feature|department)$/i;

/** `channelIds` is "channel IDs" too. */
const spoken = (field: string): RegExp => new RegExp(field.replaceAll(/([a-z])(?=[A-Z])/g, '$1[ _-]?'), 'i');
const BOUND =
  /\b(max\w*|at most|up to|limit\w*|last (?:few|n\b|`|\d+\b(?! (?:minute|hour|day|week|month|year)))|newest(?! first)|bounded|capped|fixed|no more than|fewer than|exceed\w* (?:the )?\d+)\b|[≤<]\s*\d/i;
/** One sentence has the name and the bound. */
const bounded = (text: string, field: string): boolean => {
  const named = spoken(field);
  return (
    named.test(text) &&
    text
      .split(/(?<=\.)\s+(?=[A-Z])/)
      .some(
        (sentence) =>
          named.test(sentence) &&
          (sentence.toLowerCase().includes(`recent ${field.toLowerCase()}`) || BOUND.test(sentence)),
      )
  );
};

/** `{ "user-1": 5, "user-2": 4 }`: two names or more, alike but for a number, or with ids or addresses. */
function isMap(value: unknown): boolean {
  if (!isObject(value)) return false;
  const names = Object.keys(value);
  const forms = new Set(names.map((name) => name.replaceAll(/\d+/g, '0')));
  const isValue = (name: string): boolean =>
    /^[\w.+-]+@[\w.-]+$|^[0-9a-f]{8}-[0-9a-f]{4}-|^(?:user|player|member|customer)[-_]?\w*[-_]?\d+$/i.test(name);
  return names.length > 1 && forms.size === 1 && names.every(isValue);
}

/** The arrays of a document and of the objects in it, as paths. */
const arraysIn = (value: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(value).flatMap(([field, inner]) =>
    Array.isArray(inner) ? [field] : isObject(inner) ? arraysIn(inner).map((path) => `${field}.${path}`) : [],
  );

const ROW = /^\s*\|\s*`?(?<field>[^`|]*?)`?\s*\|[^|]*\b(?:array|list)\b/i;

/** `| files | array | Every report of this client |`: the fields, in lower case, whose rows say that they have all there are. */
const fieldsOfAll = (lines: readonly string[]): ReadonlySet<string> =>
  new Set(
    lines
      .filter((line) => /\|\s*(?:every|all)\b[^|]{5,}\|\s*$/i.test(line))
      .flatMap((line) => ROW.exec(line)?.groups?.['field']?.toLowerCase() ?? []),
  );

export const GROWTH: readonly Rule[] = [
  {
    id: 'D9',
    title: 'An array in a document has a bound',
    severity: 'warning',
    source: `${SOURCES.microsoft('Data modeling in Azure Cosmos DB')}; the modelling prompt`,
    why: 'Each added element makes the document larger, every write pays for the whole document, and at 2 MB the service refuses it. The rule knows arrays by names of things that are added one by one: messages, comments, history, members, events. It also takes the ids of documents that have a container, and an array whose row in a table of fields says that it has every or all of something. It reads examples and declarations, also objects whose names are ids (`{ itemId: Item }`), and accepts a sentence that has both the field’s name and a bound; a number of days is none.',
    hint: 'Store each element as a document of its own with the same partition key. Or write the bound: "messages: at most 50".',
    needs: [DESIGN],
    *check(facts) {
      const { containers, design, pairs } = facts;
      const ofAll = fieldsOfAll(design?.lines ?? []);
      const named = containers.flatMap(({ container }) => [container, ...container.types]);
      const isOfDocuments = (field: string): boolean => {
        const of = /^(\w+?)_?ids$/i.exec(field)?.[1];
        return (
          of !== undefined && !CLASSES.test(of) && named.some(({ name }) => namedLike(of, [{ name }]) !== undefined)
        );
      };
      for (const detail of containers) {
        const { container } = detail;
        const shown = examplesIn(container).flatMap((one) =>
          arraysIn(one).map((field) => ({
            field,
            at: facts.field(one, field.split('.').at(-1) ?? field, container.at),
          })),
        );
        // An object whose names are values, such as the ids of users, is a list too.
        const maps = examplesIn(container).flatMap((one) =>
          Object.entries(one)
            .filter(([, value]) => isMap(value))
            .map(([field]) => ({ field, at: facts.field(one, field, container.at) })),
        );
        const own = design ? declaredOf(design, detail) : [];
        const declared = own.filter(({ array }) => array);
        maps.push(...own.filter(({ map }) => map));
        const found = [...shown, ...maps, ...declared].filter(({ field }, index, all) => {
          const name = field.split('.').at(-1) ?? field;
          return (
            (GROWING.test(name) ||
              ofAll.has(name.toLowerCase()) ||
              isOfDocuments(name) ||
              maps.some((one) => one.field === field)) &&
            all.findIndex((other) => other.field === field) === index &&
            !(design?.lines ?? []).some((line) => bounded(line, name)) &&
            !pairs.some(
              ({ child, bounded: known }) =>
                known && name.toLowerCase().startsWith(child.toLowerCase().replace(/s$/, '')),
            )
          );
        });
        const [first, ...others] = found;
        if (first)
          yield {
            message: `${container.name}: ${found.map(({ field }) => field).join(', ')} ${others.length === 0 ? 'grows' : 'grow'} with every use, and no sentence states a bound`,
            at: first.at,
            related: others.map(({ at }) => at),
          };
      }
    },
  },
];
