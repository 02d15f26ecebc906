// Triggers of the all-versions feed, which the setting TRIGGER_ALL_VERSIONS allows (ASM-F18).
import { ChangeFeedMode, ChangeFeedStartFrom, type Container } from '@azure/cosmos';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cosmosTriggers, runCosmosTrigger } from '../../src/host/local-host/cosmos-triggers.ts';
import { leasePrefix } from '../../src/feed/leases/cosmos-lease-store.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { visible } from '../../src/pipeline/oracle/recompute.ts';
import { ALL_VERSIONS, type Stage, openStage } from '../support/stage.ts';
import { type FunctionsHost, indexApp } from './host.ts';

const ON = { TRIGGER_ALL_VERSIONS: 'on', MILLRACE_PIPELINE: ALL_VERSIONS };
const order = (n: number, cents = n + 1) => ({
  id: `order-${n}`,
  type: 'order',
  storeId: `s${n % 2}`,
  customerId: 'c1',
  placedAt: `2026-01-0${1 + (n % 3)}T10:00:00.000Z`,
  cents,
});

let stage: Stage;
let app: FunctionsHost | undefined;
beforeEach(async () => {
  stage = await openStage({}, ALL_VERSIONS);
});
afterEach(async () => {
  await app?.terminate();
  app = undefined;
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
});

const index = async (more: Readonly<Record<string, string>> = {}): Promise<FunctionsHost> =>
  (app = await indexApp({ ...stage.env, ...ON, ...more }));

/** Reads what was written since it was opened, as the trigger delivers it: without previous images. */
function follow(container: Container): () => Promise<Record<string, unknown>[]> {
  const feed = container.items.getChangeFeedIterator<Record<string, unknown>>({
    changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
    changeFeedStartFrom: ChangeFeedStartFrom.Now(),
  });
  return async () => {
    const found: Record<string, unknown>[] = [];
    for (;;) {
      const { result, statusCode } = await feed.readNext();
      if (statusCode === 304) return found;
      found.push(...result.map(({ current, metadata }) => ({ current, metadata })));
    }
  };
}

async function documents(of: Stage, name: string): Promise<unknown[]> {
  const query = `SELECT * FROM c WHERE NOT STARTSWITH(c.type, 'millrace.') ORDER BY c.id`;
  const { resources } = await of.container(name).items.query<Record<string, unknown>>(query).fetchAll();
  return resources.map(visible);
}

/** Creations, two changes of one document, deletions, an id that is used again. */
async function write(of: Stage): Promise<void> {
  const orders = of.container('Orders');
  for (let n = 0; n < 12; n++) await orders.items.create(order(n));
  for (const cents of [500, 700]) await orders.items.upsert(order(3, cents));
  for (const n of [1, 4, 5]) await orders.item(`order-${n}`, `s${n % 2}`).delete();
  await orders.items.create(order(5, 9));
  // The host makes one id of these two.
  for (const id of ['2026-01-01T10:00:00.120Z', '2026-01-01T10:00:00.12Z'])
    for (const cents of [1, 2]) await orders.items.upsert({ ...order(0, cents), id });
}

