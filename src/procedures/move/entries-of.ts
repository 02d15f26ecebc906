import { isMissing } from '../../base/key-level.ts';
import type { SqlParameter } from '@azure/cosmos';
import { mapSettled } from '../../base/map-settled.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import type { Key } from '../../feed/reading/change.ts';
import { ENTRY, type StoredEntry, entryOf } from '../../kinds/archive/entries.ts';
import { mappedLevel } from '../../runtime/places.ts';
import { keyJson } from '../../shards/keys/key-type.ts';
import type { KeySpan } from '../../shards/keys/spans.ts';
import type { MapFacts } from '../../shards/map/documents.ts';
import type { SinkDocument } from '../../access/document-access.ts';
import type { MovePlace, MovedContainer } from './side.ts';

/** Keys of a map that move. */
export interface MovedEntryKeys {
  readonly map: Pick<MapFacts, 'kind' | 'keyType' | 'schema'>;
  readonly span: KeySpan;
}

/** The entries by which a shard has documents of the keys in its archive. */
export async function* entriesOf(
  { state }: Pick<MovePlace, 'state'>,
  of: MovedContainer,
  { map, span }: MovedEntryKeys,
  signal: AbortSignal,
): AsyncGenerator<StoredEntry> {
  if (!state) return;
  const { condition, parameters } = keyCondition(map, span, of, 'c.source["key"]');
  const query = {
    query: `SELECT * FROM c WHERE c.type = @type AND c.state = 'archived' AND c.source.container = @name${condition}`,
    parameters: [{ name: '@type', value: ENTRY }, { name: '@name', value: of.name }, ...parameters],
  };
  for await (const stored of fetchAll<SinkDocument>(state, query, signal)) {
    const entry = entryOf(stored);
    if (of.part.has(asDocument(of, entry.key))) yield entry;
  }
}

/**
 * What narrows a query over full keys in `property` to a single key of a list map, as ` AND …`. Of a range nothing does: the
 * caller asks each of them.
 */
export function keyCondition(
  map: MovedEntryKeys['map'],
  span: KeySpan,
  of: MovedContainer,
  property: string,
): { readonly condition: string; readonly parameters: SqlParameter[] } {
  if (map.kind !== 'list') return { condition: '', parameters: [] };
  const level = mappedLevel(map.schema, { name: of.name, keyPaths: of.left.keyPaths });
  const value = keyJson(map.keyType, span.low);
  return { condition: ` AND ${property}[${level}] = @key`, parameters: [{ name: '@key', value }] };
}

/** How many documents of the keys a shard has in its archive. */
export async function countCold(
  place: Pick<MovePlace, 'state'>,
  containers: readonly MovedContainer[],
  keys: MovedEntryKeys,
  signal: AbortSignal,
): Promise<number> {
  const counts = await mapSettled(
    containers,
    async (of) => {
      let count = 0;
      for await (const _ of entriesOf(place, of, keys, signal)) count += 1;
      return count;
    },
    { concurrency: 4 },
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** A document with this key and nothing else. */
export function asDocument(
  { left: { keyPaths } }: MovedContainer,
  key: Key | readonly unknown[],
): Record<string, unknown> {
  return keyPaths.reduce<Record<string, unknown>>((made, path, level) => {
    if (isMissing(key[level])) return made;
    const nested = path.toReversed().reduce<unknown>((value, name) => ({ [name]: value }), key[level]);
    return { ...made, ...(nested as object) };
  }, {});
}
