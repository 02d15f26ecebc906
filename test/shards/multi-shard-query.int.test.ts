import type { Database } from '@azure/cosmos';
import { beforeAll, describe, expect, it } from 'vitest';
import { openRouter } from '../../src/client.ts';
import { type Shard, type ShardMap } from '../../src/shards/index.ts';
import { type MultiShardQuery, multiShardQuery } from '../../src/shards/query/multi-shard-query.ts';
import type { RouterQueryOptions } from '../../src/shards/routing/values.ts';
import type { MultiShardQueryOptions, QueryShardPage } from '../../src/shards/query/types.ts';
import { type Around, SCHEMA, useShardMaps } from './shard-stage.ts';

const { stage, options, manager } = await useShardMaps();
let map: ShardMap;
let [west, east]: Shard[] = [];
beforeAll(async () => {
  [map, west, east] = await twoShards('orders');
});

/** A map with the tenants below 10 in the first shard and the others in the second, three orders each. */
async function twoShards(name: string): Promise<[ShardMap, Shard, Shard]> {
  const made = await manager.createRangeMap(name, { keyType: 'int32', schema: SCHEMA });
  const first = await made.createShard({ database: await stage.shardDatabase() });
  const second = await made.createShard({ database: await stage.shardDatabase() });
  await made.createMapping({ shard: first, high: 10 });
  await made.createMapping({ shard: second, low: 10 });
  for (const tenantId of [1, 2, 11, 12])
    for (const n of [1, 2, 3]) await ordersOf(tenantId < 10 ? first : second).items.create(order(tenantId, n));
  return [made, first, second];
}

const order = (tenantId: number, n: number) => ({ id: `${tenantId}-${n}`, tenantId, n });
const ordersOf = ({ location }: Shard) => stage.database(location.database).container('Orders');

interface Asked extends MultiShardQueryOptions {
  readonly of?: ShardMap;
  readonly container?: string;
  readonly around?: Around;
  /** The shard that is detached. */
  readonly without?: Shard;
  readonly database?: (name: string) => Database;
}

function query<T = { id: string }>(sql: string, { of = map, container = 'Orders', ...asked }: Asked = {}) {
  const client = stage.client(asked.around);
  const { without, database = (name) => client.database(name), around: _, ...rest } = asked;
  const shards = async () =>
    (await of.shards()).map(({ id, location }) => ({
      id,
      location,
      ...(id !== without?.id && { database: database(location.database) }),
    }));
  return multiShardQuery<T>({ map: of, shards, container, sql, ...rest });
}

async function pagesOf<T>(pages: AsyncIterable<QueryShardPage<T>>): Promise<QueryShardPage<T>[]> {
  const found: QueryShardPage<T>[] = [];
  for await (const page of pages) found.push(page);
  return found;
}

async function idsOf(reading: MultiShardQuery<{ id: string }>): Promise<string[]> {
  const { items } = await reading.all();
  return items.map(({ id }) => id).toSorted();
}

const ALL = [1, 11, 12, 2].flatMap((tenant) => [1, 2, 3].map((n) => `${tenant}-${n}`));

/** Answers nothing to queries of a shard, until the request is aborted. */
const silent =
  (shard: Shard): Around =>
  (request, send) => {
    const isQuery = request.method === 'POST' && request.url.includes(`/dbs/${shard.location.database}/`);
    return isQuery ? new Promise(() => undefined) : send();
  };

