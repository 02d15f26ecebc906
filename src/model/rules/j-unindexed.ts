// J9, its queries: fields that they filter or order by, and that a selective indexing policy leaves out.
import { type Annotation, type Annotations, fieldOf, same } from '../annotations/annotations.ts';
import { accessesTo, alike, linesOf, plain } from '../annotations/described.ts';
import { isAccepted } from '../annotations/scale.ts';
import { listed } from '../annotations/merged.ts';
import { type Index, indexedField, indexesOf, isWhole, pathsOf } from './index-paths.ts';
import { type Found, hinted, quoted, together } from './rule.ts';

interface Unindexed {
  readonly container: string;
  readonly access: Annotation<'access'>;
  readonly at: Index['at'];
  readonly fields: readonly string[];
  readonly policy: readonly Index[];
}

/** What is read over all partitions again and again should find its documents by an index, at least. */
const isRun = (annotations: Annotations, access: Annotation<'access'>): boolean =>
  (access.aim === 'work' || access.often === 'often') &&
  !isAccepted(annotations, access) &&
  // A place that speaks of the access and of the index together answers for it.
  !annotations
    .of('access')
    .some(
      ({ name, at }) =>
        name === access.name &&
        annotations.of('index').some((one) => one.at.line === at.line && pathsOf([one]).length === 0),
    );

/** Fields that queries filter or order by, and that neither a path nor a composite index of a selective policy has. */
function unindexed(
  annotations: Annotations,
  container: string,
): { ordered: Unindexed[]; filtered: Unindexed[]; byKey: Unindexed[] } {
  const planned = annotations.planned.filter(
    (one): one is Index => one.kind === 'index' && (one.container === undefined || same(one.container, container)),
  );
  const selects = (index: Index): boolean =>
    (index.excluded ?? []).includes('/*') || (isWhole(index) && (index.included ?? []).length > 0);
  const present = indexesOf(annotations, container);
  // A policy that is only planned is to serve the same queries.
  const indexes = present.some(selects) ? present : [...present, ...planned];
  const all = pathsOf(indexes);
  const policy = indexes.filter((index) => pathsOf([index]).length > 0);
  if (all.some(({ path, excluded }) => !excluded && path === '/*') || !indexes.some(selects))
    return { ordered: [], filtered: [], byKey: [] };
  const included = [
    ...all.filter((one) => !one.excluded).map(({ path }) => indexedField(path)),
    ...indexes.flatMap(({ composites = [] }) => composites.flatMap((order) => order.map(({ path }) => path))),
  ];
  const lacks = (path: string): boolean =>
    plain(path) !== 'id' &&
    !path.startsWith('_') &&
    !included.some((one) => alike(one, path) || path.startsWith(`${one}.`));
  const key = annotations.keysOf(container).flatMap((one) => one.key.map(fieldOf));
  const isKey = (path: string): boolean => key.some((one) => alike(one, path));
  const reads = accessesTo(annotations, container).filter(({ operation }) => operation === 'query');
  const lacking = (of: (access: Annotation<'access'>) => readonly string[]): Unindexed[] =>
    reads.flatMap((access) => {
      const fields = [...new Set(of(access).filter(lacks))];
      return fields.length === 0 ? [] : [{ container, access, at: access.at, fields, policy }];
    });
  const ordered = lacking((access) => (access.order ?? access.query?.order ?? []).map(({ path }) => path));
  const isOrdered = (access: Annotation<'access'>): boolean => ordered.some((one) => one.access === access);
  return {
    ordered,
    filtered: lacking((access) =>
      isOrdered(access) || (access.unknownKey === true && !isRun(annotations, access))
        ? []
        : [...(access.query?.filters ?? access.equals), ...(access.ranges ?? [])].filter((path) => !isKey(path)),
    ),
    byKey: lacking((access) => access.equals.filter(isKey)),
  };
}

const included = (all: readonly Unindexed[]): string =>
  `Include ${listed(all.flatMap(({ fields }) => fields.map((path) => `/${path.replaceAll('.', '/')}/?`)))}.`;

const asked = (all: readonly Unindexed[]): string =>
  [...Map.groupBy(all, ({ container }) => container)]
    .map(
      ([container, own]) =>
        `${container}: ${listed(own.map(({ access, fields }) => `"${quoted(access.name)}" (${listed(fields)})`))}`,
    )
    .join('; ');

/** One finding of each sort, for all containers. */
export function* notIndexed(annotations: Annotations): Iterable<Found> {
  const all = annotations.containers.map((container) => unindexed(annotations, container));
  const [ordered, filtered, byKey] = [
    all.flatMap((one) => one.ordered),
    all.flatMap((one) => one.filtered),
    all.flatMap((one) => one.byKey),
  ];
  const policyOf = (some: readonly Unindexed[]): readonly Index[] => some.flatMap(({ policy }) => policy);
  const found = (some: readonly Unindexed[], message: string): Iterable<Found> =>
    hinted(
      together(
        some,
        `${asked(some)} ${message}`,
        policyOf(some).map(({ at }) => at),
      ),
      included(some),
    );
  yield* hinted(
    found(
      ordered,
      `– an order by a field that the indexing policy (${linesOf(policyOf(ordered))}) leaves out. The service refuses an ORDER BY of a field that isn’t indexed`,
    ),
    included(ordered),
    'error',
  );
  yield* found(
    filtered,
    `– a filter by a field that the indexing policy (${linesOf(policyOf(filtered))}) leaves out. The query loads every document that its other filters leave`,
  );
  yield* found(
    byKey,
    `– the partition key isn’t among the included paths (${linesOf(policyOf(byKey))}), and it is not indexed by itself. So a query by it can’t use the index for it`,
  );
}
