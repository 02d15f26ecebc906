// Compares real documents with the examples of the data model. Pure: the caller passes the samples.
import { isObject } from '../base/json.ts';
import { isMap } from './redaction.ts';
import type { ContainerDetail } from './documents.ts';
import { type Container, type DocumentType, exampleValueAt } from './model.ts';

export type AccountDoc = Readonly<Record<string, unknown>>;

export interface AccountDrift {
  readonly container: string;
  /** Absent: the whole container differs. */
  readonly type?: string;
  readonly kind:
    | 'container-missing'
    | 'container-extra'
    | 'key'
    | 'policy'
    | 'type-extra'
    | 'field-missing'
    | 'field-extra'
    | 'json-type'
    | 'size'
    | 'ttl';
  /** The difference, with counts. */
  readonly what: string;
}

/** A real average above this multiple of the stated one is drift, because RU grow with the size. */
const SIZE_FACTOR = 2;

/**
 * Differences between sampled documents of one container and its examples, in both directions. `samples`: documents
 * without the fields that Cosmos DB and Millrace add, and without Millrace's own documents. `size`: what the document states.
 * `derived`: types that a projection writes, which need no example.
 */
export function driftOf(
  { name, partitionKey, types, defaultTtl }: Container,
  samples: readonly AccountDoc[],
  size?: ContainerDetail['size'],
  derived: readonly string[] = [],
): AccountDrift[] {
  if (samples.length === 0) return [];
  const found: AccountDrift[] = [];
  const own = (kind: AccountDrift['kind'], what: string): number => found.push({ container: name, kind, what });
  for (const path of partitionKey) {
    const lacking = samples.filter((doc) => exampleValueAt(doc, path) === undefined).length;
    if (lacking > 0) own('key', `${lacking} of ${samples.length} documents lack the key path ${path}`);
  }
  const typed = Map.groupBy(samples, (doc) => typeNameOf(doc, name, types));
  for (const [type, documents] of typed) {
    const shown = types.find((of) => of.name === type);
    if (shown && shown.examples.length > 0) found.push(...fieldDrift(name, shown, documents));
    else if (!derived.includes(type))
      found.push({
        container: name,
        type,
        kind: 'type-extra',
        what: `${of(documents.length)} of this type, which has no example`,
      });
  }
  const bytes = samples.map((doc) => Buffer.byteLength(JSON.stringify(doc)));
  const average = bytes.reduce((sum, one) => sum + one, 0) / bytes.length;
  if (size && average > SIZE_FACTOR * size.average)
    own(
      'size',
      `the average is ${Math.round(average)} B; ${size.stated ? 'the document states' : 'the examples have'} ${Math.round(size.average)} B`,
    );
  const largest = Math.max(...bytes);
  if (size?.stated && largest > size.max)
    own('size', `the largest has ${largest} B; the document states at most ${Math.round(size.max)} B`);
  const expiring = samples.filter(({ ttl }) => typeof ttl === 'number').length;
  if (expiring > 0 && defaultTtl === undefined)
    own('ttl', `${of(expiring)} with a ttl that has no effect, because the container's TTL is off`);
  return found;
}

/**
 * The type that a field of its own names, as `type` or another that a model.ts declares with that one value. Otherwise as the
 * reader of documents has it: the container's name in lower case if documents have no `type`.
 */
function typeNameOf(doc: AccountDoc, container: string, types: readonly DocumentType[]): string {
  const named = types.find(({ name, fields }) =>
    Object.entries(fields).some(
      ([field, { values }]) => values?.length === 1 && values[0] === name && doc[field] === name,
    ),
  );
  const { type } = doc;
  return named?.name ?? (typeof type === 'string' && type !== '' ? type : container.toLowerCase());
}

function fieldDrift(
  container: string,
  { name, examples }: DocumentType,
  documents: readonly AccountDoc[],
): AccountDrift[] {
  const shown = examples.map(accountShapeOf);
  const real = documents.map(accountShapeOf);
  const paths = new Set([...shown, ...real].flatMap((shape) => [...shape.keys()]));
  const drifts: AccountDrift[] = [];
  for (const path of [...paths].filter((one) => one !== '').toSorted()) {
    const parent = parentOf(path);
    // If the parent is absent or empty, its fields aren't missing.
    const within = (shapes: readonly Shape[]): Shape[] =>
      shapes.filter((shape) => shape.get(parent)?.has(path.endsWith('[]') ? 'list' : 'object'));
    const [here, there] = [within(shown), within(real)];
    const [having, lacking] = [there.filter((shape) => shape.has(path)), there.filter((shape) => !shape.has(path))];
    const add = (kind: AccountDrift['kind'], what: string): number =>
      drifts.push({ container, type: name, kind, what });
    const known = new Set(shown.flatMap((shape) => [...(shape.get(path) ?? [])]));
    if (path.endsWith('[]')) {
      // An empty list shows nothing of its elements.
    } else if (known.size === 0) {
      // Reported once, for the topmost new field.
      if (shown.some((shape) => shape.has(parent)) && having.length > 0)
        add('field-extra', `${path} is in ${having.length} of ${documents.length} documents, but in no example`);
      continue;
    } else if (lacking.length > 0 && here.length > 0 && here.every((shape) => shape.has(path)))
      add('field-missing', `${path} is in every example, but not in ${lacking.length} of ${there.length} documents`);
    if (known.size === 0) continue;
    const other = having.filter((shape) => [...(shape.get(path) ?? [])].some((kind) => !known.has(kind)));
    if (other.length > 0) {
      const kinds = new Set(other.flatMap((shape) => [...(shape.get(path) ?? [])].filter((kind) => !known.has(kind))));
      add(
        'json-type',
        `${path} is ${[...kinds].join(' or ')} in ${of(other.length)}; the examples have ${[...known].join(' or ')}`,
      );
    }
  }
  return drifts;
}

/** JSON types by path: `lines`, `lines[]`, `lines[].quantity`; the document itself is the empty path. */
type Shape = ReadonlyMap<string, ReadonlySet<string>>;

export function accountShapeOf(doc: unknown): Shape {
  const shape = new Map<string, Set<string>>();
  const visit = (value: unknown, path: string): void => {
    const kind = Array.isArray(value) ? 'list' : isObject(value) ? 'object' : value === null ? 'null' : typeof value;
    const kinds = shape.get(path) ?? new Set();
    shape.set(path, kinds.add(kind));
    if (Array.isArray(value)) for (const element of value) visit(element, `${path}[]`);
    else if (isObject(value) && !isMap(value))
      for (const [field, member] of Object.entries(value)) visit(member, path === '' ? field : `${path}.${field}`);
  };
  visit(doc, '');
  return shape;
}

function parentOf(path: string): string {
  if (path.endsWith('[]')) return path.slice(0, -2);
  const dot = path.lastIndexOf('.');
  return dot < 0 ? '' : path.slice(0, dot);
}

const of = (count: number): string => `${count} document${count === 1 ? '' : 's'}`;
