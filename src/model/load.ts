// The load of a container, worked out from the documents: patterns, and everything that projections read and write.
// An aggregate of an aggregate takes the writes of the first; `each` multiplies; a joined document that changes is written
// into its copies.
import { isObject } from '../base/json.ts';
import type {
  ContainerDetail,
  PatternOperation,
  ProjectionRow,
  Reference,
  Relationship,
  Requirements,
} from './documents.ts';
import { averageOf, relationsOf, words } from './relations.ts';
import type { DocumentType } from './model.ts';
import { type Access, type Term, isWrite, sum } from './rules/terms.ts';

export type RateName = 'peak' | 'average';

/** What the load is worked out from: `Facts` is one. */
export interface Known {
  readonly requirements: Requirements | undefined;
  readonly rows: readonly ProjectionRow[];
  detail(name: string | undefined): ContainerDetail | undefined;
  type(of: Reference | undefined): DocumentType | undefined;
  accessesTo(detail: ContainerDetail | undefined): readonly Access[];
  into(name: string): readonly ProjectionRow[];
  estimate(operation: PatternOperation, detail: ContainerDetail): number;
  estimateOf(operation: PatternOperation, detail: ContainerDetail, bytes: number): number;
}

/** RU to read one change from the feed: a page of 100 documents of 1 KB takes about 10 to 30 RU. */
export const FEED_RU = 0.3;
/** Bytes of a locator, which says where the row of a source document is. */
const LOCATOR = 300;

export function loadOf(facts: Known, detail: ContainerDetail, rate: RateName): Term[] {
  const name = detail.container.name.toLowerCase();
  const is = (of: Reference | undefined): boolean => of?.container.toLowerCase() === name;
  const patterns = facts
    .accessesTo(detail)
    .filter((access) => access[rate] !== undefined)
    .map(({ row, ru, ...access }): Term => ({
      what: `pattern ${row.printed}`,
      perSecond: access[rate] ?? 0,
      ru,
      kind: 'pattern',
      ids: row.ids,
    }));
  const written = facts.into(name).flatMap((row) => writesOf(facts, row, detail, rate));
  const joined = facts.rows.flatMap((row) => {
    const read = row.kind === 'embed' && row.source ? [row.source] : row.joins;
    return read.filter(is).flatMap((of) => readsOf(facts, row, of, detail, rate));
  });
  const changes = loadChangesOf(facts, { container: detail.container.name }, rate);
  // All projections of a container share one reader of its feed.
  const reader = facts.rows.find(({ source, joins, sink }) => [source, ...joins].some(is) && !is(sink));
  const feed: Term[] =
    reader && changes > 0
      ? [{ what: `feed of ${reader.name}`, perSecond: changes, ru: FEED_RU, kind: 'feed', ids: [] }]
      : [];
  return [...patterns, ...written, ...joined, ...feed].filter(({ perSecond }) => perSecond > 0);
}

/** What one row writes into its sink. */
function writesOf(facts: Known, row: ProjectionRow, sink: ContainerDetail, rate: RateName): Term[] {
  const term = (what: string, perSecond: number, ru: number): Term => ({
    what,
    perSecond,
    ru,
    kind: 'projection',
    ids: row.serves,
  });
  if (!row.source) return [];
  const changes = loadChangesOf(facts, row.source, rate);
  const replace = facts.estimate('replace', sink);
  const fanOut = fannedOut(facts, row);
  const copies = fanOut.map(({ of, updates, copies: of1 }) =>
    term(`projection ${row.name}, ${of.type ?? of.container} changes × ${of1} copies`, updates * of1, replace),
  );
  if (row.kind === 'embed') {
    const made = createdOf(facts, row.sink ?? row.source, rate);
    return [...copies, term(`projection ${row.name}, new documents`, made, replace)];
  }
  if (row.kind === 'reference') {
    const tenants = tenantsOf(facts, row);
    const average = loadChangesOf(facts, row.source, 'average') || changes;
    return [
      term(`projection ${row.name}${tenants === 1 ? '' : `, ${tenants} copies of each`}`, average * tenants, replace),
    ];
  }
  const elements = elementsOf(facts, row);
  // A row whose key may change has a locator.
  const locator = /\bstable\b/i.test(row.keyText) ? 0 : facts.estimateOf('create', sink, LOCATOR);
  // An aggregate writes the contribution of the document and the group in one batch.
  const once = (row.kind === 'aggregate' ? replace + facts.estimate('create', sink) : replace) + locator;
  const each = elements === 1 ? '' : `, ${elements} of each document`;
  return [
    term(`projection ${row.name}${each}`, changes * elements, once),
    // The old place gets a tombstone.
    term(`projection ${row.name}, moved rows`, movesOf(facts, row, row.source, rate) * elements, once),
    ...copies,
  ];
}

/** Changes of a field that the sink's key or the group has. */
function movesOf(facts: Known, row: ProjectionRow, source: Reference, rate: RateName): number {
  const moving = updatesOf(facts, source).filter(({ pattern }) =>
    row.keys.some((field) => new RegExp(String.raw`\b${field}\b`).test(pattern?.attributes ?? '')),
  );
  return sum(moving.map((access) => access[rate] ?? 0));
}

/** A copy reads the documents that it joins, and an embed the parent of each new child. */
function readsOf(facts: Known, row: ProjectionRow, of: Reference, detail: ContainerDetail, rate: RateName): Term[] {
  if (!row.source || row.kind === 'reference') return [];
  const perSecond =
    row.kind === 'embed' ? createdOf(facts, row.sink ?? row.source, rate) : loadChangesOf(facts, row.source, rate);
  return [
    {
      what: `joins of ${row.name}, ${of.type ?? of.container}`,
      perSecond,
      ru: facts.estimate('point-read', detail),
      kind: 'projection',
      ids: row.serves,
    },
  ];
}

