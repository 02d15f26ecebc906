// What this process changed in a map, for the routers of this process: they use no reading from before.

type Follower = (shard: string, generation: number) => void;

/** By what a map was created with: maps of two accounts may have one name. */
const followers = new Map<string, Set<Follower>>();

/** Calls `follower` after each operation on a map that this process has ended, for each shard. Returns how to stop. */
export function followMap(created: string, follower: Follower): () => void {
  const all = followers.get(created) ?? new Set();
  followers.set(created, all.add(follower));
  return () => {
    all.delete(follower);
    if (all.size === 0) followers.delete(created);
  };
}

/** The local maps of these shards have had this generation. */
export function announceChange(created: string, shards: readonly string[], generation: number): void {
  for (const follower of followers.get(created) ?? []) for (const shard of shards) follower(shard, generation);
}
