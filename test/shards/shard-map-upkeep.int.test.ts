// A map over the years: shards by time, many mappings, long repairs, a map that was lost.
import { describe, expect, it } from 'vitest';
import { type KeyTypeName, type ShardMap, ShardMapManager, ensureScheduled } from '../../src/shards/index.ts';
import { SCHEMA, bodyOf, useShardMaps } from './shard-stage.ts';

const { stage, manager, options: given } = await useShardMaps();
const maps = given.database.id;

let names = 0;
const rangeMap = (keyType: KeyTypeName = 'int32'): Promise<ShardMap> =>
  manager.createRangeMap(`map${(names += 1)}`, { keyType, schema: SCHEMA });

/** The map as another process has it. */
const elsewhere = async ({ name }: ShardMap): Promise<ShardMap> =>
  (await ShardMapManager.get(stage.optionsOf(maps))).getMap(name);

const shownOf = async (map: ShardMap): Promise<unknown[]> =>
  (await map.mappings()).map(({ low, high, shard }) => [low, high, shard]);

describe('shards by time', () => {
  const now = new Date('2026-11-24T10:00:00Z');

  /** A schedule by months, whose databases exist from November on, as many as are asked for. */
  async function scheduled(months: readonly string[], keyType: KeyTypeName = 'dateTime') {
    const map = await rangeMap(keyType);
    const prefix = `${map.name}-`;
    for (const month of months) await stage.shardDatabase({}, prefix + month);
    return { map, schedule: { every: 'month', ahead: 2, location: { database: `${prefix}{yyyy}-{mm}` } } as const };
  }

  it('shards by time are created and mapped ahead, once, however many processes do it', async () => {
    const { map, schedule } = await scheduled(['2026-11', '2026-12', '2027-01', '2027-02'], 'dateTimeOffset');
    await Promise.all([map, await elsewhere(map)].map((each) => ensureScheduled(each, schedule, now)));
    const periods = await ensureScheduled(map, schedule, now);
    expect(periods.map(({ state }) => state)).toEqual(['mapped', 'mapped', 'mapped']);
    const later = await ensureScheduled(map, schedule, new Date('2026-12-01T00:00:00Z'));
    expect(later.map(({ state }) => state)).toEqual(['mapped', 'mapped', 'created']);
    expect((await map.mappings()).map(({ low }) => low)).toEqual(
      ['2026-11', '2026-12', '2027-01', '2027-02'].map((month) => `${month}-01T00:00:00.0000000+00:00`),
    );
    expect(await map.shards()).toHaveLength(4);
    expect(await map.check()).toEqual([]);
  });

  it('shards by time fill what no mapping has, and leave what another shard has', async () => {
    const { map, schedule } = await scheduled(['2026-11', '2026-12', '2027-01']);
    const old = await map.createShard({ database: await stage.shardDatabase() });
    const middle = { low: '2026-11-10T00:00:00Z', high: '2026-11-20T00:00:00.0000001Z' };
    const mapping = await map.createMapping({ shard: old, ...middle });
    await map.createMapping({ shard: old, low: '2027-01-15T00:00:00Z' });
    expect((await ensureScheduled(map, schedule, now)).map(({ state }) => state)).toEqual(Array(3).fill('created'));
    expect((await map.mapping('2026-11-15T00:00:00Z')).id).toBe(mapping.id);
    const all = await map.mappings();
    expect(all.map(({ low }) => low)).toEqual([
      '2026-11-01T00:00:00.0000000Z',
      mapping.low,
      mapping.high,
      '2026-12-01T00:00:00.0000000Z',
      '2027-01-01T00:00:00.0000000Z',
      '2027-01-15T00:00:00.0000000Z',
    ]);
    expect(all.slice(1).map(({ low }) => low)).toEqual(all.slice(0, -1).map(({ high }) => high));
  });

  it('shards by time are a warning while their database is missing, and an error once their period has begun', async () => {
    const { map, schedule } = await scheduled(['2026-11', '2027-01']);
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    const periods = await ensureScheduled(map, schedule, now);
    expect(periods.map(({ state }) => state)).toEqual(['created', 'missing', 'created']);
    expect(periods[1]?.problem).toMatchObject({ code: 'shard-unfit' });
    expect(await warned).toMatchObject({ code: 'scheduled-shard-missing', message: /2026-12/ });
    const begun = new Date('2026-12-01T00:00:00Z');
    await expect(ensureScheduled(map, schedule, begun)).rejects.toMatchObject({ code: 'scheduled-shard-missing' });
    await stage.shardDatabase({}, `${map.name}-2026-12`);
    await stage.shardDatabase({}, `${map.name}-2027-02`);
    expect((await ensureScheduled(map, schedule, begun)).map(({ state }) => state)).toEqual([
      'created',
      'mapped',
      'created',
    ]);
  });

  it.each([
    ['a map of other keys', 'int32', {}],
    ['no such period', 'dateTime', { every: 'week' }],
    ['no period ahead', 'dateTime', { ahead: 0 }],
    ['one database for all', 'dateTime', { location: { database: 'orders-{yyyy}' } }],
  ] as const)('shards by time are refused for %s', async (_, keyType, part) => {
    const schedule = { every: 'month', ahead: 2, location: { database: '{yyyy}{mm}' }, ...part } as never;
    const done = ensureScheduled(await rangeMap(keyType), schedule, now);
    await expect(done).rejects.toMatchObject({ code: 'option-invalid' });
  });
});

