// docs/SPEC-tables.md, TAB-D4 and TAB-D5: what is wrong with tables is named before changes wait for it. On PGlite.
import { join } from 'node:path';
import { table } from 'millrace';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { TableSpec } from '../../../src/pipeline/specs.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { usePglite } from '../../support/pglite-stage.ts';
import { compareDeployed, tablesThatDiffer } from '../../../src/host/http/compare-deployed.ts';
import { migrateTables } from '../../../src/procedures/sql/migrate.ts';
import { type Database, openDatabase } from '../../../src/postgres/database.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { layoutsOf, withTables } from '../../../src/runtime/tables.ts';
import type { LoadedPipeline } from '../../../src/runtime/workspace.ts';
import { m } from '../../fixtures/shop/model.ts';
import { cli } from '../../cli/cli.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { declaring } from '../../verbs/projections/shelves.ts';
import { fast } from '../../verbs/projections/versions.ts';

const EXAMPLE = join(import.meta.dirname, '../../../examples/tables');
const { signal } = new AbortController();
const { url, database, client } = await usePglite();
let stage: Stage;

beforeEach(async () => {
  await client.query('DROP SCHEMA IF EXISTS millrace CASCADE');
  stage = await openStage();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
});

const orders = (more: object = {}): TableSpec => table('orders', { from: m.Orders.order, into: 'orders', ...more });
const declared = (spec: TableSpec): LoadedPipeline => withTables(declaring(stage, { effects: [spec] }), database);
const faultsOf = async (loaded: LoadedPipeline): Promise<string[]> => {
  const [spec] = loaded.pipeline.effects;
  return ((await (spec as TableSpec).to.faults?.(signal)) ?? []).map(({ what, hint }) => `${what}. ${hint}`);
};

it('a look at the tables names tables that are missing or were changed by hand, each with its remedy', async () => {
  const loaded = declared(orders());
  expect(await faultsOf(loaded)).toEqual([expect.stringMatching(/schema millrace does not exist.*sql migrate/)]);
  await migrateTables(layoutsOf(loaded), database, signal);
  expect(await faultsOf(loaded)).toEqual([]);
  const listed = declared(
    orders({ columns: { note: { type: 'text' } }, children: { lines: { into: 'order_lines' } } }),
  );
  expect(await faultsOf(listed)).toEqual([
    expect.stringMatching(/order_lines_v1 is missing\. Run `millrace sql migrate`/),
    expect.stringMatching(/lacks the column note.*sql migrate/),
    expect.stringMatching(/view orders lacks note.*sql migrate/),
    expect.stringMatching(/view order_lines is missing.*sql migrate/),
  ]);
  expect(await faultsOf(declared(orders({ columns: { cents: 'numeric' } })))).toEqual([
    expect.stringMatching(/orders_v1.cents is bigint, and the pipeline declares numeric.*another version/),
  ]);
  const byHand: [string, string, RegExp][] = [
    ['ADD CONSTRAINT cheap CHECK (cents < 5)', 'DROP CONSTRAINT cheap', /a constraint .* cheap.*DROP CONSTRAINT cheap/],
    ['ADD COLUMN own text NOT NULL', 'DROP COLUMN own', /a column without a default .* own.*DROP NOT NULL/],
    ['ADD UNIQUE (cents)', 'DROP CONSTRAINT orders_v1_cents_key', /a constraint .* orders_v1_cents_key/],
    ['DROP CONSTRAINT orders_v1_pkey', 'ADD PRIMARY KEY (store_id, id)', /another key .* none.*rebuild/],
    ['ALTER cents TYPE text', 'ALTER cents TYPE bigint USING cents::bigint', /cents is text/],
  ];
  await client.query('DROP VIEW orders');
  expect(await faultsOf(loaded)).toEqual([expect.stringMatching(/view orders is missing/)]);
  for (const [change, undo, said] of byHand) {
    await client.query(`ALTER TABLE millrace.orders_v1 ${change}`);
    expect((await faultsOf(loaded))[0]).toMatch(said);
    await client.query(`ALTER TABLE millrace.orders_v1 ${undo}`);
  }
  await client.query(`CREATE UNIQUE INDEX one ON millrace.orders_v1 (cents)`);
  expect((await faultsOf(loaded))[0]).toMatch(/a unique index .* one.*DROP INDEX millrace.one/);
  await client.query(`DROP INDEX millrace.one`);
  await client.query(`CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`);
  await client.query(`CREATE TRIGGER mine BEFORE INSERT ON millrace.orders_v1 FOR EACH ROW EXECUTE FUNCTION quiet()`);
  expect((await faultsOf(loaded))[0]).toMatch(/a trigger .* mine.*DROP TRIGGER mine ON millrace.orders_v1/);
  await client.query(`DROP FUNCTION quiet CASCADE; DROP TABLE millrace.orders_v1_guards`);
  expect((await faultsOf(loaded))[0]).toMatch(/orders_v1_guards is missing, although.*projections rebuild orders/);
});

