// What hosts deferred in the world of move-protocol.ts: changes of a key that is over its share are acknowledged first, and
// applied later by what the shard has then (TEN-F1 to TEN-F9).
import { seesErasure } from './move-erasing.ts';
import { apply } from './move-hosting.ts';
import type { MoveWorld } from './move-protocol.ts';
import type { Change, Shard } from './move-shards.ts';

/** Whether a host keeps a change for later. From then on it keeps all of its key, until none waits. */
export function defers({ random, calm, totals }: MoveWorld, shard: Shard, change: Change): boolean {
  const isOver = shard.deferred.some(({ key }) => key === change.key);
  if (!isOver && (calm || !random.chance(0.01))) return false;
  shard.deferred.push(change);
  totals.deferred += 1;
  return true;
}

/** Applies the first change that waits, if the position has passed it. */
export function drain(world: MoveWorld, shard: Shard): void {
  const [first] = shard.deferred;
  if (!first || first.lsn > shard.position) return;
  if (seesErasure(world, first.key)) {
    shard.deferred.shift();
    return;
  }
  const { id, lsn, version, etag } = first;
  const hot = shard.docs.get(id);
  const cold = shard.entries.get(id);
  if (hot?.lsn === lsn || (!hot && cold?.state === 'archived' && cold.etag === etag)) apply(world, shard, first);
  else if (!hot) {
    const above = { epoch: version.epoch, lsn: version.lsn + 0.5 };
    apply(world, shard, {
      ...first,
      version: above,
      etag: `${etag} gone`,
      op: 'delete',
      moved: false,
      gone: false,
      restored: false,
    });
  }
  shard.deferred.shift();
}

/** Whether nothing waits of what the feed of a key showed up to a position. */
export const isDrained = (world: MoveWorld, { deferred }: Shard, position: number, key: string): boolean =>
  world.is('what is deferred is not waited for') || !deferred.some((one) => one.key === key && one.lsn <= position);
