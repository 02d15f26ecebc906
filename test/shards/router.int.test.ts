import type { Database } from '@azure/cosmos';
import { describe, expect, it, vi } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { type Router, type RouterOptions, openRouter } from '../../src/client.ts';
import { type Mapping, type Shard, type ShardMap, ShardMapManager } from '../../src/shards/index.ts';
import { type Around, SCHEMA, useShardMaps } from './shard-stage.ts';

const { stage, options, manager } = await useShardMaps();

/** Time stands still until the test lets it pass; pauses take none of it. */
class Hand implements Clock {
  ms = 0;
  now = (): number => this.ms;
  monotonic = (): number => this.ms;
  sleep = (ms: number, signal?: AbortSignal): Promise<void> => systemClock.sleep(Math.min(ms, 1), signal);
}

interface Scene {
  readonly map: ShardMap;
  readonly west: Shard;
  readonly east: Shard;
  /** Keys below 100, in the west. */
  readonly lower: Mapping;
  /** Keys from 100 on, in the east. */
  readonly upper: Mapping;
}

let names = 0;
async function scene(containers?: Readonly<Record<string, string>>): Promise<Scene> {
  const map = await manager.createRangeMap(`map${(names += 1)}`, { keyType: 'int32', schema: SCHEMA });
  const west = await map.createShard({ database: await stage.shardDatabase(containers) });
  const east = await map.createShard({ database: await stage.shardDatabase(containers) });
  const lower = await map.createMapping({ shard: west, high: 100 });
  const upper = await map.createMapping({ shard: east, low: 100, high: 200 });
  return { map, west, east, lower, upper };
}

/** The map as another process has it: routers of this one hear nothing of its changes. */
async function elsewhere({ name }: ShardMap): Promise<ShardMap> {
  vi.resetModules();
  const { ShardMapManager: Other } = await import('../../src/shards/index.ts');
  return (await Other.get(options)).getMap(name);
}

/** A router of a process that may write `routers` and nothing else. */
function route(map: ShardMap, around?: Around, given: Partial<RouterOptions> = {}): Promise<Router> {
  const client = stage.client(around, { aadCredentials: stage.emulator.credential('router') });
  return openRouter(map.name, {
    database: client.database(options.database.id),
    connect: ({ database }) => client.database(database),
    // The first failure counts, also where time stands still.
    shardWithinMs: -1,
    ...given,
  });
}

const ordersIn = ({ location }: Shard): ReturnType<Database['container']> =>
  stage.database(location.database).container('Orders');
const order = (id: string, tenantId: number, note = ''): { id: string; tenantId: number; note: string } => ({
  id,
  tenantId,
  note,
});

/** Moves a mapping with its documents, as an application would. */
async function move({ map }: Scene, mapping: Mapping, from: Shard, to: Shard): Promise<Mapping> {
  const offline = await map.markOffline(mapping);
  const { resources } = await ordersIn(from).items.readAll<{ id: string; tenantId: number }>().fetchAll();
  for (const document of resources) {
    await ordersIn(to).items.upsert(document);
    await ordersIn(from).item(document.id, document.tenantId).delete();
  }
  return map.updateMapping(offline, { shard: to, status: 'online' });
}

