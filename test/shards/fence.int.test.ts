import type { Container, OperationInput } from '@azure/cosmos';
import { describe, expect, it } from 'vitest';
import { type Router, openRouter } from '../../src/client.ts';
import { fenceId } from '../../src/shards/map/fences.ts';
import { type Mapping, type Shard, type ShardMap, ShardMapManager } from '../../src/shards/index.ts';
import { type Around, SCHEMA, bodyOf, useShardMaps } from './shard-stage.ts';

const { stage, options, manager } = await useShardMaps();

interface Scene {
  readonly map: ShardMap;
  readonly west: Shard;
  readonly east: Shard;
  /** Of the key 5, in the west. */
  readonly mapping: Mapping;
}

const FENCED = { ...SCHEMA, fenced: ['Orders'] };
let names = 0;
async function scene(): Promise<Scene> {
  const map = await manager.createListMap(`map${(names += 1)}`, { keyType: 'int32', schema: FENCED });
  const west = await map.createShard({ database: await stage.shardDatabase() });
  const east = await map.createShard({ database: await stage.shardDatabase() });
  return { map, west, east, mapping: await map.createMapping({ shard: west, key: 5 }) };
}

function route(map: ShardMap, around?: Around): Promise<Router> {
  const client = stage.client(around);
  return openRouter(map.name, {
    database: client.database(options.database.id),
    connect: ({ database }) => client.database(database),
  });
}

const ordersIn = ({ location }: Shard): Container => stage.database(location.database).container('Orders');
const upsert = (id: string): OperationInput => ({ operationType: 'Upsert', resourceBody: { id, tenantId: 5 } });
const create = (id: string): OperationInput => ({ operationType: 'Create', resourceBody: { id, tenantId: 5 } });
const isBatch = (body: string): boolean => body.includes('/writes');

/** The ids of the application's documents in a shard. */
async function idsIn(shard: Shard): Promise<string[]> {
  const query = `SELECT VALUE c.id FROM c WHERE NOT STARTSWITH(c.type ?? '', 'millrace.')`;
  return (await ordersIn(shard).items.query<string>(query).fetchAll()).resources.toSorted();
}

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: unknown) => (error as { code: string }).code,
  );

describe('a fenced write', () => {
  it('a fenced write that arrives after its key went offline takes no effect', async () => {
    const { map, west, east, mapping } = await scene();
    const held = Promise.withResolvers<void>();
    const sent = Promise.withResolvers<void>();
    await using router = await route(map, async (request, send) => {
      if (!isBatch(bodyOf(request))) return send();
      sent.resolve();
      await held.promise;
      return send();
    });
    const late = router.batch(5, 'Orders', [create('late')]);
    await sent.promise;
    // Before its router has stopped.
    const offline = await map.markOffline(mapping, { wait: false });
    const moving = map.updateMapping(offline, { shard: east, status: 'online' });
    held.resolve();
    expect(await codeOf(late)).toBe('mapping-offline');
    await moving;
    expect(await idsIn(west)).toEqual([]);
    await using another = await route(map);
    await another.batch(5, 'Orders', [create('o')]);
    expect([await idsIn(west), await idsIn(east)]).toEqual([[], ['o']]);
  });

  it('a fenced write is sent again by the new mapping, if its key is online again', async () => {
    const { map, west, mapping } = await scene();
    let sent = 0;
    await using router = await route(map, async (request, send) => {
      if (isBatch(bodyOf(request)) && (sent += 1) === 1)
        await map.markOnline(await map.markOffline(mapping, { wait: false }));
      return send();
    });
    await router.batch(5, 'Orders', [create('o')]);
    expect(sent).toBe(2);
    expect(await idsIn(west)).toEqual(['o']);
  });

  it('a fenced write is refused without a fence, until the mapping goes offline and online', async () => {
    const { map, west, mapping } = await scene();
    await using router = await route(map);
    await ordersIn(west).item(fenceId(west.id), 5).delete();
    expect(await codeOf(router.batch(5, 'Orders', [upsert('o')]))).toBe('fence-closed');
    expect(await idsIn(west)).toEqual([]);
    await map.markOnline(await map.markOffline(mapping));
    expect(await router.batch(5, 'Orders', [upsert('o'), upsert('p')])).toHaveLength(2);
    expect(await idsIn(west)).toEqual(['o', 'p']);
  });

  it('a fenced write takes effect whole or not at all', async () => {
    const { map, west } = await scene();
    await using router = await route(map);
    await router.batch(5, 'Orders', [create('o')]);
    const refused = router.batch(5, 'Orders', [create('p'), create('o')]);
    await expect(refused).rejects.toMatchObject({
      code: 'fenced-write-refused',
      message: 'Cosmos DB answered operation 1 of a batch on Orders for 5 with 409',
    });
    expect(await idsIn(west)).toEqual(['o']);
    expect(await codeOf(router.batch(5, 'Currencies', []))).toBe('unsupported');
  });

  it('a fenced write whose answer is lost is sent again only if it may take effect twice', async () => {
    const { map, west } = await scene();
    let lost = 0;
    await using router = await route(map, async (request, send) => {
      const answer = await send();
      if (!isBatch(bodyOf(request)) || (lost += 1) % 2 === 0) return answer;
      throw Object.assign(new Error('lost'), { code: 'ECONNRESET' });
    });
    expect(await codeOf(router.batch(5, 'Orders', [upsert('o')]))).toBe('ambiguous-outcome');
    lost = 0;
    await router.batch(5, 'Orders', [upsert('p')], { repeatable: true });
    expect(lost).toBe(2);
    expect(await idsIn(west)).toEqual(['o', 'p']);
  });

  it('a fenced write leaves nothing of the fence in what routers read', async () => {
    const { map } = await scene();
    await using router = await route(map);
    await router.batch(5, 'Orders', [upsert('o')]);
    expect(await router.container(5, 'Orders').query('SELECT VALUE c.id FROM c').all()).toEqual(['o']);
    const { items } = await router.query<string>('Orders', 'SELECT VALUE c.id FROM c').all();
    expect(items).toEqual(['o']);
  });

  it('a fenced write costs a patch of the fence, and one key takes writes one after the other', async () => {
    const { map, west } = await scene();
    const [{ charged }, bare] = [await charge(west, true), await charge(west, false)];
    let [requests, again] = [0, 0];
    await using router = await route(map, async (request, send) => {
      const answer = await send();
      if (isBatch(bodyOf(request))) requests += 1;
      if (answer.status === 429 || answer.status === 449) again += 1;
      return answer;
    });
    const write = (at: number): Promise<unknown> => router.batch(5, 'Orders', [upsert(`o${at}`)]);
    await Promise.all(Array.from({ length: 20 }, (_, at) => write(at)));
    const { resource } = await ordersIn(west).item(fenceId(west.id), 5).read<{ writes: number }>();
    expect(resource?.writes).toBe(20 + 1);
    console.log(
      `a batch of one upsert: ${bare.charged.toFixed(1)} RU, fenced ${charged.toFixed(1)} RU; ` +
        `20 writers of one key: ${requests} batches, ${again} sent again`,
    );
    expect(charged).toBeLessThan(bare.charged + 15);
  });
});

