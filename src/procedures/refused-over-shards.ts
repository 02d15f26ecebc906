// Why an operation can't work on a pipeline over shards, and what to do instead.

export interface RefusedOverShards {
  readonly why: string;
  readonly instead: string;
}

/** By `noun verb`, or by the noun. */
const REFUSED: Readonly<Record<string, RefusedOverShards>> = {
  migrate: {
    why: 'it copies within one database',
    instead: 'Create the other container in another shard, and move the keys there: `millrace shards move`.',
  },
  leases: {
    why: 'it compares the leases of two processors in one database',
    instead:
      'Give `--pipeline` a folder without a pipeline, and COSMOS_DATABASE the shard’s database. For the pipeline’s own leases: `millrace leases rewind --shard NAME`.',
  },
  'projections rerun': {
    why: 'it doesn’t know which shard has the documents',
    instead:
      'If the reaction was refused: `millrace dead-letters redrive --shard NAME`. Else write the documents again by the application.',
  },
  recover: {
    why: 'what it has is derived from all shards, and its state has the versions that are current in every place',
    instead:
      'After a shard was restored: `millrace recover --shard NAME --yes`. After the global place was restored: start the hosts, and run `millrace projections verify --repair`. Where `millrace projections list` shows an older version as current, build the newer one again, and promote it.',
  },
};

const OTHER: RefusedOverShards = {
  why: 'it would see one place alone',
  instead: 'See which operations can: docs/shards.md, "A pipeline over shards".',
};

/** Whether a verb that works in one place is refused in the global one. */
export const isForShards = (name: string): boolean => Object.hasOwn(REFUSED, name);

export const refusedOverShards = (name: string): RefusedOverShards =>
  REFUSED[name] ?? REFUSED[name.split(' ')[0] ?? ''] ?? OTHER;
