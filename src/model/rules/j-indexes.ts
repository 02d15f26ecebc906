// J9: index paths beside fields and queries.
import type { Annotations } from '../annotations/annotations.ts';
import { type MergedType, alike, definedOf, linesOf, plain, typesIn } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { type Path, indexedField, isWhole, pathsOf } from './index-paths.ts';
import { notIndexed } from './j-unindexed.ts';
import { type Found, type Rule, type RuleResult, ANNOTATIONS, SOURCES, missing, together } from './rule.ts';

/** Why the service refuses a path. A word alone is a field in prose. */
function refusal(path: string, whole: boolean): string | undefined {
  if (!path.startsWith('/')) return whole || /\/[?*]$/.test(path) ? 'has no leading slash' : undefined;
  if (/\*(?=.)/.test(path)) return 'has * before its end; elements of an array are written []';
  return whole && !/\/[?*]$/.test(path) ? 'ends neither with /? nor with /*' : undefined;
}

/** A composite index of one path is none. */
function* single(annotations: Annotations): Iterable<Found> {
  const all = annotations
    .of('index')
    .flatMap((one) =>
      (one.composites ?? [])
        .filter(({ length }) => length === 1)
        .map(([part]) => ({ one, at: one.at, path: part?.path ?? '' })),
    );
  const texts = all.map(({ one, path }) => `${path}${one.container === undefined ? '' : ` (${one.container})`}`);
  for (const found of together(
    all,
    `The composite ${new Set(texts).size === 1 ? 'index' : 'indexes'} of ${listed(texts)} ${new Set(texts).size === 1 ? 'has' : 'have'} one path each. The service refuses a composite index with fewer than two paths; it makes nothing unique either, and the range index of a single path is there by default`,
  ))
    yield {
      ...found,
      severity: 'error',
      hint: `Leave it out; the default policy indexes ${listed(all.map(({ path }) => path))}.`,
    };
}

function* malformed(annotations: Annotations): Iterable<Found> {
  yield* single(annotations);
  const wrong = annotations.of('index').flatMap((index) =>
    pathsOf([index]).flatMap(({ path, at }) => {
      const why = refusal(path, isWhole(index));
      const types = index.container === undefined ? [] : typesIn(annotations, index.container);
      const also =
        described(types) && !known(types, indexedField(path))
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
      (index) => isWhole(index) && pathsOf([index]).length > 0 && !pathsOf([index]).some(({ path }) => path === '/*'),
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

/** The containers of one policy: a place may state it for several, or for all. */
function policies(
  annotations: Annotations,
): { readonly paths: readonly Path[]; readonly containers: readonly string[] }[] {
  const containers = annotations.containers.filter((name) => typesIn(annotations, name).length > 0);
  const groups = Map.groupBy(annotations.of('index'), ({ at }) =>
    listed(
      annotations
        .of('index')
        .filter((one) => one.at.line === at.line)
        .map(({ container }) => container ?? ''),
    ),
  );
  return [...groups.values()].map((indexes) => {
    const own = indexes.flatMap(({ container }) => (container === undefined ? [] : [container]));
    const paths = pathsOf(indexes);
    return {
      paths: paths.filter(
        ({ path, at }, index) => paths.findIndex((one) => one.path === path && one.at.line === at.line) === index,
      ),
      containers: indexes.some(({ container }) => container === undefined) ? containers : [...new Set(own)],
    };
  });
}

function* strange(annotations: Annotations, containers: readonly string[], all: readonly Path[]): Iterable<Found> {
  const types = containers.flatMap((container) => typesIn(annotations, container));
  if (!described(types)) return;
  const key = containers.flatMap((container) =>
    annotations.keysOf(container).flatMap((one) => one.key.map((path) => plain(path))),
  );
  const unknown = all.filter(({ path }) => {
    const field = indexedField(path);
    return (
      refusal(path, false) === undefined &&
      /^[\w[\].-]+$/.test(field) &&
      !field.startsWith('_') &&
      field !== 'id' &&
      !key.includes(plain(field)) &&
      !known(types, field)
    );
  });
  const like = unknown.flatMap(({ path }) =>
    types.flatMap(({ fields }) =>
      fields.filter((one) => plain(one.path).endsWith(plain(indexedField(path)))).map((one) => one.path),
    ),
  );
  const excluded = unknown.filter((one) => one.excluded);
  const names = (some: readonly Path[]): string => listed(some.map(({ path }) => path));
  const included = unknown.filter((one) => !one.excluded);
  const [indexes, excludes] = [included, excluded].map((some) => (some.length === 1 ? 's' : ''));
  const parts = [
    ...(included.length > 0
      ? [`${names(included)} index${indexes === 's' ? 'es' : ''} nothing, and queries by it find nothing`]
      : []),
    ...(excluded.length > 0
      ? [`${names(excluded)} exclude${excludes} nothing, so what was meant is still indexed`]
      : []),
  ];
  const definitions = types.flatMap((type) => type.definitions);
  for (const found of together(
    unknown,
    `${listed(containers)}: no document has the ${unknown.length === 1 ? 'field' : 'fields'} of the index ${unknown.length === 1 ? 'path' : 'paths'} ${names(unknown)} (${listed(types.map(({ type }) => type))}: ${linesOf(definitions)}): ${parts.join('; ')}`,
    definitions.map(({ at }) => at),
  ))
    yield {
      ...found,
      hint:
        like.length > 0
          ? `Name ${listed(like)}, if that is meant, or add the field to the documents.`
          : `Add the field to ${listed(types.map(({ type }) => type))}, or remove the path.`,
    };
}

export const POLICY = SOURCES.microsoft('Indexing policies in Azure Cosmos DB');

export const ANNOTATED_INDEXES: readonly Rule[] = [
  {
    id: 'J9',
    title: 'Index paths are those of fields, of queries and of the service',
    severity: 'warning',
    source: POLICY,
    why: 'The service refuses a composite index with one path (ASM-E170). A path begins with a slash, has a wildcard only at its end, and a policy has the root path; lazy indexing is gone (ASM-E154). Otherwise the service refuses the policy. A path of a field that no document has does nothing: what should be excluded is indexed, and what should be found isn’t. The rule compares the paths of annotations with the fields of the container’s types, if all of them are described, and with the filters and orders of queries, also those of a policy that is only planned. The partition key, unless it is the id, isn’t indexed by itself (ASM-E169).',
    hint: 'Take the paths from the documents and the queries.',
    instead: ['E2', 'E3', 'E4', 'E5', 'E14'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('index').length === 0) yield missing('an indexing policy in an annotation');
      yield* malformed(annotations);
      // A container of several places with paths has them in one finding.
      const all = policies(annotations);
      for (const group of Map.groupBy(all, ({ containers }) => listed(containers)).values())
        yield* strange(
          annotations,
          group[0]?.containers ?? [],
          group.flatMap(({ paths }) => paths),
        );
      yield* notIndexed(annotations);
    },
  },
];
