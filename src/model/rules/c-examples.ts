// C41 to C44: what the examples of a type show together: one form of times, sums over lists, ids by their recipe, and the fields that patterns name.
import { isObject } from '../../base/json.ts';
import type { ContainerDetail } from '../documents.ts';
import type { DocumentType, Place } from '../model.ts';
import { type Access, type Facts, examplesIn } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, MAPPING, PATTERNS, SOURCES, missing, n, together } from './rule.ts';

type Example = Readonly<Record<string, unknown>>;

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?<seconds>:\d\d)?(?<fraction>[.,]\d+)?(?<zone>Z|[+-]\d\d(?::?\d\d)?)?$/i;

/** Texts of two forms don't sort by time: `Z` and an offset, with and without a fraction. */
function formOf(value: unknown): string | undefined {
  const groups = typeof value === 'string' ? TIME.exec(value)?.groups : undefined;
  if (!groups) return undefined;
  const { seconds, fraction, zone } = groups;
  // A time without a zone may be UTC, and then sorts among those with Z.
  const of = zone === undefined || /z/i.test(zone) ? 'with Z' : 'with an offset';
  return [
    of,
    fraction === undefined ? 'without a fraction' : `with a fraction of ${fraction.length - 1} digits`,
    seconds === undefined ? 'to the minute' : 'to the second',
  ].join(', ');
}

interface Forms {
  readonly field: string;
  readonly first: string;
  readonly other: string;
  readonly at: Place;
  readonly from: Place;
}

function formsOf(facts: Facts, { examples, at }: DocumentType): Forms[] {
  const fields = new Set(examples.flatMap(Object.keys));
  return [...fields].flatMap((field): Forms[] => {
    const timed = examples.filter((example) => formOf(example[field]) !== undefined);
    const groups = Object.entries(Object.groupBy(timed, (example) => formOf(example[field]) ?? ''));
    // What most examples have is the form that is meant.
    const [most, rare] = groups.toSorted(([, a = []], [, b = []]) => b.length - a.length);
    const [one, other] = [most?.[1]?.[0], rare?.[1]?.[0]];
    if (!one || !other) return [];
    const [first, second] = [String(one[field]), String(other[field])];
    return [{ field, first, other: second, at: facts.field(other, field, at), from: facts.field(one, field, at) }];
  });
}

const numbersIn = (example: Example): [string, number][] =>
  Object.entries(example).filter((entry): entry is [string, number] => typeof entry[1] === 'number');

interface Way {
  readonly list: string;
  readonly factors: readonly string[];
}

/** What is summed: a number of each element, or the product of two. */
function waysOf(examples: readonly Example[]): Way[] {
  const lists = new Set(
    examples.flatMap((example) => Object.keys(example).filter((name) => Array.isArray(example[name]))),
  );
  return [...lists].flatMap((list): Way[] => {
    const items = examples.flatMap((example) => elements(example, list));
    const [first = {}] = items;
    const names = Object.keys(first).filter((name) => items.every((item) => typeof item[name] === 'number'));
    const pairs = names.flatMap((one, index) => names.slice(index + 1).map((other) => [one, other]));
    return [...names.map((name) => [name]), ...pairs].map((factors) => ({ list, factors }));
  });
}

const elements = (example: Example, list: string): Example[] => {
  const value = example[list];
  return Array.isArray(value) ? value.filter(isObject) : [];
};

const sumOf = (example: Example, { list, factors }: Way): number =>
  elements(example, list).reduce(
    (sum, item) => sum + factors.reduce((product, name) => product * Number(item[name]), 1),
    0,
  );

const near = (one: number, other: number): boolean => Math.abs(one - other) < 0.005;

interface Odd {
  readonly message: string;
  readonly at: Place;
}

const isCancelled = (example: Example): boolean =>
  Object.entries(example).some(
    ([name, value]) =>
      (/cancel/i.test(name) && Boolean(value)) || (typeof value === 'string' && /^(?:cancel|void|refund)/i.test(value)),
  );

/** A discount, or a fee and a tax together, explain the difference; so may a number that no other example has. */
function isExplained(examples: readonly Example[], example: Example, field: string, difference: number): boolean {
  const others = numbersIn(example).filter(([name]) => name !== field);
  const isOwn = others.some(([name]) => examples.every((one) => one === example || typeof one[name] !== 'number'));
  if (isOwn || isCancelled(example)) return true;
  const values = others.map(([, value]) => Math.abs(value));
  return values.some(
    (one, index) =>
      near(difference, one) ||
      values.slice(index + 1).some((two) => near(difference, one + two) || near(difference, Math.abs(one - two))),
  );
}

