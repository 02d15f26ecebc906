import { PriorityLevel } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { clientInside, clientOf, emulate, HASH_KEY, heldTime, refusal, watched } from './emulate.ts';

test('rules strike the nth request of a kind in a container, before or after its effect', async () => {
  const { emulator, container } = await emulate();
  emulator.faults({
    rules: [
      { operation: 'create', container: 'c', nth: 2, status: 503, effect: 'after' },
      { operation: ['create', 'read'], nth: 4, status: 403, substatus: 1014 },
      { operation: 'replace', status: 449, times: 2 },
      { operation: 'pkranges.get', status: 500, times: 1 },
    ],
  });
  const create = (id: string) => container.items.create({ id, pk: 'a' });
  expect((await create('1')).statusCode).toBe(201);
  expect(await refusal(create('2'))).toMatchObject({ code: 503 });
  expect((await create('3')).statusCode).toBe(201);
  expect(await refusal(create('4'))).toMatchObject({ code: 403, substatus: 1014 });
  const replace = () => container.item('2', 'a').replace({ id: '2', pk: 'a' });
  expect(await refusal(replace())).toMatchObject({ code: 449 });
  expect(await refusal(replace())).toMatchObject({ code: 449 });
  expect((await replace()).statusCode).toBe(200);
  expect(await refusal(container.readPartitionKeyRanges().fetchAll())).toMatchObject({ code: 500 });
  expect((await container.items.query('SELECT VALUE c.id FROM c').fetchAll()).resources).toEqual(['1', '2', '3']);
});

test('rules by probability are repeatable from the seed', async () => {
  const run = async (seed: number): Promise<string> => {
    const { container } = await emulate({}, { seed, faults: { rules: [{ probability: 0.5, status: 408 }] } });
    let outcomes = '';
    for (let i = 0; i < 30; i++) {
      outcomes += await container.items.upsert({ id: `${i}`, pk: 'a' }).then(
        () => '.',
        () => 'x',
      );
    }
    return outcomes;
  };
  const first = await run(3);
  expect(first).toMatch(/x.*\.|\..*x/);
  expect(await run(3)).toBe(first);
  expect(await run(4)).not.toBe(first);
});

test('a partition beyond its share of the RU/s answers 429 until the debt is earned back, another goes on', async () => {
  const { emulator, container } = await emulate({ throughput: 12_000 }, { faults: { enforceThroughput: true } });
  emulator.freeze(true);
  const keys = await keysByRange(container);
  emulator.throttle('d/c', 20);
  const poll = () => refusal(container.items.create({ id: `${Math.random()}`, pk: keys[0] }));
  for (let i = 0; i < 2; i++) await container.items.create({ id: `${i}`, pk: keys[0] });
  expect(await poll()).toMatchObject({ code: 429, substatus: 3200 });
  expect((await container.items.create({ id: 'x', pk: keys[1] })).statusCode).toBe(201);
  // 10 RU a second and partition; two creates of 5.5 RU have left a debt of 1.
  emulator.advance(99);
  expect(await poll()).toMatchObject({ code: 429 });
  emulator.advance(2);
  expect((await container.items.create({ id: 'y', pk: keys[0] })).statusCode).toBe(201);
  emulator.throttle('d/c', undefined);
  emulator.advance(10);
  expect((await container.items.create({ id: 'z', pk: keys[0] })).statusCode).toBe(201);
});

test('with priority levels, requests of level Low are throttled while a part is left, which others take', async () => {
  const { emulator, container } = await emulate({}, { faults: { priorityLevels: true } });
  emulator.freeze(true);
  emulator.throttle('d/c', 10);
  const create = (id: string, options = {}) => container.items.create({ id, pk: 'a' }, options);
  const low = { priorityLevel: PriorityLevel.Low };
  await create('1', low);
  emulator.advance(300);
  // 7.5 RU are left.
  await create('2', low);
  // 2 are left: a fifth of a second's RU.
  expect(await refusal(create('3', low))).toMatchObject({ code: 429, substatus: 3200 });
  await create('3');
  emulator.faults({});
  emulator.advance(1_000);
  await create('4', low);
  emulator.advance(400);
  await create('5', low);
});

test('a throughput bucket limits its own requests, and no others', async () => {
  const { emulator, container } = await emulate({}, { faults: { throughputBuckets: { '2': 10 } } });
  emulator.freeze(true);
  emulator.throttle('d/c', 100);
  let n = 0;
  const create = (throughputBucket?: number) =>
    container.items.create({ id: `${n++}`, pk: 'a' }, throughputBucket === undefined ? {} : { throughputBucket });
  for (let i = 0; i < 2; i++) await create(2);
  expect(await refusal(create(2))).toMatchObject({ code: 429, substatus: 3212 });
  // Not configured, and none at all.
  for (const other of [1, undefined]) await create(other);
  emulator.advance(200);
  await create(2);
  expect(await refusal(create(6))).toMatchObject({ code: 400 });
});

