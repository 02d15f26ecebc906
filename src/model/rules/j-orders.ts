// J8, J16 and J17: what queries ask of the language and of the index.
import { type Annotation, type Annotations, fieldOf, same } from '../annotations/annotations.ts';
import { keyGiven } from '../annotations/known.ts';
import { accessesTo, alike, linesOf, saysText, typesIn } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { isAccepted, isOfElements, isSmall } from '../annotations/scale.ts';
import { NOT_REFUSED, REFUSED } from './c-syntax.ts';
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

type Access = Annotation<'access'>;
type Order = NonNullable<Access['order']>;

const orderOf = ({ order = [], query }: Access): Order =>
  order.length > 0
    ? order
    : (query?.order ?? []).map(({ path, descending }) => ({ path, ...(descending && { descending }) }));

const written = (order: Order): string =>
  order.map(({ path, descending }) => `${path}${descending === true ? ' DESC' : ''}`).join(', ');

/** Whether a composite index has the order: the same paths in the same order, all directions the same or all opposite. */
function serves(composite: Order, order: Order): boolean {
  const opposite = order.map(
    ({ path, descending }, at) =>
      alike(path, composite[at]?.path ?? '') && (descending === true) !== (composite[at]?.descending === true),
  );
  const equal = order.map(
    ({ path, descending }, at) =>
      alike(path, composite[at]?.path ?? '') && (descending === true) === (composite[at]?.descending === true),
  );
  return composite.length === order.length && (equal.every(Boolean) || opposite.every(Boolean));
}

const compositesOf = (
  annotations: Annotations,
  container: string,
): { readonly order: Order; readonly at: Access['at'] }[] =>
  annotations
    .of('index')
    .filter((one) => one.container === undefined || same(one.container, container))
    .flatMap(({ composites = [], at }) => composites.map((order) => ({ order, at })));

function* orders(annotations: Annotations, container: string): Iterable<Found> {
  const ordered = accessesTo(annotations, container).map((access) => ({
    access,
    at: access.at,
    order: orderOf(access),
  }));
  const composites = compositesOf(annotations, container);
  // A text that speaks of composite indexes may have one that nobody annotated.
  const isUnknown = composites.length === 0 && saysText(annotations, /composite/i);
  const unserved = ordered.filter(
    ({ order }) => order.length >= 2 && !isUnknown && !composites.some((one) => serves(one.order, order)),
  );
  for (const found of together(
    unserved,
    `${container}: ${listed(unserved.map(({ access, order }) => `"${quoted(access.name)}" orders by ${written(order)}`))}, and ${composites.length > 0 ? 'no composite index has these paths in this order' : 'no composite index is stated'}. The service refuses such an ORDER BY with 400`,
    composites.map(({ at }) => at),
  ))
    yield {
      ...found,
      severity: 'error',
      hint: `Add a composite index of ${listed(unserved.map(({ order }) => `(${written(order)})`))} to ${container}, or order by one field.`,
    };
  const idle = composites.flatMap((composite) => {
    const last = composite.order.at(-1);
    const before = composite.order.slice(0, -1);
    const meant = ordered.filter(
      ({ access, order }) =>
        order.length === 1 &&
        last !== undefined &&
        alike(order[0]?.path ?? '', last.path) &&
        before.length > 0 &&
        before.every(({ path }) => access.equals.some((one) => alike(one, path))),
    );
    return meant.length > 0 && !ordered.some(({ order }) => serves(composite.order, order))
      ? [{ composite, meant }]
      : [];
  });
  const key = annotations.keyOf(container)?.map(fieldOf) ?? [];
  for (const { composite, meant } of idle) {
    const last = composite.order.at(-1)?.path ?? '';
    // Within one partition the range index of the last path has the order.
    if (composite.order.slice(0, -1).every(({ path }) => key.some((one) => alike(one, path)))) {
      yield* hinted(
        together(
          [{ at: composite.at }, ...meant],
          `${container}: the composite index (${written(composite.order)}) isn’t needed. ${key.join(' and ')} is the partition key, so ${listed(meant.map(({ access }) => `"${quoted(access.name)}"`))} reads one partition, and the range index of ${last} gives the order there. Each write pays for the composite index`,
        ),
        `Leave the composite index out, and keep ${last} in the included paths.`,
      );
      continue;
    }
    yield* together(
      [{ at: composite.at }, ...meant],
      `${container}: the composite index (${written(composite.order)}) isn’t used by ${listed(meant.map(({ access }) => `"${quoted(access.name)}"`))}, which ${meant.length === 1 ? 'orders' : 'order'} by ${written(meant[0]?.order ?? [])} alone. A composite index serves an ORDER BY only if it names all of its paths in this order, so the query doesn’t get what the index was made for, and each write pays for it`,
    );
  }
}