describe('a query over all shards', () => {
  it('a query over all shards gives the shard of each row, and what each shard cost', async () => {
    const { items, shards, failed, diagnostics, done } = await query('SELECT c.id FROM c ORDER BY c.id').all();
    expect(items.map(({ id }) => id)).toEqual(ALL);
    expect(shards).toEqual(ALL.map((id) => (id.startsWith('1-') || id.startsWith('2-') ? west!.id : east!.id)));
    expect({ failed, done }).toEqual({ failed: [], done: true });
    expect(diagnostics.map(({ shard }) => shard)).toEqual(expect.arrayContaining([west!.id, east!.id]));
    expect(diagnostics.map(({ rows }) => rows)).toEqual([6, 6]);
    for (const { requests, requestCharge } of diagnostics) {
      expect(requests).toBeGreaterThanOrEqual(3);
      expect(requestCharge).toBeGreaterThan(3);
    }
  });

  it('a query over all shards is sent by an identity that may only read', async () => {
    const router = stage.client(undefined, { aadCredentials: stage.emulator.credential('router') });
    expect(await idsOf(query('SELECT * FROM c', { database: (name) => router.database(name) }))).toEqual(ALL);
  });

  it('a query over all shards is sent by a router, over the shards that have some keys, and not to detached ones', async () => {
    const client = stage.client(undefined, { aadCredentials: stage.emulator.credential('router') });
    const [of, , last] = await twoShards('routed');
    await using router = await openRouter('routed', {
      database: client.database(options.database.id),
      connect: ({ database }) => client.database(database),
    });
    const counted = async (asked: RouterQueryOptions) =>
      (await router.query('Orders', 'SELECT c.id FROM c', asked).all()).items.length;
    expect(await Promise.all([{}, { low: 10 }, { high: 10 }, { low: 9, high: 11 }].map(counted))).toEqual([
      12, 6, 6, 12,
    ]);
    await of.detachShard(last);
    await expect(counted({})).rejects.toMatchObject({ code: 'shard-query-failed' });
    expect(await counted({ onFailure: 'partial' })).toBe(6);
    expect(() => router.query('Orders', 'SELECT * FROM c', { low: 'x' })).toThrow('is not a key');
  });

  it('a query over all shards leaves out what Millrace stores for itself, unless it is asked for', async () => {
    const own = { id: 'own', tenantId: 1, type: 'millrace.something' };
    await ordersOf(west!).items.create(own);
    const counted = async (withOwn: boolean) => (await query('SELECT c.id FROM c', { withOwn }).all()).items.length;
    expect([await counted(false), await counted(true)]).toEqual([12, 13]);
    await ordersOf(west!).item('own', 1).delete();
  });

  it('a query over all shards refuses containers that aren’t sharded, a map without shards, and aggregates', async () => {
    const refused = { code: 'container-unsharded' };
    expect(() => query('SELECT * FROM c', { container: 'Currencies' })).toThrow(expect.objectContaining(refused));
    expect(() => query('SELECT * FROM c', { container: 'toString' })).toThrow(expect.objectContaining(refused));
    const of = await manager.createListMap('empty', { keyType: 'text', schema: SCHEMA });
    await expect(query('SELECT * FROM c', { of }).all()).rejects.toMatchObject({ code: 'not-found' });
    const aggregate = { code: 'query-unsupported' };
    expect(() => query('SELECT VALUE COUNT(1) FROM c')).toThrow(expect.objectContaining(aggregate));
  });

  it('a query over all shards can’t sort by null where the client merges several physical partitions', async () => {
    const [of, first] = await twoShards('nulls');
    for (const tenantId of [3, 4, 5]) await ordersOf(first).items.create({ id: 'n', tenantId, n: null });
    const sql = 'SELECT VALUE c.n FROM c ORDER BY c.n';
    expect((await query(sql, { of }).all()).items.slice(0, 4)).toEqual([null, null, null, 1]);
    stage.emulator.split(`${first.location.database}/Orders`);
    stage.emulator.faults({ demandPlans: true });
    const failing = query(sql, { of }).all();
    await expect(failing).rejects.toMatchObject({ message: expect.stringContaining('unrecognizable type object') });
    stage.emulator.faults({});
  });

  it('a query over all shards refuses to sort by objects', async () => {
    await expect(query('SELECT * FROM c ORDER BY c.o').all()).resolves.toBeDefined();
    for (const shard of [west!, east!]) await ordersOf(shard).items.create({ id: 'o', tenantId: 7, o: { x: 1 } });
    await expect(query('SELECT * FROM c ORDER BY c.o DESC').all()).rejects.toMatchObject({ code: 'query-unsupported' });
    for (const shard of [west!, east!]) await ordersOf(shard).item('o', 7).delete();
  });
});

describe('a shard that fails', () => {
  it('a shard that fails ends the query, or is left out and named', async () => {
    const sql = 'SELECT * FROM c';
    await expect(query(sql, { without: east! }).all()).rejects.toMatchObject({ code: 'shard-query-failed' });
    const { items, failed } = await query(sql, { without: east!, onFailure: 'partial' }).all();
    expect(items).toHaveLength(6);
    expect(failed).toMatchObject([
      { shard: east!.id, location: east!.location, reason: expect.stringContaining('is detached') },
    ]);
  });

  it('a shard that fails is an error under either choice if all fail, and if rows of it were given', async () => {
    let requests = 0;
    const failing: Around = (request, send) => {
      const isQuery = request.method === 'POST' && request.url.endsWith('/colls/Orders/docs');
      if (isQuery && (requests += 1) > 2) throw Object.assign(new Error('out of order'), { code: 400 });
      return send();
    };
    const reading = query('SELECT * FROM c', { onFailure: 'partial', pageSize: 2, concurrency: 1, around: failing });
    const given: string[] = [];
    await expect(async () => {
      for await (const { id } of reading) given.push(id);
    }).rejects.toMatchObject({
      code: 'shard-query-failed',
      message: expect.stringContaining('after rows of it were given'),
    });
    expect(given.length).toBeGreaterThan(0);
    requests = 9;
    const none = query('SELECT * FROM c', { onFailure: 'partial', around: failing });
    await expect(none.all()).rejects.toMatchObject({ message: expect.stringContaining('All 2 shards failed') });
  });

  it('a shard that fails is not waited for longer than was asked', async () => {
    const around = silent(east!);
    const { failed } = await query('SELECT * FROM c', { around, onFailure: 'partial', shardWithinMs: 500 }).all();
    expect(failed).toMatchObject([{ shard: east!.id, error: { code: 'shard-query-limit' } }]);
    await expect(query('SELECT * FROM c', { around, withinMs: 40 }).all()).rejects.toMatchObject({
      code: 'shard-query-limit',
    });
    const abort = new AbortController();
    const reading = query('SELECT * FROM c', { around, signal: abort.signal }).all();
    abort.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
  });
});

