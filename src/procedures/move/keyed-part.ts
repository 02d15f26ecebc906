import type { PartitionKeyDefinition } from '@azure/cosmos';
import { isObject } from '../../base/json.ts';
import { effectivePartitionKey } from '../../cosmos/effective-partition-key.ts';
import { keyHash } from '../../cosmos/key-definition.ts';
import { splitPath } from '../../cosmos/paths.ts';
import { FULL_RANGE, type FeedRange } from '../../cosmos/ranges.ts';
import { isOwn, notOwn } from '../../cosmos/own-documents.ts';
import { encodeKey, keyJson } from '../../shards/keys/key-type.ts';
import { type KeySpan, covers } from '../../shards/keys/spans.ts';
import type { MapFacts } from '../../shards/map/documents.ts';
import { exclusionOf } from '../../shards/query/exclusion.ts';
import type { MigrationPart } from '../migrate/part.ts';

/**
 * The source documents of some keys in a sharded container. Documents that Millrace derives are none: the hosts of the
 * target derive them there.
 */
export function keyedPart(
  map: MapFacts,
  span: KeySpan,
  path: string,
  definition: PartitionKeyDefinition | undefined,
): MigrationPart {
  const field = splitPath(path);
  const property = propertyOf(path);
  const { conditions, parameters } = exclusionOf(map, [span], property);
  const within = conditions.map((one) => `NOT (${one})`);
  const single = map.kind === 'list' ? keyJson(map.keyType, span.low) : undefined;
  const whole = definition?.paths.length === 1;
  return {
    ranges: [single === undefined ? FULL_RANGE : rangeOf(single, definition)],
    has: (document) => {
      const value = field.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), document);
      return codeOf(map, value) !== undefined && covers(span, codeOf(map, value)!) && !isDerived(document);
    },
    condition: [...within, SOURCES].join(' AND '),
    within: within.join(' AND '),
    property,
    parameters,
    options: single !== undefined && whole ? { partitionKey: single } : {},
  };
}

/** The key of a document, in a query. */
export const propertyOf = (path: string): string =>
  `c${splitPath(path)
    .map((name) => `[${JSON.stringify(name)}]`)
    .join('')}`;

/** A key, or the first levels of one: every full key below it begins with its hash. */
function rangeOf(value: string | number, definition: PartitionKeyDefinition | undefined): FeedRange {
  const { kind, version } = keyHash(definition);
  const min = effectivePartitionKey([value], kind, version);
  return { min, max: `${min}FF` };
}

/** The code of a document's key; undefined: it has none of this type, in the form that routers look for. */
export function codeOf({ keyType }: Pick<MapFacts, 'keyType'>, value: unknown): string | undefined {
  try {
    const code = encodeKey(keyType, value);
    // Another form of the key is in another logical partition, where no router looks for it.
    return keyJson(keyType, code) === value ? code : undefined;
  } catch {
    return undefined;
  }
}

/** What `isDerived` says, without documents that count as deleted. */
const SOURCES = [
  notOwn('c'),
  'NOT IS_DEFINED(c._src)',
  'NOT IS_DEFINED(c._mr["by"])',
  'NOT IS_DEFINED(c._mr["rows"])',
  'NOT IS_DEFINED(c._mr.moved.gone)',
].join(' AND ');

/** Documents of Millrace's own types, copies and aggregates. */
export function isDerived(document: Readonly<Record<string, unknown>>): boolean {
  const { _src: source, _mr: own } = document;
  if (isOwn(document) || source !== undefined) return true;
  return isObject(own) && (own['by'] !== undefined || own['rows'] !== undefined);
}
