// Random histories of writes, sweeps, restores and readings, with several hosts that die: ARC-H1 to ARC-H9 and ARC-H15,
// judged after every step.
import { ChangeFeedPolicy, ChangeFeedRetentionTimeSpan, type CosmosClient, type Database } from '@azure/cosmos';
import { MARKS } from '../../src/engine/runners.ts';
import { BlobServiceClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import pMap from 'p-map';
import { archiveAgain } from '../../src/archive/sweep/re-archive.ts';
import { AzureBlobStore } from '../../src/archive/blobs/azure-blob-store.ts';
import type { ErasableStore } from '../../src/access/blob-store.ts';
import { verifyArchive } from '../../src/archive/verify.ts';
import { canonical } from '../../src/base/json.ts';
import { connect } from '../../src/cosmos/connect.ts';
import type { AggregateSpec, ArchiveSpec, Doc } from '../../src/pipeline/specs.ts';
import { recompute, visible } from '../../src/pipeline/oracle/recompute.ts';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import type { SourceContainer } from '../../src/feed/reading/mapper.ts';
import { aggregateRunner } from '../../src/kinds/aggregate/aggregate-runner.ts';
import { liveHalf } from '../../src/kinds/archive/live-half.ts';
import { archiveRunner } from '../../src/kinds/archive/archive-runner.ts';
import { startAzurite } from '../support/azurite.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { World } from './world.ts';

// MILLRACE_SEED repeats a history, MILLRACE_HISTORIES changes how many there are.
const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 15);
const READ_LAG_MS = 8;
const SIGNAL = new AbortController().signal;

const deleted = (doc: Doc): boolean => doc['deletedAt'] !== undefined;
const specsOf = (container: string): { archive: ArchiveSpec; aggregate: AggregateSpec } => {
  const from = { container, type: 'order' };
  return {
    archive: {
      kind: 'archive',
      name: `cold-${container}`,
      version: 1,
      from,
      dateField: 'date',
      rule: { kind: 'before', ms: Date.UTC(2001, 0, 1), text: '2001-01-01' },
      tenantField: 'tenant',
    },
    aggregate: {
      kind: 'aggregate',
      name: `sums-${container}`,
      version: 1,
      from,
      into: { container: 'Groups', type: 'sum' },
      onDelete: 'remove',
      stable: false,
      groupBy: (_row, doc) => ({ group: container, state: doc['state'] }),
      measures: { orders: { kind: 'count' }, cents: { kind: 'sum', of: (row) => Number((row as Doc)['cents']) } },
    },
  };
};

let emulator: Emulator;
let clients: CosmosClient[];
let databases: Database[];

beforeAll(async () => {
  emulator = await startEmulator({ seed: SEED });
  const account = { kind: 'key', endpoint: emulator.endpoint, key: emulator.key } as const;
  const { httpClient } = emulator.clientOptions;
  clients = [1, 2, 3].map(() => connect(account, [], { httpClient }));
  await clients[0]?.databases.create({ id: 'model' });
  databases = clients.map((client) => client.database('model'));
  await create('Groups', '/group');
});

afterAll(async () => {
  for (const client of clients) client.dispose();
  await emulator.close();
});

describe(`after any history (seed ${SEED})`, () => {
  it('hot and cold together are what was written, each document once, and nothing derived was taken back', async () => {
    expectBusy(await all(HISTORIES, SEED, () => new MemoryBlobStore()), HISTORIES);
  });

  it('read by all versions, nothing is lost, stale or taken back, whatever the application writes back', async () => {
    expectBusy(await all(HISTORIES, SEED, () => new MemoryBlobStore(), 'versions'), HISTORIES);
  });

  it('Azurite has the same after any history', async () => {
    const azurite = await startAzurite();
    const options = { retryOptions: { maxTries: 1 } };
    const service = BlobServiceClient.fromConnectionString(azurite.connectionString, options);
    const count = Math.ceil(HISTORIES / 25);
    try {
      const totals = await all(count, SEED + HISTORIES, async (seed) => {
        const container = service.getContainerClient(`s${seed}`);
        await container.create();
        return new AzureBlobStore(container);
      });
      expectBusy(totals, count);
    } finally {
      await azurite.close();
    }
  });
});

interface Totals {
  archived: number;
  restored: number;
  /** Blobs that compactions have removed. */
  compacted: number;
}

