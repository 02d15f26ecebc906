// Deletions that leave no trace in the world of move-protocol.ts: the feed shows what is there, so a sink keeps what it has of
// the document, and a mover finds them by comparing both sides. docs/SPEC-moves.md, MOVE-V40
import type { MoveWorld } from './move-protocol.ts';
import type { Shard, Stored } from './move-shards.ts';

/** What the application has deleted without a trace. */
export class Deletions {
  /** Documents that it has not written since. */
  readonly now = new Set<string>();
  /** All of them: what is derived of one is never right. */
  readonly ever = new Set<string>();

  /** No one knows of a key which documents are deleted. */
  lose(key: string): void {
    for (const id of this.now) if (id.startsWith(key)) this.now.delete(id);
  }

  /** What was wrong with what a shard shows of them. `sees`: the shard that the map gives the document to. */
  *wrong(sees: (id: string) => Shard | undefined): Generator<string, void> {
    for (const id of this.now) {
      const at = sees(id);
      const found = at?.docs.get(id);
      if (found && isThere(found)) yield `${id} was deleted, and ${at!.name} shows ${found.n}`;
    }
  }
}

export const isThere = ({ mark }: Stored): boolean => !mark?.gone;

/** A write that lands deletes the document. Where a key is held, or has left, nothing would show that. */
export function deletes(world: MoveWorld, shard: Shard, key: string, id: string): boolean {
  const { deletions, random } = world;
  const doc = shard.docs.get(id);
  if (!deletions || !doc || !isThere(doc) || world.owner.get(key) !== shard || shard.held.has(key)) return false;
  if (!random.chance(0.3)) return false;
  shard.docs.delete(id);
  shard.lsn += 1;
  world.truth.delete(id);
  deletions.now.add(id);
  deletions.ever.add(id);
  world.totals.deleted += 1;
  return true;
}
