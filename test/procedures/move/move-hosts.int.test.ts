// A store moves between two databases while hosts derive in both.
import { type TestContext, expect, it } from 'vitest';
import { planModel } from '../../../src/procedures/apply/apply.ts';
import type { MoveOptions } from '../../../src/procedures/move/options.ts';
import { moveMapping } from '../../../src/procedures/move/move.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { ShardMapManager } from '../../../src/shards/index.ts';
import { currentEpoch } from '../../../src/feed/reading/epochs.ts';
import { ridOf } from '../../../src/cosmos/rid.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { defer } from './protocol/defer.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { VERSIONS, compare, fast, options } from '../../verbs/projections/versions.ts';

const { signal } = new AbortController();
const order = (id: string, storeId: string, cents: number) => ({
  id,
  type: 'order',
  storeId,
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00Z',
  cents,
});

async function shop({ onTestFinished }: Pick<TestContext, 'onTestFinished'>, folder?: string) {
  const home = await openStage({}, folder);
  onTestFinished(() => home[Symbol.asyncDispose]());
  const services = await home.services.at({ database: 'east' });
  for (const step of await planModel(home.loaded, services)) await step.apply();
  const container = (name: string) => services.place.database.container(name);
  const east: Stage = { ...home, services: { ...services, close: () => undefined }, container };
  const { client } = home.services.place.database;
  const { database } = await client.databases.create({ id: 'maps' });
  for (const id of ['shardmaps', 'routers'])
    await database.containers.create({ id, partitionKey: '/pk', defaultTtl: -1 });
  for (const id of ['shop', 'east'])
    await client.database(id).containers.create({ id: 'shardmap', partitionKey: '/pk', defaultTtl: -1 });
  const connect = ({ database: id }: { readonly database: string }) => client.database(id);
  const manager = await ShardMapManager.create({ database, connect });
  const map = await manager.createListMap('stores', {
    keyType: 'text',
    schema: { sharded: { Orders: '/storeId', Customers: '/storeId' } },
  });
  const [left, right] = [await map.createShard({ database: 'shop' }), await map.createShard({ database: 'east' })];
  for (const key of ['s1', 's2']) await map.createMapping({ shard: left, key });
  const move = async (key: string, to: typeof left, patienceMs = 60_000, say: MoveOptions['say'] = () => undefined) =>
    moveMapping(
      {
        map,
        maps: database.container('shardmaps'),
        connect,
        endpointOf: () => home.emulator.endpoint,
        stateContainer: 'millrace',
        leases: home.services.global.leases,
        signal,
        readLagMs: 0,
        graceMs: 200,
        // So long that no try is given up, however slow the machine.
        holdMs: 60_000,
        patienceMs,
        takeOver: true,
        say,
      },
      await map.mapping(key),
      to,
    );
  const host = async (stage: Stage, name: string) => {
    const app = await compose({ ...stage, ...fast, host: name });
    onTestFinished(() => app.stop());
    await app.start();
    return app;
  };
  return { home, east, left, right, move, host, apps: [await host(home, 'home'), await host(east, 'east')] };
}

const epochOf = async ({ services: { place } }: Stage): Promise<number> =>
  currentEpoch(place.state, 'Orders', await ridOf(place.database.container('Orders')));

it('each derives what moves to it, and takes back what moves away, there and back', async (context) => {
  const { home, east, left, right, move, apps } = await shop(context);
  const assertExact = async (stage: Stage, orders: number): Promise<void> => {
    for (const app of apps) await app.drained(signal);
    for (const name of ['summaries@1', 'days@1']) {
      const { expected, found } = await compare(stage, name);
      expect(found).toEqual(expected);
    }
    expect((await compare(stage, 'summaries@1')).found.size).toBe(orders);
  };
  for (const storeId of ['s1', 's2']) {
    await home.container('Customers').items.create({ id: 'c1', type: 'customer', storeId, name: 'Ada' });
    for (let n = 0; n < 10; n++) await home.container('Orders').items.create(order(`o${n}`, storeId, n));
  }
  await assertExact(home, 20);
  const first = await epochOf(east);
  await move('s1', right);
  await assertExact(home, 10);
  await assertExact(east, 10);
  // One is written where it is now, the others come back as they were.
  expect(await epochOf(east)).toBeGreaterThan(Math.max(first, await epochOf(home)));
  await east.container('Orders').items.upsert(order('o3', 's1', 300));
  await move('s1', left);
  await assertExact(home, 20);
  await assertExact(east, 0);
  const summary = await home.container('Summaries').item('o3', 's1').read<{ cents: number }>();
  expect(summary.resource).toMatchObject({ _src: { epoch: await epochOf(home) } });
  await home.container('Orders').items.upsert(order('o3', 's1', 301));
  await home.container('Orders').items.upsert(order('o4', 's1', 401));
  await assertExact(home, 20);
});

it('a move is refused while a version is filled and not promoted: the error names it, and what to run', async (context) => {
  const { home, east, right, move } = await shop(context, VERSIONS);
  await home.container('Orders').items.create(order('o1', 's1', 1));
  await rebuild(options(east, 'summaries@2', signal));
  await expect(move('s1', right, 500)).rejects.toMatchObject({
    code: 'move-version-staged',
    message: expect.stringMatching(/summaries@2 [^]* but it is filled, or being filled, and not promoted$/),
    hint: expect.stringContaining('`millrace projections promote summaries`'),
  });
});

it('a move waits for changes that hosts have deferred: applied later, they would count as deleted', async (context) => {
  const { home, east, right, move, host, apps } = await shop(context);
  for (let n = 0; n < 3; n++) await home.container('Orders').items.create(order(`o${n}`, 's1', n));
  for (const app of apps) await app.drained(signal);
  await apps[0]!.stop();
  await defer(home.services.place.state, home.container('Orders'), {
    pipeline: home.loaded.pipeline.name,
    storeId: 's1',
  });
  await expect(move('s1', right, 1_000)).rejects.toMatchObject({
    code: 'move-hosts-behind',
    message: expect.stringMatching(/changes that are deferred of shop\/Orders\b/),
  });
  const again = await host(home, 'again');
  await move('s1', right);
  for (const app of [again, apps[1]!]) await app.drained(signal);
  expect((await compare(home, 'summaries@1')).found.size).toBe(0);
  const { expected, found } = await compare(east, 'summaries@1');
  expect(found).toEqual(expected);
  expect(found.size).toBe(3);
});

it('a move takes for a new version what an application changes and changes back, with the mark that it read', async (context) => {
  const { home, east, right, move, apps } = await shop(context);
  for (const id of ['o1', 'o2']) await home.container('Orders').items.create(order(id, 's1', 1));
  for (const app of apps) await app.drained(signal);
  const isDue = { o1: true, o2: true };
  /** As an application does that reads a document, and replaces it with all that it has read. */
  const write = async (id: 'o1' | 'o2'): Promise<void> => {
    isDue[id] = false;
    for (const cents of [500, 1]) {
      const item = east.container('Orders').item(id, 's1');
      const { resource } = await item.read<Record<string, unknown>>();
      await item.replace({ ...resource, cents });
      await apps[1]!.drained(signal);
    }
  };
  await move('s1', right, 60_000, async (text) => {
    if (text.startsWith('the map gives') && isDue.o1) await write('o1');
  });
  await write('o2');
  for (const app of apps) await app.drained(signal);
  for (const name of ['summaries@1', 'days@1']) {
    const { expected, found } = await compare(east, name);
    expect(found).toEqual(expected);
  }
});
