// Keys whose documents are archived move, in a pipeline with projections in the shards and in the global place.
import { join } from 'node:path';
import { BlobServiceClient } from '@azure/storage-blob';
import { type TestContext, afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { ArchiveVerification, RestoreResult, SweepResult } from '../../../src/archive/types.ts';
import { openHistory } from '../../../src/archive/read/history-reader.ts';
import { AzureBlobStore } from '../../../src/archive/blobs/azure-blob-store.ts';
import { moveMapping } from '../../../src/procedures/move/move.ts';
import type { MoveOptions } from '../../../src/procedures/move/options.ts';
import { cli } from '../../cli/cli.ts';
import { rows } from '../../runtime/application.ts';
import { assertExact, given } from '../../runtime/spread-world.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/spread-cold');
const { signal } = new AbortController();

let azurite: Azurite;
let used = 0;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  await azurite?.close();
});

interface Places<T> {
  readonly code: number;
  readonly places: readonly { readonly place: string; readonly ok: boolean; readonly value: T }[];
}

/** The store `s0` of `north` has an order that is archived, `o1`, and one that isn't, `o2`; `s1` is in `west`. */
async function shop(context: Pick<TestContext, 'onTestFinished'>) {
  const STORAGE_CONTAINER = `moves-${(used += 1)}`;
  const storageOf = {
    account: { kind: 'key', connectionString: azurite.connectionString },
    container: STORAGE_CONTAINER,
  } as const;
  // A joined document that changes is found in the copies of archived orders too, so hosts read blobs.
  const world = await given(context, ['north', 'west'], { folder: FOLDER, storage: storageOf });
  const { stage, application, host } = world;
  const env = { ...stage.env, STORAGE: azurite.connectionString, STORAGE_CONTAINER };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  const millrace = async <T>(...args: string[]): Promise<Places<T>> => {
    const { code, stdout, stderr } = await cli([...args, '--pipeline', FOLDER, '--json']);
    expect(stderr).not.toMatch(/It failed here/);
    return { code, ...(JSON.parse(stdout) as Omit<Places<T>, 'code'>) };
  };
  await cli(['model', 'apply', '--pipeline', FOLDER]);
  const { map } = stage;
  const shards = await map.shards();
  const shardOf = (name: string) => shards.find(({ location }) => location.database === name)!;
  await map.createMapping({ shard: shardOf('north'), key: 's0' });
  await map.createMapping({ shard: shardOf('west'), key: 's1' });
  await application.order('s0', 'north', 'o1', 100);
  await application.order('s0', 'north', 'o2', 7, { placedAt: '2026-03-01T10:00:00.000Z' });
  await application.order('s1', 'west', 'o1', 20);
  const app = await host();
  await app.drained(signal);
  await millrace<SweepResult[]>('archive', 'sweep', '--shard', 'north');
  const storage = BlobServiceClient.fromConnectionString(azurite.connectionString).getContainerClient(
    STORAGE_CONTAINER,
  );
  const database = (id: string) => stage.at(id, 'Orders').database;
  const options = (more: Partial<MoveOptions> = {}): MoveOptions => ({
    map,
    maps: stage.at('maps', 'shardmaps'),
    connect: ({ database: id }) => database(id),
    endpointOf: () => stage.emulator.endpoint,
    stateContainer: 'millrace',
    leases: stage.services.global.leases,
    archives: ['Orders'],
    store: async () => new AzureBlobStore(storage, { signal }),
    signal,
    readLagMs: 0,
    graceMs: 100,
    // The pause is not what this is about.
    holdMs: 30_000,
    ...more,
  });
  const move = async (to: string, more: Partial<MoveOptions> = {}) =>
    moveMapping(options(more), await map.mapping('s0'), shardOf(to));
  const hot = async (shard: string) =>
    (await rows<{ id: string; storeId: string }>(stage.at(shard, 'Orders'), 'c.id, c.storeId'))
      .filter(({ storeId }) => storeId === 's0')
      .map(({ id }) => id);
  const cold = async (shard: string) => {
    const history = openHistory({ state: database(shard).container('millrace'), storage });
    return (await history.coldRead('Orders', ['s0'], 'o1'))?.doc;
  };
  const summaries = async (shard: string) =>
    (
      await rows<{ id: string; storeId: string }>(
        stage.at(shard, 'Summaries'),
        'c.id, c.storeId, c.customerName, c.cents',
      )
    )
      .filter(({ storeId }) => storeId === 's0')
      .toSorted((one, other) => (one.id < other.id ? -1 : 1));
  /** By the writes of the application alone: the global place, and what the shards have of the store. */
  const assertRight = async (home: string, customerName = 'Ada of s0'): Promise<void> => {
    await app.drained(signal);
    await assertExact(stage, application);
    const expected = [...application.orders.values()]
      .filter(({ storeId }) => storeId === 's0')
      .map(({ id, storeId, cents }) => ({ id, storeId, customerName, cents }));
    for (const shard of ['north', 'west']) expect(await summaries(shard)).toEqual(shard === home ? expected : []);
  };
  return { ...world, millrace, move, hot, cold, assertRight };
}

it('an archived document moves there and back, and counts once in each place', async (context) => {
  const { stage, application, move, hot, cold, assertRight } = await shop(context);
  expect([await hot('north'), await cold('north')]).toMatchObject([['o2'], { cents: 100 }]);
  expect(await move('west')).toMatchObject({ archived: 1, parked: [] });
  expect([await hot('north'), await hot('west')]).toEqual([[], ['o2']]);
  expect([await cold('north'), await cold('west')]).toMatchObject([undefined, { id: 'o1', cents: 100 }]);
  await assertRight('west');
  // What is joined is found though the order is archived, in a version of its own.
  await stage.at('west', 'Customers').items.upsert({ id: 'c1', type: 'customer', storeId: 's0', name: 'Grace' });
  await application.order('s0', 'west', 'o3', 3, { placedAt: '2026-03-01T11:00:00.000Z' });
  await assertRight('west', 'Grace');
  expect(await move('north')).toMatchObject({ archived: 1, parked: [] });
  expect([await cold('north'), await cold('west')]).toMatchObject([{ cents: 100 }, undefined]);
  await assertRight('north', 'Grace');
}, 400_000);

it('in its new home an archived document is verified, restored and changed', async (context) => {
  const { application, move, hot, assertRight, millrace } = await shop(context);
  await move('west');
  const verified = await millrace<{ different: number }>('projections', 'verify');
  expect([verified.code, verified.places.map(({ value }) => value.different)]).toEqual([0, [0, 0, 0]]);
  const intact = await millrace<ArchiveVerification[]>('archive', 'verify');
  const found = intact.places.map(({ value }) => value.map(({ archived, faults }) => [archived, faults]));
  expect([intact.code, found]).toEqual([0, [[], [[0, []]], [[1, []]]]]);
  const restored = await millrace<RestoreResult[]>('archive', 'restore', '--key', '["s0"]', '--id', 'o1');
  expect(restored.places.map(({ value }) => value.map((one) => one.restored))).toEqual([[], [0], [1]]);
  expect((await hot('west')).toSorted()).toEqual(['o1', 'o2']);
  await assertRight('west');
  await application.order('s0', 'west', 'o1', 55);
  await assertRight('west');
}, 400_000);
