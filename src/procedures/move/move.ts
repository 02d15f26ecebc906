// Moves keys with their documents from one shard to another while applications write them. docs/SPEC-moves.md
import { systemClock } from '../../base/clock.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import type { Identity } from '../../feed/reading/change.ts';
import { letEpochGo } from '../../feed/reading/epochs.ts';
import type { KeySpan } from '../../shards/keys/spans.ts';
import type { Mapping, Shard } from '../../shards/index.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { positionsNow } from '../positions-now.ts';
import { operationsError } from '../errors.ts';
import { clearSource, clearTarget, followLate } from './clear.ts';
import { takeCold } from './cold.ts';
import { compareSides } from './switch/compare.ts';
import { countCold } from './entries-of.ts';
import { type SwitchPaused, switchOwner } from './switch/switch.ts';
import { assertAlone, assertFreeOfOthers, examineMove } from './examine.ts';
import { leftBy } from './left.ts';
import { type MoveOptions, type MovePlaces, movePlacesOf } from './options.ts';
import { mappingOfMove, spanOf } from './spans.ts';
import {
  type MoveTimes,
  type Moving,
  acknowledged,
  copyOn,
  countEmbedded,
  countOf,
  mappingNow,
  ownerOptions,
  progressOf,
  saveProgress,
} from './moving.ts';
import { carryLetters, countMovedLetters } from './letters.ts';
import { prepare } from './prepare.ts';
import { type ContainerProgress, MoveRecord, heldBy, moveNamed, movesOf, ofKeys, ownerOf, underWay } from './record.ts';
import { type MovedContainer, movedContainers } from './side.ts';

export interface Moved extends Partial<SwitchPaused> {
  readonly id: string;
  readonly keys: string;
  readonly from: string;
  readonly to: string;
  /** Documents that this run copied, and removed from a side. */
  readonly copied: number;
  /** Archived documents that it took along. */
  readonly archived: number;
  /** Dead letters that it took along. */
  readonly letters: number;
  readonly removed: number;
  /** Late writes that have to be compared by hand: both shards have the document, each in a version of its own. */
  readonly parked: readonly Identity[];
  /** Request units, of both shards. */
  readonly charge: number;
}

export interface MovePlan {
  readonly keys: string;
  readonly from: string;
  readonly to: string;
  readonly documents: Readonly<Record<string, number>>;
  /** Archived documents. */
  readonly archived: number;
  /** Dead letters of the keys' documents. */
  readonly letters: number;
  /** Documents with fields that an embed has written. */
  readonly embedded: number;
  /** The move that would be resumed. */
  readonly resumes?: string;
}

/**
 * Moves a mapping to another shard, or goes on with its move. It may be ended at any moment and called again.
 * @throws MillraceError `move-…`, `mapping-locked`, `routers-not-stopped`
 */
export async function moveMapping(options: MoveOptions, mapping: Mapping, target: Shard): Promise<Moved> {
  const { maps, clock = systemClock, takeOver: force = false } = options;
  const { found, places, containers } = await examineMove(options, mapping, target);
  const record = found
    ? await MoveRecord.resume(maps, found, { clock, force })
    : await MoveRecord.begin(maps, await factsOf(options, mapping, places, containers), clock);
  if (!found) {
    await assertAlone(options, record, mapping, target);
    // After its record is stored: an erasure or a recovery looks for it after its own one.
    await assertFreeOfOthers(options).catch(async (error: unknown) => {
      await record.save({ step: 'cancelled' });
      throw error;
    });
  }
  const moving = movingOf(options, record, places, containers);
  try {
    return resultOf(moving, await work(moving, options.switched));
  } catch (error) {
    throw await leftBy(moving, error, giveUp);
  }
}

