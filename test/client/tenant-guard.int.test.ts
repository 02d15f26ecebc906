import { ChangeFeedStartFrom, type Database, EncryptionQueryBuilder, type FeedOptions } from '@azure/cosmos';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { acrossTenants, forTenant, guardTenants } from '../../src/client.ts';
import type { World } from '../patterns/world.ts';
import { openTenants } from './tenants.ts';

let world: World;
let open: Database;
let shop: Database;
const sent = vi.fn<() => void>();
const refused = (code: string) => expect.objectContaining({ code });

beforeAll(async () => {
  world = await openTenants(9);
  for (const [id, paths] of [
    ['orders', ['/tenant', '/user']],
    ['carts', ['/tenant']],
    ['audit', ['/id']],
    ['countries', ['/id']],
  ] as const) {
    const container = await world.create(id, paths);
    for (const tenant of ['a', 'b']) await container.items.create({ id: tenant, tenant, user: 'u', n: 1 });
  }
  open = world.client(sent)('orders').database;
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
beforeEach(async () => {
  shop = await guardTenants(open, { field: '/tenant', reference: ['countries'] });
});
afterEach(() => void vi.unstubAllEnvs());

const ask = (container: string, query: string, options?: FeedOptions): Promise<{ resources: unknown[] }> =>
  shop.container(container).items.query(query, options).fetchAll();

describe('a query that names no tenant', () => {
  it('a query that names no tenant throws its text and what to do, and sends nothing', () => {
    sent.mockClear();
    expect(() => ask('carts', 'SELECT * FROM c WHERE c.n = 1')).toThrow(
      expect.objectContaining({
        code: 'all-tenants',
        message: 'The query "SELECT * FROM c WHERE c.n = 1" of carts names no tenant in /tenant',
        hint: expect.stringMatching(/forTenant.*partitionKey.*acrossTenants\(\)/),
      }),
    );
    expect(sent).not.toHaveBeenCalled();
  });

  it.each<[string, string, FeedOptions?]>([
    ['carts', 'SELECT * FROM c', { maxItemCount: 1 }],
    ['carts', 'SELECT * FROM c', { partitionKey: null }],
    ['carts', 'SELECT * FROM c', { partitionKey: {} }],
    // The client drops the key.
    ['carts', 'SELECT * FROM c', { partitionKey: 'a', forceQueryPlan: true }],
    // A prefix is no filter.
    ['orders', 'SELECT * FROM c', { partitionKey: ['a'] }],
    ['orders', 'SELECT * FROM c', { partitionKey: 'a' }],
    ['orders', "SELECT * FROM c WHERE c.tenant = 'a' OR c.n = 1"],
    // Its key is not the tenant.
    ['audit', 'SELECT * FROM c', { partitionKey: 'a' }],
  ])('a query that names no tenant throws: %s, %s, %o', (container, query, options) => {
    expect(() => ask(container, query, options)).toThrow(refused('all-tenants'));
  });

  it.each<[string, string, FeedOptions | undefined, number]>([
    ['carts', 'SELECT * FROM c', { partitionKey: 'a' }, 1],
    ['carts', 'SELECT * FROM c', { partitionKey: ['a'] }, 1],
    ['carts', "SELECT * FROM c WHERE c.tenant = 'a'", { forceQueryPlan: true }, 1],
    ['orders', 'SELECT * FROM c', { partitionKey: ['a', 'u'] }, 1],
    ['orders', 'SELECT * FROM c WHERE c.n = 1 AND c["tenant"] = "b"', undefined, 1],
    ['audit', "SELECT * FROM c WHERE c.tenant = 'b'", undefined, 1],
    ['carts', 'SELECT * FROM c', acrossTenants(), 2],
    ['carts', 'SELECT * FROM c', acrossTenants({ maxItemCount: 1 }), 2],
    ['countries', 'SELECT * FROM c', undefined, 2],
  ])('is another than this: %s, %s, %o', async (container, query, options, found) => {
    expect((await ask(container, query, options)).resources).toHaveLength(found);
  });
});

describe('feeds and lists', () => {
  it('feeds and lists throw without a tenant', () => {
    const { items } = shop.container('carts');
    const start = ChangeFeedStartFrom.Beginning();
    for (const read of [
      () => items.readAll(),
      () => items.changeFeed(),
      () => items.changeFeed({ startFromBeginning: true }),
      () => items.readChangeFeed(),
      () => items.getChangeFeedIterator(),
      () => items.getChangeFeedIterator({ changeFeedStartFrom: start }),
      () => items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Continuation('x') }),
      () => shop.container('orders').items.changeFeed(['a'], { startFromBeginning: true }),
    ])
      expect(read).toThrow(refused('all-tenants'));
    const encrypted = items.getEncryptionQueryIterator(new EncryptionQueryBuilder('SELECT * FROM c'));
    return expect(encrypted).rejects.toEqual(refused('all-tenants'));
  });

  it('feeds and lists read one tenant, or all where that is meant', async () => {
    const [carts, orders] = [shop.container('carts').items, shop.container('orders').items];
    expect((await carts.readAll({ partitionKey: 'a' }).fetchAll()).resources).toHaveLength(1);
    expect((await carts.readAll(acrossTenants()).fetchAll()).resources).toHaveLength(2);
    const beginning = { startFromBeginning: true };
    expect((await carts.changeFeed('a', beginning).fetchNext()).result).toHaveLength(1);
    expect(carts.changeFeed(acrossTenants(beginning)).hasMoreResults).toBe(true);
    const one = await orders
      .getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning(['a']) })
      .readNext();
    expect(one.result).toMatchObject([{ tenant: 'a' }]);
    const all = acrossTenants({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() });
    expect((await orders.getChangeFeedIterator(all).readNext()).result).toHaveLength(2);
    // A continuation shows a whole key, and nothing else.
    const keyed = { changeFeedStartFrom: ChangeFeedStartFrom.Beginning('a') };
    const { continuationToken } = await carts.getChangeFeedIterator(keyed).readNext();
    const onward = (token: string) => ({ changeFeedStartFrom: ChangeFeedStartFrom.Continuation(token) });
    expect((await carts.getChangeFeedIterator(onward(continuationToken)).readNext()).result).toEqual([]);
    expect(() => orders.getChangeFeedIterator(onward(one.continuationToken))).toThrow(refused('all-tenants'));
  });
});