/** Examples whose field isn't the sum that it is in at least two others, and in all others. */
function oddSums(facts: Facts, { name, examples, at }: DocumentType): Odd[] {
  const ways = waysOf(examples);
  const fields = new Set(examples.flatMap((example) => numbersIn(example).map(([field]) => field)));
  return [...fields].flatMap((field): Odd[] => {
    const found = ways.flatMap((way) => {
      const having = examples.filter(
        (example) => typeof example[field] === 'number' && elements(example, way.list).length > 0,
      );
      const odd = having.filter((example) => !near(Number(example[field]), sumOf(example, way)));
      const rest = having.filter((example) => !odd.includes(example));
      // A list of one element, or sums that are all alike, may be equal by chance.
      const plain = rest.every(
        (example) =>
          elements(example, way.list).length < 2 &&
          near(sumOf(example, way), sumOf(example, { ...way, factors: way.factors.slice(-1) })),
      );
      const few = new Set(rest.map((example) => sumOf(example, way))).size < 2;
      return plain || few ? [] : [{ way, odd }];
    });
    const [best] = found.toSorted((a, b) => a.odd.length - b.odd.length);
    const [example, ...others] = best?.odd ?? [];
    if (!best || !example || others.length > 0) return [];
    const { way } = best;
    const [stated, sum] = [Number(example[field]), sumOf(example, way)];
    if (isExplained(examples, example, field, Math.abs(stated - sum))) return [];
    return [
      {
        message: `${field} of ${name} is the sum of ${way.factors.join(' × ')} over ${way.list} in the other examples; here the sum is ${n(sum)}, and ${field} ${n(stated)}`,
        at: facts.field(example, field, at),
      },
    ];
  });
}

const RECIPE = /\bid is `?(?<type>[\w-]+)`? with (?<names>\w+(?:, \w+)* and \w+)/i;

/** The places of the recipe's values in an id; undefined: one of them isn't there, or there twice. */
function placesIn(example: Example, names: readonly string[]): number[] | undefined {
  const id = String(example['id']);
  const places = names.map((name) => {
    const value = example[name] ?? example[`${name}Id`] ?? example[`${name}_id`];
    const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
    const at = text === '' ? -1 : id.indexOf(text);
    return at >= 0 && id.indexOf(text, at + 1) < 0 ? at : -1;
  });
  return places.includes(-1) || new Set(places).size < places.length ? undefined : places;
}

interface Recipe {
  readonly written: string;
  readonly id: string;
  readonly right: string;
  readonly at: Place;
  readonly from: Place;
}

function recipesOf(facts: Facts): { any: boolean; wrong: Recipe[] } {
  const all = facts.accesses.flatMap(({ row, detail }) => {
    const { type = '', names = '' } = RECIPE.exec(row.notes)?.groups ?? {};
    const listed = names.split(/, | and /).filter((name) => name !== '');
    const of = detail.container.types.find(({ name }) => name === type);
    return of && listed.length > 1 ? [{ row, detail, of, listed }] : [];
  });
  const wrong = all.flatMap(({ row, of, listed }): Recipe[] => {
    const told = of.examples.flatMap((example) => {
      const places = placesIn(example, listed);
      return places ? [{ example, places }] : [];
    });
    const [first] = told;
    const isOrdered = ({ places }: { places: number[] }): boolean =>
      places.every((place, index) => index === 0 || place > (places[index - 1] ?? 0));
    if (!first || told.some(isOrdered)) return [];
    const right = listed.toSorted(
      (a, b) => (first.places[listed.indexOf(a)] ?? 0) - (first.places[listed.indexOf(b)] ?? 0),
    );
    return [
      {
        written: listed.join(', '),
        id: String(first.example['id']),
        right: right.join(', '),
        at: row.at,
        from: facts.example(first.example, of.at),
      },
    ];
  });
  return { any: all.length > 0, wrong };
}

/** All names of fields, at any depth. */
function namesIn(value: unknown, into = new Set<string>()): Set<string> {
  if (Array.isArray(value)) for (const item of value) namesIn(item, into);
  else if (isObject(value))
    for (const [name, member] of Object.entries(value)) {
      into.add(name.toLowerCase());
      namesIn(member, into);
    }
  return into;
}

