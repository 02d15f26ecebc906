// The oracle: it computes every sink document from the source documents alone. It is simple on purpose, and shares no
// code with the engine: a mistake in the engine must not be repeated here.
import { sharedError } from '../../base/shared-errors.ts';
import { levelOf, namesLevel } from '../../base/key-level.ts';
import type { MillraceError } from '../../base/errors.ts';
import { canonical, isObject, shown } from '../../base/json.ts';
import { exampleValueAt } from '../../model/model.ts';
import type { MeasureSpec } from '../builders/measures.ts';
import type {
  AggregateSpec,
  CopySpec,
  Doc,
  Join,
  ProjectionSpec,
  ReferenceSpec,
  SourceRef,
  SourceRules,
} from '../specs.ts';
import { typeRules } from '../discriminator.ts';
import { isEmptied } from '../emptied.ts';
import { aggregateId, sinkDocumentId } from '../derived-ids.ts';

export interface RecomputeOptions {
  /** The sink's partition key paths: a copy's id is unique only within its key. Without them a row's key is its id alone. */
  readonly keyPaths?: readonly string[];
  /**
   * Called for a document, as stored, that the projection can't take (a user's function threw, a measure isn't a number). The document
   * contributes nothing, as if Millrace had parked it. Without this callback the error is thrown.
   */
  readonly refused?: (doc: Doc, cause: unknown) => void;
  /** Called for each row with its source, and with a group's facts that its document doesn't have. */
  readonly derived?: (key: string, from: Derivation) => void;
  /** Called for the source, as stored, of a copy that waits for a joined document. */
  readonly waiting?: (source: Doc) => void;
}

export interface Derivation {
  /** The source document as it is stored; for a group, its first one. */
  readonly source: Doc;
  /** The tenant of reference data, as it is stored. */
  readonly tenant?: Doc;
  readonly group?: GroupFacts;
}

export interface GroupFacts {
  readonly rows: number;
  /** The sums behind averages. */
  readonly sums: Readonly<Record<string, number>>;
  /** How far sums may differ from those of the same numbers in another order; for an average, its sum. */
  readonly rounding: Readonly<Record<string, number>>;
}

/**
 * The sink documents that a projection must have, by `rowKey`, without the fields that Cosmos DB and Millrace add.
 * `documentsOf` returns the present documents of a type, including those with a delete marker but not expired ones;
 * `rules` are the pipeline's sources.
 */
export function recompute(
  spec: ProjectionSpec,
  documentsOf: (of: SourceRef) => Iterable<Doc>,
  rules: readonly SourceRules[],
  options: RecomputeOptions = {},
): Map<string, Doc> {
  const raws = new Map<Doc, Doc>();
  const refuse = (doc: Doc, cause: unknown): void => {
    if (!options.refused) throw cause;
    options.refused(raws.get(doc) ?? doc, cause);
  };
  const live = (of: SourceRef, keepDeleted: boolean): Doc[] => {
    const { upcast, deleted } = typeRules(rules, of);
    const docs: Doc[] = [];
    for (const raw of documentsOf(of)) {
      if (isEmptied(raw)) continue;
      try {
        const stored = ownFields(raw);
        const doc = upcast ? upcast(stored) : stored;
        if (keepDeleted || !deleted?.(doc)) docs.push(doc);
        raws.set(doc, raw);
      } catch (cause) {
        refuse(raw, cause);
      }
    }
    return docs;
  };
  const docs = live(spec.from, spec.onDelete === 'keep');
  const documents = (of: SourceRef): Doc[] => live(of, false);
  const rows =
    spec.kind === 'copy'
      ? copies(spec, docs, documents, refuse, (doc) => options.waiting?.(raws.get(doc) ?? doc))
      : spec.kind === 'reference'
        ? perTenant(spec, docs, documents(spec.tenants), refuse)
        : groups(spec, docs, refuse);
  const result = new Map<string, Doc>();
  for (const { row, of: origin, tenant, group } of rows) {
    const key = rowKey(row, options.keyPaths ?? []);
    if (result.has(key)) {
      const why = `Two source documents are copied to ${key} in ${spec.into.container}`;
      refuse(origin, sharedError('collision', why));
    } else {
      result.set(key, row);
      const stored = tenant && raws.get(tenant);
      options.derived?.(key, {
        source: raws.get(origin) ?? origin,
        ...(stored && { tenant: stored }),
        ...(group && { group }),
      });
    }
  }
  return result;
}

