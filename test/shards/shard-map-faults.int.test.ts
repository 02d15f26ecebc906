import { describe, expect, it } from 'vitest';
import { type Mapping, type Shard, type ShardMap, ShardMapManager } from '../../src/shards/index.ts';
import { type Around, SCHEMA, bodyOf, useShardMaps } from './shard-stage.ts';

const { stage, options, manager } = await useShardMaps();

interface Scene {
  readonly map: ShardMap;
  readonly a: Shard;
  readonly b: Shard;
  readonly free: string;
  readonly online: Mapping;
  readonly next: Mapping;
  readonly offline: Mapping;
}

let names = 0;
async function scene(): Promise<Scene> {
  const map = await manager.createRangeMap(`map${(names += 1)}`, { keyType: 'int32', schema: SCHEMA });
  const a = await map.createShard({ database: await stage.shardDatabase() });
  const b = await map.createShard({ database: await stage.shardDatabase() });
  const online = await map.createMapping({ shard: a, low: 0, high: 10 });
  const next = await map.createMapping({ shard: a, low: 10, high: 20 });
  const offline = await map.createMapping({ shard: a, low: 20, high: 30, status: 'offline' });
  return { map, a, b, online, next, offline, free: await stage.shardDatabase() };
}

/** The map as another process has it, whose requests go through `around`. */
const elsewhere = async ({ map }: Scene, around?: Around): Promise<ShardMap> =>
  (await ShardMapManager.get(stage.optionsOf(options.database.id, around))).getMap(map.name);

type Act = (map: ShardMap, of: Scene, given: { readonly operationId: string }) => Promise<unknown>;

const ACTS: Readonly<Record<string, Act>> = {
  createShard: (map, { free }, given) => map.createShard({ database: free }, given),
  deleteShard: (map, { b }, given) => map.deleteShard(b, given),
  createMapping: (map, { b }, given) => map.createMapping({ shard: b, low: 30, high: 40 }, given),
  deleteMapping: (map, { offline }, given) => map.deleteMapping(offline, given),
  markOffline: (map, { online }, given) => map.markOffline(online, given),
  move: (map, { offline, b }, given) => map.updateMapping(offline, { shard: b, status: 'online' }, given),
  splitMapping: (map, { online }, given) => map.splitMapping(online, 5, given),
  mergeMappings: (map, { online, next }, given) => map.mergeMappings(online, next, given),
};

/** Writes are batches, and each counts. */
const isWrite: (request: Parameters<Around>[0]) => boolean = ({ headers }) =>
  headers.get('x-ms-cosmos-is-batch-request') !== undefined;

/** The number of writes after which a process fell silent; undefined: it came to its end before. */
async function killedAfter(of: Scene, act: Act, writes: number): Promise<boolean> {
  let sent = 0;
  let died = (): void => undefined;
  const death = new Promise<void>((resolve) => (died = resolve));
  const map = await elsewhere(of, async (request, send) => {
    if (!isWrite(request)) return send();
    if (sent++ < writes) return send();
    died();
    return new Promise(() => undefined);
  });
  const ended = act(map, of, { operationId: 'o' }).then(() => false);
  return Promise.race([ended, death.then(() => true)]);
}

describe('a process that dies before any of its writes', () => {
  it.each(Object.entries(ACTS))(
    'a process that dies before any of its writes leaves a %s that the next one finishes, or that never began',
    async (_, act) => {
      let writes = 0;
      for (let isDead = true; isDead; writes++) {
        const of = await scene();
        const untouched = (await of.map.mappings()).map(({ id }) => id);
        const shards = (await of.map.shards()).length;
        isDead = await killedAfter(of, act, writes);
        const next = await elsewhere(of);
        expect(await next.settle()).toEqual([]);
        expect(await next.check()).toEqual([]);
        const now = (await next.mappings()).map(({ id }) => id);
        const isSame = now.join() === untouched.join() && (await next.shards()).length === shards;
        // The first write begins the operation: from then on it is finished.
        expect(isSame).toBe(writes === 0);
        await act(next, of, { operationId: 'o' });
        expect(await next.check()).toEqual([]);
      }
      expect(writes).toBeGreaterThan(3);
    },
  );
});

