// J4: examples and ids as the service takes them, and as the document says that they are made.
import { type Annotation, type Annotations, fieldOf, same } from '../annotations/annotations.ts';
import { idOf } from '../annotations/known.ts';
import { alike, linesOf, plain, describedType, describedTypes } from '../annotations/described.ts';
import { listed, outerOf } from '../annotations/merged.ts';
import { isExisting } from '../annotations/scale.ts';
import { valueAt } from '../model.ts';
import { examplesOf, otherForms, otherParts, otherValues } from './j-id-forms.ts';
import {
  type Found,
  type Rule,
  type RuleResult,
  ANNOTATIONS,
  SOURCES,
  hinted,
  missing,
  quoted,
  together,
} from './rule.ts';

const nameOf = ({ type }: Annotation<'example'>): string => type ?? 'the example';

/** Examples of a stored document that lack the key's field, or an id. */
function* incomplete(annotations: Annotations): Iterable<Found> {
  const whole = examplesOf(annotations).filter(({ partial }) => partial !== true);
  const stored = whole.flatMap((example) => {
    const container = annotations.containerOf(example);
    return container === undefined ? [] : [{ example, container, at: example.at, key: annotations.keyOf(container) }];
  });
  for (const group of Map.groupBy(stored, ({ container }) => container).values()) {
    const [{ container, key = [] } = { container: '', key: [] }] = group;
    const lacking = group.filter(({ example }) => key.some((path) => valueAt(example.document, path) === undefined));
    const names = listed(lacking.map(({ example }) => nameOf(example)));
    const near = [...new Set(lacking.flatMap(({ example }) => Object.keys(example.document)))].filter((field) =>
      key.some((path) => alike(path, field)),
    );
    for (const found of together(
      lacking,
      `${container} is keyed by ${key.map(fieldOf).join(', ')} (${linesOf(annotations.keysOf(container).slice(0, 1))}), and the example of ${names} has no such field${near.length > 0 ? `, but ${listed(near)}` : ''}. Such documents all lie in the partition without a value, and no read by ${key.map(fieldOf).join(', ')} finds them`,
      annotations.keysOf(container).map(({ at }) => at),
    ))
      yield {
        ...found,
        severity: 'error',
        hint:
          near.length > 0
            ? `Write one name in the key and in the document; paths are case-sensitive.`
            : `Add ${key.map(fieldOf).join(', ')} to the example, or correct the key of ${container}.`,
      };
  }
  const nameless = stored.filter(({ example }) => example.document['id'] === undefined);
  yield* together(
    nameless,
    `The example of ${listed(nameless.map(({ example }) => nameOf(example)))} has no id, which each document must have. Without a rule for the id a repeated write makes a second document, and no point read is possible`,
  );
}

