import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { ABANDONED_MS } from '../../../src/procedures/journal/lock.ts';
import { Lacking } from '../../../src/procedures/backfill/without-tenant.ts';
import { Processed } from '../../../src/procedures/backfill/processed.ts';
import { ServiceClock } from '../../../src/procedures/backfill/service-clock.ts';
import { fromField } from '../../../src/procedures/backfill/values.ts';
import { type WriteOptions, write } from '../../../src/procedures/backfill/write.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { Meter } from '../../../src/cosmos/budget/charge-meter.ts';
import { physicalRanges } from '../../../src/cosmos/physical-ranges.ts';
import { ManualClock } from '../../support/clock.ts';
import { changeGate, ensureGate } from '../../../src/shards/gate/write-gate.ts';
import { untilStopped } from '../../../src/feed/tenure/fences.ts';
import { CosmosAccess } from '../../../src/access/cosmos-access.ts';
import { type Shop, addCustomers, openShop, order, quiet, run, stored } from './shop.ts';

const signal = AbortSignal.timeout(100_000);
let shop: Shop;
beforeEach(async () => {
  shop = await openShop();
  await addCustomers(shop);
});
afterEach(() => shop[Symbol.asyncDispose]());

const put = (...docs: readonly (Doc & { id: string })[]) =>
  Promise.all(docs.map((doc) => shop.container('Orders').items.upsert(doc)));

describe('values', () => {
  it('values come from another field of the document, and everything else in it stays', async () => {
    await put(
      order('deep', { shop: { storeId: 's7' }, tags: ['x'] }),
      order('has', { storeId: 's1' }),
      order('null', { shop: { storeId: 's8' }, storeId: null }),
    );
    expect(await run(quiet(shop), { values: { from: 'shop.storeId' } })).toMatchObject({ written: 2, left: 0 });
    const found = await stored(shop, 'Orders');
    expect(found['deep']).toMatchObject(order('deep', { shop: { storeId: 's7' }, tags: ['x'], storeId: 's7' }));
    expect(found['null']).toMatchObject({ storeId: 's8' });
    expect(found['has']).not.toHaveProperty('_mr');
    expect(await run(quiet(shop), { values: { from: 'shop.storeId' } })).toMatchObject({ written: 0, left: 0 });
    expect(await stored(shop, 'Orders')).toEqual(found);
  });

  it('values come from a document that this one names, and documents without one are named and left alone', async () => {
    await put(
      order('known', { customerId: 'c0' }),
      order('stranger', { customerId: 'c9' }),
      order('text', { customerId: 'c8' }),
    );
    await shop.container('Customers').items.upsert({ id: 'c8', type: 'customer', storeId: '', name: 'Empty' });
    const result = await run(quiet(shop));
    expect(result).toMatchObject({ container: 'Orders', field: 'storeId', written: 1, left: 2 });
    expect(result.examples.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
      { key: ['c9'], id: 'stranger', why: 'there is no Customers/c9' },
      { key: ['c8'], id: 'text', why: 'Customers/c8 has "" as storeId, which is not a tenant: a text' },
    ]);
    expect((await stored(shop, 'Orders'))['stranger']).not.toHaveProperty('storeId');
  });

  it('values are found again where the document changed between the read and the write', async () => {
    const { resource } = await shop.container('Orders').items.upsert(order('o', { at: 's3' }));
    await put(order('o', { at: 's4', cents: 7 }));
    expect(await write(due(resource ?? {}, 's3'), access(), writing('at'))).toBe('written');
    expect((await stored(shop, 'Orders'))['o']).toMatchObject({ at: 's4', cents: 7, storeId: 's4' });
  });
});