describe('a process whose answers are lost', () => {
  it.each(Object.entries(ACTS))('a process whose answers are lost makes a %s once', async (_, act) => {
    const of = await scene();
    const lost: Around = async (request, send) => {
      const answer = await send();
      if (isWrite(request)) throw Object.assign(new Error('The connection was lost'), { code: 'ECONNRESET' });
      return answer;
    };
    await act(await elsewhere(of, lost), of, { operationId: 'o' });
    expect(await of.map.check()).toEqual([]);
    await act(of.map, of, { operationId: 'o' });
  });
});

describe('a shard that can’t be reached', () => {
  const cutOff =
    (database: () => string | undefined): Around =>
    (request, send) =>
      request.url.includes(`/dbs/${database()}/`)
        ? Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
        : send();

  it('a shard that can’t be reached undoes what needs it, and changes of others go on', async () => {
    const of = await scene();
    let down: string | undefined = of.b.location.database;
    const map = await elsewhere(
      of,
      cutOff(() => down),
    );
    const undone = { code: 'map-operation-undone', retryable: true };
    await expect(map.updateMapping(of.offline, { shard: of.b })).rejects.toMatchObject(undone);
    expect((await map.mapping(20)).id).toBe(of.offline.id);
    await map.markOffline(of.online);
    await map.markOnline(of.offline);
    // What the shard is still to undo comes first.
    await expect(map.createMapping({ shard: of.b, low: 50 })).rejects.toMatchObject({ code: 'unavailable' });
    expect(await map.settle()).toMatchObject([{ verb: 'updateMapping' }]);
    down = undefined;
    await map.createMapping({ shard: of.b, low: 50 });
    expect(await map.settle()).toEqual([]);
    expect(await map.check()).toEqual([]);
  });

  it('a shard that can’t be reached holds nothing up once it is detached, and comes back elsewhere with its mappings', async () => {
    const of = await scene();
    const lost = of.a.location.database;
    let down: string | undefined = lost;
    const map = await elsewhere(
      of,
      cutOff(() => down),
    );
    await expect(map.markOffline(of.online)).rejects.toMatchObject({ code: 'map-operation-undone' });
    const detached = await map.detachShard(of.a);
    expect(detached).toMatchObject({ id: of.a.id, detached: true });
    await expect(map.detachShard(of.a)).rejects.toMatchObject({ code: 'stale' });
    for (const use of [map.createMapping({ shard: detached, low: 60 }), map.deleteShard(detached)])
      await expect(use).rejects.toMatchObject({ code: 'shard-detached' });
    expect(await map.settle()).toEqual([]);
    // Mappings of a detached shard change in the map alone.
    const moved = await map.updateMapping(await map.markOffline(of.online), { shard: of.b, status: 'online' });
    down = undefined;
    const restored = await stage.shardDatabase();
    await stage.restore(restored, await stage.copyOf(lost));
    const attached = await map.attachShard(detached, { database: restored });
    expect(attached).toMatchObject({ id: of.a.id, detached: false, location: { database: restored } });
    await expect(map.attachShard(attached, of.a.location)).rejects.toMatchObject({ code: 'wrong-state' });
    expect((await map.mapping(0)).id).toBe(moved.id);
    // The restored local map still has the mapping that was moved away.
    const differences = await map.check(attached);
    expect(differences).toMatchObject([{ shard: of.a.id, inShard: { id: of.online.id } }]);
    await map.repair(differences, 'map');
    expect(await map.check()).toEqual([]);
  });

  it('a shard that can’t be reached is not attached where it has no local map', async () => {
    const of = await scene();
    const detached = await of.map.detachShard(of.a);
    const empty = { database: await stage.shardDatabase() };
    await expect(of.map.attachShard(detached, empty)).rejects.toMatchObject({ code: 'map-operation-undone' });
    await expect(of.map.attachShard(detached, of.b.location)).rejects.toMatchObject({ code: 'exists' });
    await of.map.attachShard(detached, of.a.location);
    expect(await of.map.check()).toEqual([]);
  });
});

