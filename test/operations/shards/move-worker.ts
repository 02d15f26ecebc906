// Moves tenant 1 in a process of its own, once it is told to: node move-worker.ts ENDPOINT KEY DATABASE.
import { once } from 'node:events';
import { CosmosClient } from '@azure/cosmos';
import { moveMapping } from '../../../src/operations/shards/moving/move.ts';
import { ShardMapManager } from '../../../src/shards/index.ts';

const [, , endpoint = '', key = '', to = ''] = process.argv;
const client = new CosmosClient({ endpoint, key });
const connect = ({ database }: { readonly database: string }) => client.database(database);
const manager = await ShardMapManager.get({ database: client.database('maps'), connect });
const map = (await manager.tryGetMap('tenants'))!;
const { signal } = new AbortController();
process.send?.('ready');
await once(process, 'message');
await moveMapping(
  {
    map,
    maps: client.database('maps').container('shardmaps'),
    connect,
    endpointOf: () => endpoint,
    stateContainer: 'millrace',
    leases: client.database('hosts').container('leases'),
    signal,
    readLagMs: 0,
    graceMs: 300,
    takeOver: true,
  },
  await map.mapping(1),
  await map.shard({ database: to }),
).catch((error: unknown) => {
  // A process that was killed after its last request had ended the move.
  if ((error as { code?: string }).code !== 'move-there') throw error;
});
process.exit(0);
