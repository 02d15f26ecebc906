import type { Container } from '@azure/cosmos';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { visible } from '../../src/pipeline/oracle/recompute.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { rewriteDates } from '../../src/host/local-host/host-json.ts';
import { SHOP, type Stage, openStage } from '../support/stage.ts';
import { indexApp } from './host.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const trigger = (containerName: string) => ({
  connection: 'COSMOS',
  databaseName: '%COSMOS_DATABASE%',
  containerName,
  leaseConnection: 'LEASES',
  leaseDatabaseName: '%LEASES_DATABASE%',
  leaseContainerName: '%LEASES_CONTAINER%',
  leaseContainerPrefix: `storefront.${containerName}.`,
  createLeaseContainerIfNotExists: false,
  startFromBeginning: true,
  maxItemsPerInvocation: 500,
  type: 'cosmosDBTrigger',
  direction: 'in',
});

const order = (id: string, cents: number, placedAt = '2026-01-01T10:00:00.000Z') => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt,
  cents,
});

const HTTP = ['millrace-health', 'millrace-operate', 'millrace-read'];

describe('indexing', () => {
  it('a function app registers triggers, timers and HTTP of the configured pipeline, without any setting', async () => {
    const { functions } = await indexApp({ COSMOS: '', COSMOS_DATABASE: '', JOBS_URL: '' });
    const feeds = ['feed-Catalog', 'feed-Countries', 'feed-Customers', 'feed-Orders', 'feed-Sales', 'feed-Stores'];
    expect(functions.map(({ name }) => name).toSorted()).toEqual(
      ['archive-sweep', 'doctor', 'fan-out', ...feeds, 'leases-check', 'metrics', 'verify', ...HTTP].toSorted(),
    );
    for (const { name, bindings, retryOptions } of functions.filter(({ name: of }) => feeds.includes(of))) {
      const [binding] = Object.values(bindings);
      expect(binding).toMatchObject(trigger(name.replace('feed-', '')));
      expect(Object.keys(bindings)).toHaveLength(1);
      expect(retryOptions).toMatchObject({
        retryStrategy: 'exponentialBackoff',
        maxRetryCount: -1,
        minimumInterval: { seconds: 1 },
        maximumInterval: { seconds: 60 },
      });
    }
  });

  it('a function app takes another pipeline by MILLRACE_PIPELINE, and the timers that this one needs', async () => {
    const { functions } = await indexApp({ MILLRACE_PIPELINE: SHOP, JOBS_URL: 'postgres://nowhere' });
    const names = ['doctor', 'feed-Customers', 'feed-Orders', 'jobs', 'leases-check', 'metrics', 'verify', ...HTTP];
    expect(functions.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    const timer = functions.find(({ name }) => name === 'jobs');
    expect(Object.values(timer?.bindings ?? {})).toMatchObject([{ type: 'timerTrigger', schedule: '30 * * * * *' }]);
  });

  it('a function app asks for no key for health, and for a key of its own for each of reading and operating', async () => {
    const { functions } = await indexApp({ MILLRACE_PIPELINE: SHOP });
    const http = (name: string) => Object.values(functions.find((of) => of.name === name)?.bindings ?? {})[0];
    expect(http('millrace-health')).toMatchObject({ authLevel: 'anonymous', methods: ['GET'] });
    expect(http('millrace-read')).toMatchObject({ authLevel: 'function', methods: ['GET'] });
    expect(http('millrace-operate')).toMatchObject({ authLevel: 'function', methods: ['POST'] });
    for (const name of HTTP) expect(String(http(name)?.['route'])).toMatch(/^millrace\//);
  });

  it('a function app says why when there is no pipeline, also over HTTP, and doesn’t throw', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => {});
    const app = await indexApp({ MILLRACE_PIPELINE: '/nowhere' });
    expect(app.functions.map(({ name }) => name).toSorted()).toEqual(HTTP);
    expect(said).toHaveBeenCalledWith(expect.stringContaining('There is no pipeline.ts in /nowhere'));
    said.mockRestore();
    expect(await app.request('millrace-health')).toMatchObject({
      status: 503,
      body: { ready: false, problems: [{ code: 'pipeline-missing' }] },
    });
  });
});