/** The identity of a sink document: canonical JSON of its key's levels and its id. */
export function rowKey(doc: Doc, keyPaths: readonly string[]): string {
  return canonical([...keyPaths.map((path) => levelOf(exampleValueAt(doc, path))), doc['id']]);
}

const SYSTEM = new Set(['_rid', '_self', '_etag', '_attachments', '_ts', '_lsn', '_src', '_mr']);

/** A document as plain stored JSON, without the fields that Cosmos DB and Millrace add. */
export function visible(doc: Doc): Doc {
  const stored: unknown = JSON.parse(JSON.stringify(doc));
  if (!isObject(stored)) return {};
  for (const name of SYSTEM) Reflect.deleteProperty(stored, name);
  return stored;
}

/**
 * The same for a document that is plain JSON already, because it was read from a container or a blob. A copy, because a
 * user's function may change what it is given; texts are shared, so it takes a third of the time.
 */
export const ownFields = (doc: Doc): Doc => copyOf(doc, SYSTEM);

function copyOf(doc: Doc, without?: ReadonlySet<string>): Doc {
  const copy: Doc = {};
  for (const name in doc) {
    if (without?.has(name)) continue;
    const value = copied(doc[name]);
    // An assignment would lose a field with the name `__proto__`.
    if (name === '__proto__') Object.defineProperty(copy, name, { value, enumerable: true });
    else copy[name] = value;
  }
  return copy;
}

const copied = (value: unknown): unknown =>
  Array.isArray(value) ? value.map(copied) : isObject(value) ? copyOf(value) : value;

type Refuse = (doc: Doc, cause: unknown) => void;
interface Origin {
  readonly row: Doc;
  readonly of: Doc;
  readonly tenant?: Doc;
  readonly group?: GroupFacts;
}

function* copies(
  spec: CopySpec,
  docs: readonly Doc[],
  documents: (of: SourceRef) => Doc[],
  refuse: Refuse,
  waits: (doc: Doc) => void,
): Iterable<Origin> {
  const indexes = spec.joins.map((join) => ({ join, index: indexOf(join, documents(join.of)) }));
  for (const doc of docs) {
    try {
      if (spec.where && !spec.where(doc)) continue;
      const joined: Record<string, Doc | null> = {};
      let waiting = false;
      for (const { join, index } of indexes) {
        const found = index.get(named(Object.values(join.on).map((field) => doc[field])) ?? '') ?? null;
        joined[join.name] = found;
        if (found === null && join.missing === 'wait') waiting = true;
      }
      if (waiting) {
        waits(doc);
        continue;
      }
      const mapped = spec.map(doc, joined);
      const id = typeof mapped['id'] === 'string' ? sinkDocumentId(mapped['id'], spec.badIds) : mapped['id'];
      yield { row: visible({ ...mapped, id, type: spec.into.type }), of: doc };
    } catch (cause) {
      refuse(doc, cause);
    }
  }
}

function* perTenant(
  spec: ReferenceSpec,
  docs: readonly Doc[],
  tenants: readonly Doc[],
  refuse: Refuse,
): Iterable<Origin> {
  for (const doc of docs) {
    try {
      if (spec.where && !spec.where(doc)) continue;
      const mapped = spec.map(doc);
      const id = typeof mapped['id'] === 'string' ? sinkDocumentId(mapped['id'], spec.badIds) : mapped['id'];
      for (const tenant of tenants) {
        const key = Object.fromEntries(Object.entries(spec.key).map(([field, of]) => [field, tenant[of]]));
        yield { row: visible({ ...mapped, ...key, id, type: spec.into.type }), of: doc, tenant };
      }
    } catch (cause) {
      refuse(doc, cause);
    }
  }
}

/** What fields with these values name; undefined if one of them is null or missing, which names no document. */
export const named = (values: readonly unknown[]): string | undefined =>
  values.every(namesLevel) ? canonical(values) : undefined;

/** First of several matches: `on` covers the joined document's id and whole key (checkPipeline), so there is one. */
function indexOf(join: Join, documents: readonly Doc[]): Map<string, Doc> {
  const index = new Map<string, Doc>();
  for (const doc of documents) {
    const key = named(Object.keys(join.on).map((field) => doc[field]));
    if (key !== undefined && !index.has(key)) index.set(key, doc);
  }
  return index;
}