async function all(
  count: number,
  first: number,
  storeOf: (seed: number) => ErasableStore | Promise<ErasableStore>,
  by: 'latest' | 'versions' = 'latest',
): Promise<Totals> {
  const prefix = by === 'versions' ? 'v' : 's';
  const seeds = Array.from({ length: count }, (_, index) => first + index);
  const rids = new Map<number, string>();
  emulator.faults({});
  for (const seed of seeds) {
    rids.set(seed, await create(`${prefix}${seed}`, '/tenant', by === 'versions'));
    await create(`state${prefix}${seed}`, '/pk');
  }
  emulator.faults({ replicaLagMs: READ_LAG_MS / 2, failAfterEffect: 0.01, throttle: 0.005 });
  const totals: Totals = { archived: 0, restored: 0, compacted: 0 };
  await pMap(
    seeds,
    async (seed) => {
      try {
        const of = await live(seed, `${prefix}${seed}`, rids.get(seed) ?? '', await storeOf(seed));
        for (const name of ['archived', 'restored', 'compacted'] as const) totals[name] += of[name];
      } catch (error) {
        throw new Error(`MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1`, { cause: error });
      }
    },
    { concurrency: 12 },
  );
  return totals;
}

/** A model in which nothing ever leaves or comes back would prove nothing. */
function expectBusy({ archived, restored, compacted }: Totals, histories: number): void {
  expect(archived).toBeGreaterThanOrEqual(Math.floor(histories / 4));
  expect(restored).toBeGreaterThanOrEqual(Math.floor(histories / 4));
  // Three of four have none.
  expect(histories < 100 || compacted > 0).toBe(true);
}

async function live(seed: number, container: string, rid: string, store: ErasableStore): Promise<Totals> {
  const stateContainer = `state${container}`;
  const { archive, aggregate } = specsOf(container);
  const source: SourceContainer = {
    name: container,
    keyPaths: [['tenant']],
    types: new Map([['order', { deleted }]]),
    marks: MARKS,
  };
  const world = new World({
    random: new Random(seed),
    spec: archive,
    stateContainer,
    source,
    rid,
    databases,
    store,
    runners: () => [
      archiveRunner(archive, { stateContainer }),
      aggregateRunner(aggregate, { name: 'Groups', keyPaths: [['group']] }, { stateContainer }),
    ],
    readLagMs: READ_LAG_MS,
    steps: 50,
    repartition: () => repartition(container),
    ...(container.startsWith('v') && {
      versions: {
        sift: () =>
          liveHalf({ specs: [archive], stateContainer, defaultTtl: -1, again: archiveAgain(async () => store) }),
        expire: (id: string) => void emulator.expire(`model/${container}`, id),
      },
    }),
  });
  const holds = async (): Promise<void> => {
    await world.rest();
    await world.check(false);
    expect(await groups(container)).toEqual(sums(aggregate, world));
  };
  await world.run();
  await world.check(false);
  await world.sweep();
  await holds();
  const { faults, archived } = await verifyArchive(world.archive(store), { signal: SIGNAL });
  // A torn upload that no one came back to is superfluous, and found.
  expect(faults.filter(({ code }) => code !== 'blob-changed')).toEqual([]);
  const { restored } = await world.restoreAll();
  await holds();
  const present = (await documents(container, 'true')).filter((doc) => doc['type'] === 'order' && !deleted(doc));
  expect(shown(present), 'after restoring everything').toEqual(shown(written(world)));
  return { archived, restored, compacted: world.compacted };
}

const written = (world: World): Doc[] => [...world.truth.values()].map(({ doc }) => doc).filter((doc) => doc !== null);

const sums = (spec: AggregateSpec, world: World): string[] =>
  shown(recompute(spec, () => written(world), [{ ...spec.from, deleted }]).values());

const groups = async (container: string): Promise<string[]> =>
  shown((await documents('Groups', `c["group"] = '${container}'`)).filter(({ type }) => type === 'sum'));

const shown = (docs: Iterable<Doc>): string[] => [...docs].map((doc) => canonical(visible(doc))).toSorted();

/** By a client of its own, until no replica can be behind any more. */
async function documents(container: string, where: string): Promise<readonly Doc[]> {
  await new Promise((resolve) => setTimeout(resolve, READ_LAG_MS));
  for (;;) {
    try {
      const { items } = (databases[0] ?? never()).container(container);
      const { resources } = await items.query<Doc>(`SELECT * FROM c WHERE ${where}`).fetchAll();
      return resources;
    } catch {
      // Throttled.
    }
  }
}

/** A container that keeps versions can't be merged. */
function repartition(container: string): void {
  const name = `model/${container}`;
  const { length } = emulator.split(name);
  if (length > 0 && !container.startsWith('v')) emulator.merge(name);
}

async function create(id: string, path: string, versions = false): Promise<string> {
  const changeFeedPolicy = versions && {
    changeFeedPolicy: new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(60)),
  };
  const definition = { id, partitionKey: { paths: [path] }, defaultTtl: -1, ...changeFeedPolicy };
  const answer = await databases[0]?.containers.create(definition);
  return (answer?.resource as { _rid?: string } | undefined)?._rid ?? '';
}

function never(): never {
  throw new Error('The server was not started');
}
