// C30 and C31: keys whose value changes, and keys that two places of the text state differently.
import type { ContainerDetail, Design } from '../documents.ts';
import type { Container, Place } from '../model.ts';
import { type StatedKey, contestedIn, statementsOf } from './contested.ts';
import { declaredOf } from './declared.ts';
import { type Facts, examplesIn, valueAt } from './facts.ts';
import { type Found, type Rule, type RuleResult, DESIGN, SOURCES, missing, more, together } from './rule.ts';
import { isSaid, linesSaying } from './said.ts';

const CHANGES =
  /^(?:(?:user|owner|customer|member|contact|account)_?)?(?:e_?mail(?:_?address)?|phone(?:_?number)?|display_?name)$|^(?:user|team|room|group|channel|project)?_?name$|^title$|^(?:assigned_?to|assignee)(?:_?id)?$|^(?:current|last)_?[A-Z_]\w*$|^stage$/i;
/** People, and the group that has them for a time. */
const PEOPLE = /^(?:students?|pupils?|employees?|staff|players?|workers?|drivers?|nurses?|patients?|agents?)$/i;
const GROUP =
  /^(?:class|classroom|course|team|department|grade|section|cohort|branch|group|squad|shift|ward|league)_?(?:id|name|code)?$/i;
/** A line with the key's field says that its value is another one later, or of two kinds. */
const REPLACED =
  /\b(?:re-?match\w*|re-?mapp\w*|re-?assign\w*|re-?classif\w*|re-?categori\w*|merged into|transferred)\b/i;
const TWO_KINDS = /\b\w*(?:id|uuid|guid|key)\b(?: \([\w ]+\))? or (?:an? |the )?(?:\w+ )?\w*(?:id|uuid|guid|key)\b/i;
/** A document that lives so long isn't moved. */
const SHORT = 7 * 86_400;