/** A class may have the id of another one, or map a field to it. */
const MAPPED =
  /\b(?:extends|inherits?|base (?:class|type|document|entity)|common fields)\b|class \w+\s*:\s*\w*(?:Base|Document|Entity)\w*|JsonProperty(?:Name)?\(\s*"id"|alias\s*=\s*["']id["']|@Id\b|["'`]id["'`]\s*[:=]/;

/** Types whose definitions list all fields, and of which no place names an id. */
function* withoutId(annotations: Annotations): Iterable<Found> {
  // A box of a drawing has what there is room for.
  const isDrawn = ({ at }: { readonly at: Annotation['at'] }): boolean =>
    /[│┃]/.test(annotations.lines[at.line - 1] ?? '');
  const all = describedTypes(annotations).filter(({ type, fields, definitions }) => {
    const declared = annotations.of('type').filter((one) => same(one.type, type) && one.complete === true);
    return (
      annotations.containersOf(type).length === 1 &&
      !outerOf(annotations, type) &&
      !isExisting(annotations, { type }) &&
      declared.some((one) => one.fields.length >= 3) &&
      !fields.some(({ path }) => plain(path) === 'id') &&
      // A primary key by another name is no `id`.
      !annotations
        .of('id')
        .some(
          ({ type: whose, words, from = [] }) => same(whose, type) && (from.length !== 1 || /\bid\b/i.test(words)),
        ) &&
      !annotations.of('example').some((one) => same(one.type, type)) &&
      !definitions.some(isDrawn) &&
      !definitions.some(({ at }) =>
        MAPPED.test(annotations.lines.slice(Math.max(0, at.line - 4), at.line + 30).join('\n')),
      )
    );
  });
  const names = listed(all.map(({ type }) => type));
  const own = all.flatMap(({ type, fields }) =>
    fields.filter(({ path }) => /^\w+$/.test(path) && isItself(type, [path])).map(({ path }) => path),
  );
  yield* hinted(
    together(
      all.flatMap(({ definitions }) => definitions),
      `${names}: the fields are listed (${linesOf(all.flatMap(({ definitions }) => definitions))}), and id isn’t among them${own.length > 0 ? `, only ${listed([...new Set(own)])}` : ''}. Each document must have an id of this spelling. Without it the service refuses the write, or the client makes a random id: then a retry stores a second document, and no point read is possible`,
    ),
    `Add id to ${names}, and say of what it is made${own.length > 0 ? `, such as id = ${own[0] ?? ''}` : ''}.`,
  );
}

const REFUSED = /[/\\#?]/;
/** Fields whose values have slashes. */
const WITH_SLASHES = /(?:url|uri|href|link|filepath|folderpath|blobpath|routepath)$|^path$/;

interface Refused {
  readonly type: string;
  readonly why: string;
  readonly at: Annotation['at'];
}

function refusedIds(annotations: Annotations): Refused[] {
  const shown = examplesOf(annotations).flatMap((example): Refused[] => {
    const id = example.document['id'];
    return typeof id === 'string' &&
      annotations.containerOf(example) !== undefined &&
      REFUSED.test(id) &&
      !/[<{…]|\.{3}/.test(id)
      ? [{ type: nameOf(example), why: `"${quoted(id)}" has ${listed(signsIn(id))}`, at: example.at }]
      : [];
  });
  const made = annotations.of('id').flatMap(({ type, format, from = [], at }): Refused[] => {
    const literal = (format ?? '').replaceAll(/\{[^}]*\}|<[^>]*>|\$\{[^}]*\}/g, 'x');
    // A format with blanks is prose.
    if (format !== undefined && REFUSED.test(literal) && !/\s|\(/.test(literal))
      return [{ type, why: `the form ${quoted(format)} has ${listed(signsIn(literal))}`, at }];
    const slashes = idOf(annotations, type).open ? from.filter((field) => WITH_SLASHES.test(plain(field))) : [];
    return slashes.length > 0 ? [{ type, why: `it is made of ${listed(slashes)}, whose values have "/"`, at }] : [];
  });
  return [...made, ...shown];
}

/** Fields of free text, in which people write any sign. */
const FREE = /(?:filename|documentname|title|subject)$/;

function* freeTexts(annotations: Annotations): Iterable<Found> {
  const all = annotations
    .of('id')
    .filter(({ type, from = [] }) => from.some((field) => FREE.test(plain(field))) && idOf(annotations, type).open);
  const texts = listed(all.flatMap(({ from = [] }) => from.filter((field) => FREE.test(plain(field)))));
  yield* hinted(
    together(
      all,
      `The id of ${listed(all.map(({ type }) => type))} is made of ${texts}: such a text may have "/", "\\", "#" or "?", which an id may not have, and two documents may have the same. The write of such a document fails, or replaces another`,
    ),
    `Take a random id, or a hash of ${texts} and what tells two documents of one ${texts} apart, and keep ${texts} as a field.`,
  );
}

const signsIn = (text: string): string[] => [...new Set(text.match(/[/\\#?]/g))].map((sign) => `"${sign}"`);

function* refused(annotations: Annotations): Iterable<Found> {
  for (const group of Map.groupBy(refusedIds(annotations), ({ type }) => plain(type)).values()) {
    const [first] = group;
    for (const found of together(
      group,
      `The id of ${first?.type ?? ''} can’t be written: ${first?.why ?? ''}. An id may not have "/", "\\", "#" or "?": the service or its client refuses the document, or a point read of it fails`,
    ))
      yield {
        ...found,
        severity: 'error',
        hint: 'Join the parts by ":" or "_", and hash or encode parts that have such signs.',
      };
  }
}

/** Whether `from` is only another name of the id. */
const isItself = (type: string, from: readonly string[]): boolean =>
  from.length === 1 &&
  (plain(from[0] ?? '') === 'id' ||
    plain(from[0] ?? '').endsWith(`${plain(type)}id`) ||
    // `sessionId` of an admin session.
    (/..id$/.test(plain(from[0] ?? '')) && plain(type).endsWith(plain(from[0] ?? '').slice(0, -2))) ||
    /(?:^|\.)(?:uu|gu|o)?id$/i.test(from[0] ?? ''));

function* formulas(annotations: Annotations): Iterable<Found> {
  for (const type of annotations.types) {
    const made = annotations
      .of('id')
      .filter((one) => same(one.type, type) && one.from !== undefined && one.from.length > 0);
    const ways = [...Map.groupBy(made, ({ from = [] }) => from.map(plain).toSorted().join(' ')).values()].toSorted(
      (a, b) => b.length - a.length,
    );
    // A field of the id and the whole id agree.
    const apart = ways.filter((way) => !isItself(type, way[0]?.from ?? []));
    const chance = annotations
      .of('id')
      .filter((one) => same(one.type, type) && one.random === true && one.from === undefined);
    const formula = (way: (typeof apart)[number]): string => (way[0]?.from ?? []).join(' + ');
    const decide = `Decide how the id of ${type} is made, write it in every place, and make the examples by it.`;
    const [first, second] = apart;
    if (first && second)
      yield* hinted(
        together(
          apart.toReversed().flat(),
          `${type}: the id is made of ${apart.map((way) => `${formula(way)} (${linesOf(way)})`).join(', and of ')}. Writers by different formulas give one thing two ids, so it is stored twice and looked up in vain`,
        ),
        decide,
      );
    else if (first && chance.length > 0)
      yield* hinted(
        together(
          [...chance, ...first],
          `${type}: the id is random (${linesOf(chance)}), and made of ${formula(first)} (${linesOf(first)}). By the first a repeated write stores a second document, by the second it doesn’t`,
        ),
        decide,
      );
  }
}

/** Ids are strings, and a key that has the same value as a number is another value. */
function* otherTypes(annotations: Annotations): Iterable<Found> {
  for (const { type, from = [], at } of annotations.of('id')) {
    const [field] = from;
    const [container] = annotations.containersOf(type);
    const key = annotations.keyOf(container)?.[0];
    if (field === undefined || from.length > 1 || key === undefined || !alike(key, field) || plain(key) === 'id')
      continue;
    const numbers =
      describedType(annotations, type)
        ?.fields.find(({ path }) => alike(path, key))
        ?.types.filter((one) => one.type === 'number') ?? [];
    if (numbers.length === 0) continue;
    yield* hinted(
      together(
        [{ at }, ...numbers],
        `${type}: ${fieldOf(key)}, the key of ${container ?? ''}, is a number (${linesOf(numbers)}), and the id is the same value as a string. A point read that gives the id as the key’s value finds nothing, because "1" isn’t 1`,
      ),
      `Store ${fieldOf(key)} as a string.`,
    );
  }
}

export const ANNOTATED_IDS: readonly Rule[] = [
  {
    id: 'J4',
    title: 'Examples and ids are as the service takes them, and made in one way',
    severity: 'warning',
    source: SOURCES.microsoft('Azure Cosmos DB service quotas'),
    why: 'A document without the key’s field lies in the partition of all such documents. Each document has an `id`, so a definition that lists all fields names it. An id may not have the signs /, \\, # and ? (ASM-E166). Two formulas for one id give one thing two documents. The rule compares examples with the key of their container, ids with the form that the text gives, and the formulas with one another. A sign that stands for another, as %2F or ~2F for a slash, counts as the sign itself.',
    hint: 'Write one formula, and make the examples by it.',
    instead: ['C1', 'C11', 'C36', 'A20'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('example').length + annotations.of('id').length === 0)
        yield missing('an example or an id in an annotation');
      yield* incomplete(annotations);
      yield* withoutId(annotations);
      yield* refused(annotations);
      yield* freeTexts(annotations);
      yield* otherForms(annotations);
      yield* otherValues(annotations);
      yield* otherParts(annotations);
      yield* formulas(annotations);
      yield* otherTypes(annotations);
    },
  },
];
