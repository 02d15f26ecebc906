// Moves a range of keys in batches: each is a mapping of its own while it moves, and only its writes are held at a time.
import { systemClock } from '../../../base/clock.ts';
import { sharedError } from '../../../base/shared-errors.ts';
import { MillraceError } from '../../../base/errors.ts';
import { fetchAll } from '../../../cosmos/fetch-all.ts';
import { encodeKey, keyJson } from '../../../shards/keys/key-type.ts';
import { type KeySpan, spansOverlap } from '../../../shards/keys/spans.ts';
import { span as textOf } from '../../../shards/map/values.ts';
import type { InspectedMapping, Mapping, Shard, ShardMap } from '../../../shards/index.ts';
import { migrateQueryOf } from '../../migrate/part.ts';
import { WAIT_FOR_MOVE, operationsError } from '../../errors.ts';
import { keyedPart } from '../keyed-part.ts';
import { leftEndingOf, saying } from '../left.ts';
import { type Moved, cancelMove, moveMapping } from '../move.ts';
import type { MoveOptions } from '../options.ts';
import { mappingOfMove, noMapping, spanOf } from '../spans.ts';
import { type RangeDocument, batchesOf, beginRange, isOpen, rangesOf, saveRange } from './range-record.ts';
import { type MoveDocument, isSilent, isUnfinished, movesOf, ofKeys } from '../record.ts';

/** How many keys move at a time. */
export interface Batches {
  readonly keys: number;
}

/** What one call did for a range. */
export interface MovedRange {
  readonly id: string;
  /** The moves of this call. */
  readonly moves: readonly Moved[];
}

/**
 * Moves what a range map has of a range to another shard. Mappings are split at the ends of the range, and so that a batch
 * has at most so many keys; in the end neighbours become one mapping again. A batch begins to move when the map has given
 * the one before to the target. It may be ended at any moment and called again. Undefined: there is nothing to move.
 * @throws MillraceError `move-cancelled`, and as `moveMapping`
 */
export async function moveRange(
  options: MoveOptions,
  range: KeySpan,
  target: Shard,
  { keys }: Batches,
): Promise<MovedRange | undefined> {
  const { map, maps, signal, clock } = options;
  const record = await recordOf(options, range, target);
  if (!record) return undefined;
  const begun = new Set<string>();
  const ends: Promise<Moved>[] = [];
  try {
    for (;;) {
      await map.settle();
      const moves = (await movesOf(maps, map.name, signal)).filter(isUnfinished);
      const mapping = (await within(map, range)).find(
        (one) => !begun.has(one.text) && (one.shard !== target.id || ofKeys(moves, spanOf(map, one)).length > 0),
      );
      if (!mapping) break;
      await saveRange(maps, record, 'moving', clock);
      const batch = await batchOf(options, mapping, { range, moves, keys });
      begun.add(batch.mapping.text);
      const { promise: switched, resolve } = Promise.withResolvers<void>();
      const of = { id: record.id, keys: batch.keys };
      const moving = moveMapping({ ...options, switched: resolve, range: of }, batch.mapping, target);
      ends.push(moving);
      // A failure is reported once the moves that are after their switch have ended.
      const failed = await Promise.race([switched, moving]).then(
        () => false,
        () => true,
      );
      if (failed) break;
    }
  } finally {
    await Promise.allSettled(ends);
  }
  const moved = await Promise.all(ends).catch((error: unknown) => refused(options, record, error));
  await join(map, range, target.id);
  await saveRange(maps, record, 'done', clock);
  return { id: record.id, moves: moved };
}

/** The record of the range: the one that is resumed, or a new one. Undefined: all of its keys are there. */
async function recordOf(options: MoveOptions, range: KeySpan, target: Shard): Promise<RangeDocument | undefined> {
  const { map, maps, signal, clock } = options;
  const [found] = (await rangesOf(maps, map.name, signal)).filter((one) => isOpen(one) && spansOverlap(one, range));
  if (found) {
    if (found.low === range.low && found.high === range.high && found.to === target.id && found.step === 'moving')
      return found;
    throw sharedError('under-way', `The move ${found.id} of ${found.keys} is under way: ${found.step}`, {
      hint: WAIT_FOR_MOVE,
    });
  }
  const moves = (await movesOf(maps, map.name, signal)).filter(isUnfinished);
  const due = (await within(map, range)).filter(
    (one) => one.shard !== target.id || ofKeys(moves, spanOf(map, one)).length > 0,
  );
  if (due.length === 0) return undefined;
  const elsewhere = due.filter(({ shard }) => shard !== target.id);
  const counts = elsewhere.map(async (one) => (await codesOf(options, one, cutTo(spanOf(map, one), range))).length);
  const total = (await Promise.all(counts)).reduce((sum, one) => sum + one, 0);
  const from = [...new Set(elsewhere.map(({ shard }) => shard))];
  const facts = { map: map.name, keys: textOf(map, range), ...range, from, to: target.id, total };
  return beginRange(maps, facts, clock);
}

/** A range of which no batch has moved, or still moves, is not under way. */
async function refused(options: MoveOptions, record: RangeDocument, error: unknown): Promise<never> {
  const { map, maps, signal } = options;
  const batches = batchesOf(record, await movesOf(maps, map.name, signal));
  if (batches.every(({ step }) => step === 'cancelled')) await cancelRange(options, record);
  else if (error instanceof MillraceError && !batches.some(isUnfinished))
    throw saying(error, `The rest of ${record.keys} stays where it is.`, leftEndingOf(map.name, record.id));
  throw error;
}