/** Orders by a word that stands for a rank. */
function* byLetters(annotations: Annotations, container: string): Iterable<Found> {
  const fields = typesIn(annotations, container).flatMap(({ fields: all }) =>
    all.filter(
      ({ path, lists, types }) =>
        lists.some(({ values }) => values.length > 2 && values.every((value) => /^[A-Za-z_ -]+$/.test(value))) &&
        /(?:priority|severity|urgency|level|importance|rank|size)$/i.test(path) &&
        !types.some(({ type }) => type === 'number'),
    ),
  );
  for (const field of fields) {
    const reads = accessesTo(annotations, container).filter((access) =>
      orderOf(access).some(({ path }) => alike(path, field.path)),
    );
    const values = field.lists[0]?.values ?? [];
    yield* hinted(
      together(
        reads,
        `${container}: ${listed(reads.map(({ name }) => `"${quoted(name)}"`))} ${reads.length === 1 ? 'orders' : 'order'} by ${field.path}, whose values are words (${linesOf(field.lists)}). They are sorted by letters, ${listed(values.toSorted())}, and not by rank`,
        field.lists.map(({ at }) => at),
      ),
      `Store the rank of ${field.path} as a number, and order by it.`,
    );
  }
}

/** `WHERE type = 'a'`, where no FROM or JOIN names `type`. */
function isBare(sql: string): boolean {
  const [, name] = /\bWHERE\s+(?:NOT\s+)?\(?\s*([A-Za-z_]\w*)\s*(?:=|!=|<|>|\bIN\b|\bLIKE\b)/i.exec(sql) ?? [];
  return (
    name !== undefined &&
    !/^(?:true|false|null|not|exists|undefined)$/i.test(name) &&
    // `teamId = X` is no SQL, but words for it.
    /(?:=|!=|<|>|\bIN\b|\bLIKE\b)\s*\(?\s*['"@\d]/i.test(sql) &&
    !/=\s*[A-Z]\b/.test(sql) &&
    !new RegExp(String.raw`\b(?:FROM|JOIN|AS)\s+${name}\b|\bFROM\s+\w+\s+${name}\b`, 'i').test(sql)
  );
}

function* refused(annotations: Annotations): Iterable<Found> {
  const all = annotations.of('access').filter(({ sql }) => sql !== undefined);
  const bare = all.filter(({ sql = '' }) => isBare(sql));
  for (const found of together(
    bare,
    `${listed(bare.map(({ name }) => `"${quoted(name)}"`))}: a property stands without the alias of its container (${quoted(bare[0]?.sql ?? '', 80)}). The service answers with 400`,
  ))
    yield { ...found, hint: 'Write the alias before each property: `FROM c WHERE c.type = "…"`.' };
  const told = new Set<string>();
  for (const { has, what, instead } of REFUSED) {
    const wrong = all.filter(
      ({ sql = '' }) => !told.has(sql) && has.test(sql) && !(what.startsWith('LIMIT') && NOT_REFUSED.test(sql)),
    );
    for (const { sql = '' } of wrong) told.add(sql);
    for (const found of together(
      wrong,
      `${listed(wrong.map(({ name }) => `"${quoted(name)}"`))}: the query language of Cosmos DB has no ${what}${wrong[0] ? ` (${quoted(wrong[0].sql ?? '', 80)})` : ''}. The service answers with 400`,
    ))
      yield { ...found, hint: instead };
  }
}

/** Aggregates of whole documents, or of all of a container. */
function* wholes(annotations: Annotations): Iterable<Found> {
  const all = annotations.of('access').filter((access) => {
    const container = annotations.containerOf(access);
    const key = annotations.keyOf(container);
    const sql = access.sql ?? '';
    return (
      key !== undefined &&
      access.accepted !== true &&
      access.aim !== 'maintenance' &&
      !isSmall(annotations, { container, type: access.type }) &&
      /\b(?:COUNT|SUM|AVG|MIN|MAX)\s*\(|\bGROUP\s+BY\b/i.test(sql) &&
      !/\bWHERE\b/i.test(sql) &&
      keyGiven(annotations, access, key) !== 'given'
    );
  });
  for (const group of Map.groupBy(all, (access) => annotations.containerOf(access)).values()) {
    const texts = group.some(({ sql = '' }) => /\bToString\s*\(\s*c\s*\)/i.test(sql));
    yield* together(
      group,
      `${listed(group.map(({ name }) => `"${quoted(name)}"`))} has no filter, so it reads every document of ${annotations.containerOf(group[0] ?? {}) ?? ''} in all partitions${texts ? ' and makes each of them, its large fields included, a text' : ''}. Its cost grows with the container, and no index helps`,
    );
  }
}

const LOADS = /\b(?:LOWER|UPPER|TRIM|REPLACE)\s*\(/i;

function* searches(annotations: Annotations, container: string): Iterable<Found> {
  const types = typesIn(annotations, container);
  const elsewhere = annotations
    .of('derived')
    .some(
      ({ form, of, type }) =>
        form === 'search-index' && types.some((one) => same(one.type, of) || same(one.type, type)),
    );
  if (elsewhere) return;
  const isVector = (path: string): boolean =>
    /embedding|vector/i.test(path) ||
    types.some(({ fields }) =>
      fields.some((field) => alike(field.path, path) && field.types.some(({ type }) => type === 'vector')),
    );
  const all = accessesTo(annotations, container)
    .map((access) => ({
      access,
      at: access.at,
      paths: (access.searches ?? []).filter((path) => !isVector(path) && !isOfElements(path)),
    }))
    .filter(
      ({ access, paths }) =>
        access.often !== 'rarely' &&
        access.aim !== 'maintenance' &&
        !isAccepted(annotations, access) &&
        !REFUSED.some(({ has }) => has.test(access.sql ?? '')) &&
        paths.length > 0 &&
        !/full[- ]?text/i.test(`${access.words} ${access.sql ?? ''}`),
    );
  const loading = all.filter(({ access: { words, sql = '' }, access }) =>
    LOADS.test(`${words} ${sql} ${textAt(annotations, access)}`),
  );
  const scanning = all.filter(({ access }) => !loading.some((one) => one.access.name === access.name));
  const names = (some: typeof all): string => listed(some.map(({ access }) => `"${quoted(access.name)}"`));
  const fields = (some: typeof all): string => listed(some.flatMap(({ paths }) => paths));
  const where = keyedWhole(
    annotations,
    container,
    all.map(({ access }) => access),
  );
  const parts = [
    ...(loading.length > 0
      ? [
          `${names(loading)} ${loading.length === 1 ? 'compares' : 'compare'} ${fields(loading)} within a function such as LOWER, which the index doesn’t serve: the query loads every document that its other filters leave, ${where}`,
        ]
      : []),
    ...(scanning.length > 0
      ? [
          `${names(scanning)} ${scanning.length === 1 ? 'searches' : 'search'} in ${fields(scanning)} by a part of the text, which reads the whole index of the field or every document, ${where}`,
        ]
      : []),
  ];
  const hints = [
    ...(loading.length > 0
      ? [
          `Store ${fields(loading)} in the form that is compared, such as lower case, as fields of their own, and compare by equality.`,
        ]
      : []),
    ...(scanning.length > 0
      ? [`Use a full-text index on ${fields(scanning)}, or a search service that the change feed fills.`]
      : []),
  ];
  for (const found of together(
    [...loading, ...scanning],
    `${container}: ${parts.join('; ')}. The cost grows with the data`,
  ))
    yield { ...found, hint: hints.join(' ') };
}

/** The line of an annotation and the next one: `LOWER()` may stand beside its words. */
const textAt = ({ lines }: Annotations, { at }: Access): string => lines.slice(at.line - 1, at.line + 1).join(' ');

function keyedWhole(annotations: Annotations, container: string, accesses: readonly Access[]): string {
  const key = annotations.keyOf(container);
  const crossing = key === undefined || accesses.some((access) => keyGiven(annotations, access, key) === 'lacking');
  return crossing ? 'in all partitions' : `of the partition (${fieldOf(key[0] ?? '')})`;
}

export const ORDERS: readonly Rule[] = [
  {
    id: 'J8',
    title: 'A composite index and the orders that it is for have the same paths',
    severity: 'warning',
    source: SOURCES.microsoft('Indexing policies in Azure Cosmos DB'),
    why: 'ORDER BY of two or more fields takes a composite index with the same paths in the same order, all directions the same or all opposite (ASM-E32). Without it the service refuses the query. A composite index whose first paths the query only filters by serves its order only if ORDER BY names them too. Strings are sorted by letters, so an order by `priority` puts high before low before medium (ASM-E153). The rule compares the orders of accesses with the composite indexes of their container.',
    hint: 'Name all paths of the composite index in ORDER BY: those that are filtered by equality first.',
    instead: ['E6'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('access').every((access) => orderOf(access).length === 0))
        yield missing('an order in an annotation');
      for (const container of annotations.containers) {
        yield* orders(annotations, container);
        yield* byLetters(annotations, container);
      }
    },
  },
  {
    id: 'J16',
    title: 'Queries are in the language of Cosmos DB, and don’t read everything',
    severity: 'error',
    source: SOURCES.microsoft('Queries in Azure Cosmos DB for NoSQL'),
    why: 'The language has no JOIN of two containers, no LIMIT without OFFSET, no HAVING, and CONTAINS is a function (ASM-E118). The service refuses other SQL with 400. An aggregate without a filter reads all documents of all partitions each time. The rule reads the SQL of accesses, also where it is only a part of a query.',
    hint: 'Keep the figures in a document that the change feed updates, or run the query rarely and budget its RU.',
    instead: ['C18', 'C24'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('access').every(({ sql }) => sql === undefined)) yield missing('SQL in an annotation');
      yield* refused(annotations);
      for (const found of wholes(annotations)) yield { severity: 'warning', ...found };
    },
  },
  {
    id: 'J17',
    title: 'Searches in texts are served by an index',
    severity: 'warning',
    source: SOURCES.microsoft('Troubleshoot query issues when using Azure Cosmos DB'),
    why: 'A filter by LOWER or UPPER isn’t served by the index: it loads all documents that the other conditions leave (ASM-E119). CONTAINS reads the index of the whole field. Where each sign-in or each page does so, cost and latency grow with the data. The rule takes fields that an annotation says are searched in. A search that runs rarely, or that a search index serves, is silent.',
    hint: 'Store the form that is compared, or use a full-text index.',
    instead: ['E10', 'E12'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('access').every(({ searches: all = [] }) => all.length === 0))
        yield missing('a search in an annotation');
      for (const container of annotations.containers) yield* searches(annotations, container);
    },
  },
];