/** `lowestBattery`, `placed_at`: names that no sentence has. */
const FIELD = /(?<![\w./])[a-z][a-z0-9]+(?:[A-Z][a-z0-9]+|_[a-z0-9]+)+(?![\w(/.])/g;

/** What a request has, and no document. */
const OF_REQUEST = /^(?:page|continuation|cursor|limit|offset|sort|search|idempotency)/i;
/** `fromDate`, `priceMax`: the ends of a range that a request gives. */
const OF_RANGE =
  /^(?:from|to|start|end|min|max)(?=[A-Z_])|(?:From|To|Start|End|Min|Max)$|_(?:from|to|start|end|min|max)$/;
const COMPUTED = /\b(?:count|sum|avg|min|max)\s*\(|\bgroup by\b/i;

function absent({ pattern, row }: Access, details: readonly ContainerDetail[]): string[] {
  const containers = details.map(({ container }) => container);
  if (!pattern || containers.some((container) => container.partialExamples || examplesIn(container).length === 0))
    return [];
  const known = namesIn(containers.flatMap(examplesIn));
  const query = `${row.operationText} ${row.notes}`.toLowerCase();
  if (COMPUTED.test(query)) return [];
  const types = new Set(containers.flatMap(({ types: all }) => all.map(({ name }) => name.toLowerCase())));
  const asked = [...new Set(pattern.attributes.match(FIELD))];
  return asked.filter((name) => {
    const lower = name.toLowerCase();
    return (
      !OF_REQUEST.test(name) &&
      !OF_RANGE.test(name) &&
      !known.has(lower) &&
      !types.has(lower) &&
      !new RegExp(String.raw`(?:\bas |@)${lower}\b`).test(query)
    );
  });
}

export const EXAMPLES: readonly Rule[] = [
  {
    id: 'C41',
    title: 'The times of a field have one form',
    severity: 'warning',
    source: SOURCES.microsoft('Work with dates in Azure Cosmos DB for NoSQL'),
    why: 'Cosmos DB has no type for times: it stores, sorts and compares them as text. `2026-03-02T09:30:00+01:00` is the same moment as `2026-03-02T08:30:00Z`, and sorts an hour later; with an offset the first ten characters may be another day. A time with a fraction sorts before the one of the same second without it. The rule compares the times of one field in the examples of a type.',
    hint: 'Write all times in UTC with `Z` and the same number of digits.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const types = facts.containers.flatMap(({ container }) => container.types.map((type) => ({ container, type })));
      if (
        !types.some(({ type }) =>
          type.examples.some((one) => Object.values(one).some((value) => formOf(value) !== undefined)),
        )
      ) {
        yield missing('a time in an example');
        return;
      }
      for (const { container, type } of types)
        for (const { field, first, other, at, from } of formsOf(facts, type))
          yield {
            message: `${field} of ${container.name} is ${other} here and ${first} in another example: they don't sort by time`,
            at,
            related: [from],
            words: other,
          };
    },
  },
  {
    id: 'C42',
    title: 'A field that is a sum over a list is it in every example',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'Examples are what a program and its tests are written by. If `totalCents` is the sum of quantity × price over the lines in all examples but one, that one is wrong, or something else counts that no field shows. The rule looks for a number that is such a sum in at least two other examples, and isn’t in one. A difference that one or two other numbers of the example explain, such as a discount, is no finding. Nor is one in a cancelled document, or in one with a number that the others lack.',
    hint: 'Correct the total or the list. Or show the field that makes the difference.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const types = facts.containers.flatMap(({ container }) => (container.partialExamples ? [] : container.types));
      if (!types.some(({ examples }) => examples.length > 2 && waysOf(examples).length > 0)) {
        yield missing('three examples with a list of numbers');
        return;
      }
      for (const type of types) yield* oddSums(facts, type);
    },
  },
  {
    id: 'C43',
    title: 'The recipe of an id gives the ids of the examples',
    severity: 'error',
    source: SOURCES.ours,
    why: 'A point read needs the id letter by letter. A program that builds it in the order that the row states reads `route|DTW|LAS`, where the document is `route|LAS|DTW`, and gets 404, or another document. The rule reads "id is `route` with destination and origin", and looks where the values of these fields are in the ids of the examples.',
    hint: 'Write the fields in the order that they have in the id.',
    needs: [DESIGN, MAPPING],
    *check(facts): Iterable<RuleResult> {
      const { any, wrong } = recipesOf(facts);
      if (!any) yield missing('the recipe of an id ("id is `route` with destination and origin")');
      for (const { written, id, right, at, from } of wrong)
        yield {
          message: `The id is said to have ${written}, but ${id} has ${right}`,
          at,
          related: [from],
          words: written.split(', ')[0] ?? written,
        };
    },
  },
  {
    id: 'C44',
    title: 'The attributes that a pattern needs are fields of its documents',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'A page can’t show what no document has. An attribute that was added to a pattern later needs a field in the container that serves it, and something that fills the field. The rule looks for names such as `lowestBattery` under the attributes of a pattern, in the examples of the containers of its row. It passes over words, because requirements are written in them, and over names that a request gives: parameters of the query, `pageSize`, `fromDate`.',
    hint: 'Add the field to the examples of the container and to what writes it, or name the attribute as the documents do.',
    needs: [DESIGN, MAPPING, PATTERNS],
    *check(facts): Iterable<RuleResult> {
      for (const access of facts.accesses) {
        const { row, pattern, detail } = access;
        const details = row.containers.flatMap((name) => facts.detail(name) ?? []);
        const names = absent(access, details.length > 0 ? details : [detail]);
        if (!pattern || names.length === 0) continue;
        yield* together(
          [{ at: pattern.at }],
          `Pattern ${pattern.printed} needs ${names.join(', ')}, which no example of ${row.containers.join(' or ')} has`,
          [row.at],
        );
      }
    },
  },
];
