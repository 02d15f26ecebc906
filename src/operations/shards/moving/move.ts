// Moves keys with their documents from one shard to another while applications write them. docs/SPEC-moves.md
import type { Container, Database } from '@azure/cosmos';
import { type Clock, systemClock } from '../../../base/clock.ts';
import { Meter } from '../../../cosmos/meter.ts';
import type { Pipeline } from '../../../definition/specs.ts';
import type { Identity } from '../../../feed/reading/change.ts';
import { letEpochGo } from '../../../feed/reading/epochs.ts';
import { encodeKey } from '../../../shards/keys/key-type.ts';
import type { Span } from '../../../shards/keys/spans.ts';
import type { Mapping, Shard, ShardLocation, ShardMap } from '../../../shards/index.ts';
import { shardsError } from '../../../shards/errors.ts';
import { shownLocation } from '../../../shards/map/documents.ts';
import { positionsNow } from '../../positions-now.ts';
import { shardVerbsError } from '../errors.ts';
import { clearSource, clearTarget, followLate } from './clear.ts';
import { takeCold } from './cold.ts';
import { compare } from './compare.ts';
import { countCold } from './entries-of.ts';
import { type Paused, changeOver } from './flip.ts';
import { assertReaders } from './hosts.ts';
import { leftBy } from './left.ts';
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
import { carryLetters, countLetters } from './letters.ts';
import { assertFree, assertNoneLeaves, assertTaken, prepare } from './prepare.ts';
import {
  type BatchOf,
  type ContainerProgress,
  type MoveDocument,
  MoveRecord,
  heldBy,
  isUnfinished,
  movesOf,
  ofKeys,
  ownerOf,
  underWay,
} from './record.ts';
import { type MovePlace, type MovedContainer, movedContainers, stateOf } from './side.ts';

export interface MoveOptions extends Partial<MoveTimes> {
  readonly map: ShardMap;
  /** The container of the maps, which holds the records of moves too. */
  readonly maps: Container;
  readonly connect: (location: ShardLocation) => Database;
  /** The account of a location. */
  readonly endpointOf: (location: ShardLocation) => string;
  /** Name of the state container that hosts of a shard use in its database. */
  readonly stateContainer: string;
  /** The erasures of tenants that have not ended, by their ids. No move begins beside one (ERASE-P61). */
  readonly erasures?: () => Promise<readonly string[]>;
  /** The lease container of these hosts. */
  readonly leases?: Container | undefined;
  /** Containers whose documents the pipeline archives, if there is one here. */
  readonly archives?: readonly string[];
  /** Containers in which its embeds write. */
  readonly embedded?: readonly string[];
  /** The blobs of archives. Absent: keys with archived documents are refused. */
  readonly store?: Moving['store'];
  readonly signal: AbortSignal;
  readonly clock?: Clock;
  /** Goes on with a move though its process has stored progress lately. */
  readonly takeOver?: boolean;
  /** The range of which the mapping is a batch. */
  readonly range?: BatchOf;
  /** Called when the map gives the keys to the target. */
  readonly flipped?: () => void;
  /** Called with each step that begins, and while it waits. */
  readonly say?: (text: string) => void | Promise<void>;
}

/** What a pipeline does in containers that move. */
export const touchedBy = ({ archives, embeds }: Pipeline): Pick<MoveOptions, 'archives' | 'embedded'> => ({
  archives: archives.map(({ from }) => from.container),
  embedded: embeds.map(({ into }) => into.container),
});

export interface Moved extends Partial<Paused> {
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
  const { found, places, containers } = await examine(options, mapping, target);
  const record = found
    ? await MoveRecord.resume(maps, found, { clock, force })
    : await MoveRecord.begin(maps, await factsOf(options, mapping, places, containers), clock);
  if (!found) {
    await assertAlone(options, record, mapping, target);
    // After its record is stored: an erasure looks for it after its own one.
    await assertNoErasure(options).catch(async (error: unknown) => {
      await record.save({ step: 'cancelled' });
      throw error;
    });
  }
  const moving = movingOf(options, record, places, containers);
  try {
    return resultOf(moving, await work(moving, options.flipped));
  } catch (error) {
    throw await leftBy(moving, error, { cancel: giveUp });
  }
}

