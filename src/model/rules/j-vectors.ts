// J18 and J19: vectors, and large fields that nobody asks for, beside the indexing policy.
import { type Annotations, same } from '../annotations/annotations.ts';
import { type MergedType, accessesTo, alike, linesOf, plain, saysText, typesIn } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { isExisting } from '../annotations/scale.ts';
import type { Place } from '../model.ts';
import { indexedField, indexesOf, pathsOf } from './index-paths.ts';
import { POLICY } from './j-indexes.ts';
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

function* vectors(annotations: Annotations, container: string): Iterable<Found> {
  const types = typesIn(annotations, container);
  const fields = types.flatMap(({ fields: all }) =>
    all.filter(
      ({ path, types: sorts }) => sorts.some(({ type }) => type === 'vector') || /embedding|vector/i.test(path),
    ),
  );
  const reads = accessesTo(annotations, container).filter(
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
  // A text that names one has it, though nobody annotated it; an empty list is none.
  const hasPolicy =
    policy.length > 0 || saysText(annotations, /vector[\s_-]?embedding(?:[\s_-]?polic|s\b)|vector polic/i);
  const isEmpty = indexes.some(({ vectorIndexes }) => vectorIndexes?.length === 0);
  const hasIndex = index.length > 0 || (!isEmpty && saysText(annotations, /vector[\s_-]?index|diskann|quantizedflat/i));
  if (reads.length === 0 || elsewhere || (hasPolicy && hasIndex)) return;
  const lacking = listed([...(hasPolicy ? [] : ['vector embedding policy']), ...(hasIndex ? [] : ['vector index'])]);
  yield* together(
    [...reads, ...empty],
    `${container}: ${listed(reads.map(({ name }) => `"${quoted(name)}"`))} searches by ${listed(fields.map(({ path }) => path)) || 'a vector'}, and the container has no ${lacking}${empty.length > 0 ? ` (${linesOf(empty)})` : ''}. Without them a search by meaning fails or compares every vector, and a container gets its vector policy when it is created`,
    fields.map(({ at }) => at),
  );
}

/** Documents that are written whole, and of which little is asked. */
const WHOLE = new Set(['result', 'log', 'audit', 'event', 'cache', 'telemetry']);

/** The place that calls a field large; for the lists of a result, where the text states the default policy, its declaration. */
function heavyAt(
  { declared, types, at, path }: MergedType['fields'][number],
  purposes: ReadonlySet<string>,
  isDefault: boolean,
): Place | undefined {
  const large = declared.find((one) => one.large === true);
  if (large) return large.at;
  const isList = types.some(({ type }) => type === 'array') && !path.includes('.') && !path.includes('[]');
  return isDefault && isList && [...purposes].some((purpose) => WHOLE.has(purpose)) ? at : undefined;
}

function* largeFields(annotations: Annotations): Iterable<Found> {
  const all = annotations.containers.flatMap((container) => {
    if (isExisting(annotations, { container })) return [];
    const indexes = indexesOf(annotations, container);
    const paths = pathsOf(indexes);
    const excluded = paths.filter((one) => one.excluded).map(({ path }) => path);
    const included = paths.filter((one) => !one.excluded);
    const selective = excluded.includes('/*') || (included.length > 0 && !included.some(({ path }) => path === '/*'));
    if (selective || indexes.some(({ mode }) => mode?.toLowerCase() === 'none')) return [];
    const isDefault =
      paths.length === 0 && indexes.some(({ words }) => /\bdefault\b|\ball (?:paths|fields|properties)\b/i.test(words));
    const asked = accessesTo(annotations, container).flatMap(
      ({ equals, ranges = [], searches = [], order = [], query }) =>
        [...equals, ...ranges, ...searches, ...order.map(({ path }) => path), ...(query?.filters ?? [])].map(plain),
    );
    return typesIn(annotations, container).flatMap(({ type, fields, purposes }) =>
      fields.flatMap((field) => {
        const at = heavyAt(field, purposes, isDefault);
        const answered =
          excluded.some((one) => alike(indexedField(one), field.path)) ||
          asked.some((one) => one.startsWith(plain(field.path)));
        return at === undefined || answered ? [] : [{ name: `${type}.${field.path}`, path: field.path, container, at }];
      }),
    );
  });
  const names = [...Map.groupBy(all, ({ container }) => container)].map(
    ([container, fields]) => `${listed(fields.map(({ name }) => name))} in ${container}`,
  );
  const [is, its, them] = all.length === 1 ? ['is', 'its', 'it'] : ['are', 'their', 'them'];
  yield* hinted(
    together(
      all,
      `${names.join('; ')}: never filtered or ordered by, and indexed by the default policy, because no path excludes ${them}. ${all.length === 1 ? 'It' : 'They'} ${is} large: each write pays RU for each of ${its} values, and the index grows with ${them}`,
      annotations
        .of('index')
        .filter(({ container }) => container === undefined || all.some((one) => same(one.container, container)))
        .map(({ at }) => at),
    ),
    `Exclude ${listed(all.map(({ path }) => `/${path.replaceAll('.', '/')}/*`))}.`,
  );
}

export const HEAVY_FIELDS: readonly Rule[] = [
  {
    id: 'J18',
    title: 'A container in which vectors are searched has a vector policy and a vector index',
    severity: 'error',
    source: SOURCES.microsoft('Index and query vectors in Azure Cosmos DB for NoSQL'),
    why: 'Vector search takes a vector embedding policy, which names path, dimensions and distance, and a vector index. The policy belongs to the creation of the container (ASM-E168). A document that plans search by meaning and has an empty `vectorIndexes`, or excludes the path, doesn’t get it.',
    hint: 'Add `vectorEmbeddingPolicy` with path, dataType, dimensions and distanceFunction, and `vectorIndexes` (diskANN or quantizedFlat), before the container is created.',
    instead: ['E9'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('access').length === 0) yield missing('an access in an annotation');
      for (const container of annotations.containers)
        if (!isExisting(annotations, { container })) yield* vectors(annotations, container);
    },
  },
  {
    id: 'J19',
    title: 'Large fields that no query asks for are excluded from the index',
    severity: 'warning',
    source: POLICY,
    why: 'The default policy indexes every path. Raw payloads, whole analyses and long texts that are only read with their document make each write dearer, and the index as large as the data. The rule takes fields that an annotation calls large, and lists of results, logs and caches where the text states the default policy, which no path excludes and no access filters, orders or searches by.',
    hint: 'Exclude the paths.',
    instead: ['E13'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('type').every(({ fields }) => fields.every(({ large }) => large !== true)))
        yield missing('a large field in an annotation');
      yield* largeFields(annotations);
    },
  },
];