describe('a router reads', () => {
  it('the documents of a key on the shard that has it', async () => {
    const { map, west, east } = await scene();
    await ordersIn(west).items.create(order('o', 5, 'west'));
    await ordersIn(east).items.create(order('o', 150, 'east'));
    await ordersIn(east).items.create(order('p', 150, 'east'));
    await ordersIn(east).items.create(order('o', 151));
    await using router = await route(map);
    expect((await router.shards()).map(({ id }) => id).toSorted()).toEqual([west.id, east.id].toSorted());
    expect(await router.container(5, 'Orders').read('o')).toMatchObject({ note: 'west' });
    const orders = router.container<{ id: string; note: string }>(150, 'Orders');
    expect(await orders.read('o')).toMatchObject({ note: 'east' });
    expect(await orders.read('q')).toBeUndefined();
    const query = orders.query<string>('SELECT VALUE c.id FROM c ORDER BY c.id');
    expect(await query.all()).toEqual(['o', 'p']);
    const one: string[] = [];
    for await (const id of query) one.push(id);
    expect(one).toEqual(['o', 'p']);
    const { items, continuation } = await orders.query<string>('SELECT VALUE c.id FROM c', { maxItemCount: 1 }).page();
    expect(items).toHaveLength(1);
    expect((await orders.query('SELECT VALUE c.id FROM c', { maxItemCount: 1 }).page(continuation)).items).toHaveLength(
      1,
    );
    expect(router.counters()).toMatchObject({ map: map.name, mappings: 2, added: 2, misses: 2, refusals: 0 });
  });

  it('a moved document: a 404 is confirmed by the shard, and the new shard is asked', async () => {
    const at = await scene();
    await ordersIn(at.west).items.create(order('o', 5));
    await using router = await route(at.map);
    const orders = router.container(5, 'Orders');
    expect(await orders.read('o')).toBeDefined();
    await move(at, at.lower, at.west, at.east);
    const before = router.counters();
    expect(await orders.read('o')).toMatchObject({ id: 'o' });
    const after = router.counters();
    expect(after.removed - before.removed).toBe(1);
    // The mapping, and the shard that the router didn't know.
    expect(after.lookups - before.lookups).toBe(2);
    // A 404 that is true costs one reading of the local map, and nothing of the maps' database.
    expect(await orders.read('nothing')).toBeUndefined();
    expect(router.counters()).toMatchObject({ lookups: after.lookups, validations: after.validations + 1 });
  });

  it('a router reads with a mapping that was validated M ago at most, by one reading for all mappings of a shard', async () => {
    const { map, west, lower } = await scene();
    await map.splitMapping(lower, 50);
    await ordersIn(west).items.create(order('o', 5));
    const clock = new Hand();
    await using router = await route(map, undefined, { clock, validForMs: 30_000 });
    const read = (): Promise<unknown> =>
      Promise.all([5, 60].map((key) => router.container(key, 'Orders').query('SELECT * FROM c').all()));
    await read();
    const first = router.counters();
    clock.ms += 30_000;
    await read();
    expect(router.counters().validations).toBe(first.validations);
    clock.ms += 1;
    await read();
    expect(router.counters()).toMatchObject({ validations: first.validations + 1, lookups: first.lookups });
    // Another process changes the map: found at the next validation.
    const other = await elsewhere(map);
    await other.markOffline(await other.mapping(60));
    await read();
    clock.ms += 30_001;
    await expect(read()).rejects.toMatchObject({ code: 'mapping-offline' });
    await other.markOnline(await other.mapping(60));
    clock.ms += 1_001;
    await read();
  });

  it('a router knows immediately what its own process has changed in the map', async () => {
    const { map, west, lower } = await scene();
    await ordersIn(west).items.create(order('o', 5));
    await using router = await route(map, undefined, { clock: new Hand() });
    const read = (): Promise<unknown> => router.container(5, 'Orders').read('o');
    expect(await read()).toBeDefined();
    for (let times = 0, mapping = lower; times < 3; times++) {
      mapping = await map.markOffline(mapping);
      await expect(read()).rejects.toMatchObject({ code: 'mapping-offline' });
      expect(await entered(router, 5)).toBe('mapping-offline');
      mapping = await map.markOnline(mapping);
      expect(await read()).toBeDefined();
      expect(await entered(router, 5)).toBe(west.location.database);
    }
  });

  it('a router asks the shard before a read that says so, and refuses a key that went offline elsewhere', async () => {
    const { map, west } = await scene();
    await ordersIn(west).items.create(order('o', 5));
    await using router = await route(map, undefined, { clock: new Hand() });
    const read = (validate?: boolean): Promise<unknown> =>
      router.container(5, 'Orders', { ...(validate && { validate }) }).read('o');
    expect(await read(true)).toBeDefined();
    const other = await elsewhere(map);
    await other.markOffline(await other.mapping(5));
    expect(await read()).toBeDefined();
    const query = router.container(5, 'Orders', { validate: true }).query('SELECT * FROM c');
    await expect(query.all()).rejects.toMatchObject({ code: 'mapping-offline' });
    await expect(read()).rejects.toMatchObject({ code: 'mapping-offline' });
    await other.markOnline(await other.mapping(5));
    expect(await read(true)).toBeDefined();
  });

  it('many keys of a list map, and asks a shard for all of them at once', async () => {
    const map = await manager.createListMap('many', { keyType: 'text', schema: { sharded: { Orders: '/tenantId' } } });
    const shards = [await stage.shardDatabase(), await stage.shardDatabase()];
    const [west, east] = [
      await map.createShard({ database: shards[0]! }),
      await map.createShard({ database: shards[1]! }),
    ];
    const keys = Array.from({ length: 40 }, (_, at) => `tenant ${at}`);
    for (const [at, key] of keys.entries()) {
      const shard = at % 2 === 0 ? west : east;
      await map.createMapping({ shard, key });
      await ordersIn(shard).items.create({ id: 'o', tenantId: key, at });
    }
    const clock = new Hand();
    await using router = await route(map, undefined, { clock });
    const read = (): Promise<unknown[]> => Promise.all(keys.map((key) => router.container(key, 'Orders').read('o')));
    const expected = keys.map((tenantId, at) => expect.objectContaining({ tenantId, at }) as unknown);
    expect(await read()).toEqual(expected);
    const cold = router.counters();
    expect(cold).toMatchObject({ mappings: 40, added: 40, misses: 40, removed: 0 });
    // A change of another mapping: the header, and one query for twenty mappings, in the west only.
    await map.createMapping({ shard: west, key: 'new' });
    clock.ms += 30_001;
    expect(await read()).toEqual(expected);
    expect(router.counters()).toMatchObject({ lookups: cold.lookups, validations: cold.validations + 3, removed: 0 });
  });

  it('every mapping before it opens, if it is told to', async () => {
    const { map, lower, upper } = await scene();
    await map.splitMapping(lower, 50);
    await map.markOffline(upper);
    await using router = await route(map, undefined, { fill: true });
    const filled = router.counters();
    expect(filled).toMatchObject({ mappings: 3, lookups: 2 });
    for (const key of [5, 60]) await router.container(key, 'Orders').query('SELECT * FROM c').all();
    const { lookups, validations } = filled;
    expect(router.counters()).toMatchObject({ lookups, validations, hits: 2, misses: 0 });
    await expect(router.container(150, 'Orders').read('o')).rejects.toMatchObject({ code: 'mapping-offline' });
  });
});

