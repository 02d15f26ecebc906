// Where the stored map differs from the section "Shard map" of the documents.
import type { DocumentedMap, ModelDocuments, ShardMapping, Text } from '../../model/documents.ts';
import { keyTypeNamed } from '../../model/shard-keys.ts';
import type { Inspection, InspectedMapping, ShardMap } from '../../shards/index.ts';
import { encodeKey, type KeyTypeName } from '../../shards/keys/key-type.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { type KeySpan, spansOverlap, withoutSpan } from '../../shards/keys/spans.ts';
import { namedContainers } from '../../model/reader/shard-maps.ts';
import { keyOf } from './keys.ts';

export interface Drift {
  /** Of the document; null: the store has something that the document doesn't have. */
  readonly line: number | null;
  readonly file: string | null;
  readonly what: string;
}

const WORDS: Readonly<Record<KeyTypeName, ReturnType<typeof keyTypeNamed>>> = {
  int32: 'integer',
  int64: 'integer',
  guid: 'guid',
  bytes: 'bytes',
  dateTime: 'datetime',
  dateTimeOffset: 'datetimeoffset',
  duration: 'timespan',
  text: 'text',
};

/** Compares a stored map with the documented one of its name, or else with the only one that has no name. */
export function mapDriftOf(map: ShardMap, now: Inspection, { design, requirements }: ModelDocuments): Drift[] {
  const all = [...(design?.shardMaps ?? []), ...(requirements?.shardMaps ?? [])];
  const named = all.find(({ name }) => name?.toLowerCase() === map.name.toLowerCase());
  const found = named ?? (all.every(({ name }) => name === undefined) ? all[0] : undefined);
  if (!found) return [{ line: null, file: null, what: `The documents have no shard map ${map.name}` }];
  return [...factsDrift(map, found), ...mappingsDrift(map, now, found)];
}

/** Documented maps that the store doesn't have. */
export function missingMaps(
  stored: readonly ShardMap[],
  { design, requirements }: ModelDocuments,
): (Drift & { readonly map: string })[] {
  const known = new Set(stored.map(({ name }) => name.toLowerCase()));
  return [...(design?.shardMaps ?? []), ...(requirements?.shardMaps ?? [])].flatMap((map) =>
    map.name === undefined || known.has(map.name.toLowerCase())
      ? []
      : [{ map: map.name, ...at(map, `The store has no shard map ${map.name}`) }],
  );
}

const at = ({ at: { file, line } }: Pick<Text, 'at'>, what: string): Drift => ({ file, line, what });

function* factsDrift({ kind, keyType, schema }: ShardMap, found: DocumentedMap): Generator<Drift> {
  const documented = found.mappings.some(({ key }) => /^[[(]/.test(key.trim())) ? 'range' : 'list';
  if (documented !== kind) yield at(found, `It is a ${documented} map in the document, and a ${kind} map in the store`);
  if (found.keyType && !isOfType(found.keyType.text, keyType))
    yield at(
      found.keyType,
      `The key type is ${plain(found.keyType.text)} in the document, and ${keyType} in the store`,
    );
  if (found.sharded) yield* namesDrift(found.sharded, schema.sharded);
  if (found.reference)
    yield* namesDrift(found.reference, Object.fromEntries((schema.reference ?? []).map((name) => [name, undefined])));
}

/** `int64` is exact; `integer` is any of its kind. */
const isOfType = (label: string, keyType: KeyTypeName): boolean => {
  const exact = Object.keys(WORDS).find((name) => plain(label).toLowerCase() === name.toLowerCase());
  return exact === undefined ? keyTypeNamed(label) === WORDS[keyType] : exact === keyType;
};

const plain = (text: string): string => text.replaceAll('`', '').trim();

/** Containers, with the paths of their keys if they have them: `Orders` by `/tenantId`, `Invoices` by `/tenantId`. */
function* namesDrift(label: Text, stored: Readonly<Record<string, string | undefined>>): Generator<Drift> {
  const parts = namedContainers(label);
  for (const [name, path] of parts) {
    if (!Object.hasOwn(stored, name)) yield at(label, `The stored map has no container ${name} there`);
    else if (path !== undefined && stored[name] !== path)
      yield at(label, `The key of ${name} is ${path} in the document, and ${stored[name]} in the store`);
  }
  for (const name of Object.keys(stored))
    if (parts.every(([one]) => one !== name))
      yield at(label, `The document lacks the container ${name}, which the store has`);
}

function* mappingsDrift(map: ShardMap, now: Inspection, found: DocumentedMap): Generator<Drift> {
  const shardOf = new Map(now.shards.map(({ id, location }) => [id, location]));
  const stored = now.mappings.map((mapping) => ({ ...spanOf(map, mapping), mapping }));
  const covered: KeySpan[] = [];
  for (const row of found.mappings) {
    const span = rowSpan(map, row);
    if (typeof span === 'string') {
      yield at(row, span);
      continue;
    }
    covered.push(span);
    const there = stored.filter((one) => spansOverlap(one, span));
    for (const { mapping } of there) {
      const location = shardOf.get(mapping.shard);
      const names = location ? [location.database, shownLocation(location)] : [];
      if (!names.includes(row.shard.trim()))
        yield at(row, `${mapping.text} is on ${names[1] ?? mapping.shard} in the store, not on ${row.shard.trim()}`);
    }
    if (withoutSpan([span], there).length > 0) yield at(row, `The store has no mapping for all of ${row.key.trim()}`);
  }
  for (const one of stored)
    if (withoutSpan([one], covered).length > 0)
      yield { line: null, file: null, what: `The document lacks keys of ${one.mapping.text}, which the store has` };
}

function spanOf({ keyType }: ShardMap, { key, low, high }: InspectedMapping): KeySpan {
  const code = (form: NonNullable<typeof low>): string => encodeKey(keyType, form);
  if (key !== undefined) return { low: code(key), high: code(key) };
  return { low: low === undefined ? '' : code(low), ...(high !== undefined && { high: code(high) }) };
}

/** The span of a row, or why it has none. */
function rowSpan({ keyType }: ShardMap, { key }: ShardMapping): KeySpan | string {
  const [, low, high] = /^\[\s*([^,]+?)\s*,\s*([^,]+?)\s*\)$/.exec(key.trim()) ?? [];
  const code = (text: string): string => encodeKey(keyType, keyOf(keyType, 'key', text.replaceAll(/["_]/g, '')));
  const isEnd = (text: string): boolean => /^(-?∞|…|\.\.\.|min|max|[-+]?inf\w*)$/i.test(text);
  try {
    if (low === undefined || high === undefined) {
      const one = code(key.trim());
      return { low: one, high: one };
    }
    return { low: isEnd(low) ? '' : code(low), ...(!isEnd(high) && { high: code(high) }) };
  } catch {
    return `${key.trim()} is not a key of type ${keyType}, or not a range of them`;
  }
}