interface Fan {
  readonly of: Reference;
  readonly updates: number;
  readonly copies: number;
}

/**
 * Each change of a joined document, or of an embed's parent, is written into its copies, by their stated average. The rate
 * is always the average one: hosts work off a burst of changes later, and rule G4 judges the largest.
 */
function fannedOut(facts: Known, row: ProjectionRow): Fan[] {
  const children = row.kind === 'embed' ? row.sink : row.source;
  const parents = row.kind === 'embed' ? [row.source] : row.kind === 'copy' ? row.joins : [];
  if (!children) return [];
  return parents.flatMap((of): Fan[] => {
    if (!of) return [];
    const copies = averageOf(childrenOf(facts, row, of, children));
    const updates = sum(updatesOf(facts, of).map(({ average, peak }) => average ?? peak ?? 0));
    return copies === undefined || updates === 0 ? [] : [{ of, updates, copies }];
  });
}

/** The relationships of a parent to its children. An embed may be into elements: `Variant → Order lines to be packed`. */
function childrenOf(
  { requirements }: Known,
  { kind }: ProjectionRow,
  parent: Reference,
  child: Reference,
): Relationship[] {
  const own = relationsOf(requirements, parent, child);
  if (own.length > 0 || kind !== 'embed') return own;
  const of = (requirements?.relationships ?? []).map((one) => ({ ...one, child: one.child.split(' ')[0] ?? '' }));
  return relationsOf(requirements && { ...requirements, relationships: of }, parent, child);
}

/** How many tenants have a copy of each document of a reference: as stated, or as many as the sink's key has values. */
function tenantsOf(facts: Known, row: ProjectionRow): number {
  const [tenants] = row.joins;
  const stated = row.source && tenants && averageOf(relationsOf(facts.requirements, row.source, tenants));
  const sink = facts.detail(row.sink?.container);
  const values = sink?.container.partitionKey.length === 1 ? sink.cardinality : undefined;
  return stated ?? values ?? 1;
}

/** New documents of a type a second. An upsert may be one or not, and isn't counted. */
function createdOf(facts: Known, of: Reference, rate: RateName): number {
  const made = facts
    .accessesTo(facts.detail(of.container))
    .filter((access) => access.row.operations.includes('create'));
  return sum(named(made, of).map((access) => access[rate] ?? 0));
}

const UPDATES: ReadonlySet<string> = new Set(['replace', 'upsert', 'patch']);

/** The patterns that change existing documents of a type. */
export function updatesOf(facts: Known, of: Reference): Access[] {
  const detail = facts.detail(of.container);
  const writes = facts
    .accessesTo(detail)
    .filter((access) => access.row.operations.some((operation) => UPDATES.has(operation)));
  return named(writes, of);
}

/** Those that name the type, or all if none does. */
function named(accesses: readonly Access[], { type = '' }: Reference): Access[] {
  const own = accesses.filter(({ pattern, row: { notes } }) =>
    new RegExp(String.raw`\b${type}`, 'i').test(`${pattern?.description ?? ''} ${notes}`),
  );
  return own.length > 0 ? own : [...accesses];
}

/**
 * Changes a second of a type, or of a whole container: what applications write, and what projections write. `seen`: the
 * projections that are counted already, because a circle never ends.
 */
export function loadChangesOf(
  facts: Known,
  of: Reference,
  rate: RateName,
  seen: readonly ProjectionRow[] = [],
): number {
  const detail = facts.detail(of.container);
  if (!detail) return 0;
  const writes = facts.accessesTo(detail).filter((access) => access.row.operations.some(isWrite));
  const own = of.type !== undefined && detail.container.types.length > 1 ? named(writes, of) : writes;
  const rows = facts
    .into(detail.container.name)
    .filter(
      (row) =>
        (of.type === undefined || row.sink?.type === undefined || row.sink.type === of.type) && !seen.includes(row),
    );
  const derived = rows.map((row) => {
    const more = sum(fannedOut(facts, row).map(({ updates, copies }) => updates * copies));
    // A new child is written once more, which changes nothing that is derived from it.
    if (!row.source || row.kind === 'embed') return more;
    if (row.kind === 'reference')
      return (
        (loadChangesOf(facts, row.source, 'average', [...seen, row]) ||
          loadChangesOf(facts, row.source, rate, [...seen, row])) * tenantsOf(facts, row)
      );
    return loadChangesOf(facts, row.source, rate, [...seen, row]) * elementsOf(facts, row) + more;
  });
  return sum(own.map((access) => access[rate] ?? 0)) + sum(derived);
}

/** The elements of one document that an aggregate takes: "each line" by the requirements, or by the examples. */
export function elementsOf(facts: Known, row: ProjectionRow): number {
  const [, element] = /\b(?:each|every) (\w+)/i.exec(row.sourceText) ?? [];
  if (element === undefined || row.kind !== 'aggregate' || !row.source) return 1;
  const stated = averageOf(relationsOf(facts.requirements, row.source, { type: element }));
  if (stated !== undefined) return stated;
  const examples = facts.type(row.source)?.examples ?? [];
  const lists = new Set(
    examples.flatMap((example) =>
      Object.keys(example).filter((field) => {
        const value = example[field];
        return Array.isArray(value) && value.some(isObject);
      }),
    ),
  );
  const field =
    [...lists].find((name) => words(name) === words(element)) ?? (lists.size === 1 ? [...lists][0] : undefined);
  const lengths = examples.flatMap((example) => {
    const value = field === undefined ? undefined : example[field];
    return Array.isArray(value) ? [value.length] : [];
  });
  return lengths.length === 0 ? 1 : Math.round((10 * sum(lengths)) / lengths.length) / 10;
}