describe('a shard that does not answer', () => {
  it('a shard that does not answer is looked up once at a time, after 5 to 30 s again, and immediately after a success', async () => {
    const { map, west } = await scene();
    await ordersIn(west).items.create(order('o', 5));
    const clock = new Hand();
    let isDead = false;
    const around: Around = (request, send) => {
      if (isDead && request.url.includes(`/dbs/${west.location.database}/`)) throw refused();
      return send();
    };
    await using router = await route(map, around, { clock, validForMs: 1_000_000 });
    const orders = router.container(5, 'Orders');
    const read = (): Promise<unknown> => orders.read('o');
    await read();
    isDead = true;
    const { lookups: before } = router.counters();
    const silent = { code: 'shard-silent', retryable: true };
    const all = await Promise.allSettled(Array.from({ length: 20 }, read));
    for (const one of all) expect(one).toMatchObject({ status: 'rejected', reason: silent });
    // The shard's document, and the ids of its mappings.
    const lookups = (): number => (router.counters().lookups - before) / 2;
    expect(lookups()).toBe(1);
    const seconds: number[] = [];
    for (let second = 1, known = 1; second <= 120; second += 1) {
      clock.ms += 1_000;
      await expect(read()).rejects.toMatchObject(silent);
      if (lookups() > known) seconds.push(second);
      known = lookups();
    }
    expect(seconds).toEqual([5, 15, 35, 65, 95]);
    isDead = false;
    await read();
    isDead = true;
    await expect(read()).rejects.toMatchObject(silent);
    expect(lookups()).toBe(7);
    expect(router.counters().refusals).toBe(20 + 120 + 1);
  });

  it('a shard that does not answer is found where it was attached again, and where its mappings were moved to', async () => {
    const { map, west, east, lower } = await scene();
    const [, second] = await map.splitMapping(lower, 50);
    for (const key of [5, 60]) await ordersIn(east).items.create(order('o', key));
    const dead = west.location.database;
    const around: Around = (request, send) => {
      if (request.url.includes(`/dbs/${dead}/`)) throw refused();
      return send();
    };
    const clock = new Hand();
    await using router = await route(map, around, { clock, fill: true });
    const offline = await map.markOffline(second);
    await map.updateMapping(offline, { shard: east, status: 'online' });
    const detached = await map.detachShard(west);
    await expect(router.container(5, 'Orders').read('o')).rejects.toMatchObject({ code: 'shard-detached' });
    expect(await router.container(60, 'Orders').read('o')).toBeDefined();
    // A restore of the database under another name.
    const restored = await stage.shardDatabase();
    for (const container of ['shardmap', 'Orders']) {
      const { resources } = await stage.database(dead).container(container).items.readAll().fetchAll();
      for (const document of resources) await stage.database(restored).container(container).items.upsert(document);
    }
    await stage
      .database(restored)
      .container('Orders')
      .items.create(order('o', 5, 'restored'));
    await map.attachShard(detached, { database: restored });
    expect(await router.container(5, 'Orders').read('o')).toMatchObject({ note: 'restored' });
  });
});

