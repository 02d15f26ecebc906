// J9, J18 and J19: index paths beside fields and queries, vectors, and large fields that nobody asks for.
import { type Annotation, type Annotations, same } from '../annotations/annotations.ts';
import {
  type MergedType,
  accessesOf,
  alike,
  definedOf,
  linesOf,
  listed,
  plain,
  typesIn,
} from '../annotations/described.ts';
import { type Found, type Rule, type RuleResult, ANNOTATIONS, SOURCES, missing, quoted, together } from './rule.ts';

type Index = Annotation<'index'>;

const indexesOf = (annotations: Annotations, container: string): readonly Index[] =>
  annotations.of('index').filter((one) => one.container === undefined || same(one.container, container));

interface Path {
  readonly path: string;
  readonly excluded: boolean;
  readonly at: Index['at'];
}
const pathsOf = (indexes: readonly Index[]): Path[] =>
  indexes.flatMap(({ included = [], excluded = [], at }) => [
    ...included.map((path) => ({ path, excluded: false, at })),
    ...excluded.map((path) => ({ path, excluded: true, at })),
  ]);

/** `/address/city/?` as the field `address.city`. */
const fieldOf = (path: string): string =>
  path
    .replaceAll(/^\/|\/[?*]$/g, '')
    .replaceAll(/^["']|["']$/g, '')
    .replaceAll('/[]', '[]')
    .replaceAll('/', '.');

/** Why the service refuses a path. A word alone is a field in prose. */
function refusal(path: string, whole: boolean): string | undefined {
  if (!path.startsWith('/')) return path.includes('/') ? 'has no leading slash' : undefined;
  if (/\*(?=.)/.test(path)) return 'has * before its end; elements of an array are written []';
  return whole && !/\/[?*]$/.test(path) ? 'ends neither with /? nor with /*' : undefined;
}

function* malformed(annotations: Annotations): Iterable<Found> {
  const wrong = annotations.of('index').flatMap((index) =>
    pathsOf([index]).flatMap(({ path, at }) => {
      const why = refusal(path, index.whole === true);
      const types = index.container === undefined ? [] : typesIn(annotations, index.container);
      const also =
        described(types) && !known(types, fieldOf(path))
          ? `; and ${listed(types.map(({ type }) => type))} ${types.length === 1 ? 'has' : 'have'} no such field`
          : '';
      return why === undefined ? [] : [{ path, why: `${why}${also}`, at, container: index.container }];
    }),
  );
  for (const group of Map.groupBy(wrong, ({ container, why }) => `${container ?? ''} ${why}`).values()) {
    const [first] = group;
    for (const found of together(
      group,
      `${first?.container === undefined ? 'The indexing policy' : `${first.container}: the indexing policy`} has ${listed(group.map(({ path }) => path))}, which ${first?.why ?? ''}. The service refuses the policy, or the container is created without what it was for`,
    ))
      yield { ...found, severity: 'error', hint: `Write ${listed(group.map(({ path }) => corrected(path)))}.` };
  }
  const rootless = annotations
    .of('index')
    .filter(
      (index) =>
        index.whole === true && pathsOf([index]).length > 0 && !pathsOf([index]).some(({ path }) => path === '/*'),
    );
  for (const found of together(
    rootless,
    `${listed(rootless.map(({ container }) => container ?? 'The container'))}: the indexing policy names the root path /* neither in its included nor in its excluded paths, and the service refuses such a policy`,
  ))
    yield { ...found, severity: 'error', hint: 'Add `/*` to the excluded paths, or to the included ones.' };
  const lazy = annotations.of('index').filter(({ mode }) => mode?.toLowerCase() === 'lazy');
  yield* together(
    lazy,
    `${listed(lazy.map(({ container }) => container ?? 'The container'))}: the indexing mode lazy isn’t there for new containers, and where it is, queries give incomplete results`,
  );
}

const corrected = (path: string): string => {
  const full = (path.startsWith('/') ? path : `/${path}`).replaceAll(/\/\*(?=\/)/g, '/[]');
  return /\/[?*]$/.test(full) ? full : `${full}/?`;
};

/** All types of the container are described, so a field that none has isn't there. */
const described = (types: readonly MergedType[]): boolean =>
  types.length > 0 && types.every(({ fields }) => fields.length > 0) && types.some(({ complete }) => complete);

/** Whether a definition that lists all fields of a type, or an example, has the beginning of a path. */
const known = (types: readonly MergedType[], field: string): boolean => {
  const [first = ''] = field.replaceAll('[]', '').split('.');
  return types.some((type) => definedOf(type).some((path) => alike(path.replace('[]', '').split('.')[0] ?? '', first)));
};

function* strange(annotations: Annotations, container: string): Iterable<Found> {
  const types = typesIn(annotations, container);
  if (!described(types)) return;
  const key = annotations.keysOf(container).flatMap((one) => one.key.map((path) => plain(path)));
  const unknown = pathsOf(indexesOf(annotations, container)).filter(({ path }) => {
    const field = fieldOf(path);
    return (
      refusal(path, false) === undefined &&
      /^[\w[\].-]+$/.test(field) &&
      !field.startsWith('_') &&
      field !== '' &&
      field !== 'id' &&
      !key.includes(plain(field)) &&
      !known(types, field)
    );
  });
  const like = unknown.flatMap(({ path }) =>
    types.flatMap(({ fields }) =>
      fields.filter((one) => plain(one.path).endsWith(plain(fieldOf(path)))).map((one) => one.path),
    ),
  );
  const excluded = unknown.filter((one) => one.excluded);
  const names = (all: readonly Path[]): string => listed(all.map(({ path }) => path));
  const included = unknown.filter((one) => !one.excluded);
  const parts = [
    ...(included.length > 0 ? [`${names(included)} indexes nothing, and queries by it find nothing`] : []),
    ...(excluded.length > 0 ? [`${names(excluded)} excludes nothing, so what was meant is still indexed`] : []),
  ];
  for (const found of together(
    unknown,
    `${container}: no document has the ${unknown.length === 1 ? 'field' : 'fields'} of the index ${unknown.length === 1 ? 'path' : 'paths'} ${names(unknown)} (${listed(types.map(({ type }) => type))}: ${linesOf(types.flatMap(({ definitions }) => definitions))}): ${parts.join('; ')}`,
    types.flatMap(({ definitions }) => definitions.map(({ at }) => at)),
  ))
    yield {
      ...found,
      hint:
        like.length > 0
          ? `Name ${listed(like)}, if that is meant, or add the field to the documents.`
          : `Add the field to ${listed(types.map(({ type }) => type))}, or remove the path.`,
    };
}

/** Fields that queries filter or order by, and a selective policy doesn't have. */
function* unindexed(annotations: Annotations, container: string): Iterable<Found> {
  const whole = indexesOf(annotations, container).filter((one) => one.whole === true && one.container !== undefined);
  const all = pathsOf(whole);
  if (!all.some(({ path, excluded }) => excluded && path === '/*')) return;
  const included = all.filter((one) => !one.excluded).map(({ path }) => fieldOf(path));
  const key = annotations.keysOf(container).flatMap((one) => one.key.map(plain));
  const has = (path: string): boolean =>
    plain(path) === 'id' ||
    path.startsWith('_') ||
    key.includes(plain(path)) ||
    included.some((one) => alike(one, path) || path.startsWith(`${one}.`));
  const reads = accessesOf(annotations, container).filter(({ operation }) => operation === 'query');
  const ordered = reads.filter((access) => (access.order ?? access.query?.order ?? []).some(({ path }) => !has(path)));
  const filtered = reads.filter((access) =>
    [...(access.query?.filters ?? access.equals), ...(access.ranges ?? [])].some((path) => !has(path)),
  );
  const named = (some: typeof reads, of: (access: (typeof reads)[number]) => readonly string[]): string =>
    listed(some.map((access) => `"${quoted(access.name)}" (${listed(of(access).filter((path) => !has(path)))})`));
  for (const found of together(
    ordered,
    `${container}: ${named(ordered, (access) => (access.order ?? access.query?.order ?? []).map(({ path }) => path))} orders by a field that the indexing policy (${linesOf(whole)}) leaves out. The service refuses an ORDER BY of a field that isn’t indexed`,
    whole.map(({ at }) => at),
  ))
    yield { ...found, severity: 'error', hint: 'Include the path.' };
  const only = filtered.filter((access) => !ordered.includes(access));
  yield* together(
    only,
    `${container}: ${named(only, (access) => [...(access.query?.filters ?? access.equals), ...(access.ranges ?? [])])} filters by a field that the indexing policy (${linesOf(whole)}) leaves out, so it loads every document that its other filters leave`,
    whole.map(({ at }) => at),
  );
}

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
      vectorIndexes?.length === 0 || excluded.some((path) => fields.some((field) => alike(fieldOf(path), field.path))),
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
    if (excluded.includes('/*') || indexes.some(({ mode }) => mode?.toLowerCase() === 'none')) return [];
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
            !excluded.some((one) => alike(fieldOf(one), path)) &&
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

const POLICY = SOURCES.microsoft('Indexing policies in Azure Cosmos DB');

export const ANNOTATED_INDEXES: readonly Rule[] = [
  {
    id: 'J9',
    title: 'Index paths are those of fields, of queries and of the service',
    severity: 'warning',
    source: POLICY,
    why: 'A path begins with a slash, has a wildcard only at its end, and a policy has the root path; lazy indexing is gone (ASM-E154). Otherwise the service refuses the policy. A path of a field that no document has does nothing: what should be excluded is indexed, and what should be found isn’t. The rule compares the paths of annotations with the fields of the container’s types, if all of them are described, and with the filters and orders of queries.',
    hint: 'Take the paths from the documents and the queries.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('index').length === 0) yield missing('an indexing policy in an annotation');
      yield* malformed(annotations);
      for (const container of annotations.containers) {
        yield* strange(annotations, container);
        yield* unindexed(annotations, container);
      }
    },
  },
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