it('a process that has read a map reads what other processes changed, and the rest not again', async () => {
  const map = await rangeMap();
  const shard = await map.createShard({ database: await stage.shardDatabase() });
  const mapped = await map.createMapping({ shard, low: 0, high: 100 });
  const queries: string[] = [];
  const spied = await ShardMapManager.get(
    stage.optionsOf(maps, (request, send) => {
      queries.push(/"query":"([^"]*)"/.exec(bodyOf(request))?.[1] ?? '');
      return send();
    }),
  );
  const reader = await spied.getMap(map.name);
  const wholes = (): number => queries.filter((query) => query.includes('c.id !=')).length;
  expect(await reader.mappings()).toEqual([mapped]);
  const first = wholes();
  expect(first).toBeGreaterThan(0);
  await map.lockMapping(mapped, 'x');
  const [lower, upper] = await map.splitMapping(mapped, 50, { owner: 'x' });
  await map.deleteMapping(await map.markOffline(lower, { owner: 'x' }), { owner: 'x' });
  expect(await reader.mappings()).toEqual([upper]);
  // Its own changes, beside others.
  const made = await reader.createMapping({ shard, low: 100 });
  await map.unlockMapping(upper, 'x');
  expect(await reader.mergeMappings(upper, made)).toMatchObject({ low: 50 });
  expect(await map.mappings()).toEqual(await reader.mappings());
  expect(wholes()).toBe(first);
});

it('a process that has read a map finds within an hour what was deleted without a commit', async () => {
  const map = await rangeMap();
  const shard = await map.createShard({ database: await stage.shardDatabase() });
  const mapped = await map.createMapping({ shard, low: 0 });
  let now = 0;
  const options = stage.optionsOf(maps);
  const clock = { ...options.clock!, monotonic: () => now };
  const reader = await (await ShardMapManager.get({ ...options, clock })).getMap(map.name);
  expect(await reader.mappings()).toEqual([mapped]);
  await stage.database(maps).container('shardmaps').item(mapped.id, `map|${map.name}`).delete();
  now = 3_600_000;
  expect(await reader.mappings()).toEqual([mapped]);
  now += 1;
  await expect(reader.mappings()).rejects.toMatchObject({ code: 'shard-map-damaged' });
});

describe('a shard with many differences', () => {
  it('a shard with many differences is repaired in steps, also while another process changes the map', async () => {
    const map = await rangeMap();
    const shard = await map.createShard({ database: await stage.shardDatabase() });
    const other = await map.createShard({ database: await stage.shardDatabase() });
    const { database } = shard.location;
    const empty = await stage.copyOf(database);
    for (let low = 0; low < 50; low++) await map.createMapping({ shard, low, high: low + 1 });
    const mapped = await shownOf(map);
    await stage.restore(database, empty);
    const steps: number[] = [];
    let change: Promise<unknown> | undefined;
    const progress = ({ repaired }: { readonly repaired: number }): void => {
      steps.push(repaired);
      // Another process comes between the first step and the second.
      change ??= elsewhere(map).then((one) => one.createMapping({ shard: other, low: 1_000 }));
    };
    const first = ({ inMap }: { inMap?: { low?: unknown } }) => (Number(inMap?.low) < 45 ? 'map' : undefined);
    const { repaired, stays } = await map.repairShard(shard, first, { progress });
    expect([repaired, stays.length, steps]).toEqual([45, 5, [40, 45]]);
    await change;
    expect(await map.check(shard)).toHaveLength(5);
    await map.repairShard(shard, 'shard');
    expect(await map.check()).toEqual([]);
    expect((await shownOf(map)).slice(0, -1)).toEqual(mapped.slice(0, 45));
    expect(await map.repairShard(shard, 'map')).toEqual({ repaired: 0, stays: [] });
  });
});

describe('a map that was lost', () => {
  async function lost() {
    const map = await rangeMap('int64');
    const a = await map.createShard({ database: await stage.shardDatabase() });
    const b = await map.createShard({ database: await stage.shardDatabase() });
    const moved = await map.createMapping({ shard: a, low: 0, high: 10, status: 'offline' });
    await map.createMapping({ shard: a, low: 10, status: 'offline' });
    await map.updateMapping(moved, { shard: b, status: 'online' });
    const had = (await map.mappings()).map(({ id }) => id);
    await stage.remove(maps, 'shardmaps', `map|${map.name}`);
    return { name: map.name, locations: [a.location, b.location], had };
  }

  it('a map that was lost is rebuilt from its local maps alone, with what it was created with', async () => {
    const { name, locations, had } = await lost();
    const map = await manager.rebuildMap(name.toUpperCase(), locations);
    expect(map).toMatchObject({ name, kind: 'range', keyType: 'int64', schema: SCHEMA });
    expect((await map.mappings()).map(({ id }) => id)).toEqual(had);
    // Again, as after a failure.
    await manager.rebuildMap(name, locations);
    expect(await map.check()).toEqual([]);
  });

  it('a map that was lost takes nothing from a local map that is not its own', async () => {
    const { name, locations } = await lost();
    await manager.createListMap(name, { keyType: 'int64', schema: SCHEMA });
    await expect(manager.rebuildMap(name, locations)).rejects.toMatchObject({ code: 'shard-map-damaged' });
    await expect(manager.rebuildMap('never', locations)).rejects.toMatchObject({ code: 'local-map-missing' });
  });
});