function groups(spec: AggregateSpec, docs: readonly Doc[], refuse: Refuse): Iterable<Origin> {
  const members = new Map<string, { group: Doc; first: Doc; rows: number; values: Record<string, Taken[]> }>();
  for (const doc of docs) {
    try {
      if (spec.where && !spec.where(doc)) continue;
      // All rows of a document are computed before any is counted: a refused document must contribute nothing.
      const rows = (spec.each ? spec.each(doc) : [doc]).map((row) => {
        const group = spec.groupBy(row, doc);
        const values = Object.entries(spec.measures).map(
          ([field, measure]) => [field, valueOf(field, measure, row)] as const,
        );
        return { id: aggregateId(spec.into.type, group), group, values };
      });
      for (const { id, group, values } of rows) {
        const member = members.get(id) ?? { group, first: doc, rows: 0, values: {} };
        members.set(id, member);
        member.rows += 1;
        for (const [field, value] of values) (member.values[field] ??= []).push(value);
      }
    } catch (cause) {
      refuse(doc, cause);
    }
  }
  return [...members].map(([id, { group, first, rows, values }]) => {
    const measures = Object.entries(spec.measures).map(([field, measure]) => [
      field,
      fold(measure, values[field] ?? []),
    ]);
    const row = visible({ ...group, ...Object.fromEntries(measures), id, type: spec.into.type });
    return { row, of: first, group: factsOf(spec, rows, values) };
  });
}

function factsOf(spec: AggregateSpec, rows: number, values: Readonly<Record<string, readonly Taken[]>>): GroupFacts {
  const sums: Record<string, number> = {};
  const rounding: Record<string, number> = {};
  for (const [field, { kind }] of Object.entries(spec.measures)) {
    if (kind !== 'sum' && kind !== 'avg') continue;
    const numbers = (values[field] ?? []).map(({ number }) => number);
    const sum = numbers.reduce((total, number) => total + number, 0);
    if (kind === 'avg') sums[field] = sum;
    rounding[field] = roundingOf(numbers);
  }
  return { rows, sums, rounding };
}

/**
 * A sum of n numbers x, added in any order, is off by at most (n − 1)·u·Σ|x|, u = 2^-53, to first order (Higham, Accuracy
 * and Stability of Numerical Algorithms, 2nd ed., (4.4)). Two such sums differ by twice that; a document's rows are added
 * before the documents are, and each is added to a page's before that is added, which at most doubles the additions.
 */
const roundingOf = (numbers: readonly number[]): number =>
  numbers.every(Number.isInteger)
    ? 0
    : 4 * numbers.length * (Number.EPSILON / 2) * numbers.reduce((total, number) => total + Math.abs(number), 0);

/** The values that a measure takes from one row. */
interface Taken {
  readonly number: number;
  readonly text: string;
  readonly keep: Doc;
}

const NOTHING: Taken = { number: 1, text: '', keep: {} };

function valueOf(field: string, measure: MeasureSpec, row: unknown): Taken {
  if (measure.kind === 'count') return NOTHING;
  if (measure.kind === 'distinct') {
    const text: unknown = measure.of(row);
    if (typeof text === 'string') return { ...NOTHING, text: text.toWellFormed() };
    throw badValue(field, text, 'a string');
  }
  const number: unknown = measure.kind === 'top' ? measure.by(row) : measure.of(row);
  if (typeof number !== 'number' || !Number.isFinite(number)) throw badValue(field, number, 'a finite number');
  return measure.kind === 'top'
    ? { ...NOTHING, number, keep: JSON.parse(JSON.stringify(measure.keep(row))) as Doc }
    : { ...NOTHING, number };
}

const badValue = (field: string, value: unknown, wanted: string): MillraceError =>
  sharedError('value-invalid', `Measure ${field} got ${shown(value)}, not ${wanted}`);

function fold(measure: MeasureSpec, taken: readonly Taken[]): unknown {
  const numbers = taken.map(({ number }) => number);
  if (measure.kind === 'count') return taken.length;
  if (measure.kind === 'min') return numbers.reduce((least, number) => (number < least ? number : least));
  if (measure.kind === 'max') return numbers.reduce((most, number) => (number > most ? number : most));
  if (measure.kind === 'distinct') return new Set(taken.map(({ text }) => text)).size;
  if (measure.kind === 'histogram') {
    const edges = [-Infinity, ...measure.bounds, Infinity];
    const within = (from: number, to: number): number => numbers.filter((value) => value >= from && value < to).length;
    return edges.slice(1).map((to, at) => within(edges[at] ?? to, to));
  }
  if (measure.kind === 'top') {
    const sorted = taken.toSorted((a, b) => b.number - a.number || (canonical(a.keep) < canonical(b.keep) ? -1 : 1));
    return sorted.slice(0, measure.n).map(({ keep }) => keep);
  }
  const sum = numbers.reduce((total, number) => total + number, 0);
  return measure.kind === 'avg' ? sum / numbers.length : sum;
}
