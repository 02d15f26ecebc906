import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openRouter } from '../../src/client.ts';
import { type Mapping, type Shard, type ShardMap, ShardMapManager } from '../../src/shards/index.ts';
import { SCHEMA, useShardMaps } from './shard-stage.ts';

const { stage, options, manager } = await useShardMaps();

let names = 0;
/** A range map with two shards of its own. */
async function rangeMap(): Promise<{ map: ShardMap; a: Shard; b: Shard }> {
  const map = await manager.createRangeMap(`range${(names += 1)}`, { keyType: 'int32', schema: SCHEMA });
  const a = await map.createShard({ database: await stage.shardDatabase() });
  const b = await map.createShard({ database: await stage.shardDatabase() });
  return { map, a, b };
}

/** The map as another process has it. */
const elsewhere = async (map: ShardMap): Promise<ShardMap> =>
  (await ShardMapManager.get(stage.optionsOf(options.database.id))).getMap(map.name);

const texts = (mappings: readonly Mapping[]): string[] => mappings.map(({ text }) => text);

describe('a manager', () => {
  it('a manager is created once, and found by the name of its database', async () => {
    const fresh = await stage.options();
    expect(await ShardMapManager.tryGet(fresh)).toBeUndefined();
    await expect(ShardMapManager.get(fresh)).rejects.toMatchObject({ code: 'not-found' });
    await ShardMapManager.create(fresh);
    await expect(ShardMapManager.create(fresh)).rejects.toMatchObject({ code: 'exists' });
    expect(await (await ShardMapManager.get(fresh)).maps()).toEqual([]);
  });

  it('a manager warns when a process opens the same maps twice, and not of one that is opened for a call', async () => {
    const early: Error[] = [];
    const note = (warning: Error): void => void early.push(warning);
    process.on('warning', note);
    await ShardMapManager.get({ ...options, brief: true });
    await nextTurn();
    process.off('warning', note);
    expect(early).toEqual([]);
    const warned = new Promise<Error & { code?: string }>((resolve) => process.once('warning', resolve));
    await ShardMapManager.get(options);
    expect((await warned).code).toBe('shard-map-manager-opened');
  });

  it('a manager refuses a database without its container', async () => {
    const database = await stage.shardDatabase();
    await expect(ShardMapManager.create(stage.optionsOf(database))).rejects.toMatchObject({
      code: 'container-missing',
    });
    await stage.database(database).containers.create({ id: 'shardmaps', partitionKey: '/pk' });
    await expect(ShardMapManager.create(stage.optionsOf(database))).rejects.toMatchObject({
      code: 'container-unfit',
    });
  });

  it('a manager names the database where that is what is missing', async () => {
    const nowhere = stage.optionsOf('nowhere');
    const message = expect.stringContaining('There is no database nowhere') as string;
    await expect(ShardMapManager.create(nowhere)).rejects.toMatchObject({ code: 'container-missing', message });
    await expect(ShardMapManager.get(nowhere)).rejects.toMatchObject({ code: 'not-found', message });
    await expect(openRouter('m', nowhere)).rejects.toMatchObject({ code: 'not-found', message });
  });

  it('a manager creates the containers that are missing, if it may', async () => {
    const asked = { ...stage.optionsOf('made'), createContainers: true };
    const made = await ShardMapManager.create(asked);
    const map = await made.createRangeMap('m', { keyType: 'int32', schema: SCHEMA });
    const bare = await stage.shardDatabase({ shardmap: '' });
    const local = stage.database(bare).container('shardmap');
    await map.createShard({ database: bare }, { dryRun: true }).catch(() => undefined);
    await expect(local.read()).rejects.toMatchObject({ code: 404 });
    const shard = await map.createShard({ database: bare });
    await map.createMapping({ shard, low: 0 });
    await using router = await openRouter('m', { ...asked, clock: systemClock });
    {
      using pass = await router.enter(5);
      expect(pass.shard.id).toBe(shard.id);
    }
    await local.delete();
    await map.repairAll('map');
    expect(await map.check()).toEqual([]);
    await expect(ShardMapManager.create(asked)).rejects.toMatchObject({ code: 'exists' });
  });

  it('a manager reads no store of a later version', async () => {
    const fresh = await stage.options();
    await fresh.database
      .container('shardmaps')
      .items.create({ id: 'store', pk: 'store', type: 'millrace.mapstore', format: 2 });
    await expect(ShardMapManager.get(fresh)).rejects.toMatchObject({ code: 'format-too-new' });
  });

  it('a manager has maps by name in any case, deletes those without shards, and lists locations once', async () => {
    const own = await stage.manager();
    const map = await own.createListMap('Tenants', { keyType: 'text', schema: SCHEMA });
    const other = await own.createRangeMap('Months', { keyType: 'dateTime', schema: SCHEMA });
    await expect(own.createRangeMap('TENANTS', { keyType: 'int32', schema: SCHEMA })).rejects.toMatchObject({
      code: 'exists',
    });
    expect(await own.getMap('tenants')).toBe(map);
    expect(await own.tryGetMap('nothing')).toBeUndefined();
    await expect(own.getMap('nothing')).rejects.toMatchObject({ code: 'not-found' });
    const database = await stage.shardDatabase();
    const shard = await map.createShard({ database });
    await other.createShard({ database });
    expect((await own.maps()).map(({ name, kind }) => `${name} ${kind}`).toSorted()).toEqual([
      'Months range',
      'Tenants list',
    ]);
    expect(await own.locations()).toEqual([{ database }]);
    await expect(own.deleteMap('Tenants')).rejects.toMatchObject({ code: 'wrong-state' });
    await map.deleteShard(shard);
    await own.deleteMap('Tenants');
    await own.deleteMap('Tenants');
    expect(await own.tryGetMap('Tenants')).toBeUndefined();
    await expect(map.shards()).rejects.toMatchObject({ code: 'not-found' });
    const again = await own.createListMap('Tenants', { keyType: 'guid', schema: SCHEMA });
    expect(await again.shards()).toEqual([]);
  });

  it.each([
    ['a name that is too long', 'x'.repeat(51), 'int32', SCHEMA],
    ['a name with a slash', 'a/b', 'int32', SCHEMA],
    ['text in ranges', 'm', 'text', SCHEMA],
    ['no schema', 'm', 'int32', undefined as never],
    ['a schema without containers', 'm', 'int32', {} as never],
    ['a path that is no text', 'm', 'int32', { sharded: { Orders: 7 as never } }],
    ['no sharded container', 'm', 'int32', { sharded: {} }],
    ['a container that is both', 'm', 'int32', { sharded: { Orders: '/tenantId' }, reference: ['Orders'] }],
    ['a path without a slash', 'm', 'int32', { sharded: { Orders: 'tenantId' } }],
  ] as const)('a manager refuses a map with %s', async (_, name, keyType, schema) => {
    await expect(manager.createRangeMap(name, { keyType, schema })).rejects.toMatchObject({
      code: 'option-invalid',
    });
  });
});

