// A26 and A27: values that a document states twice, and that don't agree: a total beside its parts, and words in other letters.
import { isObject } from '../../base/json.ts';
import type { ContainerDetail, Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { namedLike } from '../reader/owners.ts';
import { type Facts, examplesIn, valueAt } from './facts.ts';
import { FENCE } from './fenced.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, n, together } from './rule.ts';
import { linesSaying } from './said.ts';

interface Total {
  readonly what: string;
  readonly stated: number;
  readonly sum: number;
  readonly at: Place;
  readonly parts: Place;
}

/** `totalEdges: 67` beside `edgeCounts: { calls: 15, … }` in an example. */
function totalsIn(facts: Facts, { container }: ContainerDetail): Total[] {
  if (container.partialExamples) return [];
  return examplesIn(container).flatMap((one) =>
    Object.entries(one).flatMap(([field, stated]): Total[] => {
      const of = /^total_?(?<of>\w+)$/i.exec(field)?.groups?.['of'];
      if (of === undefined || typeof stated !== 'number') return [];
      return Object.entries(one).flatMap(([name, parts]): Total[] => {
        const counted = /^(?<of>\w+?)_?(?:counts?|totals?)$/i.exec(name)?.groups?.['of'];
        if (counted === undefined || !isObject(parts) || !namedLike(of, [{ name: counted }])) return [];
        const values = Object.values(parts);
        if (values.length < 2 || !values.every((value) => typeof value === 'number')) return [];
        return [
          {
            what: `${field} of ${container.name} is ${n(stated)}, and ${name} add up to`,
            stated,
            sum: values.reduce((sum, value) => sum + value, 0),
            at: facts.field(one, field, container.at),
            parts: facts.field(one, name, container.at),
          },
        ];
      });
    }),
  );
}

interface Written {
  readonly value: string;
  readonly known: string;
  readonly at: Place;
  readonly from: Place;
}

const EQUALS =
  /\b[a-z]\w*\.(?<field>\w+(?:\.\w+)*)\s*(?:(?:=|!=|<>)\s*(?<one>'[^']*'|"[^"]*")|IN\s*\((?<list>[^)]*)\))/gi;

/** The one of the known words that differs by its letters' case alone. */
const otherwise = (value: string, known: readonly string[]): string | undefined =>
  known.includes(value) ? undefined : known.find((one) => one.toLowerCase() === value.toLowerCase());

/** Values that queries compare a field with, and that its examples have in other letters. */
function askedIn(facts: Facts, detail: ContainerDetail): Written[] {
  const examples = examplesIn(detail.container);
  return facts.asked(detail).flatMap(({ queries, at }) =>
    queries.flatMap(({ text }) =>
      [...text.matchAll(EQUALS)].flatMap(({ groups = {} }) => {
        const { field = '', one = '', list = one } = groups;
        const shown = examples.filter((example) => typeof valueAt(example, field) === 'string');
        // `"active|done"` lists what the field may be.
        const known = shown.flatMap((example) => String(valueAt(example, field)).split('|'));
        return [...list.matchAll(/['"]([^'"]+)['"]/g)].flatMap(([, value = '']): Written[] => {
          const other = otherwise(
            value,
            known.map((word) => word.trim()),
          );
          const [first = {}] = shown;
          const name = field.split('.').at(-1) ?? field;
          return other === undefined
            ? []
            : [{ value, known: other, at, from: facts.field(first, name, detail.container.at) }];
        });
      }),
    ),
  );
}

const DIAGRAM = /^\s*classDiagram\b/;
/** The words of an enumeration in a class diagram of Mermaid: `class StatusEnum {` with a word in each line. */
function enumerated(design: Design): { value: string; at: Place }[] {
  const { lines, file } = design;
  if (linesSaying(design, DIAGRAM).length === 0) return [];
  let [isDiagram, isEnum] = [false, false];
  return lines.flatMap((text, index) => {
    if (DIAGRAM.test(text)) isDiagram = true;
    else if (FENCE.test(text)) [isDiagram, isEnum] = [false, false];
    if (!isDiagram) return [];
    if (/^\s*class\s+\w+/.test(text)) isEnum = /\bclass\s+\w*(?:Enum|Enumeration|Status|State)\s*\{/.test(text);
    else if (/^\s*\}/.test(text)) isEnum = false;
    const value = isEnum ? /^\s+([A-Za-z][\w-]+)\s*$/.exec(text)?.[1] : undefined;
    return value === undefined ? [] : [{ value, at: { file, line: index + 1 } }];
  });
}

/** Words in quotes or backticks. */
const QUOTED = /(?<![\w'])['"‘“`][A-Za-z][\w-]{3,}['"’”`](?!\w)/;

/** Words that the text quotes, and that an enumeration has in other letters; one may be a slip of the language. */
function quotedIn(design: Design): Written[] {
  const all = enumerated(design);
  if (all.length < 2) return [];
  const known = all.map(({ value }) => value);
  const found = linesSaying(design, QUOTED).flatMap(([line, text]) =>
    [...text.matchAll(new RegExp(QUOTED, 'g'))].flatMap(([word]): Written[] => {
      const value = word.slice(1, -1);
      const other = otherwise(value, known);
      const from = all.find((one) => one.value === other);
      return from ? [{ value, known: from.value, at: { file: design.file, line }, from: from.at }] : [];
    }),
  );
  return new Set(found.map(({ known: of }) => of)).size > 1 ? found : [];
}

export const VALUES: readonly Rule[] = [
  {
    id: 'A26',
    title: 'The parts of a total in an example add up to it',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'Whoever writes the program checks it against the examples. If `totalEdges` is 67 and the numbers in `edgeCounts` add up to 42, one of them counts something else, or a part is missing, and the reader can’t know which. The rule compares fields such as `totalEdges` with an object `edgeCounts` of numbers in the same example. It passes over examples that are cut short.',
    hint: 'Correct the number that is wrong, or write beside the fields what each of them counts.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const all = facts.containers.flatMap((detail) => totalsIn(facts, detail));
      if (all.length === 0) {
        yield missing('a total beside its parts in an example');
        return;
      }
      for (const { what, stated, sum, at, parts } of all)
        if (stated !== sum)
          yield { message: `${what} ${n(sum)}`, at, related: [parts], evidence: `${n(sum)} ≠ ${n(stated)}` };
    },
  },
  {
    id: 'A27',
    title: 'A value is written in the same letters everywhere',
    severity: 'warning',
    source: SOURCES.microsoft('Equality and comparison operators in Azure Cosmos DB for NoSQL'),
    why: 'Texts are compared letter by letter (ASM-E159). A query for `’Pending’` finds no document whose state is `PENDING`, and reports nothing. The rule compares the values in queries with those of the examples, and words in quotes with the enumerations of class diagrams: of these at least two must differ.',
    hint: 'Write the value in all places as the documents have it.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const asked = facts.containers.flatMap((detail) => askedIn(facts, detail));
      const all = [...asked, ...quotedIn(design)];
      if (facts.questions.every(({ queries }) => queries.length === 0) && enumerated(design).length === 0) {
        yield missing('a query or an enumeration');
        return;
      }
      const pairs = [...new Set(all.map(({ value, known }) => `${known} is also written ${value}`))];
      yield* together(
        all,
        `${pairs.join(', ')}: texts are compared letter by letter`,
        all.map(({ from }) => from),
      );
    },
  },
];