/** What `moveMapping` would do, with these keys of the mapping `only`. Changes nothing. @throws as `moveMapping` */
export async function planMove(
  options: MoveOptions,
  mapping: Mapping,
  target: Shard,
  only?: KeySpan,
): Promise<MovePlan> {
  const { map, signal } = options;
  const { found, places, containers } = await examineMove(options, mapping, target, only);
  const keys = { map, span: only ?? spanOf(map, mapping) };
  const counts = containers.map(async (of) => [of.name, await countOf(of.source, of, signal)] as const);
  return {
    keys: mapping.text,
    from: shownLocation(places.from.shard.location),
    to: shownLocation(places.to.shard.location),
    documents: Object.fromEntries(await Promise.all(counts)),
    archived: await countCold(places.from, containers, keys, signal),
    letters: await countMovedLetters(places.from, containers, keys, signal),
    embedded: (await Promise.all(containers.map((of) => countEmbedded(of.source, of, signal)))).reduce(
      (sum, count) => sum + count,
      0,
    ),
    ...(found && { resumes: found.id }),
  };
}

/**
 * Ends a move before the map gives the keys to the target, and removes the copies. With `graceMs` it also removes those that
 * a process of the move still writes within that time: it may have slept, or be cut off.
 * @throws MillraceError `not-found`, `move-switched`, `under-way`
 */
export async function cancelMove(options: MoveOptions, id: string): Promise<Moved> {
  const { map, maps, signal, clock = systemClock, takeOver: force = false } = options;
  const found = moveNamed(await movesOf(maps, map.name, signal), id, map.name);
  const places = await movePlacesOf(options, found);
  const containers = await movedContainers(map, found, places);
  await map.settle();
  const mapping = await mappingOfMove(map, found);
  const isSwitched = mapping?.shard === found.to && mapping.status === 'online';
  if (isSwitched || !['copying', 'cancelling'].includes(found.step))
    throw operationsError('move-switched', `The move ${id} of ${found.keys} can't be cancelled: ${found.step}`);
  const moving = movingOf(options, await MoveRecord.resume(maps, found, { clock, force }), places, containers);
  await cancel(moving, options.graceMs ?? 0);
  return resultOf(moving);
}

/** Ends a move that has failed. Where it doesn't have the lock it has done nothing yet. */
async function giveUp(moving: Moving): Promise<void> {
  const { map, record } = moving;
  const mapping = await mappingOfMove(map, record.now);
  if (mapping?.owner === ownerOf(record.now)) await cancel(moving, 0);
  else await end(moving, 'cancelled');
}

async function cancel(moving: Moving, graceMs: number): Promise<void> {
  const { map, record, signal, say, from } = moving;
  let mapping = await mappingNow(moving);
  await map.lockMapping(mapping, ownerOf(record.now));
  if (mapping.status === 'offline')
    mapping = await map.updateMapping(mapping, { status: 'online' }, ownerOptions(moving));
  await map.letGo(from.shard, record.now.id);
  await record.save({ step: 'cancelling' });
  await say('removing the copies');
  for (const of of moving.containers) {
    const progress = progressOf(moving, of);
    // The record may be behind what was copied.
    if (!progress.cancelledAt)
      await saveProgress(moving, of, { ...progress, cancelledAt: await positionsNow(of.source, signal) });
  }
  await clearTarget(moving, graceMs);
  await end(moving, 'cancelled');
}

/** From the stored step on. Resolves with the pause, if this run has switched. */
async function work(moving: Moving, switched: () => void = () => undefined): Promise<SwitchPaused | undefined> {
  const { map, record, clock, say, to, from } = moving;
  let paused: SwitchPaused | undefined;
  if (record.now.step === 'cancelling') throw underWay(record.now);
  if (record.now.step === 'copying') {
    // A map operation of a process that died may be pending, and is finished or undone first.
    await map.settle();
    const mapping = await mappingNow(moving);
    // The process that moved the mapping died before it stored that, or before it let the keys go.
    if (mapping.shard === to.shard.id) await map.letGo(from.shard, record.now.id);
    else {
      await say('preparing');
      await prepare(moving);
      paused = await copyAndSwitch(moving);
    }
    await record.save({ step: 'switched', switchedAt: new Date(clock.now()).toISOString() });
  }
  switched();
  if (record.now.step === 'switched') {
    await say('the map gives the keys to the target');
    await followLate(moving);
    await acknowledged(moving, from);
    await carryLetters(moving);
    await record.save({ step: 'clearing' });
  }
  if (record.now.step === 'clearing') {
    await say('removing documents from the source');
    await acknowledged(moving, to);
    await clearSource(moving);
    await end(moving, 'done');
  }
  return paused;
}