const ADDRESS = /^[^@\s]+@[^@\s]+\.[a-z]+$/i;
const SETTLED =
  /\b(?:never|doesn['’]t|does not|don['’]t|can['’]t|cannot|not) (?:be )?chang|\bimmutable\b|\bfixed for\b|\bdelet\w+ and (?:re-?)?creat|\bre-?creat\w+ (?:the|in|under)|\bmov(?:e|es|ed|ing) (?:the )?documents?\b|\bhash(?:ed)? (?:of|e-?mail|address)|\bnormali[sz]ed (?:e-?mail|address)/i;

const DESCRIBED = /^\s*\|[^|]*\|.*\be-?mail address\b/i;

/** What shows that the value of the key changes: its name, an address as its value, or a row that calls it one. */
function changing(facts: Facts, detail: ContainerDetail): { at: Place; mixed?: true }[] {
  const [path = ''] = detail.container.partitionKey;
  const field = path.slice(1);
  if (field === '' || field === 'id') return [];
  const { container } = detail;
  const isOfGroup = PEOPLE.test(container.name) && GROUP.test(field);
  const named = CHANGES.test(field) || isOfGroup ? [facts.place(detail, 'partitionKey')] : [];
  const shown = examplesIn(detail.container).filter((one) => {
    const value = valueAt(one, path);
    return typeof value === 'string' && ADDRESS.test(value);
  });
  const described = facts.design
    ? linesSaying(facts.design, DESCRIBED).filter(([, text]) =>
        new RegExp(String.raw`^\s*\|\W*${field}\W*\|`).test(text),
      )
    : [];
  const word = new RegExp(
    String.raw`(?<![\w.])${field}\x60?(?![\w(])[^.|;]{0,50}${REPLACED.source}|${REPLACED.source}[^.|;]{0,50}(?<![\w.])${field}\b`,
    'i',
  );
  const replaced = facts.design ? linesSaying(facts.design, REPLACED).filter(([, text]) => word.test(text)) : [];
  const mixed = facts.design
    ? declaredOf(facts.design, detail).filter(
        (one) => one.field === field && TWO_KINDS.test(facts.design?.lines[one.at.line - 1] ?? ''),
      )
    : [];
  const others = [
    ...named,
    ...replaced.map(([line]) => ({ file: container.at.file, line })),
    ...shown.map((one) => facts.field(one, field, detail.container.at)),
    ...(shown.length > 0 ? described.map(([line]) => ({ ...detail.container.at, line })) : []),
  ];
  return [...mixed.map(({ at }) => ({ at, mixed: true as const })), ...others.map((at) => ({ at }))];
}

/** `lines 3, 7`. */
const linesOf = (places: readonly StatedKey[]): string =>
  `${places.length === 1 ? 'line' : 'lines'} ${places.map(({ at }) => at.line).join(', ')}`;

interface Contest {
  readonly container: Container;
  readonly main: readonly StatedKey[];
  readonly others: readonly StatedKey[];
}

/** The key that most places state, and the places of the others. */
function contestOf(container: Container, all: readonly StatedKey[]): Contest {
  const lineOf = ([first]: readonly StatedKey[]): number => first?.at.line ?? 0;
  const byKey = [...Map.groupBy(all, ({ key }) => key).values()].toSorted(
    (one, other) => other.length - one.length || lineOf(one) - lineOf(other),
  );
  const [main = [], ...others] = byKey;
  return { container, main, others: others.flat() };
}

const keysOf = (places: readonly StatedKey[]): string => [...new Set(places.map(({ key }) => key))].join(', ');

/** The finding stands where fewer places state the key: that is the one to look at first. */
function* differing(design: Design, all: readonly Contest[]): Iterable<Found> {
  const [first] = all;
  if (!first) return;
  const { container, main, others } = first;
  // One of two tables may be of what was before.
  const isRow = ({ at }: StatedKey): boolean => design.lines[at.line - 1]?.trimStart().startsWith('|') === true;
  const isCertain = container.otherKeys !== undefined && !(main.every(isRow) && others.every(isRow));
  for (const finding of together(
    all.flatMap((one) => one.others),
    `${container.name}${more(all.length - 1)} ${all.length > 1 ? 'have' : 'has'} the key ${keysOf(main)} in ${linesOf(main)}, and ${keysOf(others)} here`,
    all.flatMap((one) => one.main.map(({ at }) => at)),
  ))
    yield { ...finding, ...(isCertain && { severity: 'error' }) };
}

export const CHANGING: readonly Rule[] = [
  {
    id: 'C30',
    title: 'The value of the partition key doesn’t change',
    severity: 'warning',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'A document stays in the partition in which it was created: the value of its key can’t be updated (ASM-E131). If a person gets another address, or a task another assignee, the program must create each document again in another partition and delete the old one, in no transaction. The rule knows keys such as `/email` and `/assigneeId`, and keys whose example is an e-mail address; people under the key of a class or a team; a key that a text matches or assigns again; and one that is declared as one id or another. It passes over documents that live for a week at most. It accepts a sentence that says that the value doesn’t change, or how documents move.',
    hint: 'Use an id of the person as the key, and find it by a document for each address.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const keyed = facts.containers.filter(({ container, derived }) => container.partitionKey.length > 0 && !derived);
      if (keyed.length === 0) {
        yield missing('a partition key');
        return;
      }
      const open = keyed.flatMap((detail) => {
        const lives = detail.container.defaultTtl ?? -1;
        if (isSaid(design, detail, SETTLED) || (lives > 0 && lives <= SHORT)) return [];
        return changing(facts, detail).map((one) => ({ ...one, detail }));
      });
      const details = [...new Set(open.map(({ detail }) => detail))];
      yield* together(
        open,
        `${details.map(({ container }) => container.name).join(', ')}: the value of the key ${[...new Set(details.map(({ container }) => container.partitionKey[0] ?? ''))].join(', ')} changes${open.some(({ mixed }) => mixed) ? ' or is one of two ids' : ''}, and a document can’t change its partition`,
        details.map((detail) => facts.place(detail, 'partitionKey')),
      );
    },
  },
  {
    id: 'C31',
    seesAllKeys: true,
    title: 'The text states one key for a container',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A container has one partition key, which is fixed when it is created (ASM-E131). If a table says `/userId` and another one `/id`, a part of the programs reads by the wrong one. The rule compares what sections, code, the rows of tables with a column for the key, and sentences such as "`users`, `orders`: all with partition key `/id`" say. Of other sentences, two must state the other key. It is an error if a section, a list of labels or code states both. It passes over lines about a migration. No other rule uses a key of this container then, because it would be a guess which of them the programs have.',
    hint: 'Correct the places that are wrong. Until then no rule checks anything by the key of this container.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const contested = contestedIn(design);
      if (contested.size === 0 && statementsOf(design).length === 0) {
        yield missing('a table or a sentence with keys of containers');
        return;
      }
      // The same slip in the definitions of several containers is one.
      const contests = [...contested].map(([{ container }, all]) => contestOf(container, all));
      const sides = ({ main, others }: Contest) => [`main ${keysOf(main)}`, `other ${keysOf(others)}`] as const;
      const counts = Map.groupBy(contests.flatMap(sides), (side) => side);
      const most = (contest: Contest): string => {
        const [one, other] = sides(contest);
        return (counts.get(one)?.length ?? 0) > (counts.get(other)?.length ?? 0) ? one : other;
      };
      for (const group of Map.groupBy(contests, most).values()) yield* differing(design, group);
    },
  },
];
