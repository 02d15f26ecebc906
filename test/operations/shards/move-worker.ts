// Moves a key in a process of its own, once it is told to: node move-worker.ts WORK, as JSON. Tells its parent each step.
import { once } from 'node:events';
import { CosmosClient } from '@azure/cosmos';
import { moveMapping } from '../../../src/operations/shards/moving/move.ts';
import { ShardMapManager } from '../../../src/shards/index.ts';

export interface MoverWork {
  readonly endpoint: string;
  readonly key: string;
  /** The key of the map that moves, and the database that gets it. */
  readonly moves: string | number;
  readonly to: string;
  /** Database of the leases. */
  readonly leases: string;
}

const { endpoint, key, moves, to, leases } = JSON.parse(process.argv[2] ?? '') as MoverWork;
const client = new CosmosClient({ endpoint, key });
const connect = ({ database }: { readonly database: string }) => client.database(database);
const manager = await ShardMapManager.get({ database: client.database('maps'), connect });
const map = (await manager.tryGetMap('tenants'))!;
const { signal } = new AbortController();
process.send?.('ready');
await once(process, 'message');
const moved = await moveMapping(
  {
    map,
    maps: client.database('maps').container('shardmaps'),
    connect,
    endpointOf: () => endpoint,
    stateContainer: 'millrace',
    leases: client.database(leases).container('leases'),
    signal,
    readLagMs: 0,
    graceMs: 300,
    takeOver: true,
    say: (text) => void process.send?.(text),
  },
  await map.mapping(moves),
  await map.shard({ database: to }),
).catch((error: unknown) => {
  // A process that was killed after its last request had ended the move.
  if ((error as { code?: string }).code !== 'move-there') throw error;
});
process.send?.({ pausedMs: moved?.pausedMs }, () => process.exit(0));
