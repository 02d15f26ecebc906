// Moves keys in a process of its own: node move-worker.ts WORK, as JSON. Its parent sends each MoveOrder, and gets each
// step as a text, then the MoveAnswer. Ends when the parent disconnects.
import { CosmosClient } from '@azure/cosmos';
import { type Moved, moveMapping } from '../../../src/procedures/move/move.ts';
import { ShardMapManager } from '../../../src/shards/index.ts';

export interface MoverWork {
  readonly endpoint: string;
  readonly key: string;
  /** Database of the leases. */
  readonly leases: string;
}

export interface MoveOrder {
  /** The key of the map that moves, and the database that gets it. */
  readonly moves: string | number;
  readonly to: string;
}

export interface MoveAnswer {
  /** Undefined: a process that was killed after its last request had ended the move. */
  readonly moved?: Pick<Moved, 'pausedMs' | 'pause' | 'tries' | 'parked' | 'copied'>;
  readonly error?: string;
}

const { endpoint, key, leases } = JSON.parse(process.argv[2] ?? '') as MoverWork;
const client = new CosmosClient({ endpoint, key });
const connect = ({ database }: { readonly database: string }) => client.database(database);
const manager = await ShardMapManager.get({ database: client.database('maps'), connect });
const map = (await manager.tryGetMap('tenants'))!;
const { signal } = new AbortController();

process.on('message', (order: MoveOrder) => {
  void move(order).then((answer) => process.send?.(answer));
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');

async function move({ moves, to }: MoveOrder): Promise<MoveAnswer> {
  try {
    const options = {
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
      say: (text: string) => void process.send?.(text),
    };
    return { moved: await moveMapping(options, await map.mapping(moves), await map.shard({ database: to })) };
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    return code === 'wrong-state' ? {} : { error: `${code ?? 'error'}: ${message}` };
  }
}