describe('delivery', () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await openStage();
  });
  afterEach(async () => {
    await stage[Symbol.asyncDispose]();
  });

  it.each([true, false])(
    'a trigger derives the same sink documents as the processor, dates rewritten: %s',
    async (rewrite) => {
      await write(stage);
      const app = await indexApp({ ...stage.env, MILLRACE_PIPELINE: SHOP });
      for (const container of ['Customers', 'Orders'])
        await app.deliver(`feed-${container}`, await feed(stage.container(container)), { rewrite });
      await app.terminate();

      await using other = await openStage();
      await write(other);
      const processor = await compose({ ...other, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
      await processor.start();
      await processor.drained(AbortSignal.timeout(30_000));
      await processor.stop();

      for (const container of ['Summaries', 'Days']) {
        const byTrigger = await sinkDocuments(stage.container(container));
        expect(byTrigger).toEqual(await sinkDocuments(other.container(container)));
        expect(byTrigger.length).toBeGreaterThan(0);
      }
      expect(await sinkDocuments(stage.container('Summaries'))).toContainEqual(
        expect.objectContaining({ id: 'order-3', placedAt: '2026-01-04T10:00:00.000Z', customerName: 'Ada' }),
      );
    },
  );

  it('a trigger finds documents whose id or partition key the host rewrites, also two that it makes one', async () => {
    const orders = stage.container('Orders');
    const named = (id: string, storeId: string) => ({ ...order(id, 100), storeId });
    await orders.items.upsert(named('2026-01-01T10:00:00.120Z', 's1'));
    await orders.items.upsert(named('2026-01-01T10:00:00.12Z', 's1'));
    await orders.items.upsert(named('o1', '2026-01-01T10:00:00.000Z'));
    await orders.items.upsert(named('o2', '2026-01-01T10:00:00+02:00'));
    const batch = await feed(orders);
    const app = await indexApp({ ...stage.env, MILLRACE_PIPELINE: SHOP });
    await app.deliver('feed-Orders', batch);
    await app.deliver('feed-Orders', batch, { retryCount: 1 });
    await app.terminate();
    const derived = await sinkDocuments(stage.container('Summaries'));
    const ids = (documents: Record<string, unknown>[]) => documents.map(({ id }) => String(id)).toSorted();
    expect(ids(derived)).toEqual(ids(batch));
    const days = await sinkDocuments(stage.container('Days'));
    expect(days.reduce((sum, day) => sum + Number(day['orders']), 0)).toBe(4);
  });

  it('a trigger takes a batch twice without effect, and leaves out what has a newer version by now', async () => {
    const orders = stage.container('Orders');
    await orders.items.upsert(order('o1', 100));
    const first = await feed(orders);
    // `_ts` counts seconds: of two versions within one, a reader can't tell at once which is newer.
    while ((await orders.items.upsert(order('o1', 250))).resource?._ts === first[0]?.['_ts']);
    const second = await feed(orders);
    const app = await indexApp({ ...stage.env, MILLRACE_PIPELINE: SHOP });
    for (const batch of [second, second, first]) await app.deliver('feed-Orders', batch);
    await app.deliver('feed-Orders', first, { retryCount: 3 });
    await app.terminate();
    expect(await sinkDocuments(stage.container('Days'))).toEqual([expect.objectContaining({ orders: 1, cents: 250 })]);
  });

  it('a trigger parks what can’t be applied and goes on, so that one bad order doesn’t hold the lease', async () => {
    const orders = stage.container('Orders');
    await orders.items.upsert({ ...order('bad', 1), placedAt: 7 });
    await orders.items.upsert(order('good', 100));
    const app = await indexApp({ ...stage.env, MILLRACE_PIPELINE: SHOP });
    await app.deliver('feed-Orders', await feed(orders));
    await app.terminate();
    expect(await sinkDocuments(stage.container('Days'))).toEqual([expect.objectContaining({ orders: 1, cents: 100 })]);
    const { resources } = await stage.services.place.state.items
      .query(`SELECT * FROM c WHERE c.kind = 'dead-letter'`)
      .fetchAll();
    // The copy would hold a number where its type has text.
    const bad = ['days@1', 'summaries@1'].map((projection) => expect.objectContaining({ projection, document: 'bad' }));
    expect(resources).toEqual(expect.arrayContaining(bad));
    expect(resources).toHaveLength(bad.length);
  });

  it('a trigger finishes what is in hand when the host ends it, and takes nothing more', async () => {
    const orders = stage.container('Orders');
    await orders.items.upsert(order('o1', 100));
    const batch = await feed(orders);
    const app = await indexApp({ ...stage.env, MILLRACE_PIPELINE: SHOP });
    let done = false;
    const delivered = app.deliver('feed-Orders', batch).then(() => (done = true));
    // Noted before anything is applied.
    const noted = stage.services.place.state.item('days@1', 'fingerprints');
    await vi.waitUntil(async () => (await noted.read()).statusCode === 200, 30_000);
    await app.terminate();
    expect(done).toBe(true);
    await delivered;
    expect(await sinkDocuments(stage.container('Days'))).toEqual([expect.objectContaining({ orders: 1, cents: 100 })]);
    // Not taken and not lost: the host leaves its lease where it is.
    await expect(app.deliver('feed-Orders', batch)).rejects.toMatchObject({ code: 'shutting-down', retryable: true });
  });

  it('a trigger rejects for infrastructure, so that the host delivers the batch again, and recovers', async () => {
    const orders = stage.container('Orders');
    await orders.items.upsert(order('o1', 100));
    const batch = await feed(orders);
    const broken = await indexApp({ ...stage.env, COSMOS: 'nonsense', MILLRACE_PIPELINE: SHOP });
    await expect(broken.deliver('feed-Orders', batch)).rejects.toThrow('The setting COSMOS');
    const app = await indexApp({ ...stage.env, MILLRACE_PIPELINE: SHOP });
    await app.deliver('feed-Orders', batch, { retryCount: 1 });
    await app.terminate();
    expect(await sinkDocuments(stage.container('Days'))).toHaveLength(1);
  });
});