describe('indexing', () => {
  it('an app with the feed of all versions registers a trigger of that feed with leases of its own, without a start', async () => {
    const { functions } = await index();
    const [binding] = Object.values(functions.find(({ name }) => name === 'feed-Orders')?.bindings ?? {});
    expect(binding).toMatchObject({
      changeFeedMode: 'AllVersionsAndDeletes',
      leaseContainerPrefix: 'millrace.Orders.all-versions.',
      createLeaseContainerIfNotExists: false,
    });
    expect(Object.keys(binding ?? {}).filter((name) => name.startsWith('startFrom'))).toEqual([]);
  });

  it('an app with the feed of all versions is ready where the feed can be read, and names the container where it can’t', async () => {
    const ready = async () => (await index()).request('millrace-health', { params: { probe: 'ready' } });
    expect(await ready()).toMatchObject({ status: 200, body: { ready: true, differences: [] } });
    await app?.terminate();
    const { resource } = await stage.container('Orders').read();
    const { changeFeedPolicy: _, ...without } = resource ?? {};
    await stage.container('Orders').delete();
    await stage.services.place.database.containers.create(without);
    expect(await ready()).toMatchObject({
      status: 503,
      body: {
        held: [{ projection: 'summaries@1' }, { projection: 'days@1' }],
        differences: [
          { container: 'Orders', what: expect.stringMatching(/^changeFeedPolicy is not set, not /), holds: false },
          { container: 'Orders', what: expect.stringContaining("all-versions feed can't be read"), holds: true },
        ],
      },
    });
  });

  it('an app with the feed of all versions refuses to begin where `millrace run` has positions that it would not continue from', async () => {
    const processor = await compose({ ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
    await processor.start();
    await stage.container('Orders').items.create(order(0));
    await processor.drained(AbortSignal.timeout(30_000));
    await processor.stop();
    expect(await (await index()).request('millrace-health', { params: { probe: 'ready' } })).toMatchObject({
      status: 503,
      body: {
        problems: [
          {
            code: 'lease-prefix-renamed',
            message: expect.stringContaining('would miss the changes of Orders since its last position'),
            hint: expect.stringContaining('TRIGGER_ALL_VERSIONS'),
          },
        ],
      },
    });
  });
});

describe('delivery', () => {
  it.each([true, false])(
    'a trigger of the feed of all versions derives what the processor derives, dates rewritten: %s',
    async (rewrite) => {
      const next = follow(stage.container('Orders'));
      await next();
      await write(stage);
      const host = await index();
      const entries = await next();
      expect(entries.length).toBeGreaterThan(15);
      await host.deliver('feed-Orders', entries.slice(0, 9), { rewrite });
      await host.deliver('feed-Orders', entries.slice(6), { rewrite });

      await using other = await openStage({}, ALL_VERSIONS);
      const processor = await compose({ ...other, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
      await processor.start();
      await processor.drained(AbortSignal.timeout(30_000));
      await write(other);
      await processor.drained(AbortSignal.timeout(30_000));
      await processor.stop();
      for (const container of ['Summaries', 'Days']) {
        const byTrigger = await documents(stage, container);
        expect(byTrigger).toEqual(await documents(other, container));
        expect(byTrigger.length).toBeGreaterThan(2);
      }
      expect(await documents(stage, 'Summaries')).toContainEqual(
        expect.objectContaining({ id: 'order-3', cents: 700, placedAt: '2026-01-01T10:00:00.000Z' }),
      );
    },
  );

  it('a trigger of the feed of all versions takes a retried batch without effect, also after what deleted its documents', async () => {
    const orders = stage.container('Orders');
    const next = follow(orders);
    await next();
    await orders.items.create(order(0));
    const first = await next();
    await orders.item('order-0', 's0').delete();
    const host = await index();
    await host.deliver('feed-Orders', await next());
    await host.deliver('feed-Orders', first, { retryCount: 3 });
    expect(await documents(stage, 'Summaries')).toEqual([]);
    expect(await documents(stage, 'Days')).toEqual([]);
  });

  it('a trigger of the feed of all versions rejects a deletion whose id the host may have rewritten, and loses nothing', async () => {
    const orders = stage.container('Orders');
    const next = follow(orders);
    await next();
    await orders.items.create({ ...order(0), id: '2026-01-01T10:00:00.000Z' });
    await orders.item('2026-01-01T10:00:00.000Z', 's0').delete();
    const host = await index();
    await expect(host.deliver('feed-Orders', await next())).rejects.toMatchObject({
      code: 'delivered-key-rewritten',
      hint: expect.stringContaining('millrace run'),
    });
  });
});

it('the local host delivers every version and deletion, and continues after a restart', async () => {
  const orders = stage.container('Orders');
  const binding = {
    type: 'cosmosDBTrigger',
    connection: 'COSMOS',
    databaseName: 'shop',
    containerName: 'Orders',
    leaseContainerPrefix: 'local.',
    feedPollDelay: 10,
    changeFeedMode: 'AllVersionsAndDeletes',
  };
  const [trigger] = cosmosTriggers([{ name: 'feed', bindings: { entries: binding } }], stage.env);
  const delivered: { current: unknown; metadata: Record<string, unknown> }[] = [];
  const run = () =>
    runCosmosTrigger(trigger!, {
      deliver: async (_, entries) => void delivered.push(...(entries as typeof delivered)),
      say: () => undefined,
      signal: AbortSignal.timeout(30_000),
    });
  const leases = async () => {
    const prefix = leasePrefix('local.', stage.emulator.endpoint, '', '').slice(0, 6);
    const query = {
      query: 'SELECT * FROM c WHERE STARTSWITH(c.id, @prefix) AND IS_DEFINED(c.ContinuationToken)',
      parameters: [{ name: '@prefix', value: prefix }],
    };
    return (await stage.services.global.leases.items.query<{ ContinuationToken: unknown }>(query).fetchAll()).resources;
  };
  {
    await using _ = await run();
    // The feed begins when it is first read.
    await vi.waitUntil(async () => (await leases()).some(({ ContinuationToken: at }) => at !== null), 30_000);
    await orders.items.create(order(0));
    await orders.items.upsert(order(0, 5));
    await vi.waitUntil(() => delivered.length === 2, 30_000);
  }
  await orders.item('order-0', 's0').delete();
  {
    await using _ = await run();
    await vi.waitUntil(() => delivered.length >= 3, 30_000);
  }
  expect(delivered.map(({ metadata }) => metadata['operationType'])).toEqual(['create', 'replace', 'delete']);
  expect(delivered[1]?.current).toMatchObject({ id: 'order-0', cents: 5 });
  expect(delivered[2]).toMatchObject({
    current: null,
    metadata: { timeToLiveExpired: false, id: 'order-0', partitionKey: { storeId: 's0' } },
  });
});
