// The mapping that has a key, where many keys are looked up.
import type { Mapping, ShardMap } from '../../shards/index.ts';
import { type KeySpan, covers } from '../../shards/keys/spans.ts';
import { spanOf } from '../move/spans.ts';

export type Mapped<M extends Mapping = Mapping> = M & { readonly span: KeySpan };

/** In the order of their keys. */
export const mappedBy = <M extends Mapping>(map: ShardMap, mappings: readonly M[]): Mapped<M>[] =>
  mappings
    .map((mapping) => ({ ...mapping, span: spanOf(map, mapping) }))
    .toSorted((a, b) => (a.span.low < b.span.low ? -1 : 1));

/** The mapping that has a key, of mappings in the order of their keys. */
export function shardMappingOf<M extends Mapping>(mappings: readonly Mapped<M>[], code: string): Mapped<M> | undefined {
  let [first, last] = [0, mappings.length];
  while (first < last) {
    const middle = (first + last) >> 1;
    if (mappings[middle]!.span.low <= code) first = middle + 1;
    else last = middle;
  }
  const found = mappings[first - 1];
  return found && covers(found.span, code) ? found : undefined;
}
