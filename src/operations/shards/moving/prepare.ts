// The steps of a move before its first copy.
import { holdEpoch, raiseEpoch } from '../../../feed/reading/epochs.ts';
import { shardVerbsError } from '../errors.ts';
import { fetchAll } from '../../../cosmos/fetch-all.ts';
import { isObject } from '../../../base/json.ts';
import { ENTRY } from '../../../projections/archive/entries.ts';
import { shownLocation } from '../../../shards/map/documents.ts';
import type { Mapping } from '../../../shards/index.ts';
import {
  type Moving,
  acknowledged,
  countOf,
  hostsOf,
  mappingNow,
  ownerOptions,
  progressOf,
  saveProgress,
} from './moving.ts';
import { heldBy, ownerOf } from './record.ts';
import type { MovePlace, MovedContainer } from './side.ts';

/** @throws UsageError `move-target-full`, `move-archived`, `move-letters` */
export async function assertFree(
  containers: readonly MovedContainer[],
  { from, to }: { readonly from: MovePlace; readonly to: MovePlace },
  signal: AbortSignal,
): Promise<void> {
  for (const of of containers) {
    const there = await countOf(of.target, of, signal);
    if (there > 0)
      throw shardVerbsError(
        'move-target-full',
        `${of.name} in ${shownLocation(to.shard.location)} has ${there} documents of these keys already`,
      );
  }
  await assertLeavesNothing(containers, from, signal);
}

/** @throws UsageError `move-archived`, `move-letters` */
async function assertLeavesNothing(
  containers: readonly MovedContainer[],
  from: MovePlace,
  signal: AbortSignal,
): Promise<void> {
  if (!from.state) return;
  const left = `SELECT * FROM c WHERE c.kind = 'dead-letter' OR (c.type = '${ENTRY}' AND c.state = 'archived')`;
  for await (const one of fetchAll<Record<string, unknown>>(from.state, left, signal, { anyFormat: true })) {
    const { kind, container, key, source } = one;
    const at = isObject(source) ? source : { container, key };
    const of = containers.find(({ name }) => name === at['container']);
    if (!of || !Array.isArray(at['key']) || !of.part.has(asDocument(of, at['key'] as unknown[]))) continue;
    const what = `${of.name} ${JSON.stringify(at['key'])}`;
    if (kind === 'dead-letter') throw shardVerbsError('move-letters', `A change of ${what} is parked`);
    throw shardVerbsError('move-archived', `A document of ${what} is archived`);
  }
}

/** A document with this key and nothing else. */
function asDocument({ left: { keyPaths } }: MovedContainer, key: readonly unknown[]): Record<string, unknown> {
  return keyPaths.reduce<Record<string, unknown>>((made, path, level) => {
    const nested = path.toReversed().reduce<unknown>((value, name) => ({ [name]: value }), key[level]);
    return { ...made, ...(nested as object) };
  }, {});
}

/**
 * Locks the mapping, and brings it online where it was, if a process died while it was offline. Then queries of several
 * shards leave the keys out in the target, and every running tenure of both shards reads in an epoch in which the target's
 * writes will be newer than the copies.
 */
export async function prepare(moving: Moving): Promise<Mapping> {
  const { map, to, from, readLagMs, clock, signal } = moving;
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
  await clock.sleep((await areSwept(moving)) ? Math.max(readLagMs, moving.sweepMs) : readLagMs, signal);
  await assertLeavesNothing(moving.containers, from, signal);
  return mapping;
}

/**
 * Whether sweeps archive documents of the containers. Those that begin now leave the keys alone, because the mapping is
 * locked; one that began before may still write.
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