describe('keys that move', () => {
  it('keys that move are strays of the shard that loses them and of the one that awaits them, and count once', async () => {
    const [of, from, to] = await twoShards('moving');
    const counted = async () => (await query('SELECT c.id FROM c', { of }).all()).items.length;
    const [lower] = await of.mappings();
    const [, mapping] = await of.splitMapping(lower!, 2);
    await of.addStrays(to, { low: 2, high: 10 });
    expect(await of.strays(to)).toEqual([{ low: 2, high: 10 }]);
    for (const n of [1, 2, 3]) await ordersOf(to).items.create(order(2, n));
    expect(await counted()).toBe(12);
    const moved = await of.updateMapping(await of.markOffline(mapping), { shard: to, status: 'online' });
    expect([await of.strays(from), await of.strays(to)]).toEqual([[{ low: 2, high: 10 }], []]);
    expect(await counted()).toBe(12);
    await expect(of.addStrays(to, { low: 5, high: 6 })).rejects.toMatchObject({ code: 'keys-mapped' });
    await expect(of.clearStrays(from, { high: 3 })).rejects.toMatchObject({ code: 'keys-mapped' });
    await of.clearStrays(from, { low: 2, high: 4 });
    expect(await of.strays(from)).toEqual([{ low: 4, high: 10 }]);
    await of.clearStrays(from);
    expect(await of.strays(from)).toEqual([]);
    // A mapping that is deleted leaves its documents, of keys that the map gives to no shard.
    await of.deleteMapping(await of.markOffline(moved));
    expect(await of.strays(to)).toEqual([{ low: 2, high: 10 }]);
  });

  it('keys that move to a shard make a query begin again, or end it if rows were given', async () => {
    const [of, , to] = await twoShards('begun');
    let arrives: (() => Promise<unknown>) | undefined = () => of.addStrays(to, { low: 3, high: 5 });
    const around: Around = async (request, send) => {
      const answer = await send();
      if (request.method === 'POST' && request.url.includes(`/${to.location.database}/colls/Orders/`)) {
        const [begin] = [arrives, (arrives = undefined)];
        await begin?.();
      }
      return answer;
    };
    expect(await idsOf(query('SELECT * FROM c', { of, around }))).toEqual(ALL);
    expect(arrives).toBeUndefined();
    const pages = query('SELECT * FROM c', { of, pageSize: 2 }).pages();
    await pages.next();
    await of.addStrays(to, { low: 5, high: 6 });
    await expect(pagesOf(pages)).rejects.toMatchObject({ code: 'shard-query-moved' });
  });

  it('keys that move from a shard don’t disturb a query, nor its continuation in another process', async () => {
    const [of, , to] = await twoShards('resumed');
    await of.addStrays(to, { low: 2, high: 10 });
    for (const n of [1, 2, 3]) await ordersOf(to).items.create(order(2, n));
    const sql = 'SELECT c.id FROM c ORDER BY c.id';
    const reading = query(sql, { of, pageSize: 5 }).pages();
    const { items, continuation } = (await reading.next()).value!;
    const [lower] = await of.mappings();
    const [, mapping] = await of.splitMapping(lower!, 2);
    await of.updateMapping(await of.markOffline(mapping), { shard: to, status: 'online' });
    const rest = await pagesOf(query(sql, { of, pageSize: 5 }).pages(continuation));
    expect([...items, ...rest.flatMap((page) => page.items)].map(({ id }) => id)).toEqual(ALL);
    const { asked, state } = JSON.parse(Buffer.from(continuation!, 'base64url').toString()) as Record<string, object>;
    const [shard] = (state as { shards: object[] }).shards;
    const changed = [
      { shards: 1 },
      { failed: [1] },
      { skip: -1 },
      { left: '1' },
      { shards: [{ ...shard, strays: 1 }] },
    ];
    const tokens = changed.map((change) => JSON.stringify({ asked, state: { ...state, ...change } }));
    const refused = { code: 'continuation-invalid' };
    await expect(pagesOf(query('SELECT c.n FROM c', { of }).pages(continuation))).rejects.toMatchObject(refused);
    for (const token of [...tokens, 'x', '{}']) {
      const pages = query(sql, { of, pageSize: 5 }).pages(Buffer.from(token).toString('base64url'));
      await expect(pagesOf(pages)).rejects.toMatchObject(refused);
    }
  });

  it('keys that move are refused a query if a local map has too many to list', async () => {
    const [of, from] = await twoShards('many');
    const local = stage.database(from.location.database).container('shardmap');
    const pk = `map|many|${from.id}`;
    await local.item('header', pk).patch([{ op: 'add', path: '/strays', value: 'unknown' }]);
    await expect(query('SELECT * FROM c', { of }).all()).rejects.toMatchObject({ code: 'strays-unknown' });
    await of.clearStrays(from);
    expect(await idsOf(query('SELECT * FROM c', { of }))).toEqual(ALL);
  });
});