describe('a shard', () => {
  it('a shard must have the containers of the schema, with their keys, in another database than the map', async () => {
    const { map } = await rangeMap();
    const unfit = { code: 'shard-unfit' };
    const lacks = await stage.shardDatabase({ Orders: '' });
    await expect(map.createShard({ database: lacks })).rejects.toMatchObject(unfit);
    const keyed = await stage.shardDatabase({ Orders: '/id' });
    await expect(map.createShard({ database: keyed })).rejects.toMatchObject(unfit);
    await expect(map.createShard({ database: 'nowhere' })).rejects.toMatchObject({
      ...unfit,
      message: expect.stringContaining('there is no nowhere') as string,
    });
    await expect(map.createShard({ database: options.database.id })).rejects.toMatchObject(unfit);
    // Also where the application opens it with another client.
    const mixed = { ...options, connect: ({ database }: { database: string }) => stage.database(database) };
    const opened = await (await ShardMapManager.get(mixed)).getMap(map.name);
    await expect(opened.createShard({ database: options.database.id })).rejects.toThrow('has the maps');
    expect(await map.shards()).toHaveLength(2);
  });

  it('a shard is there once, and can be deleted when no mapping needs it', async () => {
    const { map, a } = await rangeMap();
    await expect(map.createShard(a.location)).rejects.toMatchObject({ code: 'exists' });
    const mapping = await map.createMapping({ shard: a, low: 0, high: 10, status: 'offline' });
    await expect(map.deleteShard(a)).rejects.toMatchObject({ code: 'wrong-state' });
    await map.deleteMapping(mapping);
    await map.deleteShard(a);
    await expect(map.deleteShard(a)).rejects.toMatchObject({ code: 'stale' });
    await expect(map.createMapping({ shard: a, low: 0, high: 1 })).rejects.toMatchObject({ code: 'stale' });
    await expect(map.shard(a.location)).rejects.toMatchObject({ code: 'not-found' });
    const again = await map.createShard(a.location);
    expect(again.id).not.toBe(a.id);
    expect(await map.shard(a.location)).toEqual(again);
  });
});