describe('a pass', () => {
  it('a pass is given in memory, and not for a mapping that went offline', async () => {
    const { map, lower, east } = await scene();
    let requests = 0;
    const around: Around = (request, send) => {
      if (!request.url.includes('routers')) requests += 1;
      return send();
    };
    const application = stage.client(around);
    const connect: RouterOptions['connect'] = ({ database }) => application.database(database);
    await using router = await route(map, around, { connect });
    {
      using pass = await router.enter(5);
      expect(pass.key).toBe(5);
      await pass.container('Orders').items.create(order('o', 5), { abortSignal: pass.signal });
    }
    expect(await router.container(5, 'Orders').read('o')).toBeDefined();
    const warm = requests;
    for (let times = 0; times < 100; times++) (await router.enter(5))[Symbol.dispose]();
    expect(requests).toBe(warm);
    expect(router.counters().hits).toBeGreaterThanOrEqual(100);
    const offline = await map.markOffline(lower);
    expect(await entered(router, 5)).toBe('mapping-offline');
    await map.updateMapping(offline, { shard: east, status: 'online' });
    await expect.poll(() => entered(router, 5), { timeout: 5_000 }).toBe(east.location.database);
  });

  it('a pass is held while its key moves: every acknowledged write is on the new shard in the end', async () => {
    const at = await scene();
    const application = stage.client();
    await using router = await route(at.map, undefined, { connect: ({ database }) => application.database(database) });
    const acknowledged: string[] = [];
    const refusals = new Set<string>();
    const end = new AbortController();
    const write = async (): Promise<void> => {
      while (!end.signal.aborted) {
        const entering = await router.enter(5).catch((error: { code: string }) => error.code);
        if (typeof entering === 'string') {
          refusals.add(entering);
          await vi.waitUntil(async () => (await entered(router, 5)) !== 'mapping-offline', { timeout: 30_000 });
          continue;
        }
        using pass = entering;
        const id = `o${acknowledged.length}`;
        await pass.container('Orders').items.create(order(id, 5), { abortSignal: pass.signal });
        acknowledged.push(id);
      }
    };
    const writing = write();
    const writes = async (least: number): Promise<void> =>
      expect.poll(() => acknowledged.length, { timeout: 5_000 }).toBeGreaterThan(least);
    await writes(3);
    await move(at, at.lower, at.west, at.east);
    await writes(acknowledged.length + 3);
    end.abort();
    await writing;
    const ids = async (shard: Shard): Promise<string[]> =>
      (await ordersIn(shard).items.query<string>('SELECT VALUE c.id FROM c').fetchAll()).resources;
    expect([...refusals].filter((code) => code !== 'mapping-offline')).toEqual([]);
    expect(await ids(at.west)).toEqual([]);
    expect((await ids(at.east)).toSorted()).toEqual(acknowledged.toSorted());
  });

  it('a pass is not given after the router was closed', async () => {
    const { map } = await scene();
    const router = await route(map);
    (await router.enter(5))[Symbol.dispose]();
    await router[Symbol.asyncDispose]();
    await expect(router.enter(150)).rejects.toMatchObject({ code: 'gate-closed' });
  });
});