describe('differences between the map and a shard', () => {
  it('differences between the map and a shard are repaired from either side, and refused once the map was changed', async () => {
    const of = await scene();
    const old = await stage.copyOf(of.a.location.database);
    await of.map.deleteMapping(await of.map.markOffline(of.online));
    await of.map.markOnline(of.offline);
    await stage.restore(of.a.location.database, old);
    const differences = await of.map.check(of.a);
    expect(differences).toHaveLength(3);
    await of.map.createMapping({ shard: of.b, low: 90 });
    await expect(of.map.repair(differences, 'shard')).rejects.toMatchObject({ code: 'stale' });
    await of.map.repair(await of.map.check(of.a), 'shard');
    expect(await of.map.check()).toEqual([]);
    expect((await of.map.mappings({ shard: of.a })).map(({ id }) => id)).toEqual([
      of.online.id,
      of.next.id,
      of.offline.id,
    ]);
    await expect(of.map.repair([], 'map')).rejects.toMatchObject({ code: 'option-invalid' });
  });

  it('differences between the map and a shard are not taken into the map where another shard has the keys', async () => {
    const of = await scene();
    const old = await stage.copyOf(of.a.location.database);
    await of.map.deleteMapping(await of.map.markOffline(of.online));
    await of.map.createMapping({ shard: of.b, low: 0, high: 5 });
    await stage.restore(of.a.location.database, old);
    await expect(of.map.repair(await of.map.check(of.a), 'shard')).rejects.toMatchObject({ code: 'keys-mapped' });
    await of.map.repair(await of.map.check(of.a), 'map');
    expect(await of.map.check()).toEqual([]);
  });

  it('differences of a map that is older than its shards don’t keep it from changing', async () => {
    const of = await scene();
    const database = options.database.id;
    const old = await stage.copyOf(database, 'shardmaps');
    const online = await of.map.markOnline(of.offline);
    await of.map.markOffline(online);
    await stage.restore(database, old, 'shardmaps');
    const map = await elsewhere(of);
    // The shard refuses it; from then on the map is newer.
    await expect(map.splitMapping(of.online, 5)).rejects.toMatchObject({ code: 'map-operation-undone' });
    await map.repair(await map.check(of.a), 'map');
    expect(await map.check()).toEqual([]);
    await map.markOffline(of.online);
    expect(await map.check()).toEqual([]);
  });
});

describe('a local map that was lost, with the documents of its shard intact', () => {
  const header = (of: Scene): string => `map|${of.map.name}|${of.a.id}`;
  /** What may be left of a local map. */
  const LOSSES: Readonly<Record<string, (of: Scene) => Promise<unknown>>> = {
    'nothing is left': ({ a }) => stage.remove(a.location.database, 'shardmap'),
    'the header is gone': (of) => shardmap(of).item('header', header(of)).delete(),
    'a mapping is gone': (of) => shardmap(of).item(of.next.id, header(of)).delete(),
    'a document was written': (of) =>
      shardmap(of).items.upsert({ id: 'x', pk: header(of), type: 'millrace.mapping', shard: of.a.id }),
    'its container was made again': async (of) => {
      await shardmap(of).delete();
      await stage.database(of.a.location.database).containers.create({ id: 'shardmap', partitionKey: '/pk' });
    },
  };
  const shardmap = ({ a }: Scene) => stage.database(a.location.database).container('shardmap');

  it.each(Object.entries(LOSSES))(
    'a local map that was lost comes back from the map where %s, and not the other way round',
    async (_, lose) => {
      const of = await scene();
      const far = await of.map.createMapping({ shard: of.b, low: 40, high: 50 });
      const before = await of.map.inspect();
      await lose(of);
      const map = await elsewhere(of);
      // The other shards are compared all the same.
      expect(await map.check()).toMatchObject([{ shard: of.a.id, lost: expect.any(String) as string }]);
      expect(await map.check(of.b)).toEqual([]);
      await expect(map.repairAll('shard')).rejects.toMatchObject({ code: 'local-map-missing' });
      expect((await map.inspect()).mappings).toEqual(before.mappings);
      expect(await map.repairAll('map')).toEqual({ repaired: 1, stays: [] });
      expect(await map.check()).toEqual([]);
      expect((await map.inspect()).mappings).toEqual(before.mappings);
      expect(await map.strays(of.a)).toMatchObject([{ low: 40, high: 50 }]);
      await map.splitMapping(of.online, 5);
      await map.updateMapping(await map.markOffline(far), { shard: of.a, status: 'online' });
      expect(await map.check()).toEqual([]);
    },
  );

  it('a local map that was lost comes back in several batches, by the process that finishes them', async () => {
    const of = await scene();
    for (let low = 100; low < 300; low++) await of.map.createMapping({ shard: of.a, low, high: low + 1 });
    let writes = 0;
    for (let isDead = true; isDead; writes++) {
      await stage.remove(of.a.location.database, 'shardmap');
      isDead = await killedAfter(of, (map) => map.repairAll('map'), writes);
      const next = await elsewhere(of);
      await next.settle();
      await next.repairAll('map');
      expect(await next.check()).toEqual([]);
    }
    // Its begin, three batches, and its end, at least.
    expect(writes).toBeGreaterThan(5);
  });

  it('a local map that was lost doesn’t keep its shard from being attached where it was, or deleted', async () => {
    const of = await scene();
    await stage.remove(of.a.location.database, 'shardmap');
    const attached = await of.map.attachShard(await of.map.detachShard(of.a), of.a.location);
    expect(await of.map.check()).toMatchObject([{ shard: of.a.id, lost: expect.any(String) as string }]);
    await of.map.repairShard(attached, 'map');
    expect(await of.map.check()).toEqual([]);
    await stage.remove(of.b.location.database, 'shardmap');
    await of.map.deleteShard(of.b);
    expect(await of.map.shards()).toHaveLength(1);
    await of.map.createShard(of.b.location);
    expect(await of.map.check()).toEqual([]);
  });

  it('a local map whose container is gone is refused until it is there again, by name', async () => {
    const of = await scene();
    await shardmap(of).delete();
    expect(await of.map.check()).toMatchObject([{ shard: of.a.id, lost: expect.any(String) as string }]);
    await expect(of.map.repairAll('map')).rejects.toMatchObject({
      code: 'shard-unfit',
      message: expect.stringContaining('no container shardmap') as string,
    });
    await stage.database(of.a.location.database).containers.create({ id: 'shardmap', partitionKey: '/pk' });
    await of.map.repairAll('map');
    expect(await of.map.check()).toEqual([]);
  });
});