async function copyAndSwitch(moving: Moving): Promise<SwitchPaused> {
  const { containers, to, say } = moving;
  await say('copying');
  for (const of of containers) await copyOn(moving, of, 'near');
  // Finds most deletions while writes go on, so that few are left for the pause.
  for (const of of containers) await compareSides(moving, of, { still: false });
  for (const of of containers) await copyOn(moving, of, 'near');
  await say('waiting for the hosts of the target');
  await acknowledged(moving, to);
  for (const of of containers) await copyOn(moving, of, 'near');
  await takeCold(moving);
  for (const of of containers) await copyOn(moving, of, 'near');
  await say('changing over');
  return switchOwner(moving);
}

async function end(moving: Moving, step: 'done' | 'cancelled'): Promise<void> {
  const { map, record, clock } = moving;
  const mapping = await mappingOfMove(map, record.now);
  if (mapping?.owner === ownerOf(record.now)) await map.unlockMapping(mapping, ownerOf(record.now));
  for (const { state } of [moving.from, moving.to])
    for (const { name } of state ? moving.containers : [])
      await letEpochGo(state!, name, (move) => move === heldBy(record.now));
  await record.save({ step, endedAt: new Date(clock.now()).toISOString() });
}

async function factsOf(
  { map, maps, signal, range }: MoveOptions,
  mapping: Mapping,
  { from, to }: MovePlaces,
  containers: readonly MovedContainer[],
): Promise<Parameters<typeof MoveRecord.begin>[1]> {
  const span = spanOf(map, mapping);
  const cancelled = ofKeys(await movesOf(maps, map.name, signal), span).filter(
    (one) => one.step === 'cancelled' && one.from === from.shard.id && one.to === to.shard.id,
  );
  // Without a state container no host has read the source, or will before the target's epoch is above 0.
  const epoch = to.state ? null : 0;
  const fresh = containers.map(({ name }): [string, ContainerProgress] => {
    const renews = cancelled.flatMap((one) => one.containers[name]?.cancelledAt ?? []);
    return [name, { positions: [], epoch, renews }];
  });
  return {
    map: map.name,
    keys: mapping.text,
    ...span,
    from: from.shard.id,
    to: to.shard.id,
    containers: Object.fromEntries(fresh),
    ...(range && { range }),
  };
}

export function movingOf(
  options: MoveOptions,
  record: MoveRecord,
  { from, to }: MovePlaces,
  containers: readonly MovedContainer[],
): Moving {
  const { map, leases, signal, clock = systemClock, say = () => undefined } = options;
  const { readLagMs = 5_000, graceMs = 150_000, silentMs = 10_000, holdMs = 1_000 } = options;
  const { patienceMs = 600_000, archives = [], store } = options;
  const times: MoveTimes = { readLagMs, graceMs, silentMs, holdMs, patienceMs };
  const total = { copied: 0, removed: 0, renewed: 0, cold: 0, letters: 0 };
  return {
    ...times,
    map,
    record,
    from,
    to,
    containers,
    leases,
    archives,
    store,
    clock,
    signal,
    meter: new Meter(),
    say,
    total,
  };
}

const resultOf = ({ record, from, to, total, meter }: Moving, paused?: SwitchPaused): Moved => ({
  id: record.now.id,
  keys: record.now.keys,
  from: shownLocation(from.shard.location),
  to: shownLocation(to.shard.location),
  copied: total.copied,
  archived: total.cold,
  letters: total.letters,
  removed: total.removed,
  ...paused,
  parked: record.now.parked,
  charge: meter.charge,
});
