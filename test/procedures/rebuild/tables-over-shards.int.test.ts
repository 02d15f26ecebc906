// Tables of a pipeline over shards: TAB-P1 to TAB-P6. The rows are compared with all shards' documents by SQL.
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { type TestContext, afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { type SinkSpec, chooseRebuilt } from '../../../src/procedures/projections/choose.ts';
import { backTables, keptTables } from '../../../src/procedures/promote/back-tables.ts';
import { dropTarget, rebuildSink, swapSink } from '../../../src/procedures/rebuild/rebuild-sink.ts';
import { movedOwn } from '../../../src/kinds/moved.ts';
import { moveMapping } from '../../../src/procedures/move/move.ts';
import { type Verification, verify as verifyPlace } from '../../../src/procedures/verify/verify.ts';
import { migrateTables } from '../../../src/procedures/sql/migrate.ts';
import { type Database, openDatabase } from '../../../src/postgres/database.ts';
import { startPglite } from '../../../src/postgres/pglite.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { placesOf } from '../../../src/runtime/places.ts';
import { layoutsOf, withTables } from '../../../src/runtime/tables.ts';
import { openRouter } from '../../../src/shards/routing/router.ts';
import { cli } from '../../cli/cli.ts';
import { given } from '../../runtime/spread-world.ts';
import { NO_POSTGRES, startPostgres } from '../../support/postgres.ts';
import type { SpreadStage } from '../../support/spread-stage.ts';
import { ownLeases } from '../../verbs/projections/spread-versions.ts';
import { VIEWS_REFRESH_MS, fast } from '../../verbs/projections/versions.ts';

const { signal } = new AbortController();
const TABLES = join(import.meta.dirname, '../../fixtures/spread-tables');
const SHARDS = ['north', 'west', 'east'];

let server: AsyncDisposable & { readonly url: string };
let database: Database;
let client: Client;

beforeAll(async () => {
  // Hosts of all shards write at the same time, which PGlite doesn't have.
  server = NO_POSTGRES === undefined ? await startPostgres() : await startPglite();
  database = openDatabase(server.url, { max: NO_POSTGRES === undefined ? 8 : 1 });
  client = new Client(server.url);
  await client.connect();
}, 60_000);
afterAll(async () => {
  await client.end();
  await database.close();
  await server[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await client.query('DROP SCHEMA IF EXISTS millrace CASCADE');
});

/** A stage whose stores have orders in the shards of the same number, and a host that has written the rows. */
async function shop(context: Pick<TestContext, 'onTestFinished'>) {
  const { stage: bare, application } = await given(context, SHARDS, { folder: TABLES });
  const stage: SpreadStage = { ...bare, loaded: withTables(bare.loaded, database) };
  for (const [name, value] of Object.entries({ ...stage.env, POSTGRES_URL: server.url })) vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  for (const [at, shard] of SHARDS.entries()) {
    await stage.map.createMapping({ shard: await stage.map.shard({ database: shard }), key: `s${at}` });
    for (let n = 0; n < 6; n++) await application.order(`s${at}`, shard, `o${n}`, 100 * at + n);
  }
  await application.order('s2', 'east', 'o5', 205, { cancelled: true });
  await migrateTables(layoutsOf(stage.loaded), database, signal);
  const app = await compose({ ...stage, ...fast, shardsRefreshMs: 20, host: 'host' });
  context.onTestFinished(() => app.stop());
  await app.start();
  await app.drained(signal);
  return { stage, application, app, millrace: (...args: string[]) => cli([...args, '--pipeline', TABLES]) };
}

/** What the view `orders` has more or less than the documents of all shards. */
async function differing(stage: SpreadStage, cents = 'cents'): Promise<unknown[]> {
  const documents: unknown[] = [];
  const query = 'SELECT * FROM c WHERE NOT IS_DEFINED(c._mr.moved.gone) AND NOT IS_DEFINED(c.cancelled)';
  for (const shard of SHARDS)
    documents.push(...(await stage.at(shard, 'Orders').items.query<object>(query).fetchAll()).resources);
  const found = await client.query(
    `WITH expected AS (
  SELECT d->>'storeId' AS store_id, d->>'id' AS id, d->>'customerId' AS customer_id, d->>'countryId' AS country_id,
    (d->>'placedAt')::timestamptz AS placed_at, (d->>'cents')::bigint AS cents
  FROM jsonb_array_elements($1::jsonb) d
), found AS (SELECT store_id, id, customer_id, country_id, placed_at, ${cents} AS cents FROM orders)
SELECT 'missing' AS what, a.* FROM (SELECT * FROM expected EXCEPT ALL SELECT * FROM found) a
UNION ALL SELECT 'unexpected', b.* FROM (SELECT * FROM found EXCEPT ALL SELECT * FROM expected) b`,
    [JSON.stringify(documents)],
  );
  return found.rows;
}

const rowIds = async (): Promise<string[]> =>
  (await client.query<{ id: string }>(`SELECT store_id || '-' || id AS id FROM orders`)).rows
    .map(({ id }) => id)
    .toSorted();

interface Found {
  readonly places: readonly {
    readonly place: string;
    readonly value: {
      readonly different: number;
      readonly projections: readonly { readonly id: string; readonly expected: number }[];
      readonly differences: readonly { readonly kind: string; readonly document: string }[];
      readonly repaired: { readonly repaired: number; readonly removed: number } | null;
    };
  }[];
}

/** The differences of each place, and how many were repaired. */
const toldBy =
  (millrace: (...args: string[]) => ReturnType<typeof cli>) =>
  async (...args: string[]) => {
    const { code, stdout } = await millrace('projections', 'verify', '--json', ...args);
    const { places } = JSON.parse(stdout) as Found;
    return {
      code,
      projections: places.map(({ value }) => value.projections.map(({ id, expected }) => `${id} ${expected}`)),
      differences: places.map(({ value }) => value.differences.map(({ kind, document }) => `${kind} ${document}`)),
      repaired: places.map(({ value }) => value.repaired?.repaired ?? 0),
      removed: places.map(({ value }) => value.repaired?.removed ?? 0),
    };
  };

const CLEAN = { code: 0, differences: [[], [], [], []], repaired: [0, 0, 0, 0] };
/** A parked document isn't compared, so it is not verified. */
const CLEAN_BUT_PARKED = { ...CLEAN, code: 1 };

it('all shards write the rows, and verify compares them with the documents of all shards', async (context) => {
  const { stage, application, app, millrace } = await shop(context);
  const verify = toldBy(millrace);
  expect(await differing(stage)).toEqual([]);
  expect(await rowIds()).toEqual(application.listed());
  expect((await client.query('SELECT id FROM countries ORDER BY id')).rows).toEqual([{ id: 'AT' }, { id: 'DE' }]);
  const found = await verify();
  expect(found).toMatchObject(CLEAN);
  expect([found.projections[0]?.toSorted(), ...found.projections.slice(1)]).toEqual([
    ['countries@1 2', 'customers@1 3', 'orders@1 17', 'orders@2 17'],
    [],
    [],
    [],
  ]);
  // What a shard alone would see is never corrected by it.
  for (const shard of SHARDS) {
    const alone = await millrace('projections', 'verify', '--repair', '--shard', shard, '--json');
    expect([alone.code, JSON.parse(alone.stdout)]).toMatchObject([0, { projections: [], different: 0 }]);
  }
  expect(await rowIds()).toEqual(application.listed());
  await app.stop();
});

it('rows that someone changed, removed or added are found, and repaired in the documents’ shards', async (context) => {
  const { stage, application, app, millrace } = await shop(context);
  const verify = toldBy(millrace);
  await app.stop();
  await client.query(`UPDATE millrace.orders_v1 SET cents = 999 WHERE store_id = 's1' AND id = 'o2'`);
  await client.query(`DELETE FROM millrace.orders_v1 WHERE store_id = 's2' AND id = 'o3'`);
  await client.query(
    `INSERT INTO millrace.orders_v1 (store_id, id, customer_id, cents) VALUES ('s0', 'ghost', 'c1', 1)`,
  );
  const wanted = ['different s1|o2', 'missing s2|o3', 'unexpected s0|ghost'];
  for (const part of [[], ['--sample', '100%'], ['orders@1']]) {
    const { code, differences } = await verify(...part);
    expect([code, differences.map((some) => some.toSorted())]).toEqual([1, [wanted, [], [], []]]);
  }
  expect((await verify('--tenant', 's1')).differences).toEqual([['different s1|o2'], [], [], []]);
  expect(await verify('--tenant', 's0', '--repair')).toMatchObject({ code: 0, repaired: [1, 0, 0, 0] });
  expect(await verify('--repair')).toMatchObject({ code: 0, repaired: [2, 0, 0, 0], removed: [0, 0, 0, 0] });
  expect(await differing(stage)).toEqual([]);
  expect(await rowIds()).toEqual(application.listed());
  expect(await verify()).toMatchObject(CLEAN);
});

it('markers that a move leaves count as no documents, and what a shard has parked is not compared', async (context) => {
  const { stage, application, app, millrace } = await shop(context);
  const verify = toldBy(millrace);
  await application.order('s1', 'west', 'bad', 1, { placedAt: '2026-02-30T10:00:00.000Z' });
  await app.drained(signal);
  await app.stop();
  expect((await millrace('projections', 'verify', '--shard', 'shop')).stdout).toContain('parked, not compared: Orders');
  const marked = async (id: string): Promise<void> => {
    const order = { ...application.orders.get('s1-o1')!, id, cents: 77 };
    await stage.at('north', 'Orders').items.upsert({ ...order, _mr: movedOwn(undefined, { gone: true }, order) });
  };
  await marked('o2');
  await marked('left');
  expect(await verify()).toMatchObject(CLEAN_BUT_PARKED);
  expect(await verify('--sample', '100%')).toMatchObject(CLEAN_BUT_PARKED);
  // Its document is nowhere any more, though a shard has the marker.
  await client.query(
    `INSERT INTO millrace.orders_v1 (store_id, id, customer_id, cents) VALUES ('s1', 'left', 'c1', 77)`,
  );
  expect(await verify('--repair')).toMatchObject({ code: 1, repaired: [1, 0, 0, 0], removed: [1, 0, 0, 0] });
  expect(await rowIds()).toEqual(application.listed().filter((id) => id !== 's1-bad'));
});

it('a store moves there and back while its orders change, and each order has its rows once', async (context) => {
  const { stage, application, app, millrace } = await shop(context);
  const verify = toldBy(millrace);
  const connect = (to: { readonly database: string }) => stage.services.place.database.client.database(to.database);
  const maps = connect({ database: 'maps' });
  await using router = await openRouter('tenants', { database: maps, connect });
  const stopping = new AbortController();
  let writes = 0;
  const writing = (async () => {
    for (let n = 0; !stopping.signal.aborted; n++) {
      const order = {
        ...application.orders.get('s0-o0')!,
        id: `o${n % 9}`,
        cents: n,
        ...(n % 4 === 0 && { cancelled: true as const }),
      };
      using pass = await router.enter('s0');
      await pass.container('Orders').items.upsert(order, { abortSignal: pass.signal });
      application.orders.set(`s0-${order.id}`, order);
      writes += 1;
      await delay(25);
    }
  })();
  const home = await (await placesOf(stage).list())[0]!.open();
  const looks: Verification[] = [];
  const looking = (async () => {
    for (; !stopping.signal.aborted; await delay(100))
      looks.push(
        await verifyPlace(home.loaded, home.services, {
          ...stage,
          signal,
          screen: { progress: () => undefined },
          readLagMs: 0,
          repair: true,
        }),
      );
  })();
  const move = async (to: string): Promise<void> => {
    const options = {
      map: stage.map,
      maps: maps.container('shardmaps'),
      connect,
      endpointOf: () => stage.emulator.endpoint,
      stateContainer: 'millrace',
      leases: stage.services.global.leases,
      signal,
      readLagMs: 0,
      graceMs: 200,
      patienceMs: 60_000,
      // On a busy machine too: what is judged are rows, not the pause.
      holdMs: 10_000,
    };
    await moveMapping(options, await stage.map.mapping('s0'), await stage.map.shard({ database: to }));
  };
  await move('west');
  await move('north');
  stopping.abort();
  await writing;
  await looking;
  await app.drained(signal);
  expect([writes > 9, looks.length > 0]).toEqual([true, true]);
  // Of what moves no row is taken for wrong.
  expect(looks.flatMap(({ differences, repaired }) => [...differences, ...(repaired ? [repaired] : [])])).toEqual([]);
  expect(await differing(stage)).toEqual([]);
  expect(await rowIds()).toEqual(application.listed());
  expect(await verify('--repair')).toMatchObject(CLEAN);
  // An order that is deleted where it is now is deleted, though its copy was elsewhere.
  await application.order('s0', 'north', 'o1', 1, { cancelled: true });
  await application.order('s0', 'north', 'o2', 7);
  await app.drained(signal);
  expect(await differing(stage)).toEqual([]);
  expect(await verify()).toMatchObject(CLEAN);
});

it('another content is filled from all shards, promoted once, shown again, and dropped', async (context) => {
  const { stage, application, app, millrace } = await shop(context);
  const optionsOf = (name: string) => ({
    ...stage,
    spec: chooseRebuilt(stage.loaded.pipeline, name) as SinkSpec,
    readLagMs: 0,
    viewsRefreshMs: VIEWS_REFRESH_MS,
    timings: { pollMs: 40, acquireMs: 100, stopMs: 300 },
    signal,
  });
  await client.query(`UPDATE millrace.orders_v1 SET cents = 999`);
  expect(await rebuildSink(optionsOf('orders@1'))).toMatchObject({ changes: 18, parked: 0, resumed: false });
  for (const [at, shard] of SHARDS.entries()) await application.order(`s${at}`, shard, 'meanwhile', at);
  await stage.addShard('south');
  await application.open('s3', 'south');
  await application.order('s3', 'south', 'added', 5);
  await app.drained(signal);
  expect(await swapSink({ ...optionsOf('orders@1'), keepMs: 3_600_000 })).toMatchObject({ projection: 'orders@1' });
  await application.order('s1', 'west', 'afterwards', 7);
  await app.drained(signal);
  SHARDS.push('south');
  context.onTestFinished(() => void SHARDS.pop());
  expect(await differing(stage)).toEqual([]);
  expect(await rowIds()).toEqual(application.listed());
  expect(await ownLeases(stage, 'orders-next')).toEqual([]);
  const kept = await keptTables(stage.loaded.pipeline, 'orders', signal);
  await backTables({ ...stage, spec: kept, keepMs: 3_600_000, signal });
  expect((await client.query('SELECT count(*)::int AS n FROM orders WHERE cents = 999')).rows).toEqual([{ n: 17 }]);
  await backTables({ ...stage, spec: kept, signal });
  expect(await differing(stage)).toEqual([]);
  await rebuildSink(optionsOf('orders@2'));
  await swapSink(optionsOf('orders@2'));
  expect(await differing(stage, 'amount_cents')).toEqual([]);
  expect(await rebuildSink(optionsOf('customers@1'))).toMatchObject({ changes: 4 });
  await dropTarget(optionsOf('customers@1'));
  expect(await ownLeases(stage, '-next')).toEqual([]);
  expect((await millrace('sql', 'clean', '--yes')).stdout).toContain('Dropped');
  expect((await millrace('sql', 'migrate')).stdout).toContain('already has the tables');
  expect(await differing(stage, 'amount_cents')).toEqual([]);
});

it('verbs of SQL work on the one database, and doctor looks at the tables once', async (context) => {
  const { millrace } = await shop(context);
  expect((await millrace('sql', 'ddl')).stdout).toContain('CREATE TABLE');
  expect(await millrace('sql', 'migrate', '--dry-run')).toMatchObject({ code: 0 });
  expect(await millrace('sql', 'clean', '--dry-run')).toMatchObject({ code: 0 });
  await client.query('ALTER TABLE millrace.orders_v1 DROP COLUMN cents CASCADE');
  expect((await millrace('doctor')).stdout.match(/orders@1: [^\n]*cents/g)).toHaveLength(1);
});
