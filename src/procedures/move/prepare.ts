// The steps of a move before its first copy.
import { holdEpoch, raiseEpoch } from '../../feed/reading/epochs.ts';
import { operationsError } from '../errors.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { untilSweepsEnd } from '../../archive/sweep/sweeping.ts';
import { ENTRY } from '../../kinds/archive/entries.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import type { Mapping } from '../../shards/index.ts';
import { plural } from '../table.ts';
import { migrateQueryOf } from '../migrate/part.ts';
import { keysOf } from './cold.ts';
import { type MovedEntryKeys, countCold } from './entries-of.ts';
import {
  type Moving,
  acknowledged,
  countOf,
  hostsOf,
  isLeaving,
  mappingNow,
  ownerOptions,
  progressOf,
  saveProgress,
} from './moving.ts';
import { heldBy, ownerOf } from './record.ts';
import type { MovePlace, MovedContainer } from './side.ts';

/** @throws UsageError `move-target-full` */
export async function assertFree(
  containers: readonly MovedContainer[],
  to: MovePlace,
  keys: MovedEntryKeys,
  signal: AbortSignal,
): Promise<void> {
  for (const of of containers) {
    const there = (await countOf(of.target, of, signal)) + (await countCold(to, [of], keys, signal));
    if (there > 0)
      throw operationsError(
        'move-target-full',
        `${of.name} in ${shownLocation(to.shard.location)} has ${plural(there, 'document')} of these keys already`,
      );
  }
}

/** Archived documents can be taken along only where their blobs can be read. @throws UsageError `move-archived`, and of the storage */
export async function assertTaken(
  containers: readonly MovedContainer[],
  from: MovePlace,
  keys: MovedEntryKeys,
  { store, signal }: { readonly store?: Moving['store'] | undefined; readonly signal: AbortSignal },
): Promise<void> {
  const count = await countCold(from, containers, keys, signal);
  if (count === 0) return;
  if (!store)
    throw operationsError(
      'move-archived',
      `${plural(count, 'document')} of the keys are archived, and no storage is set`,
    );
  await store();
}

/**
 * Documents that the archive lets expire are still in the container, and those that it removes are not any more.
 * @throws UsageError `under-way`
 */
export async function assertNoneLeaves(
  containers: readonly MovedContainer[],
  { database }: MovePlace,
  signal: AbortSignal,
): Promise<void> {
  for (const of of containers) {
    const leaving = { ...of.part, condition: `${of.part.condition} AND IS_DEFINED(c._mr.archived)` };
    const [query, options] = migrateQueryOf('SELECT TOP 1 c.id', leaving);
    for await (const { id } of fetchAll<{ id: string }>(database.container(of.name), query, signal, options))
      throw isLeaving(`${of.name}/${id}`);
  }
}

/**
 * Locks the mapping, and brings it online where it was, if a process died while it was offline. Then queries of several
 * shards leave the keys out in the target, and every running tenure of both shards reads in an epoch in which the target's
 * writes will be newer than the copies.
 */
export async function prepare(moving: Moving): Promise<Mapping> {
  const { map, to, from, readLagMs, clock, signal, say } = moving;
  let mapping = await mappingNow(moving);
  await map.lockMapping(mapping, ownerOf(moving.record.now));
  if (mapping.status === 'offline')
    mapping = await map.updateMapping(mapping, { status: 'online' }, ownerOptions(moving));
  // Not before: a write of an offline mapping waits only while its keys are held.
  await map.letGo(from.shard, moving.record.now.id);
  const { key, low, high } = mapping;
  await map.addStrays(to.shard, {
    ...(key !== undefined && { key }),
    ...(low !== undefined && { low }),
    ...(high !== undefined && { high }),
  });
  for (const of of moving.containers) await raise(moving, of);
  // What is renewed is no event any more, so its hosts must have had it before.
  if (moving.containers.some((of) => progressOf(moving, of).renews.length > 0)) await acknowledged(moving, from);
  // A function app reads the epoch with each batch, from a replica that may lag.
  await clock.sleep(readLagMs, signal);
  if (from.state && (await areSwept(moving))) {
    // A sweep that isn't recorded in a read from now on has looked at the map when each replica showed the lock.
    await clock.sleep(readLagMs, signal);
    const waiting = async (): Promise<void> => {
      await moving.record.save();
      await say('waiting for a sweep that began before');
    };
    await untilSweepsEnd(from.state, { clock, signal, waiting });
  }
  // Sweeps leave the keys alone from here on.
  await assertTaken(moving.containers, from, keysOf(moving), moving);
  await assertNoneLeaves(moving.containers, from, signal);
  return mapping;
}

/**
 * Whether sweeps archive documents of the containers. Those that look at the map from now on leave the keys alone, because the
 * mapping is locked; one that looked before may still write.
 */
async function areSwept({ archives, containers, from, signal }: Moving): Promise<boolean> {
  if (archives.some((name) => containers.some((of) => of.name === name))) return true;
  if (!from.state) return false;
  const query = {
    query: 'SELECT TOP 1 c.id FROM c WHERE c.type = @type AND ARRAY_CONTAINS(@names, c.source.container)',
    parameters: [
      { name: '@type', value: ENTRY },
      { name: '@names', value: containers.map(({ name }) => name) },
    ],
  };
  for await (const _ of fetchAll<unknown>(from.state, query, signal, { anyFormat: true })) return true;
  return false;
}

/** From here on no one raises the epoch of a side: neither here nor there goes a lease back. */
async function raise(moving: Moving, of: MovedContainer): Promise<void> {
  const { from, to, record } = moving;
  const progress = progressOf(moving, of);
  if (!to.state) return;
  const move = heldBy(record.now);
  const source = from.state ? await holdEpoch(from.state, of.name, of.left.rid, move) : 0;
  await holdEpoch(to.state, of.name, of.right.rid, move);
  if (progress.epoch !== null) return;
  await raiseEpoch(to.state, of.name, of.right.rid, source, { moving: true });
  await hostsOf(moving, to, of.target)?.haveReadEpochs();
  await hostsOf(moving, from, of.source)?.haveReadEpochs();
  await saveProgress(moving, of, { ...progress, epoch: source });
}
