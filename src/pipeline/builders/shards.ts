import type { ShardsSpec, SourceRef } from '../specs.ts';
import { GLOBAL, type GlobalType, type Type } from '../types.ts';

/** The shards of the shard map with this name. The model states the containers of each shard. */
export const shardMap = (map: string): ShardsSpec => ({ map });

/**
 * `into` of a copy or an aggregate: its documents lie in the global place, together with those from all other shards. The
 * global place is the database of `COSMOS_DATABASE`.
 */
export function global<D extends object>(of: Type<D>): GlobalType<D>;
export function global(of: SourceRef): SourceRef & { readonly [GLOBAL]: true } {
  return { container: of.container, type: of.type, [GLOBAL]: true };
}