it('a map that was lost comes back from its shards', async () => {
  const of = await scene();
  const moved = await of.map.updateMapping(of.offline, { shard: of.b });
  const partition = `map|${of.map.name}`;
  await stage.remove(options.database.id, 'shardmaps', partition);
  const map = await manager.createRangeMap(of.map.name, { keyType: 'int32', schema: SCHEMA });
  await expect(map.adoptShard({ database: of.free })).rejects.toMatchObject({ code: 'local-map-missing' });
  for (const { location, id } of [of.a, of.b]) {
    const shard = await map.adoptShard(location);
    expect(shard.id).toBe(id);
    await expect(map.adoptShard(location)).rejects.toMatchObject({ code: 'local-map-missing' });
    await map.repair(await map.check(shard), 'shard');
  }
  expect((await map.mappings()).map(({ id }) => id)).toEqual([of.online.id, of.next.id, moved.id]);
  await map.splitMapping(of.online, 5);
  expect(await map.check()).toEqual([]);
});

it('a document that was deleted without a commit is found', async () => {
  const of = await scene();
  await of.map.lockMapping(of.next, 'x');
  const maps = stage.database(options.database.id).container('shardmaps');
  await maps.item(of.online.id, `map|${of.map.name}`).delete();
  await expect((await elsewhere(of)).mappings()).rejects.toMatchObject({ code: 'shard-map-damaged' });
  await expect(of.map.splitMapping(of.online, 5)).rejects.toMatchObject({ code: 'shard-map-damaged' });
});

it('documents from before the last operation are not taken for the current ones', async () => {
  const of = await scene();
  const recorded: Awaited<ReturnType<Around>>[] = [];
  let replayed = 0;
  const isWhole: typeof isWrite = (request) => bodyOf(request).includes('c.id != @header');
  const recording: Around = async (request, send) => {
    const answer = await send();
    if (isWhole(request)) recorded.push(answer);
    return answer;
  };
  const lagging: Around = (request, send) =>
    isWhole(request) && replayed < recorded.length ? Promise.resolve(recorded[replayed++]!) : send();
  await (await elsewhere(of, recording)).mappings();
  // What these leave is what there was before, but for the log.
  await of.map.lockMapping(of.next, 'x', { operationId: 'locked' });
  await of.map.unlockMapping(of.next, 'x');
  const map = await elsewhere(of, lagging);
  await map.lockMapping(of.next, 'x', { operationId: 'locked' });
  expect(replayed).toBeGreaterThan(0);
  expect(await of.map.lockOwner(of.next)).toBeUndefined();
});
