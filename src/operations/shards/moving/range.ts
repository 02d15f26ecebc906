// Moves a range of keys in batches: each is a mapping of its own while it moves, and only its writes are held at a time.
import { fetchAll } from '../../../cosmos/fetch-all.ts';
import { encodeKey, keyJson } from '../../../shards/keys/key-type.ts';
import { type Span, overlaps } from '../../../shards/keys/spans.ts';
import type { InspectedMapping, Mapping, Shard, ShardMap } from '../../../shards/index.ts';
import { queryOf } from '../../containers/part.ts';
import { keyedPart } from './keyed-part.ts';
import { type MoveOptions, type Moved, moveMapping, spanOf } from './move.ts';
import { type MoveDocument, isUnfinished, movesOf, ofKeys } from './record.ts';

/** How many keys move at a time. */
export interface Batches {
  readonly keys: number;
}

/**
 * Moves what a range map has of a range to another shard. Mappings are split at the ends of the range, and so that a batch
 * has at most so many keys; in the end neighbours become one mapping again. A batch begins to move when the map has given
 * the one before to the target. It may be ended at any moment and called again. Resolves with the moves of this call.
 */
export async function moveRange(
  options: MoveOptions,
  range: Span,
  target: Shard,
  { keys }: Batches,
): Promise<readonly Moved[]> {
  const { map, maps, signal } = options;
  const begun = new Set<string>();
  const ends: Promise<Moved>[] = [];
  for (;;) {
    await map.settle();
    const moves = (await movesOf(maps, map.name, signal)).filter(isUnfinished);
    const mapping = (await within(map, range)).find(
      (one) => !begun.has(one.text) && (one.shard !== target.id || ofKeys(moves, spanOf(map, one)).length > 0),
    );
    if (!mapping) break;
    const batch = await batchOf(options, mapping, { range, moves, keys });
    begun.add(batch.text);
    const { promise: flipped, resolve } = Promise.withResolvers<void>();
    const moving = moveMapping({ ...options, flipped: resolve }, batch, target);
    ends.push(moving);
    // A failure is reported once the moves that are after their flip have ended.
    const failed = await Promise.race([flipped, moving]).then(
      () => false,
      () => true,
    );
    if (failed) break;
  }
  await Promise.allSettled(ends);
  const moved = await Promise.all(ends);
  await join(map, range, target);
  return moved;
}

const within = async (map: ShardMap, range: Span): Promise<InspectedMapping[]> =>
  (await map.inspect()).mappings.filter((one) => overlaps(spanOf(map, one), range));

/** The first keys of a mapping, as a mapping of their own. One that moves already stays as it is. */
async function batchOf(
  options: MoveOptions,
  mapping: Mapping,
  { range, moves, keys }: Batches & { readonly range: Span; readonly moves: readonly MoveDocument[] },
): Promise<Mapping> {
  const { map } = options;
  let batch = mapping;
  const span = (): Span => spanOf(map, batch);
  if (ofKeys(moves, span()).length > 0) return batch;
  const valueOf = (code: string) => keyJson(map.keyType, code);
  if (span().low < range.low) [, batch] = await map.splitMapping(batch, valueOf(range.low));
  const { high } = span();
  if (range.high !== undefined && (high === undefined || range.high < high))
    [batch] = await map.splitMapping(batch, valueOf(range.high));
  const next = (await codesOf(options, batch))[keys];
  if (next !== undefined) [batch] = await map.splitMapping(batch, valueOf(next));
  return batch;
}

/** The codes of the keys that a mapping's documents have, in order. */
async function codesOf({ map, connect, signal }: MoveOptions, mapping: Mapping): Promise<string[]> {
  const shard = (await map.shards()).find(({ id }) => id === mapping.shard);
  const codes = new Set<string>();
  if (!shard) return [];
  for (const [name, path] of Object.entries(map.schema.sharded)) {
    const part = keyedPart(map, spanOf(map, mapping), path, undefined);
    const [query, feed] = queryOf(`SELECT DISTINCT VALUE ${part.property}`, part);
    const values = fetchAll<string | number>(connect(shard.location).container(name), query, signal, feed);
    for await (const value of values) codes.add(encodeKey(map.keyType, value));
  }
  return [...codes].toSorted();
}

/** The keys of both. */
export function cutTo(span: Span, range: Span): Span {
  const low = span.low > range.low ? span.low : range.low;
  const ends = [span.high, range.high].filter((one) => one !== undefined).toSorted();
  return { low, ...(ends[0] !== undefined && { high: ends[0] }) };
}

/** Neighbours on the target become one mapping. */
async function join(map: ShardMap, range: Span, target: Shard): Promise<void> {
  for (;;) {
    const free = (await within(map, range)).filter(
      ({ shard, status, owner }) => shard === target.id && status === 'online' && owner === undefined,
    );
    const pair = free
      .slice(1)
      .map((upper, at) => [free[at]!, upper] as const)
      .find(([lower, upper]) => lower.high === upper.low);
    if (!pair) return;
    await map.mergeMappings(...pair);
  }
}