describe('documents', () => {
  it('documents of a type alone, derived ones, and those that leave for the archive are told apart', async () => {
    await put(
      order('one'),
      order('other', { type: 'note' }),
      order('derived', { _mr: { by: 'x@1' } }),
      order('leaving', { ttl: 86_417 }),
      order('own', { type: 'millrace.restoring' }),
    );
    expect(await run(quiet(shop), { values: { value: 's5' }, type: 'order' })).toMatchObject({ written: 1, left: 0 });
    expect(await run(quiet(shop), { values: { value: 's6' } })).toMatchObject({ written: 1, left: 0 });
    const found = await stored(shop, 'Orders');
    expect(Object.values(found).map(({ id, storeId }) => [id, storeId])).toEqual(
      expect.arrayContaining([
        ['one', 's5'],
        ['other', 's6'],
        ['derived', undefined],
        ['leaving', undefined],
        ['own', undefined],
      ]),
    );
  });

  it('documents that got the tenant, or were deleted, meanwhile are left alone', async () => {
    const [first, second] = await put(order('given'), order('gone'));
    await put(order('given', { storeId: 'theirs' }));
    await shop.container('Orders').item('gone', 'c1').delete();
    expect(await write(due(first?.resource ?? {}, 's3'), access(), writing())).toBe('had');
    expect(await write(due(second?.resource ?? {}, 's3'), access(), writing())).toBe('had');
    expect(await stored(shop, 'Orders')).toMatchObject({ given: { storeId: 'theirs' } });
  });

  it('documents whose keys move, or are on another shard, are left alone and named', async () => {
    await put(order('here', { customerId: 'c1' }), order('moves', { customerId: 'c2' }));
    const foreign = () => Promise.resolve((key: readonly unknown[]) => key[0] === 'c2');
    const result = await run(quiet(shop), { values: { value: 's5' }, foreign });
    expect(result).toMatchObject({ written: 1, left: 1 });
    expect(result.examples).toEqual([{ key: ['c2'], id: 'moves', why: 'its key moves, or is on another shard' }]);
    expect((await stored(shop, 'Orders'))['moves']).not.toHaveProperty('_mr');
  });

  it('documents that the container refuses are named', async () => {
    await shop.container('Orders').delete();
    await shop.services.place.database.containers.create({
      id: 'Orders',
      partitionKey: { paths: ['/customerId'] },
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/storeId'] }] },
    });
    await put(order('first', { storeId: 's1' }), order('second'));
    const { left, examples } = await run(quiet(shop), { values: { value: 's1' } });
    expect({ left, examples }).toMatchObject({ left: 1, examples: [{ id: 'second', why: /unique key/ }] });
  });

  it('documents without a value in their key are filled beside those where it is null', async () => {
    const orders = shop.container('Orders');
    for (const key of [{}, { customerId: null }]) await orders.items.create({ id: 'same', type: 'order', ...key });
    expect(await run(quiet(shop), { values: { value: 's1' } })).toMatchObject({ left: 0, examples: [] });
    for (const level of [{}, null])
      expect((await orders.item('same', [level]).read<object>()).resource).toMatchObject({ storeId: 's1' });
  });
});

it('a pipeline without tenants has nothing to backfill', async () => {
  const { tenant: _, ...pipeline } = shop.loaded.pipeline;
  const given = run({ ...shop, loaded: { ...shop.loaded, pipeline } });
  await expect(given).rejects.toMatchObject({ code: 'tenant-undeclared' });
});

describe('the life of a document', () => {
  it.each([
    ['its own', -1, 1_000, 1_000],
    ['its container’s', 500, undefined, 500],
    ['none', 500, -1, undefined],
    ['none where the container has none', undefined, 1_000, undefined],
  ])('the life of a document stays as it was: %s', async (_, defaultTtl, ttl, whole) => {
    const { resource } = await shop.container('Orders').read();
    await shop.container('Orders').replace({
      id: 'Orders',
      partitionKey: resource?.partitionKey ?? { paths: [] },
      ...(defaultTtl !== undefined && { defaultTtl }),
    });
    await put(order('o', ttl === undefined ? {} : { ttl }));
    const before = (await stored(shop, 'Orders'))['o'] ?? {};
    // The service's time is another than this machine's from here on.
    shop.emulator.advance(300_000);
    await run(quiet(shop), { values: { value: 's1' } });
    const after = (await stored(shop, 'Orders'))['o'] ?? {};
    expect(after['storeId']).toBe('s1');
    const until = Number(before['_ts']) + (whole ?? 0);
    const now = whole === undefined && after['ttl'] === ttl ? 'never' : Number(after['_ts']) + Number(after['ttl']);
    expect(whole === undefined ? ['never'] : [until - 1, until, until + 1]).toContain(now);
  });
});

describe('reactions', () => {
  it('reactions get what applications wrote, and no backfill', async () => {
    await put(order('o1', { cents: 1 }), order('o2', { cents: 2 }));
    const app = await shop.host();
    await app.drained(signal);
    expect(await run(shop)).toMatchObject({ written: 2, left: 0 });
    const { resource } = await shop.container('Orders').item('o1', 'c1').read<Doc>();
    expect(resource).toHaveProperty('_mr.backfilled');
    // The application writes back everything that it has read, with another content.
    await put({ ...(resource as Doc & { id: string }), cents: 3 });
    await app.drained(signal);
    await app.stop();
    expect(shop.reactions.map(({ id, cents }) => `${String(id)} ${String(cents)}`).toSorted()).toEqual([
      'o1 1',
      'o1 3',
      'o2 2',
    ]);
    expect((await stored(shop, 'Days'))['day|2026-01-01|none']).toBeUndefined();
    expect(Object.values(await stored(shop, 'Days')).filter(({ type }) => type === 'day')).toMatchObject([
      { storeId: 's1', orders: 2, cents: 5 },
    ]);
  });

  it('reactions get every version that applications wrote, and no backfill, by the feed of all versions', async () => {
    await shop[Symbol.asyncDispose]();
    shop = await openShop({}, undefined, 'all-versions');
    await addCustomers(shop);
    const app = await shop.host();
    await app.drained(signal);
    for (const cents of [1, 2]) await put(order('o1', { cents }));
    expect(await run(shop)).toMatchObject({ written: 1, left: 0 });
    await put(order('o1', { cents: 3, storeId: 's1' }));
    await app.drained(signal);
    await app.stop();
    expect(shop.reactions.map(({ cents, storeId }) => [cents, storeId])).toEqual([
      [1, undefined],
      [2, undefined],
      [3, 's1'],
    ]);
  });

  it('reactions lose no change that no host has processed: its document waits', async () => {
    await put(order('o1'));
    const waiting = await run(shop, { patienceMs: 0 });
    expect(waiting).toMatchObject({
      written: 0,
      left: 1,
      examples: [{ why: 'no host has processed its last change' }],
    });
    const app = await shop.host();
    expect(await run(shop)).toMatchObject({ written: 1, left: 0 });
    await app.drained(signal);
    await app.stop();
    expect(shop.reactions.map(({ id, storeId }) => [id, storeId])).toEqual([['o1', undefined]]);
  });

  it('reactions get a document whose change they have parked, since they never had it', async () => {
    await shop[Symbol.asyncDispose]();
    shop = await openShop({}, ({ id, storeId }) => id === 'bad' && storeId === undefined);
    await addCustomers(shop);
    await put(order('bad'), order('good'));
    const app = await shop.host();
    await app.drained(signal);
    expect(await app.deadLetters.list('calls@1')).toMatchObject([{ id: 'bad' }]);
    expect(await run(shop)).toMatchObject({ written: 2, left: 0 });
    await app.drained(signal);
    expect(await app.deadLetters.list('calls@1')).toEqual([]);
    await app.stop();
    expect(shop.reactions.map(({ id, storeId }) => [id, storeId])).toEqual([
      ['good', undefined],
      ['bad', 's1'],
    ]);
  });
});