async function charge(shard: Shard, fenced: boolean): Promise<{ charged: number }> {
  const patch: OperationInput = {
    operationType: 'Patch',
    id: fenceId(shard.id),
    resourceBody: {
      operations: [{ op: 'incr', path: '/writes', value: 1 }],
      condition: 'from c where c.mapping != ""',
    },
  };
  const answer = await ordersIn(shard).items.batch([...(fenced ? [patch] : []), upsert(`charged${fenced}`)], 5);
  expect(answer.code).toBe(200);
  return { charged: Number(answer.headers['x-ms-request-charge']) };
}

describe('fences', () => {
  it('fences are set by the process that finishes an operation', async () => {
    const { map, west, mapping } = await scene();
    // This process dies between the local map and the fence.
    const stopped = Promise.withResolvers<void>();
    const dying = await ShardMapManager.get(
      stage.optionsOf(options.database.id, (request, send) => {
        if (!bodyOf(request).includes('/generation')) return send();
        stopped.resolve();
        return new Promise(() => undefined);
      }),
    );
    void (await dying.getMap(map.name)).markOffline(mapping, { wait: false });
    await stopped.promise;
    expect(await fenceIn(west)).toMatchObject({ mapping: mapping.id });
    await map.settle();
    expect(await fenceIn(west)).toMatchObject({ mapping: null });
    expect(await map.mapping(5)).toMatchObject({ status: 'offline' });
  });

  it('fences are as before after an operation that was undone', async () => {
    const { map, west, east, mapping } = await scene();
    const offline = await map.markOffline(mapping);
    await stage.remove(east.location.database, 'shardmap');
    const moved = map.updateMapping(offline, { shard: east, status: 'online' });
    expect(await codeOf(moved)).toBe('map-operation-undone');
    expect(await fenceIn(west)).toMatchObject({ mapping: null });
    const { id } = await map.markOnline(offline);
    expect(await fenceIn(west)).toMatchObject({ mapping: id });
  });

  it('fences are for list maps, and for containers whose key is the key of the map alone', async () => {
    const made = (kind: 'List' | 'Range', schema: typeof FENCED): Promise<string> =>
      codeOf(manager[`create${kind}Map`](`unfit${(names += 1)}`, { keyType: 'int32', schema }));
    expect(await made('Range', FENCED)).toBe('option-invalid');
    expect(await made('List', { ...FENCED, fenced: ['Currencies'] })).toBe('option-invalid');
    expect(await made('List', { ...FENCED, sharded: { Orders: '/of/tenant' } })).toBe('option-invalid');
    const { map } = await scene();
    const database = await stage.shardDatabase({ Orders: '' });
    const partitionKey = { paths: ['/tenantId', '/day'], kind: 'MultiHash', version: 2 } as const;
    await stage.database(database).containers.create({ id: 'Orders', partitionKey: { ...partitionKey } as never });
    expect(await codeOf(map.createShard({ database }))).toBe('shard-unfit');
  });
});

async function fenceIn(shard: Shard): Promise<unknown> {
  return (await ordersIn(shard).item(fenceId(shard.id), 5).read()).resource;
}
