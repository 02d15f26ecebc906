// What keeps keys from moving, looked at before anything of a move is stored or locked.
import { sharedError } from '../../base/shared-errors.ts';
import { shardsError } from '../../shards/errors.ts';
import type { Mapping, Shard } from '../../shards/index.ts';
import { isSameSpan } from '../../shards/keys/spans.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { assertReaders } from './hosts.ts';
import { type MoveOptions, type MovePlaces, movePlacesOf } from './options.ts';
import { spanOf } from './spans.ts';
import { assertFree, assertNoneLeaves, assertTaken } from './prepare.ts';
import { type MoveDocument, type MoveRecord, isUnfinished, movesOf, ofKeys, underWay } from './record.ts';
import { type MovedContainer, movedContainers } from './side.ts';

export interface ExaminedMove {
  readonly found: MoveDocument | undefined;
  readonly places: MovePlaces;
  readonly containers: readonly MovedContainer[];
}

/** Refuses what can't be moved. */
export async function examineMove(
  options: MoveOptions,
  mapping: Mapping,
  target: Shard,
  span = spanOf(options.map, mapping),
): Promise<ExaminedMove> {
  const { map, maps, signal } = options;
  const moves = (await movesOf(maps, map.name, signal)).filter(isUnfinished);
  const [found, ...others] = ofKeys(moves, span);
  if (found) {
    const isSame = isSameSpan(found, spanOf(map, mapping)) && found.to === target.id && found.step !== 'cancelling';
    if (!isSame || others.length > 0) throw underWay(found);
    const places = await movePlacesOf(options, found);
    return { found, places, containers: await movedContainers(map, span, places) };
  }
  await assertFreeOfOthers(options);
  if (mapping.shard === target.id)
    throw sharedError('wrong-state', `${mapping.text} is on ${shownLocation(target.location)} already`, {
      hint: `Run \`millrace shards show ${map.name}\` to see which shard has which keys.`,
    });
  if (mapping.status === 'offline')
    throw sharedError('wrong-state', `The mapping ${mapping.text} of ${map.name} is offline`, {
      hint: 'Bring it online first: `millrace shards keys online`.',
    });
  if (target.detached) throw shardsError('shard-detached', `The shard ${shownLocation(target.location)} is detached`);
  const owner = await map.lockOwner(mapping);
  if (owner !== undefined)
    throw shardsError('mapping-locked', `The mapping ${mapping.text} of ${map.name} is locked by ${owner}`, {
      hint: 'A move locks its mappings itself. Wait until the owner unlocks it, or unlock it: `millrace shards keys unlock`, with --owner or --force.',
    });
  refuseBeside(moves, mapping, target);
  const places = await movePlacesOf(options, { from: mapping.shard, to: target.id });
  if (places.from.state && !places.to.state)
    throw sharedError('missing', `${shownLocation(target.location)} has no state container`, {
      hint: 'Create the state container in the database of the target: `millrace shards init --shard` for a pipeline over shards, else `millrace model apply` with `COSMOS_DATABASE` set to it.',
    });
  const containers = await movedContainers(map, span, places);
  await assertFree(containers, places.to, { map, span }, signal);
  await assertTaken(containers, places.from, { map, span }, options);
  await assertNoneLeaves(containers, places.from, signal);
  await assertAllReaders(options, places, containers);
  return { found, places, containers };
}

async function assertAllReaders(
  { leases }: MoveOptions,
  { from, to }: MovePlaces,
  containers: readonly MovedContainer[],
): Promise<void> {
  if (!leases) return;
  for (const { endpoint, database } of [from, to])
    for (const { name } of containers)
      await assertReaders({ monitored: database.container(name), endpoint, leases, host: 'move' });
}

/** @throws MillraceError `under-way` */
export async function assertFreeOfOthers(options: MoveOptions): Promise<void> {
  await assertNoErasure(options);
  await assertNoRecovery(options);
}

async function assertNoRecovery({ recoveries }: MoveOptions): Promise<void> {
  const [actor] = (await recoveries?.()) ?? [];
  if (actor !== undefined) throw sharedError('under-way', `${actor} recovers a shard of the pipeline`);
}

async function assertNoErasure({ erasures }: MoveOptions): Promise<void> {
  const [erasure] = (await erasures?.()) ?? [];
  if (erasure !== undefined)
    throw sharedError('under-way', `The erasure ${erasure} of a tenant has not ended`, {
      hint: 'Wait until `millrace tenants erase` has ended (`millrace status` names it). Then run the command again.',
    });
}

/** Two moves that began at the same time have not seen one another: then this one ends. */
export async function assertAlone(
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
  if (opposite) throw sharedError('under-way', `The move ${opposite.id} of ${opposite.keys} copies between them`);
  const leaving = moves.find(({ step, from }) => step === 'switched' && from === target.id);
  if (leaving)
    throw sharedError('under-way', `The move ${leaving.id} of ${leaving.keys} has just left it`, {
      hint: 'Wait until that move has ended: run its command again if its process has died.',
    });
}