/** What `moveMapping` would do, with these keys of the mapping `only`. Changes nothing. @throws as `moveMapping` */
export async function planMove(options: MoveOptions, mapping: Mapping, target: Shard, only?: Span): Promise<MovePlan> {
  const { map, signal } = options;
  const { found, places, containers } = await examine(options, mapping, target, only);
  const keys = { map, span: only ?? spanOf(map, mapping) };
  const counts = containers.map(async (of) => [of.name, await countOf(of.source, of, signal)] as const);
  return {
    keys: mapping.text,
    from: shownLocation(places.from.shard.location),
    to: shownLocation(places.to.shard.location),
    documents: Object.fromEntries(await Promise.all(counts)),
    archived: await countCold(places.from, containers, keys, signal),
    letters: await countLetters(places.from, containers, keys, signal),
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
 * @throws MillraceError `move-unknown`, `move-flipped`, `move-under-way`
 */
export async function cancelMove(options: MoveOptions, id: string): Promise<Moved> {
  const { map, maps, signal, clock = systemClock, takeOver: force = false } = options;
  const found = (await movesOf(maps, map.name, signal)).find((one) => one.id === id);
  if (!found) throw shardVerbsError('move-unknown', `There is no move ${id} of ${map.name}`);
  const places = await placesOf(options, found);
  const containers = await movedContainers(map, found, places);
  await map.settle();
  const mapping = (await map.inspect()).mappings.find(({ text }) => text === found.keys);
  const isFlipped = mapping?.shard === found.to && mapping.status === 'online';
  if (isFlipped || !['copying', 'cancelling'].includes(found.step))
    throw shardVerbsError('move-flipped', `The move ${id} of ${found.keys} can't be cancelled: ${found.step}`);
  const moving = movingOf(options, await MoveRecord.resume(maps, found, { clock, force }), places, containers);
  await cancel(moving, options.graceMs ?? 0);
  return resultOf(moving);
}

/** Ends a move that has failed. Where it doesn't have the lock it has done nothing yet. */
async function giveUp(moving: Moving): Promise<void> {
  const { map, record } = moving;
  const mapping = (await map.inspect()).mappings.find(({ text }) => text === record.now.keys);
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

/** From the stored step on. Resolves with the pause, if this run has changed over. */
async function work(moving: Moving, flipped: () => void = () => undefined): Promise<Paused | undefined> {
  const { map, record, clock, say, to, from } = moving;
  let paused: Paused | undefined;
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
      paused = await copyAndChangeOver(moving);
    }
    await record.save({ step: 'flipped', flippedAt: new Date(clock.now()).toISOString() });
  }
  flipped();
  if (record.now.step === 'flipped') {
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

async function copyAndChangeOver(moving: Moving): Promise<Paused> {
  const { containers, to, say } = moving;
  await say('copying');
  for (const of of containers) await copyOn(moving, of, 'near');
  // Finds most deletions while writes go on, so that few are left for the pause.
  for (const of of containers) await compare(moving, of, { still: false });
  for (const of of containers) await copyOn(moving, of, 'near');
  await say('waiting for the hosts of the target');
  await acknowledged(moving, to);
  for (const of of containers) await copyOn(moving, of, 'near');
  await takeCold(moving);
  for (const of of containers) await copyOn(moving, of, 'near');
  await say('changing over');
  return changeOver(moving);
}

async function end(moving: Moving, step: 'done' | 'cancelled'): Promise<void> {
  const { map, record, clock } = moving;
  const mapping = (await map.inspect()).mappings.find(({ text }) => text === record.now.keys);
  if (mapping?.owner === ownerOf(record.now)) await map.unlockMapping(mapping, ownerOf(record.now));
  for (const { state } of [moving.from, moving.to])
    for (const { name } of state ? moving.containers : [])
      await letEpochGo(state!, name, (move) => move === heldBy(record.now));
  await record.save({ step, endedAt: new Date(clock.now()).toISOString() });
}

interface Examined {
  readonly found: MoveDocument | undefined;
  readonly places: { readonly from: MovePlace; readonly to: MovePlace };
  readonly containers: readonly MovedContainer[];
}

/** Refuses what can't be moved. */
async function examine(
  options: MoveOptions,
  mapping: Mapping,
  target: Shard,
  span = spanOf(options.map, mapping),
): Promise<Examined> {
  const { map, maps, signal } = options;
  const moves = (await movesOf(maps, map.name, signal)).filter(isUnfinished);
  const [found, ...others] = ofKeys(moves, span);
  if (found) {
    const isSame = found.keys === mapping.text && found.to === target.id && found.step !== 'cancelling';
    if (!isSame || others.length > 0) throw underWay(found);
    const places = await placesOf(options, found);
    return { found, places, containers: await movedContainers(map, span, places) };
  }
  await assertNoErasure(options);
  if (mapping.shard === target.id)
    throw shardVerbsError('move-there', `${mapping.text} is on ${shownLocation(target.location)} already`);
  if (mapping.status === 'offline') throw shardVerbsError('move-offline', `The mapping ${mapping.text} is offline`);
  if (target.detached) throw shardsError('shard-detached', `The shard ${shownLocation(target.location)} is detached`);
  refuseBeside(moves, mapping, target);
  const places = await placesOf(options, { from: mapping.shard, to: target.id });
  if (places.from.state && !places.to.state)
    throw shardVerbsError('move-state-missing', `${shownLocation(target.location)} has no state container`);
  const containers = await movedContainers(map, span, places);
  await assertFree(containers, places.to, { map, span }, signal);
  await assertTaken(containers, places.from, { map, span }, options);
  await assertNoneLeaves(containers, places.from, signal);
  await assertAllReaders(options, places, containers);
  return { found, places, containers };
}

async function assertAllReaders(
  { leases }: MoveOptions,
  { from, to }: Examined['places'],
  containers: readonly MovedContainer[],
): Promise<void> {
  if (!leases) return;
  for (const { endpoint, database } of [from, to])
    for (const { name } of containers)
      await assertReaders({ monitored: database.container(name), endpoint, leases, host: 'move' });
}

/** @throws MillraceError `move-erasure` */
async function assertNoErasure({ erasures }: MoveOptions): Promise<void> {
  const [erasure] = (await erasures?.()) ?? [];
  if (erasure !== undefined) throw shardVerbsError('move-erasure', `The erasure ${erasure} of a tenant has not ended`);
}

/** Two moves that began at the same time have not seen one another: then this one ends. */
async function assertAlone(
  { map, maps, signal }: MoveOptions,
  record: MoveRecord,
  mapping: Mapping,
  target: Shard,
): Promise<void> {
  const others = (await movesOf(maps, map.name, signal)).filter((one) => one.id !== record.now.id && isUnfinished(one));
  try {
    const [same] = ofKeys(others, record.now);
    if (same) throw underWay(same);
    refuseBeside(others, mapping, target);
  } catch (error) {
    await record.save({ step: 'cancelled' });
    throw error;
  }
}

/** Epochs: what other moves need of both shards. */
function refuseBeside(moves: readonly MoveDocument[], { shard }: Mapping, target: Shard): void {
  const opposite = moves.find(
    ({ step, from, to }) => (step === 'copying' || step === 'cancelling') && (from === target.id || to === shard),
  );
  if (opposite)
    throw shardVerbsError('move-opposite', `The move ${opposite.id} of ${opposite.keys} copies between them`);
  const leaving = moves.find(({ step, from }) => step === 'flipped' && from === target.id);
  if (leaving) throw shardVerbsError('move-in-grace', `The move ${leaving.id} of ${leaving.keys} has just left it`);
}

async function factsOf(
  { map, maps, signal, range }: MoveOptions,
  mapping: Mapping,
  { from, to }: Examined['places'],
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

export function spanOf({ keyType }: ShardMap, { key, low, high }: Mapping): Span {
  if (key !== undefined) return { low: encodeKey(keyType, key), high: encodeKey(keyType, key) };
  return {
    low: low === undefined ? '' : encodeKey(keyType, low),
    ...(high !== undefined && { high: encodeKey(keyType, high) }),
  };
}

export async function placesOf(
  { map, connect, endpointOf, stateContainer }: MoveOptions,
  { from, to }: Pick<MoveDocument, 'from' | 'to'>,
): Promise<Examined['places']> {
  const shards = await map.shards();
  const placeOf = async (id: string): Promise<MovePlace> => {
    const shard = shards.find((one) => one.id === id);
    if (!shard) throw shardsError('shard-missing', `The map ${map.name} has no shard ${id} any more`);
    const database = connect(shard.location);
    return {
      shard,
      database,
      endpoint: endpointOf(shard.location),
      state: await stateOf(database, stateContainer),
    };
  };
  const [left, right] = await Promise.all([placeOf(from), placeOf(to)]);
  return { from: left, to: right };
}

export function movingOf(
  options: MoveOptions,
  record: MoveRecord,
  { from, to }: Examined['places'],
  containers: readonly MovedContainer[],
): Moving {
  const { map, leases, signal, clock = systemClock, say = () => undefined } = options;
  const { readLagMs = 5_000, graceMs = 150_000, silentMs = 10_000, holdMs = 1_000 } = options;
  const { patienceMs = 600_000, archives = [], embedded = [], store } = options;
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
    embedded,
    store,
    clock,
    signal,
    meter: new Meter(),
    say,
    total,
  };
}

const resultOf = ({ record, from, to, total, meter }: Moving, paused?: Paused): Moved => ({
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
