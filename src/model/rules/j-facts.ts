// J2: what the document states twice, it states the same.
import { type Annotation, type Annotations, same } from '../annotations/annotations.ts';
import { type FieldType, type MergedType, linesOf, describedTypes } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { type Stated, agree, statedOf } from '../annotations/values.ts';
import type { Place } from '../model.ts';
import {
  type Found,
  type Rule,
  type RuleResult,
  ANNOTATIONS,
  SOURCES,
  hinted,
  missing,
  n,
  quoted,
  together,
} from './rule.ts';

interface Said {
  readonly text: string;
  readonly stated: Stated;
  readonly at: Place;
  /** "70 % or more". */
  readonly isLeast?: boolean;
}

/** Lower bounds agree with each other, and with what is above them. */
function canBoth(a: Said, b: Said): boolean {
  if (a.isLeast === true && b.isLeast === true) return true;
  const [least, other] = a.isLeast === true ? [a, b] : [b, a];
  return (
    agree(a.stated, b.stated) ||
    isLabelOf(a.text, b.text) ||
    (least.isLeast === true &&
      least.stated.kind === 'number' &&
      other.stated.kind === 'number' &&
      other.stated.value >= least.stated.value)
  );
}

/** `Knowledge Domain` in a drawing and `User Container` in a title are labels of the names beside them. */
const isLabelOf = (a: string, b: string): boolean => same(a, b) && (/\s/.test(a.trim()) || /\s/.test(b.trim()));

/** Places that can all be true, the most of them first. */
function sides(all: readonly Said[]): Said[][] {
  const groups: Said[][] = [];
  // A text that two others contain agrees with both, so the longest come first.
  for (const one of all.toSorted((a, b) => b.text.length - a.text.length)) {
    const group = groups.find((others) => others.every((other) => canBoth(one, other)));
    if (group) group.push(one);
    else groups.push([one]);
  }
  return groups.toSorted((a, b) => b.length - a.length);
}

interface Contradiction {
  readonly said: string;
  readonly places: readonly Said[];
  readonly hint: string;
}

/** What has several sides, the rarest first. */
function contradiction(all: readonly Said[], subject: string): readonly Contradiction[] {
  const [most = [], ...others] = sides(all);
  if (others.length === 0) return [];
  const texts = [most, ...others].map((side) => `${quoted(side[0]?.text ?? '', 80)} (${linesOf(side)})`);
  return [
    {
      said: `${subject} is ${texts.join(' and ')}`,
      places: [...others.flat(), ...most],
      hint: `${subject}: decide between ${listed([most, ...others].map((side) => quoted(side[0]?.text ?? '', 40)))}`,
    },
  ];
}

/** Contradictions of one and the same place have one cause. */
function* joined(all: readonly Contradiction[], harm: string): Iterable<Found> {
  const groups: Contradiction[][] = [];
  for (const one of all) {
    const lines = new Set(one.places.map(({ at }) => at.line));
    const group = groups.find((others) => others.some(({ places }) => places.some(({ at }) => lines.has(at.line))));
    if (group) group.push(one);
    else groups.push([one]);
  }
  for (const group of groups)
    yield* hinted(
      together(
        group.flatMap(({ places }) => places),
        `${group.map(({ said }) => said).join('; ')}. ${harm}`,
      ),
      `${group.map(({ hint }) => hint).join('; ')}; then correct the other places.`,
    );
}

const words = (text: string): string[] => text.match(/[\p{L}\p{N}_]+/gu) ?? [];

/** Whether a fact is about a container, a type or a field: only there is another wording another design. */
function isOfModel(annotations: Annotations, of: string): boolean {
  const names = [...annotations.containers, ...annotations.types];
  const fields = describedTypes(annotations).flatMap((type) => type.fields.map(({ path }) => path.toLowerCase()));
  return (
    /\b(?:account|database|cosmos ?db)\b/i.test(of) ||
    names.some((name) => same(name, of) || words(of).some((word) => same(word, name))) ||
    words(of).some((word) => word !== 'id' && fields.includes(word.toLowerCase()))
  );
}

const isField = (annotations: Annotations, name: string): boolean =>
  describedTypes(annotations).some(
    ({ type, fields }) =>
      same(type, name) || fields.some(({ path }) => words(name).at(-1) === path || name.endsWith(`.${path}`)),
  );

/** Several of these may hold at once, or they say how a place puts it rather than what is. The form of an id is J4's. */
const MANY_TRUE =
  /\b(?:purpose|use[sd]?|description|reason|example|contains?|includes?|made|by|from|in|at|on|role|path|endpoint|feature|benefit|step|note|form|format|scope|status)\b/i;
/** `one per user` and `one per tenant` can be compared, free words can't. */
const QUANTITY = /^(?:one|a single|single|each|every|per|two|three|all|no|none)\b/i;