describe('mappings of a range map', () => {
  it('mappings of a range map have no key twice, and gaps', async () => {
    const { map, a, b } = await rangeMap();
    await map.createMapping({ shard: a, low: 0, high: 10 });
    await map.createMapping({ shard: b, low: 20 });
    await map.createMapping({ shard: b, high: -5 });
    for (const keys of [{ low: 5, high: 15 }, { low: -1, high: 30 }, { low: 3, high: 4 }, { low: 9 }, { high: 1 }, {}])
      await expect(map.createMapping({ shard: a, ...keys })).rejects.toMatchObject({ code: 'keys-mapped' });
    expect(texts(await map.mappings())).toEqual(['[…, -5)', '[0, 10)', '[20, …)']);
    expect(texts(await map.mappings({ low: 9, high: 20 }))).toEqual(['[0, 10)']);
    expect(texts(await map.mappings({ shard: b }))).toEqual(['[…, -5)', '[20, …)']);
    expect((await map.mapping(9)).shard).toBe(a.id);
    expect((await map.mapping(2_147_483_647)).shard).toBe(b.id);
    expect(await map.tryMapping(10)).toBeUndefined();
    await expect(map.mapping(-5)).rejects.toMatchObject({ code: 'mapping-missing' });
    for (const keys of [{ low: 3, high: 3 }, { low: 4, high: 3 }, { key: 3 }])
      await expect(map.createMapping({ shard: a, ...keys })).rejects.toMatchObject({ code: 'option-invalid' });
    await expect(map.createMapping({ shard: a, low: 0.5 })).rejects.toMatchObject({ code: 'shard-key-invalid' });
  });

  it.each([
    ['online', 'online', false],
    ['online', 'offline', false],
    ['online', 'offline', true],
    ['offline', 'online', false],
    ['offline', 'online', true],
    ['offline', 'offline', false],
    ['offline', 'offline', true],
  ] as const)('mappings of a range map go from %s to %s, to another shard: %s', async (from, to, moves) => {
    const { map, a, b } = await rangeMap();
    const before = await map.createMapping({ shard: a, low: 0, high: 10, status: from });
    const after = await map.updateMapping(before, { status: to, ...(moves && { shard: b }) });
    expect(after).toMatchObject({ shard: moves ? b.id : a.id, status: to, text: '[0, 10)' });
    await expect(map.updateMapping(before, { status: to })).rejects.toMatchObject({ code: 'stale' });
    expect(await (await elsewhere(map)).mappings()).toEqual([after]);
    expect(await map.check()).toEqual([]);
  });

  it('mappings of a range map never go from online to online in another shard', async () => {
    const { map, a, b } = await rangeMap();
    const online = await map.createMapping({ shard: a, low: 0, high: 10 });
    await expect(map.updateMapping(online, { shard: b })).rejects.toMatchObject({ code: 'wrong-state' });
    expect(await map.mappings()).toEqual([online]);
  });

  it('mappings of a range map are split inside only, and merged with a neighbour only', async () => {
    const { map, a, b } = await rangeMap();
    const whole = await map.createMapping({ shard: a, low: 0, high: 10 });
    for (const at of [-1, 0, 10, 11])
      await expect(map.splitMapping(whole, at)).rejects.toMatchObject({ code: 'option-invalid' });
    const [lower, upper] = await map.splitMapping(whole, 4);
    expect(texts([lower, upper])).toEqual(['[0, 4)', '[4, 10)']);
    await expect(map.splitMapping(whole, 5)).rejects.toMatchObject({ code: 'stale' });
    const stranger = { code: 'wrong-state' };
    await expect(map.mergeMappings(upper, lower)).rejects.toMatchObject(stranger);
    const offline = await map.markOffline(upper);
    await expect(map.mergeMappings(lower, offline)).rejects.toMatchObject(stranger);
    const moved = await map.updateMapping(offline, { shard: b, status: 'online' });
    await expect(map.mergeMappings(lower, moved)).rejects.toMatchObject(stranger);
    const back = await map.updateMapping(await map.markOffline(moved), { shard: a, status: 'online' });
    expect((await map.mergeMappings(lower, back)).text).toBe('[0, 10)');
    await expect(map.deleteMapping((await map.mappings())[0]!)).rejects.toMatchObject({ code: 'wrong-state' });
    await map.deleteMapping(await map.markOffline(await map.mapping(0)));
    expect(await map.mappings()).toEqual([]);
  });

  it('mappings of a range map of two administrators who map [0, 10) and [5, 15) at the same time are one', async () => {
    const { map, a, b } = await rangeMap();
    const other = await elsewhere(map);
    const answers = await Promise.allSettled([
      map.createMapping({ shard: a, low: 0, high: 10 }),
      other.createMapping({ shard: b, low: 5, high: 15 }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(await map.mappings()).toHaveLength(1);
    expect(await map.check()).toEqual([]);
  });

  it('mappings of a range map that are locked change with the token of the owner only', async () => {
    const { map, a } = await rangeMap();
    const whole = await map.createMapping({ shard: a, low: 0, high: 10 });
    await map.lockMapping(whole, 'anna');
    await map.lockMapping(whole, 'anna');
    expect(await (await elsewhere(map)).lockOwner(whole)).toBe('anna');
    const locked = { code: 'mapping-locked' };
    await expect(map.lockMapping(whole, 'ben')).rejects.toMatchObject(locked);
    await expect(map.markOffline(whole)).rejects.toMatchObject(locked);
    await expect(map.markOffline(whole, { owner: 'ben' })).rejects.toMatchObject(locked);
    await expect(map.unlockMapping(whole, 'ben')).rejects.toMatchObject(locked);
    const [lower, upper] = await map.splitMapping(whole, 5, { owner: 'anna' });
    expect([await map.lockOwner(lower), await map.lockOwner(upper)]).toEqual(['anna', 'anna']);
    await expect(map.mergeMappings(lower, upper, { owner: 'anna' })).rejects.toMatchObject(locked);
    await map.unlockByForce(upper);
    await map.lockMapping(upper, 'ben');
    const merged = await map.mergeMappings(lower, upper, { owner: 'anna', upperOwner: 'ben' });
    expect(await map.lockOwner(merged)).toBe('anna');
    expect(await map.unlockAll('anna')).toBe(1);
    await expect(map.markOffline(merged, { owner: 'anna' })).rejects.toMatchObject(locked);
    await map.markOffline(merged);
  });
});

describe('mappings of a list map', () => {
  it('mappings of a list map have one key each, and a shard has many', async () => {
    const map = await manager.createListMap('list', { keyType: 'text', schema: SCHEMA });
    const shard = await map.createShard({ database: await stage.shardDatabase() });
    for (const key of ['b', 'a', 'A', '']) await map.createMapping({ shard, key });
    await expect(map.createMapping({ shard, key: 'a' })).rejects.toMatchObject({ code: 'keys-mapped' });
    expect((await map.mappings()).map(({ key }) => key)).toEqual(['', 'A', 'a', 'b']);
    expect((await map.mapping('A')).text).toBe('"A"');
    expect(await map.tryMapping('ab')).toBeUndefined();
    await expect(map.createMapping({ shard, low: 'a', high: 'b' })).rejects.toMatchObject({ code: 'option-invalid' });
    await expect(map.splitMapping(await map.mapping('a'), 'b')).rejects.toMatchObject({ code: 'option-invalid' });
  });
});

describe('a call that is repeated under its operation id', () => {
  it('a call that is repeated under its operation id returns the first result, also from another process, and is refused for another call', async () => {
    const { map, a } = await rangeMap();
    const created = await map.createMapping({ shard: a, low: 0, high: 10 }, { operationId: 'o1' });
    const other = await elsewhere(map);
    expect(await other.createMapping({ shard: a, low: 0, high: 10 }, { operationId: 'o1' })).toEqual(created);
    await expect(other.createMapping({ shard: a, low: 0, high: 11 }, { operationId: 'o1' })).rejects.toMatchObject({
      code: 'option-invalid',
    });
    await expect(other.markOffline(created, { operationId: 'o1' })).rejects.toMatchObject({
      code: 'option-invalid',
    });
  });
});

describe('a routing identity', () => {
  it('a routing identity reads the map and the local maps, and changes neither', async () => {
    const { map, a } = await rangeMap();
    await map.createMapping({ shard: a, low: 0, high: 10 });
    const client = stage.client(undefined, { aadCredentials: stage.emulator.credential('router') });
    const reader = await ShardMapManager.get({
      database: client.database(options.database.id),
      connect: ({ database }) => client.database(database),
    });
    const read = await reader.getMap(map.name);
    const mapping = await read.mapping(5);
    await expect(read.markOffline(mapping)).rejects.toMatchObject({
      code: 'denied',
      hint: expect.stringContaining(
        'An identity that routes needs no more than "Cosmos DB Built-in Data Reader"',
      ) as string,
    });
    const local = client.database(a.location.database).container('shardmap');
    const { resources } = await local.items.query('SELECT * FROM c').fetchAll();
    expect(resources).toHaveLength(2);
    for (const document of resources as { id: string; pk: string }[])
      await expect(local.item(document.id, document.pk).delete()).rejects.toMatchObject({ code: 403 });
  });
});
