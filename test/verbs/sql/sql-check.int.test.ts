import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cli } from '../../cli/cli.ts';
import { schema } from '../../sql-check/queries.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'millrace-sql-'));
  await writeFile(join(directory, 'schema.sql'), schema);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const LEAKS = `-- What the shop shows.
SELECT o.order_id, i.line
FROM orders o
JOIN order_items i USING (order_id) -- ä
WHERE o.store_id = $1;
SELECT count(*) FROM orders WHERE store_id = $1;
`;

async function check(queries: string, ...flags: string[]) {
  await writeFile(join(directory, 'queries.sql'), queries);
  return cli(['sql', 'check', 'queries.sql', '--ddl', 'schema.sql', ...flags], { directory });
}

describe('SQL-S5 sql check', () => {
  it('`sql check` names file, line and table, and fails if a statement leaks', async () => {
    const { code, stdout } = await check(LEAKS);
    expect(code).toBe(1);
    expect(stdout)
      .toBe(`queries.sql:2  SELECT o.order_id, i.line FROM orders o JOIN order_items i USING (order_id) -- ä WHERE o.store_id = $1
  rows: LEAKS: nothing restricts order_items (i) to one store_id (order_items queries.sql:4:6)
  runs: repartition: the query contains a join that requires repartitioning
queries.sql:6  SELECT count(*) FROM orders WHERE store_id = $1
  rows: safe: each use of a table with tenants is restricted to one store_id
  runs: one node: each distributed table is restricted to one shard
schema: visits is distributed by visitor_id, and not by store_id; if its rows belong to no tenant: SELECT create_reference_table('visits')
  SELECT undistribute_table('visits');
  SELECT create_distributed_table('visits', 'store_id', colocate_with => 'stores');
schema: settings has no column store_id; if its rows belong to no tenant: SELECT create_reference_table('settings')
  ALTER TABLE settings ADD COLUMN store_id int8;
  -- Fill store_id of settings: no foreign key leads to a table that has it.
  ALTER TABLE settings ALTER COLUMN store_id SET NOT NULL;
  ALTER TABLE settings DROP CONSTRAINT settings_pkey CASCADE;
  ALTER TABLE settings ADD CONSTRAINT settings_pkey PRIMARY KEY (store_id, name);
  SELECT create_distributed_table('settings', 'store_id', colocate_with => 'stores');
2 statements by store_id: 1 safe, 1 leak, 0 not known.
`);
  });

  it('`sql check` prints one value with json', async () => {
    const { code, stdout } = await check(LEAKS, '--json');
    const { counts, statements } = JSON.parse(stdout) as { counts: unknown; statements: object[] };
    expect({ code, counts }).toEqual({ code: 1, counts: { safe: 1, leaks: 1, unknown: 0, allowed: 0 } });
    expect(statements[0]).toMatchObject({
      line: 2,
      rows: 'leaks',
      runs: 'repartition',
      tables: [{ table: 'order_items', line: 4, column: 6 }],
    });
  });

  it('`sql check` passes a statement that a comment allows, and leaves safe ones out with quiet', async () => {
    const { code, stdout } = await check('-- all tenants: a report\nSELECT count(*) FROM orders;\n', '--quiet');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: '1 statement by store_id: 0 safe, 0 leak, 0 not known, 1 allowed for all tenants.\n',
    });
  });

  it('`sql check` fails on what it does not know with strict', async () => {
    const query = 'SELECT f(1) FROM orders WHERE store_id = 1;';
    expect((await check(query)).code).toBe(0);
    expect((await check(query, '--strict')).code).toBe(1);
  });

  it('takes several files, each with the tables that it makes, and the DDL among them', async () => {
    await writeFile(join(directory, 'more.sql'), 'CREATE TABLE t (store_id int); SELECT * FROM t;');
    await writeFile(join(directory, 'other.sql'), 'SELECT * FROM t;');
    const files = ['more.sql', 'other.sql', 'schema.sql'];
    const { code, stdout } = await cli(['sql', 'check', ...files, '--ddl', 'schema.sql'], { directory });
    expect(code).toBe(1);
    expect(stdout).toContain('2 statements by store_id: 0 safe, 1 leak, 1 not known');
  });

  it.each([
    'SET search_path TO shared;',
    'CREATE TEMP TABLE orders (order_id bigint);',
    'CREATE TABLE IF NOT EXISTS orders (order_id bigint);',
    'CREATE VIEW orders AS SELECT 1 AS order_id;',
    "SELECT create_reference_table('orders');",
    'DROP TABLE orders; CREATE TABLE orders (order_id bigint);',
  ])('lets no other file make a leak safe: %s', async (other) => {
    await writeFile(join(directory, 'a.sql'), other);
    await writeFile(join(directory, 'z.sql'), other);
    await writeFile(join(directory, 'queries.sql'), 'SELECT * FROM orders;');
    const files = ['a.sql', 'queries.sql', 'z.sql'];
    const { code, stdout } = await cli(['sql', 'check', ...files, '--ddl', 'schema.sql'], { directory });
    expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringContaining('1 leak') as string });
  });

  it('`sql check` shows the line of an error, with a caret', async () => {
    const { code, stderr } = await check("SELECT 1;\nSELECT 'ä' frm orders wher store_id = 1;\n");
    expect(code).toBe(2);
    expect(stderr).toContain('queries.sql:2: syntax error at or near "orders"');
    expect(stderr).toContain("  SELECT 'ä' frm orders wher store_id = 1;\n                 ^");
  });

  it('`sql check` names a file that cannot be read, a schema without tables, and DDL that it does not read', async () => {
    expect((await cli(['sql', 'check', 'none.sql'], { directory })).stderr).toContain('none.sql can’t be read');
    await writeFile(join(directory, 'odd.sql'), 'CREATE TABLE orders (store_id int);\nDO $$ BEGIN END $$;');
    await writeFile(join(directory, 'one.sql'), 'SELECT 1;');
    const odd = await cli(['sql', 'check', 'one.sql', '--ddl', 'odd.sql'], { directory });
    expect(odd.stdout).toContain('odd.sql:2: DO $$ BEGIN END: the check doesn’t read this statement of the DDL');
    expect((await cli(['sql', 'check', 'one.sql'], { directory })).stdout).toContain('The DDL has no tables');
  });
});