/** What a cancelled range has left. */
export interface CancelledRange {
  readonly range: RangeDocument;
  /** The batches that ended by this call. */
  readonly moves: readonly Moved[];
  /** Keys that the map had given to the target. They stay there. */
  readonly stay: readonly string[];
}

/**
 * Ends a range: no batch begins any more, the copies of the one that is before its switch are removed, and those after it
 * are finished. May be called again.
 * @throws MillraceError `move-switched` if all of it has moved, and as `cancelMove`
 */
export async function cancelRange(options: MoveOptions, range: RangeDocument): Promise<CancelledRange> {
  const { map, maps, signal, clock = systemClock, takeOver = false } = options;
  if (!isOpen(range))
    throw operationsError('move-switched', `The move ${range.id} of ${range.keys} can't be cancelled: ${range.step}`);
  await saveRange(maps, range, 'cancelling', clock);
  const ended: Moved[] = [];
  for (const batch of batchesOf(range, await movesOf(maps, map.name, signal)).filter(isUnfinished)) {
    const cancelled = await cancelBatch(options, batch);
    if (cancelled) ended.push(cancelled);
    // A process that lives finishes its batches itself.
    else if (takeOver || isSilent(batch, clock.now())) ended.push(await finish(options, batch));
  }
  const batches = batchesOf(range, await movesOf(maps, map.name, signal));
  const seams = new Set(batches.flatMap(({ low, high }) => [low, high]));
  for (const { id } of await map.shards()) await join(map, range, id, seams);
  await saveRange(maps, range, 'cancelled', clock);
  const stay = (await within(map, range)).filter(({ shard }) => shard === range.to).map(({ text }) => text);
  return { range, moves: ended, stay };
}

/** Undefined: the map has given the keys to the target. */
async function cancelBatch(options: MoveOptions, { id, step }: MoveDocument): Promise<Moved | undefined> {
  if (step !== 'copying' && step !== 'cancelling') return undefined;
  try {
    return await cancelMove(options, id);
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'move-switched') return undefined;
    throw error;
  }
}

async function finish(options: MoveOptions, move: MoveDocument): Promise<Moved> {
  const { map } = options;
  const mapping = await mappingOfMove(map, move);
  const target = (await map.shards()).find(({ id }) => id === move.to);
  if (mapping && target) return moveMapping(options, mapping, target);
  throw noMapping(map, move.keys);
}

const within = async (map: ShardMap, range: KeySpan): Promise<InspectedMapping[]> =>
  (await map.inspect()).mappings.filter((one) => spansOverlap(spanOf(map, one), range));

/** A mapping that moves as one, and how many keys its documents have. */
interface Batch {
  readonly mapping: Mapping;
  readonly keys: number;
}

/** The first keys of a mapping, as a mapping of their own. One that moves already stays as it is. */
async function batchOf(
  options: MoveOptions,
  mapping: Mapping,
  { range, moves, keys }: Batches & { readonly range: KeySpan; readonly moves: readonly MoveDocument[] },
): Promise<Batch> {
  const { map } = options;
  let batch = mapping;
  const now = (): KeySpan => spanOf(map, batch);
  const [begun] = ofKeys(moves, now());
  if (begun) return { mapping, keys: begun.range?.keys ?? 0 };
  const valueOf = (code: string) => keyJson(map.keyType, code);
  if (now().low < range.low) [, batch] = await map.splitMapping(batch, valueOf(range.low));
  const { high } = now();
  if (range.high !== undefined && (high === undefined || range.high < high))
    [batch] = await map.splitMapping(batch, valueOf(range.high));
  const codes = await codesOf(options, batch, now());
  const next = codes[keys];
  if (next !== undefined) [batch] = await map.splitMapping(batch, valueOf(next));
  return { mapping: batch, keys: Math.min(keys, codes.length) };
}

/** The codes of the keys that documents have in a part of a mapping, in order. */
async function codesOf({ map, connect, signal }: MoveOptions, mapping: Mapping, span: KeySpan): Promise<string[]> {
  const shard = (await map.shards()).find(({ id }) => id === mapping.shard);
  const codes = new Set<string>();
  if (!shard) return [];
  for (const [name, path] of Object.entries(map.schema.sharded)) {
    const part = keyedPart(map, span, path, undefined);
    const [query, feed] = migrateQueryOf(`SELECT DISTINCT VALUE ${part.property}`, part);
    const values = fetchAll<string | number>(connect(shard.location).container(name), query, signal, feed);
    for await (const value of values) codes.add(encodeKey(map.keyType, value));
  }
  return [...codes].toSorted();
}

/** The keys of both. */
export function cutTo(span: KeySpan, range: KeySpan): KeySpan {
  const low = span.low > range.low ? span.low : range.low;
  const ends = [span.high, range.high].filter((one) => one !== undefined).toSorted();
  return { low, ...(ends[0] !== undefined && { high: ends[0] }) };
}

/** Neighbours on a shard become one mapping: all of them, or those that meet where batches did. */
async function join(map: ShardMap, range: KeySpan, on: string, seams?: ReadonlySet<string | undefined>): Promise<void> {
  for (;;) {
    const free = (await within(map, range)).filter(
      ({ shard, status, owner }) => shard === on && status === 'online' && owner === undefined,
    );
    const pair = free
      .slice(1)
      .map((upper, at) => [free[at]!, upper] as const)
      .find(([lower, upper]) => lower.high === upper.low && (seams?.has(spanOf(map, upper).low) ?? true));
    if (!pair) return;
    await map.mergeMappings(...pair);
  }
}