it('a look at the tables names the rights that a role lacks', async () => {
  const loaded = declared(orders());
  await migrateTables(layoutsOf(loaded), database, signal);
  await client.query('CREATE ROLE writer');
  const weak: Database = {
    close: () => database.close(),
    transaction: (work, options) => database.transaction(work, { ...options, first: 'SET LOCAL ROLE writer' }),
  };
  const asWriter = withTables(declaring(stage, { effects: [orders()] }), weak);
  expect(await faultsOf(asWriter)).toEqual([expect.stringMatching(/may not use the schema millrace.*GRANT USAGE/)]);
  await client.query(
    'GRANT USAGE ON SCHEMA millrace TO writer; GRANT SELECT ON ALL TABLES IN SCHEMA millrace TO writer',
  );
  expect(await faultsOf(asWriter)).toEqual(
    ['orders_v1', 'orders_v1_guards'].map((name) =>
      expect.stringContaining(
        `This role lacks INSERT, UPDATE, DELETE on millrace.${name}. Let the owner run \`GRANT INSERT, UPDATE, DELETE ON millrace.${name}`,
      ),
    ),
  );
  await client.query('GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA millrace TO writer');
  expect(await faultsOf(asWriter)).toEqual([]);
  await client.query('DROP OWNED BY writer; DROP ROLE writer');
});

it('readiness holds a projection whose columns changed under its version, and names it', async () => {
  const loaded = declared(orders());
  await migrateTables(layoutsOf(loaded), database, signal);
  const host = async (of: LoadedPipeline, id: string): Promise<void> => {
    const doc = { id, type: 'order', storeId: 's1', customerId: 'c1', placedAt: '2026-01-01T10:00:00.000Z', cents: 5 };
    await stage.container('Orders').items.upsert(doc);
    const app = await compose({ ...stage, ...fast, loaded: of, host: 'live' });
    await app.start();
    await app.drained(AbortSignal.timeout(60_000));
    await app.stop();
  };
  const ids = async (): Promise<unknown[]> => (await client.query('SELECT id FROM orders ORDER BY id')).rows;
  await host(loaded, 'o1');
  expect((await compareDeployed(loaded, stage.services)).held.size).toBe(0);
  const renamed = declared(orders({ columns: { cents: { name: 'amount' } } }));
  const { held } = await compareDeployed(renamed, stage.services);
  expect(held.get('orders@1')).toContain('columns.cents was ["cents","bigint"] and is now absent');
  await host(renamed, 'o2');
  const letters = new DeadLetters(stage.services.place.state);
  expect(await letters.list('orders@1')).toMatchObject([{ id: 'o2', code: 'projection-incompatible' }]);
  expect(await ids()).toEqual([{ id: 'o1' }]);
  await host(loaded, 'o3');
  expect(await ids()).toEqual([{ id: 'o1' }, { id: 'o3' }]);
});

it('readiness says which tables hosts can’t write, and nothing of the address of a server that is away', async () => {
  const loaded = declared(orders());
  expect(await tablesThatDiffer(loaded, signal)).toMatchObject([
    { container: 'orders', projection: 'orders@1', waits: true, what: expect.stringContaining('millrace sql migrate') },
  ]);
  await migrateTables(layoutsOf(loaded), database, signal);
  expect(await tablesThatDiffer(loaded, signal)).toEqual([]);
  const away = openDatabase('postgres://someone@127.0.0.1:1/secret');
  const [found] = await tablesThatDiffer(withTables(declaring(stage, { effects: [orders()] }), away), signal);
  expect(found?.what).toContain('PostgreSQL does not answer');
  expect(JSON.stringify(found)).not.toMatch(/someone|127\.0\.0\.1|secret/);
});

it('doctor looks at the tables too', async () => {
  await using example = await openStage({}, EXAMPLE);
  for (const [name, value] of Object.entries({ ...example.env, POSTGRES_URL: url })) vi.stubEnv(name, value);
  const doctor = async (): Promise<unknown> => {
    const { stdout } = await cli(['doctor', '--pipeline', EXAMPLE, '--json']);
    return (JSON.parse(stdout) as { check: string }[]).filter(({ check }) => check === 'tables');
  };
  const missing = (await doctor()) as unknown[];
  expect(missing.length).toBeGreaterThan(1);
  expect(missing[0]).toMatchObject({ verdict: 'bad', hint: expect.stringContaining('millrace sql migrate') });
  const { code, stderr } = await cli(['sql', 'migrate', '--pipeline', EXAMPLE]);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  expect(await doctor()).toMatchObject([{ verdict: 'good', what: expect.stringContaining('match the pipeline') }]);
});
