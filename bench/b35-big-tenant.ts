// Moves of one tenant of ever more documents: the pause and the memory that the mover keeps must not grow with them.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Database } from '@azure/cosmos';
import { connect } from '../src/cosmos/connect.ts';
import { moveMapping } from '../src/procedures/move/move.ts';
import { ShardMapManager, type ShardLocation } from '../src/shards/index.ts';
import { type Benchmark, type Figure, atMost, none, plain, seconds, sized } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';

const SIZES = (process.env['MILLRACE_BENCH_STORED']?.split(',') ?? [sized(10_000, 200), sized(100_000, 400)]).map(
  Number,
);
const TENANT = 1;
const GRACE_MS = 1_000;
const MEGABYTE = 2 ** 20;
const MOST_KEPT = 10;
/** The mover says each page that it has copied or removed: of so many one is looked at. */
const LOOK_AT = 25;
/** Beginnings of what a mover says when a step begins. The one before has let go what it needed. */
const STEPS = ['copying', 'waiting for the hosts of', 'changing over', 'the map gives', 'removing documents from'];

export const b35: Benchmark = {
  id: 'B35',
  title: `a tenant of ${SIZES.join(' and ')} documents moves, without writes and hosts`,
  run: async () => {
    const figures: Figure[] = [];
    for (const size of SIZES) figures.push(...(await moveOf(size)));
    return figures;
  },
};

/** The server is another process, so memory is the mover's, above that before the move. */
async function moveOf(size: number): Promise<Figure[]> {
  await using stage = await openStage();
  const client = connect({ kind: 'key', endpoint: stage.endpoint, key: stage.key });
  const databases = async (id: string, containers: Readonly<Record<string, string>>): Promise<Database> => {
    const { database } = await client.databases.create({ id });
    for (const [name, partitionKey] of Object.entries(containers))
      await database.containers.create({ id: name, partitionKey, defaultTtl: -1 });
    return database;
  };
  const database = await databases('maps', { shardmaps: '/pk', routers: '/pk' });
  const shard = { shardmap: '/pk', Orders: '/tenantId' };
  const [west, east] = [await databases('west', shard), await databases('east', shard)];
  const to = (location: ShardLocation): Database => client.database(location.database);
  const manager = await ShardMapManager.create({ database, connect: to });
  const schema = { sharded: { Orders: '/tenantId' } };
  const map = await manager.createListMap('tenants', { keyType: 'int32', schema });
  const [from, target] = [await map.createShard({ database: 'west' }), await map.createShard({ database: 'east' })];
  const mapping = await map.createMapping({ shard: from, key: TENANT });
  const text = 'x'.repeat(500);
  const documents = Array.from({ length: size }, (_, n) => ({ id: `o${n}`, type: 'order', tenantId: TENANT, n, text }));
  await fill(west.container('Orders'), documents, () => TENANT);
  documents.length = 0;
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  /** Heap and buffers after collections: the first frees what the second can take. */
  const kept = (): number => {
    collect();
    collect();
    return (process.memoryUsage().heapUsed + process.memoryUsage().external) / MEGABYTE;
  };
  const keptBefore = kept();
  const keptAt: [string, number][] = [];
  let [pages, within] = [0, 0];
  const [ownBefore, serverBefore] = [process.cpuUsage(), await stage.usage()];
  let moved: Awaited<ReturnType<typeof moveMapping>> | undefined;
  const took = await seconds(async () => {
    const maps = database.container('shardmaps');
    const options = {
      map,
      maps,
      connect: to,
      endpointOf: () => stage.endpoint,
      stateContainer: 'millrace',
    };
    const { signal } = new AbortController();
    const say = (said: string): void => {
      if (process.env['MILLRACE_SAY']) console.log(said);
      if (STEPS.some((step) => said.startsWith(step))) keptAt.push([said, kept() - keptBefore]);
      else if (said.includes('documents') && (pages += 1) % LOOK_AT === 0)
        within = Math.max(within, kept() - keptBefore);
    };
    moved = await moveMapping({ ...options, signal, say, readLagMs: 0, graceMs: GRACE_MS }, mapping, target);
  });
  const own = process.cpuUsage(ownBefore);
  keptAt.push(['the end', kept() - keptBefore]);
  const server = (await stage.usage()).cpu - serverBefore.cpu;
  const query = { query: 'SELECT VALUE COUNT(1) FROM c' };
  const [there] = (await east.container('Orders').items.query<number>(query).fetchAll()).resources;
  client.dispose();
  const pausedMs = moved?.pausedMs ?? Number.NaN;
  const of = (name: string): string => `${size}: ${name}`;
  return [
    {
      name: of('documents moved, from the first copy to the last marker removed'),
      value: size / took,
      unit: 'a second',
    },
    { name: of('writes were held'), value: pausedMs, unit: 'ms', target: '< 1,000', met: pausedMs < 1_000 },
    ...Object.entries(moved?.pause ?? {}).map(([part, value]) => ({ name: of(`  ${part}`), value, unit: 'ms' })),
    { name: of('tries of the switch'), value: moved?.tries ?? Number.NaN, unit: '' },
    ...keptAt.map(([step, value]) => ({ name: of(`  kept after a collection, at: ${step}`), value, unit: 'MB' })),
    plain(of('  the same while documents are copied, at most'), within, 'MB'),
    atMost(of('memory kept, at most'), Math.max(within, ...keptAt.map(([, value]) => value)), MOST_KEPT, 'MB'),
    { name: of('processor time of the mover, a document'), value: (own.user + own.system) / 1e3 / size, unit: 'ms' },
    { name: of('processor time of the server, a document'), value: server / 1e3 / size, unit: 'ms' },
    { name: of('RU of a document'), value: (moved?.charge ?? Number.NaN) / size, unit: 'RU' },
    none(of('documents that are not in the target'), size - (there ?? 0), 'documents'),
  ];
}
