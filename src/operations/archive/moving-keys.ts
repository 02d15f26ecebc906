import type { Key } from '../../feed/reading/change.ts';
import { splitPath } from '../../cosmos/paths.ts';
import type { SourceContainer } from '../../feed/reading/mapper.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { openShardMap } from '../../runtime/shard-map.ts';
import { covers } from '../../shards/keys/spans.ts';
import { codeOf } from '../shards/moving/keyed-part.ts';
import { spanOf } from '../shards/moving/move.ts';
import { isOfMove } from '../shards/moving/record.ts';

/**
 * Reads, at each call, which keys of a source move between shards: their documents stay until the move has ended, or its
 * copies would lack what left meanwhile. Without shards none moves.
 */
export async function movingKeys(
  parts: Parts,
  { name, keyPaths }: Pick<SourceContainer, 'name' | 'keyPaths'>,
): Promise<() => Promise<(key: Key) => boolean>> {
  if (!parts.loaded.pipeline.part?.inShards.has(name)) return async () => () => false;
  const map = await openShardMap(parts);
  const path = splitPath(map.schema.sharded[name] ?? '').join('/');
  const level = keyPaths.findIndex((one) => one.join('/') === path);
  return async () => {
    const { mappings } = await map.inspect();
    const spans = mappings.filter(({ owner }) => isOfMove(owner)).map((mapping) => spanOf(map, mapping));
    return (key) => {
      const code = codeOf(map, key[level]);
      // A key in another form than the map's is on no move.
      return code !== undefined && spans.some((span) => covers(span, code));
    };
  };
}