/** A key in each of the two partitions, found by the lsn that moved. */
async function keysByRange(container: Parameters<typeof idle>[0]): Promise<[string, string]> {
  const found = new Map<string, string>();
  for (let i = 0; found.size < 2; i++) {
    const { headers } = await container.item('none', `k${i}`).read();
    found.set(String(headers['x-ms-session-token']).split(':')[0]!, `k${i}`);
  }
  return [...found.values()] as [string, string];
}

test('empty polls of the feed cost, and are refused when nothing is left', async () => {
  const { emulator, container } = await emulate();
  emulator.freeze(true);
  emulator.throttle('d/c', 2);
  await idle(container);
  await idle(container);
  expect(await refusal(idle(container))).toMatchObject({ code: 429 });
});

async function idle(container: Awaited<ReturnType<typeof emulate>>['container']): Promise<void> {
  await container.items.getChangeFeedIterator({}).readNext();
}

test('time to live on command: hidden at once, counted until purged, brought back by taking the default away', async () => {
  const { emulator, container } = await emulate({ defaultTtl: 60 }, { faults: { purge: false, countExpired: true } });
  await container.items.create({ id: '1', pk: 'a' });
  emulator.advance(61_000);
  const count = async () =>
    (await container.items.query<number>('SELECT VALUE COUNT(1) FROM c').fetchAll()).resources[0];
  expect((await container.item('1', 'a').read()).statusCode).toBe(404);
  expect((await container.items.query('SELECT * FROM c').fetchAll()).resources).toEqual([]);
  expect(await count()).toBe(1);
  await container.replace({ id: 'c', partitionKey: HASH_KEY });
  expect((await container.item('1', 'a').read()).statusCode).toBe(200);
  await container.replace({ id: 'c', partitionKey: HASH_KEY, defaultTtl: 60 });
  emulator.purge();
  expect(await count()).toBe(0);
});

test('a purge takes no more than half of what a partition has, and leaves the rest for later', async () => {
  const { emulator, container } = await emulate({ defaultTtl: 60 }, { faults: { purge: false, countExpired: true } });
  emulator.freeze(true);
  for (let i = 0; i < 10; i++) await container.items.create({ id: `${i}`, pk: 'a' });
  emulator.advance(61_000);
  const left = async () => {
    emulator.throttle('d/c', undefined);
    return (await container.items.query<number>('SELECT VALUE COUNT(1) FROM c').fetchAll()).resources[0];
  };
  for (const remain of [8, 6]) {
    // A delete costs 5.5: two of them, and less than half of the 20 is left.
    emulator.throttle('d/c', 20);
    emulator.purge();
    expect(await left()).toBe(remain);
    emulator.advance(1000);
  }
  emulator.purge();
  expect(await left()).toBe(0);
});