it('the host of Functions rewrites dates as Newtonsoft.Json does', () => {
  expect(
    rewriteDates({
      a: ['2026-01-01T10:00:00.000Z', '2026-01-01T10:00:00.120Z', '2026-01-01', '2026-01-01T10:00:00+02:00', 'x'],
    }),
  ).toEqual({
    a: ['2026-01-01T10:00:00Z', '2026-01-01T10:00:00.12Z', '2026-01-01', '2026-01-01T08:00:00+00:00', 'x'],
  });
});

async function write(stage: Stage): Promise<void> {
  await stage.container('Customers').items.upsert({ id: 'c1', type: 'customer', storeId: 's1', name: 'Ada' });
  for (let n = 0; n < 12; n++) {
    await stage.container('Orders').items.upsert({
      id: `order-${n}`,
      type: 'order',
      storeId: `s${n % 2}`,
      customerId: n % 3 === 0 ? 'c1' : 'c2',
      placedAt: `2026-01-0${1 + (n % 4)}T10:00:00.000Z`,
      cents: 100 + n,
      ...(n === 7 ? { cancelled: true } : {}),
    });
  }
}

/** Every current document as the feed gives it, with `_lsn`. */
async function feed(container: Container): Promise<Record<string, unknown>[]> {
  const { ChangeFeedStartFrom } = await import('@azure/cosmos');
  const iterator = container.items.getChangeFeedIterator<Record<string, unknown>>({
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
  });
  const documents: Record<string, unknown>[] = [];
  for (;;) {
    const page = await iterator.readNext();
    if (page.statusCode === 304) return documents;
    documents.push(...(page.result ?? []));
  }
}

async function sinkDocuments(container: Container): Promise<Record<string, unknown>[]> {
  const { resources } = await container.items.query<Record<string, unknown>>('SELECT * FROM c').fetchAll();
  return resources
    .filter(({ type }) => !String(type).startsWith('millrace.'))
    .map(visible)
    .toSorted((a, b) => String(a['id']).localeCompare(String(b['id'])));
}
