// Documents that stand in a shard to which the map doesn't give their key, and that no move has left there.
import { MillraceError } from '../../../base/errors.ts';
import type { KeyJson } from '../../../shards/keys/codec.ts';
import { keyJson } from '../../../shards/keys/key-type.ts';
import { covers } from '../../../shards/keys/spans.ts';
import type { Shard, ShardMap } from '../../../shards/index.ts';
import { spanOf } from '../moving/spans.ts';
import type { MeasuredKey } from './measure.ts';

/** A key of which, by all that is known, documents were written past the router. */
export interface PastRouter {
  readonly shard: string;
  readonly key: KeyJson;
  readonly documents: number;
  /** The shard to which the map gives the key; null: no mapping has it. */
  readonly home: string | null;
}

export type IsStray = (code: string) => boolean;

/**
 * Whether the shard's local map has a key among its strays: what a move copies or has left behind, and what is left of a
 * deleted mapping. Queries over all shards leave them out there.
 */
export async function straysOf(map: ShardMap, shard: Shard): Promise<IsStray> {
  const strays = await map.strays(shard).catch((error: unknown) => {
    if (error instanceof MillraceError && error.code === 'local-map-missing') return 'unknown' as const;
    throw error;
  });
  if (strays === 'unknown') return () => true;
  const spans = strays.map((keys) => spanOf(map, keys));
  return (code) => spans.some((span) => covers(span, code));
}

export const pastRouterOf = (
  { keyType }: Pick<ShardMap, 'keyType'>,
  foreign: readonly MeasuredKey[],
  {
    shard,
    isStray,
    homeOf,
  }: { readonly shard: string; readonly isStray: IsStray; readonly homeOf: (code: string) => string | null },
): PastRouter[] =>
  foreign
    .filter(({ code }) => !isStray(code))
    .map(({ code, documents }) => ({ shard, key: keyJson(keyType, code), documents, home: homeOf(code) }));
