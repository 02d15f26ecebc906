import { setTimeout as delay } from 'node:timers/promises';
import { CosmosClient, type Container } from '@azure/cosmos';
import { startEmulator } from '../src/emulator/index.ts';
import { CHECKPOINT_MS } from '../src/host/compose.ts';
import { openHost } from './support/host.ts';
import { type Benchmark, type Figure, atMost, plain, seconds } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';

const DOCUMENTS = 10_000;

/**
 * What leases cost in request units, a page: ours, counted by a server that holds nothing but leases, against the requests
 * that .NET's processor sends for as many pages in as much time. It keeps an old ETag, so each checkpoint is a refused
 * replace, a read and a replace; each renewal is a read and a replace, whether there was a checkpoint or not, as is giving it back; leases are
 * listed once an acquire interval (azure-cosmos-dotnet-v3, pull request 2436 and issue 4342).
 */
export const b16: Benchmark = {
  id: 'B16',
  title: 'lease RU a page ÷ that of .NET’s request sequence, same pages, same RU model',
  run: async () => {
    await using stage = await openStage();
    const source = await stage.container('Source', '/key');
    const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({ id: `${n}`, key: `k${n % 200}` }));
    await fill(source, documents, ({ key }) => String(key));
    const server = await startEmulator({ seed: 1 });
    const client = new CosmosClient({ endpoint: server.endpoint, key: server.key });
    const { database } = await client.databases.create({ id: 'leases' });
    const { container: leases } = await database.containers.create({
      id: 'leases',
      partitionKey: '/id',
      defaultTtl: -1,
    });
    const figures: Figure[] = [];
    try {
      for (const { what, handlerMs, pageSize, timings } of SCENES) {
        let pages = 0;
        const handle = async (): Promise<void> => {
          pages += 1;
          if (handlerMs > 0) await delay(handlerMs);
        };
        const host = await openHost({ source, keyPath: 'key', leases, handle, pageSize, timings });
        await host.processor.start();
        const before = server.stats().charge;
        const time = await seconds(() => host.drained());
        // With what it leaves to be written: the last checkpoint, and the lease given back.
        await host.processor.stop();
        const ours = server.stats().charge - before;
        const theirs = await replay(leases, pages, time * 1000, timings, () => server.stats().charge);
        figures.push(
          atMost(`${what}: ours ÷ .NET’s`, ours / theirs, 0.5, '×'),
          plain(`${what}: ours`, ours / pages, 'RU/page'),
          plain(`${what}: .NET’s`, theirs / pages, 'RU/page'),
        );
      }
    } finally {
      client.dispose();
      await server.close();
    }
    return figures;
  },
};

const USUAL = { renewMs: 17_000, acquireMs: 13_000, checkpointMs: CHECKPOINT_MS };
const SCENES = [
  { what: 'full speed', handlerMs: 0, pageSize: 10, timings: USUAL },
  { what: 'a page each 20 ms', handlerMs: 20, pageSize: 10, timings: USUAL },
  // Time runs a hundred times faster here, so that it doesn't take minutes: the intervals are to each other as they are.
  {
    what: 'a page each 17 s',
    handlerMs: 170,
    pageSize: 200,
    timings: { renewMs: 170, acquireMs: 130, expirationMs: 2_000, checkpointMs: CHECKPOINT_MS / 100 },
  },
];

/** The charge of .NET's lease requests for so many pages in so much time. */
async function replay(
  leases: Container,
  pages: number,
  elapsedMs: number,
  { renewMs, acquireMs }: typeof USUAL,
  charge: () => number,
): Promise<number> {
  const prefix = 'billingacc.documents.azure.com_dbRid==_collRid=';
  const id = `${prefix}..0`;
  const lease = {
    id,
    version: 0,
    LeaseToken: '0',
    FeedRange: { Range: { min: '', max: 'FF' } },
    Owner: '0c7a5ad6-9d0b-4a3d-b3bb-0e7d9bd0d1b1',
    ContinuationToken: '"0"',
    properties: {},
    timestamp: '2026-01-02T03:04:05.1234567Z',
    Mode: 'Incremental Feed',
  };
  const item = leases.item(id, id);
  const match = (condition: string) => ({ accessCondition: { type: 'IfMatch', condition } });
  let stale = (await leases.items.upsert(lease)).etag;
  await leases.items.upsert(lease);
  const before = charge();
  for (let page = 1; page <= pages; page++) {
    const next = { ...lease, ContinuationToken: `"${page}"` };
    await item.replace(next, match(stale)).catch((error: { code?: unknown }) => {
      if (error.code !== 412) throw error;
    });
    const { etag } = await item.read();
    await item.replace(next, match(etag));
    stale = etag;
  }
  for (let renewal = 1; renewal <= elapsedMs / renewMs; renewal++) {
    const { etag } = await item.read();
    await item.replace({ ...lease, ContinuationToken: `"${pages}"` }, match(etag));
  }
  const listing = {
    query: 'SELECT * FROM c WHERE STARTSWITH(c.id, @p)',
    parameters: [{ name: '@p', value: `${prefix}..` }],
  };
  await item.replace({ ...lease, Owner: null }, match((await item.read()).etag));
  for (let listed = 1; listed <= elapsedMs / acquireMs; listed++) await leases.items.query(listing).fetchAll();
  return charge() - before;
}