it('positions count once a letter that was written before them must be visible, and for no tenant with a queue', async () => {
  await put(order('o1'));
  const app = await shop.host();
  await app.drained(signal);
  await app.stop();
  const clock = new ManualClock();
  const processed = await Processed.open('Orders', shop, {
    projections: ['calls@1'],
    clock,
    readLagMs: 5_000,
    signal,
  });
  const [range] = await physicalRanges(shop.container('Orders'));
  const change = { container: 'Orders', type: 'order', key: ['o1'], id: 'o1', at: 0, op: 'upsert' } as const;
  const first = { ...change, version: { epoch: 1, lsn: 1, etag: '' } };
  const isProcessed = async () => (await processed.of(range ?? { min: '', max: 'FF' }))(first);
  expect(await isProcessed()).toBe(false);
  clock.advance(4_999);
  expect(await isProcessed()).toBe(false);
  clock.advance(1);
  expect(await isProcessed()).toBe(true);
  const { state } = shop.services.place;
  const pk = `deferred|${shop.loaded.pipeline.name}|Orders`;
  const queues = [{ id: 'of-a-host|0', tenant: 's1', min: '', max: 'FF' }];
  await state.items.create({ id: 'register', pk, type: 'millrace.deferred', owners: [], queues });
  expect(await isProcessed()).toBe(false);
});

describe('one process', () => {
  it('one process backfills a container at a time, and what another died in is resumed', async () => {
    await put(order('o1'));
    const lock = { id: 'backfilling|Orders', pk: 'locks', type: 'millrace.lock', holder: 'x', actor: 'root' };
    const aliveAt = new Date().toISOString();
    await shop.services.place.state.items.create({ ...lock, aliveAt });
    await expect(run(quiet(shop))).rejects.toMatchObject({ code: 'under-way', message: /root renewed it/ });
    const later = { ...systemClock, now: () => Date.now() + ABANDONED_MS };
    expect(await run(quiet(shop), { clock: later })).toMatchObject({ written: 1, left: 0 });
  });

  it('of two backfills at once one is refused', async () => {
    await put(order('o1'));
    const ended = await Promise.allSettled([run(quiet(shop)), run(quiet(shop))]);
    expect(ended.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(ended.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'under-way' } });
    expect((await stored(shop, 'Orders'))['o1']).toMatchObject({ storeId: 's1' });
  });

  it('a backfill writes through the write gate, and not where writers no longer write', async () => {
    await put(order('o1'));
    const { state } = shop.services.place;
    const gate = await ensureGate(state, 'Orders');
    await changeGate(state, gate, { state: 'open', target: { container: 'Summaries' } });
    await expect(run(quiet(shop))).rejects.toMatchObject({ code: 'wrong-state' });
    expect((await stored(shop, 'Orders'))['o1']).not.toHaveProperty('storeId');
  });
});

const access = () => new CosmosAccess(shop.services.place.database, untilStopped(signal), new Meter());

const writing = (from = 'at'): WriteOptions => ({
  field: 'storeId',
  defaultTtl: undefined,
  lacking: new Lacking(shop.container('Orders'), 'storeId', undefined, []),
  values: fromField(from, { field: 'storeId', kind: 'string' }),
  clock: new ServiceClock(systemClock),
  gated: false,
});

const due = (of: Doc, value: string) => ({
  change: { container: 'Orders', key: ['c1'], id: String(of['id']) },
  stored: of,
  value,
});
