import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { growthOf } from '../../../src/procedures/sql/growth.ts';
import { startPglite } from '../../../src/postgres/pglite.ts';
import { cli } from '../../cli/cli.ts';
import { openStage } from '../../support/stage.ts';

const SHOP = join(import.meta.dirname, '../../fixtures/shop');

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'millrace-growth-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe('sql rebalance', () => {
  const GB = 1e9;
  const growth = (tenants: Readonly<Record<string, number>>, nodes: Readonly<Record<string, number>>) =>
    growthOf(
      {
        tenants: Object.entries(tenants).map(([tenant, bytes]) => ({ tenant, bytes })),
        nodes: Object.entries(nodes).map(([node, bytes]) => ({ node, bytes })),
      },
      'orders',
      { isolate: 0.2, threshold: 0.1 },
    );

  it('`sql rebalance` isolates the tenants with a share of a node, and rebalances', () => {
    const found = growth({ large: 1.2 * GB, "o'neill": 0.2 * GB, small: 0.199 * GB }, { a: 1.5 * GB, b: 0.5 * GB });
    expect(found).toMatchObject({ beyond: ['large'], full: [{ node: 'a', above: 0.5 }] });
    expect(found.statements).toEqual([
      "SELECT isolate_tenant_to_new_shard('orders', 'large'::text, 'CASCADE');",
      "SELECT isolate_tenant_to_new_shard('orders', 'o''neill'::text, 'CASCADE');",
      'SELECT * FROM get_rebalance_table_shards_plan();',
      'SELECT citus_rebalance_start();',
      'SELECT * FROM citus_rebalance_status();',
    ]);
  });

  it('`sql rebalance` needs nothing where the nodes are in balance', () => {
    expect(growth({ small: 5 }, { a: 100 }).statements).toEqual([]);
  });

  describe('on a server', () => {
    let server: Awaited<ReturnType<typeof startPglite>>;
    let client: Client;
    beforeAll(async () => {
      server = await startPglite();
      client = new Client(server.url);
      await client.connect();
    }, 60_000);
    afterAll(async () => {
      vi.unstubAllEnvs();
      await client?.end();
      await server?.[Symbol.asyncDispose]();
    });
    const run = (...flags: string[]) => {
      // Asked for with the settings, and not connected to.
      vi.stubEnv('COSMOS_DATABASE', 'shop');
      vi.stubEnv('COSMOS', 'AccountEndpoint=https://localhost:1/;AccountKey=AA==;');
      vi.stubEnv('POSTGRES_URL', server.url);
      return cli(['sql', 'rebalance', '--table', 'orders', '--tenant', 'store_id', ...flags], { directory });
    };

    it('`sql rebalance` refuses a database without Citus', async () => {
      const { code, stderr } = await run();
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('has no extension Citus') });
    });

    // Citus isn't here. These functions take what its own take, note it, and refuse what it refuses.
    it('measures, isolates each tenant once, and starts the rebalance', async () => {
      await client.query(`CREATE TABLE calls (n serial, what text);
CREATE TABLE orders (store_id text, note text);
INSERT INTO orders SELECT 'large', repeat('x', 100) FROM generate_series(1, 50);
INSERT INTO orders VALUES ('small', 'x');
CREATE TABLE pg_dist_shard (shardid bigint, shardminvalue text, shardmaxvalue text);
INSERT INTO pg_dist_shard VALUES (1, '-100', '100');
CREATE TABLE citus_shards AS SELECT 'a' AS nodename, 1 AS nodeport, 9000 AS shard_size UNION ALL SELECT 'b', 1, 1000;
CREATE FUNCTION get_shard_id_for_distribution_column(regclass, text) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
CREATE FUNCTION isolate_tenant_to_new_shard(of regclass, tenant text, how text) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
  IF (SELECT shardminvalue = shardmaxvalue FROM pg_dist_shard) THEN RAISE EXCEPTION 'already isolated'; END IF;
  UPDATE pg_dist_shard SET shardmaxvalue = shardminvalue;
  INSERT INTO calls (what) VALUES (format('isolate %s %s %s', of, tenant, how)); RETURN 2; END $$;
CREATE FUNCTION get_rebalance_table_shards_plan() RETURNS TABLE (shardid bigint) LANGUAGE sql AS 'SELECT 1::bigint';
CREATE FUNCTION citus_rebalance_status() RETURNS TABLE (job_id bigint) LANGUAGE sql AS 'SELECT 1::bigint';
CREATE FUNCTION citus_rebalance_start() RETURNS bigint LANGUAGE sql AS $$ INSERT INTO calls (what) VALUES ('rebalance') RETURNING 1::bigint $$`);
      const printed = await run();
      expect(printed.stdout).toContain("SELECT isolate_tenant_to_new_shard('orders', 'large'::text, 'CASCADE');");
      const calls = async (): Promise<string[]> =>
        (await client.query<{ what: string }>('SELECT what FROM calls ORDER BY n')).rows.map(({ what }) => what);
      expect(await calls()).toEqual([]);
      const { stdout } = await run('--yes');
      expect(stdout).toContain('4 statements run.');
      expect((await run('--yes')).stdout).toContain('3 statements run.');
      expect(await calls()).toEqual(['isolate orders large CASCADE', 'rebalance', 'rebalance']);
    });

    it('`sql rebalance --yes` leaves an audit record where there is a pipeline', async () => {
      await using stage = await openStage({}, SHOP);
      for (const [name, value] of Object.entries({ ...stage.env, POSTGRES_URL: server.url })) vi.stubEnv(name, value);
      const flags = ['--table', 'orders', '--tenant', 'store_id', '--pipeline', SHOP];
      const { code } = await cli(['sql', 'rebalance', ...flags, '--yes']);
      expect(code).toBe(0);
      await client.query('DROP FUNCTION citus_rebalance_start()');
      expect((await cli(['sql', 'rebalance', ...flags, '--yes'])).code).toBe(2);
      const audit = JSON.parse((await cli(['audit', '--json', '--pipeline', SHOP])).stdout) as unknown[];
      expect(audit).toMatchObject([
        { verb: 'sql rebalance', arguments: { table: 'orders' }, outcome: 'failed', result: { code: 'unsupported' } },
        {
          verb: 'sql rebalance',
          outcome: 'done',
          result: { done: expect.arrayContaining(['SELECT citus_rebalance_start();']) },
        },
      ]);
    });
  });
});
