// J18 and J19: vectors, and large fields that nobody asks for, beside the indexing policy.
import { type Annotations, same } from '../annotations/annotations.ts';
import { accessesOf, alike, linesOf, listed, plain, typesIn } from '../annotations/described.ts';
import { indexedField, indexesOf, pathsOf } from './index-paths.ts';
import { POLICY } from './j-indexes.ts';
import { type Found, type Rule, type RuleResult, ANNOTATIONS, SOURCES, missing, quoted, together } from './rule.ts';

function* vectors(annotations: Annotations, container: string): Iterable<Found> {
  const types = typesIn(annotations, container);
  const fields = types.flatMap(({ fields: all }) =>
    all.filter(
      ({ path, types: sorts }) => sorts.some(({ type }) => type === 'vector') || /embedding|vector/i.test(path),
    ),
  );
  const reads = accessesOf(annotations, container).filter(
    ({ searches = [], sql = '' }) =>
      /VectorDistance/i.test(sql) ||
      searches.some((path) => /embedding|vector/i.test(path) || fields.some((field) => alike(field.path, path))),
  );
  const indexes = indexesOf(annotations, container);
  const policy = indexes.filter(({ vectorPolicy = [] }) => vectorPolicy.length > 0);
  const index = indexes.filter(({ vectorIndexes = [] }) => vectorIndexes.length > 0);
  const elsewhere = annotations.of('derived').some(({ form }) => form === 'search-index');
  const empty = indexes.filter(
    ({ vectorIndexes, excluded = [] }) =>
      vectorIndexes?.length === 0 ||
      excluded.some((path) => fields.some((field) => alike(indexedField(path), field.path))),
  );
  if (reads.length === 0 || elsewhere || (policy.length > 0 && index.length > 0)) return;
  const lacking = listed([
    ...(policy.length === 0 ? ['vector embedding policy'] : []),
    ...(index.length === 0 ? ['vector index'] : []),
  ]);
  yield* together(
    [...reads, ...empty],
    `${container}: ${listed(reads.map(({ name }) => `"${quoted(name)}"`))} searches by ${listed(fields.map(({ path }) => path)) || 'a vector'}, and the container has no ${lacking}${empty.length > 0 ? ` (${linesOf(empty)})` : ''}. Without them a search by meaning fails or compares every vector, and a container gets its vector policy when it is created`,
    fields.map(({ at }) => at),
  );
}

function* largeFields(annotations: Annotations): Iterable<Found> {
  const all = annotations.containers.flatMap((container) => {
    const indexes = indexesOf(annotations, container);
    const excluded = pathsOf(indexes)
      .filter((one) => one.excluded)
      .map(({ path }) => path);
    const included = pathsOf(indexes).filter((one) => !one.excluded);
    const selective = excluded.includes('/*') || (included.length > 0 && !included.some(({ path }) => path === '/*'));
    if (selective || indexes.some(({ mode }) => mode?.toLowerCase() === 'none')) return [];
    const asked = new Set(
      accessesOf(annotations, container).flatMap(({ equals, ranges = [], searches = [], order = [], query }) =>
        [...equals, ...ranges, ...searches, ...order.map(({ path }) => path), ...(query?.filters ?? [])].map(plain),
      ),
    );
    return typesIn(annotations, container).flatMap(({ type, fields }) =>
      fields
        .filter(
          ({ path, declared }) =>
            declared.some(({ large }) => large === true) &&
            !excluded.some((one) => alike(indexedField(one), path)) &&
            ![...asked].some((one) => one.startsWith(plain(path))),
        )
        .map((field) => ({
          name: `${type}.${field.path}`,
          container,
          at: field.declared.find(({ large }) => large === true)?.at ?? field.at,
        })),
    );
  });
  const names = [...Map.groupBy(all, ({ container }) => container)].map(
    ([container, fields]) => `${listed(fields.map(({ name }) => name))} in ${container}`,
  );
  const stated = annotations.of('index');
  for (const found of together(
    all,
    `${names.join('; ')}: large, never filtered or ordered by, and indexed by the default policy, because no path excludes ${all.length === 1 ? 'it' : 'them'}. Each write pays RU for each of ${all.length === 1 ? 'its' : 'their'} values, and the index grows with them`,
    stated
      .filter(({ container }) => container === undefined || all.some((one) => same(one.container, container)))
      .map(({ at }) => at),
  ))
    yield {
      ...found,
      hint: `Exclude ${listed(all.map(({ name }) => `/${name.slice(name.indexOf('.') + 1).replaceAll('.', '/')}/*`))}.`,
    };
}

export const HEAVY_FIELDS: readonly Rule[] = [
  {
    id: 'J18',
    title: 'A container in which vectors are searched has a vector policy and a vector index',
    severity: 'error',
    source: SOURCES.microsoft('Index and query vectors in Azure Cosmos DB for NoSQL'),
    why: 'Vector search takes a vector embedding policy, which names path, dimensions and distance, and a vector index. The policy belongs to the creation of the container (ASM-E168). A document that plans search by meaning and has an empty `vectorIndexes`, or excludes the path, doesn’t get it.',
    hint: 'Add `vectorEmbeddingPolicy` with path, dataType, dimensions and distanceFunction, and `vectorIndexes` (diskANN or quantizedFlat), before the container is created.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('access').length === 0) yield missing('an access in an annotation');
      for (const container of annotations.containers) yield* vectors(annotations, container);
    },
  },
  {
    id: 'J19',
    title: 'Large fields that no query asks for are excluded from the index',
    severity: 'warning',
    source: POLICY,
    why: 'The default policy indexes every path. Raw payloads, whole analyses and long texts that are only read with their document make each write dearer, and the index as large as the data. The rule takes fields that an annotation calls large, which no path excludes and no access filters, orders or searches by.',
    hint: 'Exclude the paths.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('type').every(({ fields }) => fields.every(({ large }) => large !== true)))
        yield missing('a large field in an annotation');
      yield* largeFields(annotations);
    },
  },
];