describe('SQL-S10 sql check of a schema', () => {
  it('fails if Citus refuses a table, with the statements that correct it', async () => {
    const ddl = `CREATE TABLE t (store_id bigint NOT NULL, id bigint PRIMARY KEY); SELECT create_distributed_table('t', 'store_id');`;
    await writeFile(join(directory, 'refused.sql'), ddl);
    await writeFile(join(directory, 'one.sql'), 'SELECT id FROM t WHERE store_id = 1;');
    const { code, stdout } = await cli(['sql', 'check', 'one.sql', '--ddl', 'refused.sql', '--quiet'], { directory });
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: `schema: Citus refuses the DDL: the primary key of t (id) has no store_id
  ALTER TABLE t DROP CONSTRAINT t_pkey CASCADE;
  ALTER TABLE t ADD CONSTRAINT t_pkey PRIMARY KEY (store_id, id);
1 statement by store_id: 1 safe, 0 leak, 0 not known.
`,
    });
  });
});

describe('sql check --explain', () => {
  const explain = async (queries: string, ...flags: string[]) => {
    await writeFile(join(directory, 'queries.sql'), queries);
    return cli(['sql', 'check', '--explain', 'queries.sql', '--ddl', 'schema.sql', ...flags], { directory });
  };

  it('`sql check --explain` says of each use of a table what restricts it, with its line, and by what Citus finds its shards', async () => {
    const { code, stdout } = await explain(LEAKS);
    expect(code).toBe(1);
    expect(stdout).toContain(`
  runs: repartition: the query contains a join that requires repartitioning
  orders (o) queries.sql:3:6: store_id = $1; Citus chooses its shards by $1
  order_items (i) queries.sql:4:6: nothing restricts its store_id; Citus reads all of its shards
queries.sql:6 `);
    const { statements } = JSON.parse((await explain(LEAKS, '--line', '6', '--json')).stdout) as {
      statements: { line: number; uses: unknown[] }[];
    };
    expect(statements).toMatchObject([{ line: 6, uses: [{ table: 'orders', line: 6, column: 22 }] }]);
  });

  it('`sql check --explain` says which tables have the same tenant, and what the check has not understood', async () => {
    const { stdout } = await explain(`SELECT 1 FROM orders o JOIN order_items i USING (store_id, order_id);
SELECT 1 FROM orders WHERE store_id IN (1, 2);
SELECT own_function(order_id) FROM orders WHERE store_id = 1;
`);
    expect(stdout).toContain('orders (o) queries.sql:1:15: nothing restricts its store_id; the same store_id as i');
    expect(stdout).toContain('orders queries.sql:2:15: store_id is one of several values');
    expect(stdout).toContain(
      'orders queries.sql:3:36: store_id = 1; Citus chooses its shards by 1\n  not understood: it ',
    );
  });
});
