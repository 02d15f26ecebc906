// Where the commands of docs/how-to run: a page's own account on the embedded server, and what happens between its commands.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { leasePrefix } from '../../src/feed/leases/cosmos-lease-store.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { cli } from '../cli/cli.ts';
import { clientInside } from '../emulator/emulate.ts';
import { VERSIONS, fast, live } from '../verbs/projections/versions.ts';
import { VerbStage } from '../verbs/shards/shards-stage.ts';
import { startAzurite } from '../support/azurite.ts';
import { ForeignHost } from '../support/foreign-host.ts';
import { COLD, SHOP, type Stage, openStage } from '../support/stage.ts';

export interface HowToWorld extends AsyncDisposable {
  /** What a page says that happens before its next command. */
  readonly events: Readonly<Record<string, () => Promise<void>>>;
  /** What stands for `$NAME` in commands. */
  readonly values: Readonly<Record<string, string>>;
  /** Words that a test adds to a command, by how it begins. */
  readonly more?: Readonly<Record<string, readonly string[]>>;
  /** By which the commands wait; absent: a clock that takes no time. */
  readonly clock?: Clock;
}

const { signal } = new AbortController();
const nothing = async (): Promise<void> => {};

const order = (n: number) => ({
  id: `order-${n}`,
  type: 'order',
  storeId: `s${1 + (n % 2)}`,
  customerId: `c${1 + (n % 3)}`,
  placedAt: `2026-01-0${1 + (n % 5)}T10:00:00.000Z`,
  cents: 100 * (n + 1),
});

/** An account with a pipeline, twelve orders and their customers. */
async function shop(folder = VERSIONS, storage?: { connectionString: string; container: string }): Promise<Stage> {
  const stage = await openStage({}, folder, storage);
  for (const [name, value] of Object.entries({ ...stage.env, MILLRACE_PIPELINE: folder })) vi.stubEnv(name, value);
  for (let n = 0; n < 12; n++) await stage.container('Orders').items.upsert(order(n));
  for (const id of ['c1', 'c2', 'c3'])
    for (const storeId of ['s1', 's2'])
      await stage.container('Customers').items.upsert({ id, type: 'customer', storeId, name: `Customer ${id}` });
  return stage;
}

/** Runs hosts until they have read everything. */
async function derive(stage: Stage): Promise<void> {
  const app = await compose({ ...stage, ...fast, host: 'worker-1' });
  await app.start();
  await app.drained(signal);
  await app.stop();
}

const closing = (...parts: readonly AsyncDisposable[]) => ({
  [Symbol.asyncDispose]: async () => {
    for (const part of parts) await part[Symbol.asyncDispose]();
  },
});

/** A pipeline whose hosts have read everything and are stopped. */
async function stopped(folder?: string): Promise<HowToWorld> {
  const stage = await shop(folder);
  await derive(stage);
  return {
    events: { 'time passes': nothing, 'hosts read': () => derive(stage) },
    values: {},
    ...closing(stage),
  };
}

/** A pipeline whose host runs. */
async function running(
  more: (stage: Stage, drained: () => Promise<void>) => HowToWorld['events'],
  folder?: string,
): Promise<HowToWorld> {
  const stage = await shop(folder);
  const app = await live(stage, 'worker-1');
  const drained = () => app.drained(signal);
  await drained();
  const events = more(stage, drained);
  await events['begin']?.();
  return { events, values: {}, ...closing({ [Symbol.asyncDispose]: () => app.stop() }, stage) };
}

const poison = () =>
  running((stage, drained) => {
    const write = async (id: string, placedAt: unknown): Promise<void> => {
      await stage.container('Orders').items.upsert({ ...order(0), id, placedAt });
      await drained();
    };
    return {
      begin: () => write('order-bad', 5),
      'the document is corrected': () => write('order-bad', '2026-01-03T10:00:00.000Z'),
      'another document is wrong': () => write('order-bad', null),
    };
  });

