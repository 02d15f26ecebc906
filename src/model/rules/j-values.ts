// J3: the values that a field can have, as declarations, examples and queries spell them.
import { type Annotation, type Annotations, same } from '../annotations/annotations.ts';
import {
  type MergedType,
  alike,
  isPlaceholder,
  linesOf,
  plain,
  typesIn,
  describedTypes,
} from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { listOf } from '../annotations/values.ts';
import type { Place } from '../model.ts';
import { type Found, type Rule, type RuleResult, ANNOTATIONS, SOURCES, missing, quoted, together } from './rule.ts';

interface Spelling {
  readonly value: string;
  readonly at: Place;
}
interface Lists {
  readonly lists: readonly { readonly values: readonly string[]; readonly at: Place }[];
  /** Values of queries and examples. */
  readonly used: readonly Spelling[];
}

/** `c.status = 'open'` and `c.status IN ('open', 'new')`. */
const LITERALS =
  /(?:\b\w+\.)?([A-Za-z_][\w.]*)\s*(?:!?=|<>|\bIN\b)\s*(\(?\s*(?:'[^']*'|"[^"]*")(?:\s*,\s*(?:'[^']*'|"[^"]*"))*)/gi;

const literalsOf = ({ sql = '', at }: Annotation<'access'>): readonly (Spelling & { readonly field: string })[] =>
  [...sql.matchAll(LITERALS)].flatMap(([, field = '', values = '']) =>
    [...values.matchAll(/'([^']*)'|"([^"]*)"/g)].map(([, one, other]) => ({ field, value: one ?? other ?? '', at })),
  );

const valueAt = (document: Readonly<Record<string, unknown>>, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (part, name) => (typeof part === 'object' && part !== null ? (part as Record<string, unknown>)[name] : undefined),
      document,
    );

/** The facts that list values of the field: `status of Job` and `Job.status`, or the field alone where one type has it. */
function ofFacts(annotations: Annotations, type: MergedType, path: string): Lists['lists'] {
  const others = describedTypes(annotations).filter((one) => one !== type);
  return annotations.of('fact').flatMap(({ of, property, value, at }) => {
    const values = typeof value === 'string' ? listOf(value) : undefined;
    if (!values || !isEnumeration(path, values)) return [];
    const words = `${of} ${property}`.match(/[\p{L}\p{N}_]+/gu) ?? [];
    const about = (name: string): boolean =>
      words.some((word) => plain(word) === plain(name) || plain(word) === `${plain(name)}s`);
    const ofType =
      about(type.type) ||
      (!others.some((one) => about(one.type)) &&
        !others.some((one) => one.fields.some((field) => alike(field.path, path))));
    // `status of a validation statement` is another status.
    const further = words.filter(
      (word) =>
        !ABOUT.test(word) &&
        !alike(word, path) &&
        !alike(word, type.type) &&
        !path.split(/[.[\]]+/).some((part) => alike(part, word)),
    );
    return ofType && about(path) && further.length === 0 ? [{ values, at }] : [];
  });
}

/** Words of a fact that say nothing of what has the values. */
const ABOUT =
  /^(?:a|an|the|of|in|for|each|its|all|possible|allowed|closed|list|set|values?|stat(?:e|es|us|uses)|enum|types?|kinds?|field|document|documents)$/i;

/** The facts that state one value of the field: `value of pending` is `Pending`. */
const singles = (annotations: Annotations, type: MergedType, path: string): Spelling[] =>
  annotations.of('fact').flatMap(({ of, property, value, at }) => {
    const about = (name: string): boolean => (of.match(/[\p{L}\p{N}_]+/gu) ?? []).some((word) => alike(word, name));
    const only = about(path) && (about(type.type) || of.trim().split(/\s+/).length === 1);
    return only && /\bvalue\b|\bstat(?:e|us)\b/i.test(property) && typeof value === 'string' && /^[\w-]+$/.test(value)
      ? [{ value, at }]
      : [];
  });

/** Ids, dates and names have a value for each document: several of them are no closed list, unless one is declared. */
const OPEN =
  /(?:^|[a-z_.])(?:I[dD]|I[dD]s|Name|Names|Date|Day|Time|At|Key)$|(?:^|[._])(?:ids?|names?|dates?|day|time|at|key|pk)$/;
const DATED = /^\d{4}-\d\d(?:-\d\d)?/;

/** `active|done` lists values; `customer-1|store-1` is made of other fields of its document. */
const isEnumeration = (
  path: string,
  values: readonly string[],
  document: Readonly<Record<string, unknown>> = {},
): boolean =>
  !OPEN.test(path) &&
  !values.some((value) => DATED.test(value)) &&
  !values.some((value) => Object.entries(document).some(([name, other]) => other === value && !alike(name, path)));

function listsOf(annotations: Annotations, type: MergedType, path: string): Lists {
  const examples = annotations
    .of('example')
    .filter((one) => one.type !== undefined && one.document && same(type.type, one.type));
  const shown = examples.flatMap(({ document = {}, at }) => {
    const value = valueAt(document, path);
    return typeof value === 'string' && value.length < 60 ? [{ value, at, document }] : [];
  });
  // `"status": "active|completed|failed"` is a list.
  const inExamples = shown.flatMap(({ value, at, document }) => {
    const values = /[|/]/.test(value) ? listOf(value) : undefined;
    return values && isEnumeration(path, values, document) ? [{ values, at }] : [];
  });
  const queries = annotations
    .of('access')
    .filter((one) => one.sql !== undefined && isOf(annotations, one, type, path))
    .flatMap(literalsOf)
    .filter(({ field }) => alike(field, path));
  return {
    lists: [
      ...type.fields.filter((field) => alike(field.path, path)).flatMap((field) => field.lists),
      ...inExamples,
      ...ofFacts(annotations, type, path),
    ],
    used: [
      ...singles(annotations, type, path),
      ...shown.filter(({ value }) => !isPlaceholder(value) && !/[|/]/.test(value)),
      ...queries,
    ],
  };
}

/** A query that names no type is of a type if no other type of its container has the field. */
function isOf(annotations: Annotations, access: Annotation<'access'>, type: MergedType, path: string): boolean {
  if (access.type !== undefined) return same(access.type, type.type);
  const container = annotations.containerOf(access);
  const types = (container === undefined ? describedTypes(annotations) : typesIn(annotations, container)).filter(
    ({ fields }) => fields.some((field) => alike(field.path, path)),
  );
  return types.length === 1 && types[0] === type;
}

/** `Status` and `status` are one field. */
const distinctFields = ({ fields }: MergedType): MergedType['fields'] =>
  fields.filter(({ path }, index) => fields.findIndex((one) => alike(one.path, path)) === index);

/** Values without case and separators, so that `IN-PROGRESS` and `in_progress` are one. */
const group = (all: readonly Spelling[]): Map<string, Spelling[]> => Map.groupBy(all, ({ value }) => plain(value));

const places = (all: readonly Spelling[]): string => `${quoted(all[0]?.value ?? '')} (${linesOf(all)})`;

function* compared(type: MergedType, path: string, { lists, used }: Lists): Iterable<Found> {
  const listed_ = lists.flatMap(({ values, at }) => values.map((value) => ({ value, at })));
  const all = [...listed_, ...used];
  const parts: string[] = [];
  const at: Spelling[] = [];
  for (const spellings of group(all).values()) {
    const ways = [...Map.groupBy(spellings, ({ value }) => value).values()];
    if (ways.length < 2) continue;
    parts.push(ways.map(places).join(' and '));
    at.push(...ways.toSorted((a, b) => a.length - b.length).flat());
  }
  const spelled = parts.length > 0;
  const known = lists.map(({ values, at: place }) => ({ at: place, values: new Set(values.map(plain)) }));
  const inAll = (value: string): boolean => known.every(({ values }) => values.has(plain(value)));
  // Lists that share little are of fields of one name in different documents.
  const shares = known.every(({ values }) =>
    known.every((other) => {
      const common = [...values].filter((value) => other.values.has(value)).length;
      return common * 2 >= Math.min(values.size, other.values.size);
    }),
  );
  const apart = lists.length < 2 || !shares ? [] : [...group(listed_.filter(({ value }) => !inAll(value))).values()];
  if (apart.length > 0) {
    parts.push(`${listed(apart.map(places))} ${apart.length === 1 ? 'is' : 'are'} not in every list`);
    at.push(...apart.flat());
  }
  const strange =
    lists.length === 0
      ? []
      : [...group(used.filter(({ value }) => !known.some(({ values }) => values.has(plain(value))))).values()];
  if (strange.length > 0) {
    parts.push(`${listed(strange.map(places))} ${strange.length === 1 ? 'is' : 'are'} in no list`);
    at.push(...strange.flat());
  }
  yield* together(
    [...at, ...listed_],
    parts.length === 0
      ? ''
      : `${type.type}.${path}: ${parts.join('; ')}. ${spelled ? 'Comparisons of strings are case-sensitive: a query for one spelling doesn’t find the other' : 'A program that knows one list neither finds nor handles what the other adds'}`,
  );
}

export const CLOSED_LISTS: readonly Rule[] = [
  {
    id: 'J3',
    title: 'A closed list of values is the same in declarations, examples and queries',
    severity: 'warning',
    source: SOURCES.microsoft('Keywords in Azure Cosmos DB for NoSQL'),
    why: 'Nothing in Cosmos DB holds a field to a list of values. Strings are compared letter by letter, so a query for `Pending` finds no document with `PENDING`, and no error shows it. The rule compares the lists of a field in declarations and facts, the values of examples, and the literals of queries. Alternatives in an example are a list, unless they are an id, a date, a name, or parts of the same document.',
    hint: 'Write one list, with one spelling, and take examples and queries from it.',
    instead: ['A27'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      let any = false;
      for (const type of describedTypes(annotations))
        for (const { path } of distinctFields(type)) {
          const lists = listsOf(annotations, type, path);
          if (lists.lists.length === 0) continue;
          any = true;
          for (const found of compared(type, path, lists)) if (found.message !== '') yield found;
        }
      if (!any) yield missing('a closed list of values');
    },
  },
];