it('the guard lets forTenant through, and everything else as it was', async () => {
  const orders = shop.container('orders');
  expect(await forTenant(orders, 'a').query('SELECT * FROM c').all()).toMatchObject([{ id: 'a' }]);
  expect(
    await forTenant(orders, 'a')
      .query('SELECT * FROM c', { within: ['u'] })
      .all(),
  ).toHaveLength(1);
  expect(await forTenant(orders, 'b').read('b', 'u')).toMatchObject({ n: 1 });
  expect(orders.id).toBe('orders');
  expect((await orders.item('a', ['a', 'u']).read()).statusCode).toBe(200);
  await orders.items.upsert({ id: 'new', tenant: 'c', user: 'u' });
  expect((await orders.items.batch([{ operationType: 'Read', id: 'new' }], ['c', 'u'])).code).toBe(200);
  expect((await orders.item('new', ['c', 'u']).delete()).statusCode).toBe(204);
  expect((await shop.read()).resource?.id).toBe('patterns');
});

it('the guard checks one container', async () => {
  const carts = await guardTenants(open.container('carts'), { field: '/tenant' });
  expect(() => carts.items.query('SELECT * FROM c')).toThrow(refused('all-tenants'));
  expect((await carts.items.query('SELECT * FROM c', { partitionKey: 'a' }).fetchAll()).resources).toHaveLength(1);
  const countries = open.container('countries');
  expect(await guardTenants(countries, { field: '/tenant', reference: ['countries'] })).toBe(countries);
  const none = guardTenants(open.container('none'), { field: 'tenant' });
  await expect(none).rejects.toEqual(refused('container-missing'));
});

it('the guard checks the containers that are named, and those that came later', async () => {
  const later = await world.create('later', ['/tenant']);
  await later.items.create({ id: 'x', tenant: 'a' });
  expect(() => ask('later', 'SELECT * FROM c', { partitionKey: 'a' })).toThrow(refused('all-tenants'));
  expect((await ask('later', "SELECT * FROM c WHERE c.tenant = 'a'")).resources).toHaveLength(1);
  shop = await guardTenants(open, { field: 'tenant', containers: ['carts'] });
  expect(() => ask('carts', 'SELECT * FROM c')).toThrow(refused('all-tenants'));
  expect((await ask('orders', 'SELECT * FROM c')).resources).toHaveLength(2);
  const none = guardTenants(open, { field: 'tenant', containers: ['none'] });
  await expect(none).rejects.toEqual(refused('container-missing'));
});

it('the guard is off in production, unless it is switched on', async () => {
  vi.stubEnv('NODE_ENV', 'production');
  sent.mockClear();
  expect(await guardTenants(open, { field: '/tenant' })).toBe(open);
  expect(sent).not.toHaveBeenCalled();
  shop = await guardTenants(open, { field: '/tenant', enabled: true });
  expect(() => ask('carts', 'SELECT * FROM c')).toThrow(refused('all-tenants'));
});