/** Totals that another program keeps, with three faults. */
async function besideTotals(): Promise<HowToWorld> {
  const stage = await shop(SHOP);
  const { database } = stage.services.place;
  const { container } = await database.containers.create({ id: 'DailyTotals', partitionKey: '/shop' });
  const totals = new Map<string, { id: string; shop: string; date: string; count: number; totals: { sum: number } }>();
  for (let n = 0; n < 12; n++) {
    const { storeId, placedAt, cents } = order(n);
    const id = `${storeId}-${placedAt.slice(0, 10)}`;
    const {
      count,
      totals: { sum },
    } = totals.get(id) ?? { count: 0, totals: { sum: 0 } };
    totals.set(id, { id, shop: storeId, date: placedAt.slice(0, 10), count: count + 1, totals: { sum: sum + cents } });
  }
  const [lost, stale, ...right] = totals.values();
  const orphan = { id: 's3-2026-01-01', shop: 's3', date: '2026-01-01', count: 1, totals: { sum: 700 } };
  // The oldest is told by times of whole seconds.
  const second = (): number => Math.floor(Date.now() / 1_000);
  const before = second();
  await vi.waitFor(() => expect(second()).toBeGreaterThan(before), { timeout: 2_000 });
  for (const row of [{ ...stale!, totals: { sum: 100 } }, orphan, ...right]) await container.items.upsert(row);
  const directory = mkdtempSync(join(tmpdir(), 'millrace-fields-'));
  const FIELDS = join(directory, 'fields.json');
  writeFileSync(FIELDS, '{ "shop": "storeId", "date": "day", "count": "orders", "totals.sum": "cents" }');
  return {
    events: {
      'the three are mended': async () => {
        await container.items.upsert(lost!);
        await container.items.upsert(stale!);
        await container.item(orphan.id, orphan.shop).delete();
      },
    },
    values: { FIELDS },
    ...closing(stage, { [Symbol.asyncDispose]: async () => rmSync(directory, { recursive: true }) }),
  };
}

async function migrate(): Promise<HowToWorld> {
  const stage = await shop();
  await stage.services.place.database.containers.create({
    id: 'OrdersByCustomer',
    partitionKey: { paths: ['/customerId'] },
    defaultTtl: -1,
  });
  return { events: {}, values: {}, ...closing(stage) };
}

async function restore(): Promise<HowToWorld> {
  const azurite = await startAzurite();
  const stage = await shop(COLD, { connectionString: azurite.connectionString, container: 'archive' });
  await derive(stage);
  await cli(['archive', 'sweep']);
  return {
    events: {
      'an order comes back, changes and leaves again': async () => {
        await cli(['archive', 'restore', '--key', '["s1"]', '--id', 'order-2']);
        await stage.container('Orders').items.upsert(order(2));
        await derive(stage);
        await cli(['archive', 'sweep']);
      },
    },
    values: {},
    ...closing(stage, { [Symbol.asyncDispose]: () => azurite.close() }),
  };
}

async function takeOver(): Promise<HowToWorld> {
  const stage = await shop(SHOP);
  const { place, global } = stage.services;
  const [home, source] = [await place.database.read(), await stage.container('Orders').read()];
  const prefix = leasePrefix(
    'billing',
    stage.emulator.endpoint,
    home.resource?._rid ?? '',
    source.resource?._rid ?? '',
  );
  const app = new ForeignHost({
    source: stage.container('Orders'),
    leases: global.leases,
    prefix,
    start: 'beginning',
    handle: () => {},
  });
  await app.bootstrap();
  await app.acquire();
  await app.work();
  await app.stop();
  return {
    events: { 'time passes': nothing, 'hosts read': () => derive(stage) },
    values: { PREFIX: prefix },
    ...closing(stage),
  };
}

async function moveATenant(): Promise<HowToWorld> {
  const stage = await VerbStage.open();
  for (const line of [
    'init',
    'map create tenants --kind list --key-type int32 --sharded Orders=/tenantId',
    ...['west', 'east'].flatMap((shard) => [`init --shard ${shard}`, `add tenants --shard ${shard}`]),
    'keys map tenants --shard west --key 7',
    'keys map tenants --shard west --key 8',
  ]) {
    const { code, stderr } = await stage.run(line);
    if (code !== 0) throw new Error(stderr);
  }
  const client = clientInside(stage.emulator);
  for (const id of ['order-1', 'order-2'])
    await client.database('west').container('Orders').items.create({ id, type: 'order', tenantId: 7 });
  client.dispose();
  // Routers and the mover agree by the time that passes. No process writes late, so nothing is waited for afterwards.
  return {
    events: {},
    values: {},
    clock: systemClock,
    more: { 'shards move ': ['--grace', '0'] },
    ...closing(stage),
  };
}

export const WORLDS: Readonly<Record<string, () => Promise<HowToWorld>>> = {
  'compare-your-copy.md': besideTotals,
  'erase-a-tenant.md': () => stopped(),
  'migrate.md': migrate,
  'move-a-tenant.md': moveATenant,
  'poison.md': poison,
  'query-the-archive.md': restore,
  'rebuild.md': () => running(() => ({})),
  'restore.md': restore,
  'rewind.md': () => stopped(SHOP),
  'slow.md': () => running(() => ({}), SHOP),
  'take-over.md': takeOver,
};