/** What is short enough that another wording is another value; without an example behind a colon. */
function isExact({ stated, text }: Said): boolean {
  const [plain = ''] = text.trim().split(/[:(]/);
  const count = plain.trim().split(/\s+/).length;
  return stated.kind === 'text' && (count <= 2 || (QUANTITY.test(plain) && count <= 6));
}

/** What somebody builds by: names, settings, forms, counts. Free prose and praise aren't compared. */
const BUILT =
  /\b(?:names?|keys?|partition\w*|granularity|ids?|identif\w+|types?|modes?|versions?|levels?|regions?|database|container|account|consistency|algorithm|hash\w*|models?|ttl|units?|sizes?|length|capacity|order|dimensions?|methods?|provider|engine|source of truth|auth\w*|values?|default|numbers?|counts?|limits?|timeout|interval|schedule|policy|retention|throughput|prefix|suffix|separator|discriminator|managed|resource|language|runtime|tier|sku|terraform|bicep)\b/i;
/** A boolean of these is a setting or a rule of the design. */
const SWITCH =
  /\b(?:required|mandatory|optional|enabled|disabled|unique|indexed|encrypted|immutable|public|shared|nullable|sharded|partitioned)\b/i;
/** Figures of what is hoped for or measured, by which nobody builds. */
const HOPED =
  /\b(?:savings?|saved|reduction|improve\w*|benefit|gain|faster|cheaper|utili[sz]ation|usage|progress|coverage|probability|confidence|likelihood|effort|estimate\w*)\b/i;

/** `70%+`, `at least 5`, `> 10`. */
function isLeast({ value, words: text }: Annotation<'fact'>): boolean {
  const [, digits] = /(\d[\d,.]*)/.exec(String(value)) ?? [];
  if (digits === undefined) return false;
  const number = Number(digits.replaceAll(',', ''));
  return [...`${String(value)} ${text}`.matchAll(LEAST)].some(({ groups }) =>
    [groups?.['before'], groups?.['after']].some(
      (one) => one !== undefined && Number(one.replaceAll(',', '')) === number,
    ),
  );
}
const LEAST =
  /(?:\bat least|\bmore than|\bover|\bminimum of|>=?|≥)\s*[$€]?(?<after>\d[\d,]*(?:\.\d+)?)|(?<before>\d[\d,]*(?:\.\d+)?)\s?(?:%|[A-Za-z]+(?:\/[a-z]+)?)?\+/gi;

const NOW =
  /\b(?:today|current(?:ly)?|existing|background|as[- ]is|status quo|before|problem|what exists|legacy|previous|history|old|baseline|why)\b/i;

/** The time of which a place speaks: what is there today isn't what the design states. */
function timeOf({ lines }: Annotations, { at, existing }: Annotation<'fact'>): 'now' | 'then' {
  if (
    existing === true ||
    /\b(?:today|currently|at present|no longer|used to|previously)\b/i.test(lines[at.line - 1] ?? '')
  )
    return 'now';
  const above = lines.slice(0, at.line).findLast((line) => /^#{1,6}\s/.test(line));
  return above !== undefined && NOW.test(above) ? 'now' : 'then';
}

const key = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[`"'\s]+/g, ' ')
    .trim();

/** Load and its rates: `RU`, `RU/s`, `per second`. */
const LOAD = /\brus?\b|\bRU\/s|\brps\b|\brequest units?\b|\bper (?:second|minute|hour|day)\b|\bthroughput\b/i;

/** A load with which a place counts for several containers at once is the worst of them, and not that of each. */
const isOfSeveral = (annotations: Annotations, fact: Annotation<'fact'>): boolean =>
  LOAD.test(`${fact.property} ${fact.unit ?? ''}`) &&
  annotations.containers.filter((name) => words(fact.words).some((word) => same(word, name))).length > 1 &&
  annotations.of('sum').some(({ at, parts }) => at.line === fact.at.line && parts.includes(Number(fact.value)));

function facts(annotations: Annotations): readonly Contradiction[] {
  const examples = annotations.of('example').map(({ at, to, line }) => ({ from: at.line, to: at.line + to - line }));
  const isShown = ({ line }: Place): boolean => examples.some(({ from, to }) => line >= from && line <= to);
  const real = annotations.of('fact').filter(
    (fact) =>
      fact.example !== true &&
      !HOPED.test(fact.property) &&
      !HOPED.test(fact.of) &&
      // How code is called isn't how data are stored; the types of one field are compared by its declarations.
      !/\b(?:method|signature|function)\b/i.test(fact.property) &&
      !(/^type$/i.test(fact.property) && !isField(annotations, fact.of)) &&
      !/[*{<]/.test(String(fact.value)) &&
      !isOfSeveral(annotations, fact),
  );
  const groups = Map.groupBy(
    real,
    (fact) => `${key(fact.of)}.${key(fact.property)}.${key(fact.environment ?? '')}.${timeOf(annotations, fact)}`,
  );
  return [...groups.values()].flatMap((group): readonly Contradiction[] => {
    const [first] = group;
    if (!first || group.length < 2) return [];
    const all = group.map((fact): Said => ({
      text: `${typeof fact.value === 'number' ? n(fact.value) : String(fact.value)}${fact.unit === undefined ? '' : ` ${fact.unit}`}`,
      stated: statedOf(fact),
      at: fact.at,
      isLeast: isLeast(fact),
    }));
    // An example shortens its lists.
    const counted = /dimension|\bcount|number|items|size|how many/i.test(first.property);
    // What only examples have is a slip in a sample.
    if (all.every((one) => isShown(one.at))) return [];
    const numbers = all.filter(({ stated, at }) => stated.kind === 'number' && !(counted && isShown(at)));
    const subject = key(first.of) === key(first.property) ? first.of : `${first.of}: ${first.property}`;
    if (group.every(({ value }) => typeof value === 'boolean'))
      return SWITCH.test(first.property) ? contradiction(all, subject) : [];
    const texts =
      !MANY_TRUE.test(first.property) && BUILT.test(first.property) && isOfModel(annotations, first.of)
        ? all.filter(isExact)
        : [];
    // Three places with three texts each name one of several.
    const sorts = sides(texts);
    const isList = sorts.length > 2 && sorts.every(({ length }) => length === 1);
    return [...contradiction(numbers, subject), ...(isList ? [] : contradiction(texts, subject))];
  });
}

const TESTED =
  /(?<![a-z])(?:tests?|testing|acceptance|stag(?:e|ing)|dev|development|demo|local|sandbox|preview|ci|e2e)(?![a-z])/i;

function* ofContainers(annotations: Annotations): Iterable<Found> {
  for (const name of annotations.containers) {
    const own = annotations
      .of('container')
      .filter(({ container, environment }) => same(container, name) && environment === undefined);
    const text = (value: string): Stated => ({ kind: 'text', text: value, words: new Set([value]) });
    yield* joined(
      contradiction(
        own.flatMap(({ ttl, at }) =>
          ttl === undefined || ttl === 'on'
            ? []
            : [
                {
                  text: typeof ttl === 'number' ? `${n(ttl)} s` : ttl,
                  stated: typeof ttl === 'number' ? statedOf({ value: ttl, unit: 's' }) : text(ttl),
                  at,
                },
              ],
        ),
        `${name}: the TTL`,
      ),
      'Documents expire sooner or later than one of the places promises',
    );
    yield* joined(
      contradiction(
        own.flatMap(({ database, at, words: from }) =>
          // A database of a test is another one.
          database === undefined || TESTED.test(`${database} ${from}`)
            ? []
            : [{ text: database, stated: text(database), at }],
        ),
        `${name}: the database`,
      ),
      'Who connects by the one finds no such container',
    );
  }
}

/** JSON types that a declared type may have. */
const JSON_TYPES: Readonly<Record<FieldType, readonly string[]>> = {
  string: ['string'],
  number: ['number'],
  boolean: ['boolean'],
  object: ['object'],
  array: ['array'],
  vector: ['array'],
  date: ['string', 'number'],
};
const canBe = (a: FieldType, b: FieldType): boolean => JSON_TYPES[a].some((type) => JSON_TYPES[b].includes(type));

function* types(type: MergedType): Iterable<Found> {
  const differ = type.fields.filter(({ types: all }) =>
    all.some((one) => all.some((other) => !canBe(one.type, other.type))),
  );
  if (differ.length === 0) return;
  const texts = differ.map(({ path, types: all }) => {
    const sorts = [...Map.groupBy(all, (one) => one.type)].map(([sort, places]) => `${sort} (${linesOf(places)})`);
    return `${path} is ${listed(sorts)}`;
  });
  yield* together(
    differ.flatMap((field) => field.types),
    `${type.type}: ${texts.join('; ')}. Cosmos DB compares values with their type: a filter or a key with "1" doesn’t find 1`,
  );
}

export const STATED_TWICE: readonly Rule[] = [
  {
    id: 'J2',
    title: 'What several places state of one thing agrees',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A document is built from in parts: one person reads the table, another the code. Where the places differ, the parts don’t fit. The rule compares facts with the same subject and property, the TTL, throughput and database of a container, and the types of a field in declarations and examples. Units are converted. A text that says more than another doesn’t contradict it, and texts about anything but a container, a type or a field aren’t compared. Nor is a load that a place counts with for several containers at once.',
    hint: 'Decide which place is right, and correct the others.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.all.length === 0) yield missing('annotations');
      yield* joined(facts(annotations), 'Both can’t be true, and whoever builds by one place contradicts the other');
      yield* ofContainers(annotations);
      for (const type of describedTypes(annotations)) yield* types(type);
    },
  },
];
