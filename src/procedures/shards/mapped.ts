// The mapping that has a key, where many keys are looked up.
import type { InspectedMapping, ShardMap } from '../../shards/index.ts';
import type { KeySpan } from '../../shards/keys/spans.ts';
import { MappingCache } from '../../shards/routing/mapping-cache.ts';
import { codeOf } from '../move/keyed-part.ts';
import { spanOf } from '../move/spans.ts';

/** Finds the mapping of a key as documents have it, in the map as it is now. A key in another form has none. */
export async function homesIn(map: ShardMap): Promise<(key: unknown) => InspectedMapping | undefined> {
  const mappings = new MappingCache<KeySpan & { readonly mapping: InspectedMapping }>();
  for (const mapping of (await map.inspect()).mappings) mappings.put({ ...spanOf(map, mapping), mapping });
  return (key) => {
    const code = codeOf(map, key);
    return code === undefined ? undefined : mappings.find(code)?.mapping;
  };
}
