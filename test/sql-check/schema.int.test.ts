// The statements that give a table its tenant run on PostgreSQL, and do what they say.
import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { schemaFindings } from '../../src/sql-check/schema.ts';
import { readDdl } from '../../src/sql-check/session.ts';
import { loadParser } from '../../src/sql-check/parser.ts';

const parser = await loadParser();
const catalogOf = (text: string) => readDdl(parser, { file: 'schema.sql', text }, 'store_id').catalog;

describe('SQL-S10 tables without the tenant', () => {
  const OLD = `CREATE TABLE stores (store_id bigint PRIMARY KEY);
    CREATE TABLE orders (order_id bigint PRIMARY KEY, store_id bigint NOT NULL REFERENCES stores);
    CREATE TABLE items (item_id bigint PRIMARY KEY, order_id bigint REFERENCES orders, code text, UNIQUE (code));`;
  let db: PGlite;
  beforeAll(async () => {
    db = await PGlite.create();
    await db.exec(`CREATE FUNCTION create_distributed_table(text, text, colocate_with text DEFAULT '') RETURNS void
      LANGUAGE sql AS '';`);
  });
  afterAll(() => db.close());

  it('get the column, its values in batches, and their keys', async () => {
    await db.exec(`${OLD}
      INSERT INTO stores VALUES (1), (2);
      INSERT INTO orders SELECT n, n % 2 + 1 FROM generate_series(1, 20000) n;
      INSERT INTO items SELECT n, n, n FROM generate_series(1, 20000) n;`);
    const found = schemaFindings(catalogOf(OLD));
    expect(found.map(({ table, refused }) => [table, refused])).toEqual([['items', false]]);
    const distributed = schemaFindings(catalogOf(`${OLD} SELECT create_distributed_table('stores', 'store_id');`));
    const { statements = [] } = distributed.find(({ table }) => table === 'items') ?? {};
    expect(statements.map((each) => each.slice(0, 24))).toEqual([
      'ALTER TABLE items ADD CO',
      'UPDATE items t SET store',
      'ALTER TABLE items ALTER ',
      'ALTER TABLE items DROP C',
      'ALTER TABLE items ADD CO',
      'ALTER TABLE items DROP C',
      'ALTER TABLE items ADD CO',
      'SELECT create_distribute',
    ]);
    for (const statement of statements)
      for (let changed = 1; changed > 0;) {
        const { affectedRows = 0 } = await db.query(statement.replace(/ --.*/, ''));
        changed = statement.startsWith('UPDATE') ? affectedRows : 0;
        expect(changed).toBeLessThanOrEqual(10_000);
      }
    const wrong = 'SELECT 1 FROM items i JOIN orders o USING (order_id) WHERE i.store_id <> o.store_id';
    expect((await db.query(wrong)).rows).toEqual([]);
    const keys =
      "SELECT conname FROM pg_constraint WHERE conrelid = 'items'::regclass AND contype IN ('p', 'u') ORDER BY 1";
    expect((await db.query<{ conname: string }>(keys)).rows.map(({ conname }) => conname)).toEqual([
      'items_code_key',
      'items_pkey',
    ]);
  });
});
