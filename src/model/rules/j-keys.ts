// J1: the partition key of a container, as all places of the document state it.
import { type Annotations, type StatedKey, fieldOf } from '../annotations/annotations.ts';
import { accessesTo, alike, linesOf, plain, typesIn } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import type { Place } from '../model.ts';
import { type Found, type Rule, type RuleResult, ANNOTATIONS, SOURCES, hinted, missing, together } from './rule.ts';

const written = (key: readonly string[]): string => (key.length === 1 ? (key[0] ?? '') : `[${key.join(', ')}]`);

/** The places by the key that they state, the commonest first. */
const byKey = (keys: readonly StatedKey[]): (readonly StatedKey[])[] =>
  [...Map.groupBy(keys, ({ key }) => key.join(' ')).values()].toSorted((a, b) => b.length - a.length);

function* differing(annotations: Annotations, container: string): Iterable<Found> {
  const groups = byKey(annotations.keysOf(container));
  const [most = [], ...others] = groups;
  if (others.length === 0) return;
  const texts = groups.map((group) => `${written(group[0]?.key ?? [])} (${linesOf(group)})`);
  const letters = new Set(groups.map((group) => (group[0]?.key ?? []).join(' ').toLowerCase())).size === 1;
  for (const found of together(
    // The finding stands at the rarer key; of two as rare, at the first.
    most.length === others[0]?.length ? groups.flat() : [...others.flat(), ...most],
    letters
      ? `${container}: the partition key differs in its letters: ${texts.join(', ')}. Paths are case-sensitive, so a document that has the one has no value for the other, and all such documents lie in one partition`
      : `${container}: the partition key is ${texts.join(' and ')}. A container has one key and it can’t be changed, so code by the one doesn’t find or spread what code by the other wrote`,
  ))
    yield {
      ...found,
      hint: `Decide for ${texts.map((text) => text.split(' (')[0]).join(' or ')} by the reads of ${container}, and write it in every place, the examples and the code included.`,
    };
}

/** A hierarchical key that is written as one path: that is a property within another. */
function* nested(annotations: Annotations): Iterable<Found> {
  const all = annotations
    .of('container')
    .filter(({ key, words }) => key !== undefined && key.length > 1 && words.includes(key.join('')));
  const paths = [...new Set(all.map(({ key = [] }) => key.join('')))];
  const names = [...new Set(all.map(({ container }) => container))];
  for (const found of together(
    all,
    `${listed(names)}: ${listed(paths)} is one path, of a property within ${listed(all.map(({ key = [] }) => (key[0] ?? '').slice(1)))}, and no hierarchical key. No document has such a property, so all lie in the partition without a value`,
  ))
    yield {
      ...found,
      hint: `Write the key as paths of its own: ${listed([...new Set(all.map(({ key = [] }) => written(key)))])}.`,
    };
}

/** Code of a language whose serializer changes the first letter, or a name for a field. */
const SERIALIZED = /\bget;|\bpublic \w+|JsonProperty|\balias\b|@\w+\(/;

/** The key's field in other letters: in a query, or in a declaration beside one that has it right. */
function* otherLetters(annotations: Annotations, container: string): Iterable<Found> {
  const key = (annotations.keyOf(container) ?? []).map(fieldOf).filter((path) => plain(path) !== 'id');
  const differs = (path: string): boolean =>
    !path.includes('.') && key.some((part) => part !== path && alike(part, path));
  // As JSON, Python or TypeScript have it, where the name is that of the stored field.
  const isLiteral = ({ at, path }: { readonly at: Place; readonly path: string }): boolean =>
    annotations.lines
      .slice(at.line - 1, at.line + 40)
      .some((text) => new RegExp(String.raw`^\s*["']?${path}["']?\??\s*:`).test(text));
  const asked = accessesTo(annotations, container).flatMap(({ query, at }) =>
    (query?.filters ?? []).filter(differs).map((path) => ({ at, path })),
  );
  const declared = typesIn(annotations, container).flatMap(({ fields }) =>
    fields.some(({ path }) => key.includes(path))
      ? fields
          .filter(({ path }) => differs(path))
          .flatMap(({ path, declared: places }) => places.map(({ at }) => ({ at, path })).filter(isLiteral))
      : [],
  );
  const all = [...asked, ...declared].filter(
    ({ at }) => !SERIALIZED.test(annotations.lines.slice(Math.max(0, at.line - 2), at.line + 2).join(' ')),
  );
  yield* hinted(
    together(
      all,
      `${container} is keyed by ${listed(key)} (${linesOf(annotations.keysOf(container))}), and ${linesOf(all)} ${new Set(all.map(({ at }) => at.line)).size === 1 ? 'has' : 'have'} ${listed([...new Set(all.map(({ path }) => path))])}. Names are case-sensitive: a document that has the one has no value for the other, and a query by it finds nothing`,
      annotations.keysOf(container).map(({ at }) => at),
    ),
    `Write ${listed(key)} in every place, or say where the serializer changes the name.`,
    'warning',
  );
}

export const STATED_KEYS: readonly Rule[] = [
  {
    id: 'J1',
    title: 'Every place states the same partition key of a container',
    severity: 'error',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'The key of a container is fixed when it is created, and every document and every request must have it. Where a table says `/partitionKey` and the code `/id`, one of them creates a container that the other can’t use. Paths are case-sensitive: a document without the key’s field goes to the partition of all documents without it. The rule compares all annotations that state the key of a container. It also reports the key’s field in other letters, in a query or a declaration, and a hierarchical key that is written as one path, which means a property within another.',
    hint: 'Write one key in every place.',
    instead: ['C31'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      const stated = annotations.containers.filter((name) => annotations.keysOf(name).length > 0);
      if (stated.length === 0) yield missing('a partition key in an annotation');
      for (const container of stated) {
        yield* differing(annotations, container);
        yield* otherLetters(annotations, container);
      }
      yield* nested(annotations);
    },
  },
];