test('a failover that loses writes gives their lsns to others', async () => {
  const { emulator, container } = await emulate(
    { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/u'] }] } },
    { faults: { historyMs: 60_000 } },
  );
  emulator.freeze(true);
  await container.items.create({ id: 'old', pk: 'a', v: 1, u: 1 });
  await container.items.create({ id: 'gone', pk: 'a', v: 1, u: 2 });
  emulator.advance(10_000);
  const lost = await container.items.upsert({ id: 'old', pk: 'a', v: 2, u: 3 });
  await container.items.create({ id: 'new', pk: 'a', v: 1, u: 4 });
  await container.item('gone', 'a').delete();
  expect(emulator.failover('d/c', 5000)).toBe(3);
  const stranger = clientOf(emulator, false);
  const fresh = stranger.database('d').container('c');
  const { resources } = await fresh.items.query('SELECT c.id, c.v FROM c').fetchAll();
  expect(resources).toEqual([
    { id: 'old', v: 1 },
    { id: 'gone', v: 1 },
  ]);
  const again = await fresh.items.create({ id: 'other', pk: 'a', u: 3 });
  expect(again.headers['x-ms-session-token']).toBe(lost.headers['x-ms-session-token']);
  stranger.dispose();
  expect(() => emulator.failover('d/c', 90_000)).toThrow('keeps the last 60000 ms');
});

test('latency holds answers back, a stalled world all of them', async () => {
  const { emulator } = await emulate();
  const client = clientInside(emulator);
  const container = client.database('d').container('c');
  await container.items.create({ id: '0', pk: 'a' });
  emulator.faults({ latencyMs: 40, jitterMs: 20 });
  const time = heldTime();
  const create = container.items.create({ id: '1', pk: 'a' });
  const created = watched(create);
  await time.until(() => emulator.stats().requests.create === 2);
  await time.pass(39);
  expect(created.done).toBe(false);
  await time.pass(21);
  await create;

  emulator.faults({});
  emulator.stall(60);
  const reads = [container.item('1', 'a').read(), container.read()];
  const calls = reads.map(watched);
  await time.until(() => emulator.stats().requests.read === 1 && emulator.stats().requests['colls.get'] === 2);
  await time.pass(59);
  expect(calls.map(({ done }) => done)).toEqual([false, false]);
  await time.pass(1);
  await Promise.all(reads);
  client.dispose();
});

test('what is under way is held back by a stall too', async () => {
  const { emulator } = await emulate();
  const client = clientInside(emulator);
  const container = client.database('d').container('c');
  await container.items.create({ id: '0', pk: 'a' });
  emulator.faults({ latencyMs: 20 });
  const time = heldTime();
  const create = container.items.create({ id: '1', pk: 'a' });
  const created = watched(create);
  await time.until(() => emulator.stats().requests.create === 2);
  emulator.stall(150);
  await time.pass(149);
  expect(created.done).toBe(false);
  // Half of the latency comes before the effect, which the stall held back, and half after it.
  await time.pass(11);
  await create;
  client.dispose();
});

test('a crash can take its time: until then no server is there', async () => {
  const { emulator, container } = await emulate();
  const back = emulator.restart(150);
  // A second order while one is carried out is the same one.
  expect(emulator.restart()).toBe(back);
  const connect = () => refusal(container.items.create({ id: '1', pk: 'a' }));
  await expect.poll(async () => (await connect()).code).toBe('ECONNREFUSED');
  await back;
  expect((await container.items.create({ id: '1', pk: 'a' })).statusCode).toBe(201);
});

test('more RU/s than the partitions can carry split them; fewer merge none', async () => {
  const { container } = await emulate({ throughput: 400 });
  for (let i = 0; i < 40; i++) await container.items.create({ id: `${i}`, pk: `k${i}` });
  const ranges = async () => (await container.readPartitionKeyRanges().fetchAll()).resources.length;
  const set = async (offerThroughput: number) => {
    const { resource, offer } = await container.readOffer();
    await offer?.replace({ ...resource, content: { offerThroughput, offerIsRUPerMinuteThroughputEnabled: false } });
  };
  for (const [throughput, count] of [
    [10_000, 1],
    [10_100, 2],
    [40_000, 4],
    [400, 4],
  ] as const) {
    await set(throughput);
    expect([throughput, await ranges()]).toEqual([throughput, count]);
  }
  expect((await container.items.readAll().fetchAll()).resources).toHaveLength(40);
  const { resources } = await container.readPartitionKeyRanges().fetchAll();
  // Each was split as often as the others.
  expect(new Set(resources.map(({ parents }) => parents.length))).toEqual(new Set([2]));
});

test('faults that are none are refused, and named', async () => {
  const { emulator } = await emulate();
  const bad = { replicaLag: 5 } as unknown as Parameters<typeof emulator.faults>[0];
  expect(() => emulator.faults(bad)).toThrow(/replicaLag/);
  expect(() => emulator.faults({ throttle: 2 })).toThrow(/throttle/);
  expect(() => emulator.faults({ rules: [{ status: 200 }] })).toThrow(/status/);
  expect(() => emulator.faults({ rules: [{ status: 503, operation: 'reads' }] })).toThrow(/request 'reads'.*read, /);
  expect(() => emulator.faults({ rules: [{ status: 503, operation: ['read', 'x.get'] }] })).toThrow(/request 'x\.get'/);
  await expect(emulate({}, { faults: { latencyMs: -1 } })).rejects.toThrow(/latencyMs/);
  emulator.faults('adverse');
});

test('a restart breaks connections and keeps what was answered', async () => {
  const { emulator, container } = await emulate({}, { faults: { latencyMs: 200 } });
  const cut = refusal(container.items.create({ id: '1', pk: 'a' }));
  await expect.poll(() => emulator.stats().requests.create).toBe(1);
  await emulator.restart();
  expect((await cut).code).toBeDefined();
  emulator.faults({});
  expect((await container.items.create({ id: '2', pk: 'a' })).statusCode).toBe(201);
});