describe('a router refuses', () => {
  it('a map or a store that is not there, or of a later version', async () => {
    const { map } = await scene();
    const open = (name: string, database: string): Promise<Router> =>
      openRouter(name, { ...stage.optionsOf(database), database: stage.database(database) });
    await expect(open('nothing', options.database.id)).rejects.toMatchObject({ code: 'not-found' });
    const shard = await stage.shardDatabase();
    await expect(open(map.name, shard)).rejects.toMatchObject({ code: 'not-found' });
    const other = await stage.options();
    await ShardMapManager.create(other);
    const store = stage.database(other.database.id).container('shardmaps').item('store', 'store');
    await store.patch([{ op: 'set', path: '/format', value: 99 }]);
    await expect(open(map.name, other.database.id)).rejects.toMatchObject({ code: 'format-too-new' });
  });

  it('a router refuses to go on without the role of a reader', async () => {
    const { map } = await scene();
    const stranger = stage.client(undefined, { aadCredentials: stage.emulator.credential('stranger') });
    const denied = { code: 'denied' };
    const database = stranger.database(options.database.id);
    await expect(route(map, undefined, { database })).rejects.toMatchObject(denied);
    await using router = await route(map, undefined, { connect: (to) => stranger.database(to.database) });
    await expect(router.enter(5)).rejects.toMatchObject(denied);
  });

  it('a router refuses to write without the role on `routers`, and names the least role', async () => {
    const { map } = await scene();
    const looker = stage.client(undefined, { aadCredentials: stage.emulator.credential('looker') });
    const database = looker.database(options.database.id);
    await using router = await route(map, undefined, { database, connect: (to) => looker.database(to.database) });
    expect(await router.container(5, 'Orders').read('o')).toBeUndefined();
    await expect(router.enter(5)).rejects.toMatchObject({
      code: 'denied',
      message: expect.stringContaining(`may not write routers in database ${options.database.id}`) as string,
      hint: expect.stringMatching(/Contributor" on the container routers, and on no other/) as string,
    });
    const stranger = stage.client(undefined, { aadCredentials: stage.emulator.credential('stranger') });
    await expect(
      ShardMapManager.get({ ...options, database: stranger.database(options.database.id) }),
    ).rejects.toMatchObject({ code: 'denied', hint: expect.stringContaining('Data Reader') as string });
  });

  it('a key that has no mapping or another type, and a map that was deleted', async () => {
    const empty = await manager.createListMap('empty', { keyType: 'guid', schema: SCHEMA });
    await using router = await route(empty);
    expect(() => router.container(5, 'Orders')).toThrow(expect.objectContaining({ code: 'shard-key-invalid' }));
    await expect(router.enter(5)).rejects.toMatchObject({ code: 'shard-key-invalid' });
    const key = '00000000-0000-0000-0000-000000000005';
    await expect(router.enter(key)).rejects.toMatchObject({ code: 'mapping-missing' });
    await manager.deleteMap('empty');
    await expect(router.container(key, 'Orders').read('o')).rejects.toMatchObject({ code: 'not-found' });
  });

  it('a container without the key in its schema, and names one that a shard lacks', async () => {
    const { map, west } = await scene();
    await using router = await route(map);
    expect(() => router.container(5, 'orders')).toThrow('did you mean Orders?');
    expect(() => router.container(5, 'Currencies')).toThrow(expect.objectContaining({ code: 'container-unsharded' }));
    await stage.database(west.location.database).container('Orders').delete();
    await expect(router.container(5, 'Orders').read('o')).rejects.toMatchObject({ code: 'container-missing' });
  });

  it('a router refuses to go round for ever where the map and a shard stay different', async () => {
    const { map, west } = await scene();
    const local = stage.database(west.location.database).container('shardmap');
    const { resources } = await local.items
      .query<{ id: string; pk: string }>("SELECT * FROM c WHERE c.type = 'millrace.mapping'")
      .fetchAll();
    for (const { id, pk } of resources) await local.item(id, pk).delete();
    await using router = await route(map, undefined, { clock: new Hand() });
    await expect(router.enter(5)).rejects.toMatchObject({ code: 'shard-map-changing' });
    await local.item('header', resources[0]!.pk).delete();
    await expect(router.enter(5)).rejects.toMatchObject({ code: 'local-map-missing' });
  });
});

/** The database that a write of the key would go to, or why it would go nowhere. */
const entered = (router: Router, key: number): Promise<string> =>
  router.enter(key).then(
    (pass) => {
      pass[Symbol.dispose]();
      return pass.shard.location.database;
    },
    (error: { code: string }) => error.code,
  );

const refused = (): Error => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
