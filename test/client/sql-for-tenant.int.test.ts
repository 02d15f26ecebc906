// The tenant's condition in SQL texts, and the guard for development. The judge runs what comes out.
import { spawnSync } from 'node:child_process';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { guardSql, readSqlSchema, sqlForTenant } from '../../src/client.ts';
import { Judge } from '../sql-check/judge.ts';
import { expectedQueries, schema as ddl } from '../sql-check/queries.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';

const schema = await readSqlSchema({ ddl });
const PRELUDE = `
  CREATE FUNCTION create_reference_table(text) RETURNS void LANGUAGE sql AS '';
  CREATE FUNCTION create_distributed_table(text, text, colocate_with text DEFAULT '') RETURNS void LANGUAGE sql AS '';`;

const refusal = (text: string): unknown => {
  try {
    return sqlForTenant(schema, { text }, 1);
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('SQL-S3 sqlForTenant', () => {
  it('`sqlForTenant` reads a text once', () => {
    const text = 'SELECT * FROM orders';
    expect(schema.addTenant(text)).toBe(schema.addTenant(text));
    expect(schema.check(text)).toBe(schema.check(text));
    expect(schema.check('SET search_path TO a; SELECT * FROM orders')).toMatchObject([
      { rows: 'unknown' },
      { rows: 'unknown', why: 'it reads orders, which the DDL doesn’t have' },
    ]);
  });

  it('`sqlForTenant` adds the condition to each table, and its value to the parameters', () => {
    expect(sqlForTenant(schema, { text: 'SELECT o.* FROM orders o WHERE o.total > $1', values: [5] }, 1)).toEqual({
      text: 'SELECT o.* FROM (SELECT * FROM orders WHERE "store_id" = $2) o WHERE o.total > $1',
      values: [5, 1],
    });
    expect(
      sqlForTenant(schema, { text: "UPDATE orders SET status = ') WHERE' WHERE total > 1 OR total < 0 -- x" }, 1).text,
    ).toBe(`UPDATE orders SET status = ') WHERE' WHERE "orders"."store_id" = $1 AND ( total > 1 OR total < 0 -- x\n) `);
    expect(sqlForTenant(schema, { text: 'SELECT * FROM countries' }, 1)).toEqual({
      text: 'SELECT * FROM countries',
      values: [],
    });
  });

  it.each([
    'SELECT * FROM largest_orders',
    'SELECT ctid FROM orders',
    'SELECT * FROM ONLY orders',
    'TABLE orders',
    "INSERT INTO orders VALUES (1, 1, 'a', 'b', 'c', now(), 1)",
    'SELECT * FROM orders; DELETE FROM orders',
    'SELECT * FROM orders WHERE total > average_total()',
    'WITH orders AS (SELECT * FROM orders) SELECT * FROM orders',
    'TRUNCATE orders',
  ])('`sqlForTenant` refuses %s', (text) => {
    expect(refusal(text)).toBe('query-unsupported');
  });

  it('`sqlForTenant` refuses values that do not fit the parameters', () => {
    expect(() => sqlForTenant(schema, { text: 'SELECT * FROM orders WHERE total = $1' }, 1)).toThrow(
      '1 parameters and 0 values',
    );
  });

  it('`sqlForTenant` makes of each query either a refusal or one that shows and changes only the tenant’s rows', async () => {
    const judge = await Judge.open();
    const random = new Random(suiteSeed());
    // The judge can't tell chance from a leak.
    const queries = expectedQueries().filter(({ sql }) => !sql.includes('random()'));
    const results = queries.map(({ sql, rows }) => {
      const values = sql.includes('$1') ? [1] : [];
      try {
        return { rows, ...sqlForTenant(schema, { text: sql, values }, 1) };
      } catch {
        return undefined;
      }
    });
    const given = results.filter((result) => result !== undefined);
    const wrong: string[] = [];
    for (let round = 0; round < 2; round++) {
      await judge.fill((below) => random.int(below));
      for (const { text, values } of given) {
        const judged = await judge.judge(text, values);
        if (judged.kind === 'differs') wrong.push(`${text}: ${judged.what}`);
      }
    }
    await judge.close();
    expect(wrong).toEqual([]);
    // Most of the queries that leaked are among them.
    expect(given.filter(({ rows }) => rows === 'leaks').length).toBeGreaterThan(25);
  });
});

interface Client {
  query(of: string | { readonly text: string }): Promise<number>;
}

type Connected = (error: unknown, client: Client) => void;

describe('SQL-S4 guardSql', () => {
  let db: PGlite;
  beforeAll(async () => {
    db = await PGlite.create();
    await db.exec(PRELUDE + ddl);
    await db.exec(
      "INSERT INTO orders VALUES (1, 1, NULL, 'paid', NULL, now(), 5), (2, 1, NULL, 'paid', NULL, now(), 6)",
    );
  });
  afterAll(async () => db.close());
  const code = async (run: () => Promise<unknown>): Promise<unknown> => {
    try {
      return await run();
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  it('`guardSql` passes a statement of one tenant on, and refuses others before they run', async () => {
    const guarded = guardSql(db, schema, { enabled: true });
    const { rows } = await guarded.query('SELECT total FROM orders WHERE store_id = $1', [1]);
    expect(rows).toEqual([{ total: 5 }]);
    expect(await code(async () => guarded.query('DELETE FROM orders'))).toBe('all-tenants');
    expect(await code(async () => guarded.query('SELECT average_total() FROM orders WHERE store_id = 1'))).toBe(
      'all-tenants',
    );
    expect((await db.query('SELECT 1 FROM orders')).rows).toHaveLength(2);
    const all = await guarded.query('SELECT count(*)::int AS n FROM orders -- all tenants: a test');
    expect(all.rows).toEqual([{ n: 2 }]);
  });

  it('`guardSql` refuses a statement that names another tenant than the current one', async () => {
    const guarded = guardSql(db, schema, { enabled: true, current: () => 1 });
    expect(await code(async () => guarded.query('SELECT * FROM orders WHERE store_id = 2'))).toBe('all-tenants');
    expect(await code(async () => guarded.query('SELECT * FROM orders WHERE store_id = $1', [2]))).toBe('all-tenants');
    expect((await guarded.query('SELECT * FROM orders WHERE store_id = $1', ['1'])).rows).toHaveLength(1);
  });

  it('`guardSql` guards the clients of connect, by promise and by callback, and configurations and cursors', async () => {
    const sent: string[] = [];
    const client: Client = {
      query: (of) => Promise.resolve(sent.push(typeof of === 'string' ? of : of.text)),
    };
    const pool = {
      ...client,
      connect: (callback?: Connected) => (callback ? callback(null, client) : Promise.resolve(client)),
    };
    const guarded = guardSql(pool, schema, { enabled: true });
    const connected = (await guarded.connect()) as Client;
    expect(await code(async () => connected.query({ text: 'SELECT * FROM orders' }))).toBe('all-tenants');
    const called = Promise.withResolvers<Client>();
    void guarded.connect((_, of) => called.resolve(of));
    const other = await called.promise;
    expect(await code(async () => other.query('SELECT * FROM orders'))).toBe('all-tenants');
    const cursor = { cursor: { text: 'SELECT * FROM orders' } } as unknown as string;
    expect(await code(async () => guarded.query(cursor))).toBe('all-tenants');
    await connected.query('BEGIN');
    expect(sent).toEqual(['BEGIN']);
    expect(guardSql(pool, schema, { enabled: false })).toBe(pool);
  });

  it('`guardSql` loads no parser in an application that does not read a schema', () => {
    const door = new URL('../../src/client.ts', import.meta.url).href;
    const script = `
      import { registerHooks } from 'node:module';
      const files = [];
      registerHooks({ load: (url, context, next) => (files.push(url), next(url, context)) });
      const { readSqlSchema } = await import('${door}');
      const count = () => files.filter((url) => /sql-check\\/(?!.*test)|libpg-query/.test(url.replace(${JSON.stringify(door)}.slice(0, -'src/client.ts'.length), ''))).length;
      const before = count();
      await readSqlSchema({ ddl: 'CREATE TABLE t (store_id int)' });
      console.log(JSON.stringify({ before, after: count() > 5 }));`;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--conditions=millrace-source', '--input-type=module', '--eval', script],
      { encoding: 'utf8' },
    );
    expect(stderr.replaceAll(/^.*Warning.*$/gm, '').trim()).toBe('');
    expect(JSON.parse(stdout)).toEqual({ before: 0, after: true });
  });
});
