import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { CosmosClient, type Container } from '@azure/cosmos';
import { startEmulator } from '../src/emulator/index.ts';
import type { LeaseStatus, Timings } from '../src/feed/sharing/feed-host.ts';
import { CHECKPOINT_MS } from '../src/runtime/source-reading.ts';
import { type Host, openHost } from './support/host.ts';
import { type Benchmark, type Figure, atMost, plain, seconds, sized } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';

const DOCUMENTS = sized(10_000, 1_000);

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
    const server = await startEmulator({ seed: 1 });
    const client = new CosmosClient({ endpoint: server.endpoint, key: server.key });
    const { database } = await client.databases.create({ id: 'leases' });
    // One for each run: the server charges a listing for whatever else a small container holds.
    const leases = async (): Promise<Container> => {
      const definition = { id: randomUUID(), partitionKey: '/id', defaultTtl: -1 };
      return (await database.containers.create(definition)).container;
    };
    const charge = (): number => server.stats().charge;
    const figures: Figure[] = [];
    try {
      for (const hosts of [1, HOSTS]) {
        const source = await stage.container(`Source${hosts}`, '/key', 6_000 * hosts);
        // Twice as many, so that each of several hosts has pages enough for its start and its end not to matter.
        const length = hosts === 1 ? DOCUMENTS : 2 * DOCUMENTS;
        const documents = Array.from({ length }, (_, n) => ({ id: `${n}`, key: `k${n % (length / 50)}` }));
        await fill(source, documents, ({ key }) => String(key));
        for (const scene of SCENES.filter((one) => one.hosts === hosts)) {
          const { what, timings } = scene;
          const { ours, pages, ms } = await read(source, await leases(), scene, charge);
          const theirs = await replay(await leases(), { pages, ms, timings, hosts }, charge);
          figures.push(
            atMost(`${what}: ours ÷ .NET’s`, ours / theirs, 0.5, '×'),
            plain(`${what}: ours`, ours / pages, 'RU/page'),
            plain(`${what}: .NET’s`, theirs / pages, 'RU/page'),
          );
        }
      }
    } finally {
      client.dispose();
      await server.close();
    }
    return figures;
  },
};

interface Scene {
  readonly what: string;
  readonly handlerMs: number;
  readonly pageSize: number;
  readonly timings: Pick<Timings, 'renewMs' | 'acquireMs' | 'expirationMs' | 'checkpointMs'>;
  /** As many as there are leases. */
  readonly hosts: number;
}

const HOSTS = 4;
const USUAL = { renewMs: 17_000, acquireMs: 13_000, expirationMs: 60_000, checkpointMs: CHECKPOINT_MS };
// Time runs forty times faster here, so that it doesn't take minutes: the intervals are to each other as they are.
const FAST = { renewMs: 425, acquireMs: 325, expirationMs: 1_500, checkpointMs: CHECKPOINT_MS / 40 };
const SCENES: readonly Scene[] = [
  { what: 'full speed', handlerMs: 0, pageSize: 10, timings: USUAL, hosts: 1 },
  { what: 'a page each 20 ms', handlerMs: 20, pageSize: 10, timings: USUAL, hosts: 1 },
  { what: 'a page each 17 s', handlerMs: 425, pageSize: 500, timings: FAST, hosts: 1 },
  { what: 'the same, 4 hosts, a lease each', handlerMs: 425, pageSize: 50, timings: FAST, hosts: HOSTS },
];

/** Reads once each host has a lease until one is at its end, and stops them: the last checkpoint and giving a lease back count. */
async function read(
  source: Container,
  leases: Container,
  { hosts, handlerMs, pageSize, timings }: Scene,
  charge: () => number,
): Promise<{ ours: number; pages: number; ms: number }> {
  let pages = 0;
  const begin = Promise.withResolvers<void>();
  const handle = async (): Promise<void> => {
    await begin.promise;
    pages += 1;
    if (handlerMs > 0) await delay(handlerMs);
  };
  const prefix = randomUUID();
  const all: Host[] = [];
  for (let n = 0; n < hosts; n++) {
    const options = { source, leases, handle, pageSize, timings, prefix, name: `host-${n}` };
    all.push(await openHost(options));
  }
  await Promise.all(all.map(({ processor }) => processor.start()));
  const statuses = (): LeaseStatus[][] => all.map(({ processor }) => [...processor.status().leases]);
  while (!statuses().every(({ length }) => length === 1)) await delay(1);
  const before = charge();
  const time = await seconds(async () => {
    begin.resolve();
    // Ranges aren't equally long; a host without a page to read would only renew.
    while (!statuses().some(([one]) => one?.idleSince !== undefined)) await delay(1);
  });
  await Promise.all(all.map(({ processor }) => processor.stop()));
  return { ours: charge() - before, pages, ms: time * 1000 };
}

/** The charge of .NET's lease requests for so many pages in so much time, with as many hosts as leases. */
async function replay(
  leases: Container,
  { pages, ms, timings, hosts }: Pick<Scene, 'timings' | 'hosts'> & { readonly pages: number; readonly ms: number },
  charge: () => number,
): Promise<number> {
  const prefix = `${randomUUID()}acc.documents.azure.com_dbRid==_collRid=`;
  const leaseOf = (token: string) => ({
    id: `${prefix}..${token}`,
    version: 0,
    LeaseToken: token,
    FeedRange: { Range: { min: '', max: 'FF' } },
    Owner: '0c7a5ad6-9d0b-4a3d-b3bb-0e7d9bd0d1b1',
    ContinuationToken: '"0"',
    properties: {},
    timestamp: '2026-01-02T03:04:05.1234567Z',
    Mode: 'Incremental Feed',
  });
  for (let token = 1; token < hosts; token++) await leases.items.create(leaseOf(String(token)));
  const lease = leaseOf('0');
  const item = leases.item(lease.id, lease.id);
  const match = (condition: string) => ({ accessCondition: { type: 'IfMatch', condition } });
  let stale = (await leases.items.create(lease)).etag;
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
  const listing = {
    query: 'SELECT * FROM c WHERE STARTSWITH(c.id, @p)',
    parameters: [{ name: '@p', value: `${prefix}..` }],
  };
  for (let host = 0; host < hosts; host++) {
    for (let renewal = 1; renewal <= ms / timings.renewMs; renewal++) {
      const { etag } = await item.read();
      await item.replace({ ...lease, ContinuationToken: `"${pages}"` }, match(etag));
    }
    await item.replace({ ...lease, Owner: null }, match((await item.read()).etag));
    for (let listed = 1; listed <= ms / timings.acquireMs; listed++) await leases.items.query(listing).fetchAll();
  }
  return charge() - before;
}
