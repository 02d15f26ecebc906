// J1: the partition key of a container, as all places of the document state it.
import type { Annotations, StatedKey } from '../annotations/annotations.ts';
import { linesOf } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { type Found, type Rule, type RuleResult, ANNOTATIONS, SOURCES, missing, together } from './rule.ts';

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

export const STATED_KEYS: readonly Rule[] = [
  {
    id: 'J1',
    title: 'Every place states the same partition key of a container',
    severity: 'error',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'The key of a container is fixed when it is created, and every document and every request must have it. Where a table says `/partitionKey` and the code `/id`, one of them creates a container that the other can’t use. Paths are case-sensitive: a document without the key’s field goes to the partition of all documents without it. The rule compares all annotations that state the key of a container. It also reports a hierarchical key that is written as one path, which means a property within another.',
    hint: 'Write one key in every place.',
    instead: ['C31'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      const stated = annotations.containers.filter((name) => annotations.keysOf(name).length > 0);
      if (stated.length === 0) yield missing('a partition key in an annotation');
      for (const container of stated) yield* differing(annotations, container);
      yield* nested(annotations);
    },
  },
];
