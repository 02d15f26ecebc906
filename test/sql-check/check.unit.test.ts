// The checker against the expected verdicts, which are older than it.
import { describe, expect, it } from 'vitest';
import { checkStatement } from '../../src/sql-check/check.ts';
import { readDdl } from '../../src/sql-check/session.ts';
import { loadParser } from '../../src/sql-check/parser.ts';
import { expectedQueries, schema } from './queries.ts';

/** Of these many queries the check may say that it doesn't know where they run, though it is known. */
const RUNS_UNKNOWN = 5;

const parser = await loadParser();
const { catalog, skipped } = readDdl(parser, { file: 'schema.sql', text: schema });
const verdicts = expectedQueries().map((query) => {
  const [statement] = parser.parse(query.sql, query.file);
  return { ...query, found: checkStatement(catalog, statement!.node) };
});

describe('the verdicts of the check', () => {
  it('the verdicts of the check stand on DDL of which each statement is understood', () => {
    expect(skipped).toEqual([]);
    expect(catalog.tenant).toBe('store_id');
  });
  it.each(verdicts)('$file:$line, rows', ({ rows, unknown, found }) => {
    expect(found.rows).toMatchObject({ verdict: unknown ? 'unknown' : rows });
  });
  it.each(verdicts)('$file:$line, where it runs', ({ runs, found }) => {
    expect(['unknown', runs]).toContain(found.runs.verdict);
  });
  it('the verdicts of the check rarely are that it does not know where a query runs', () => {
    const unknown = verdicts.filter(({ runs, found }) => found.runs.verdict === 'unknown' && runs !== 'unknown');
    expect(unknown.map(({ file, line, found }) => `${file}:${line} ${found.runs.why}`)).toHaveLength(RUNS_UNKNOWN);
  });
});

describe('SQL-S2 the check says that it does not know', () => {
  const rowsOf = (sql: string, ddl = schema): string => {
    const of = readDdl(parser, { file: 'schema.sql', text: ddl }, 'store_id').catalog;
    return checkStatement(of, parser.parse(sql, 'query')[0]!.node).rows.verdict;
  };
  const SAFE = 'SELECT count(*) FROM orders WHERE store_id = 1';

  it.each([
    ['a function that is not listed', 'SELECT f(1) FROM orders WHERE store_id = 1'],
    ['a function of another schema', 'SELECT shop.count(1) FROM orders WHERE store_id = 1'],
    [
      'a table that the DDL does not have',
      'SELECT * FROM orders o JOIN invoices i ON i.id = o.order_id WHERE o.store_id = 1',
    ],
    ['a column that the DDL does not have', 'SELECT nothing FROM orders WHERE store_id = 1'],
    ['a sample', 'SELECT * FROM orders TABLESAMPLE SYSTEM (10) WHERE store_id = 1'],
    ['a sequence', "SELECT nextval('s') FROM orders WHERE store_id = 1"],
    ['a list as a parameter', 'SELECT * FROM orders WHERE store_id = ANY ($1)'],
    ['two parameters', 'SELECT * FROM orders o JOIN stores s ON true WHERE o.store_id = $1 AND s.store_id = $2'],
    ['a table by itself', 'COPY orders TO STDOUT'],
    ['a search path', 'SET search_path TO other'],
    ['a table without the column', 'DELETE FROM devices WHERE device_id = 1'],
    [
      'an upsert by a key without the tenant',
      "INSERT INTO codes (store_id, code) VALUES (1, 'a') ON CONFLICT (code) DO NOTHING",
    ],
  ])('the check says that it does not know of %s', (_, sql) => {
    const ddl = `${schema}
      CREATE TABLE devices (device_id bigint PRIMARY KEY); SELECT create_distributed_table('devices', 'device_id');
      CREATE TABLE codes (store_id bigint, code text UNIQUE);`;
    expect(rowsOf(sql, ddl)).toBe('unknown');
  });

  it.each([
    ['a rule on a table', 'CREATE RULE r AS ON SELECT TO orders DO INSTEAD SELECT * FROM stores;'],
    ['a function named as one of PostgreSQL', "CREATE FUNCTION count(orders) RETURNS int LANGUAGE sql AS 'SELECT 1';"],
    ['a renamed column', 'ALTER TABLE orders RENAME COLUMN store_id TO shop;'],
    ['a changed type', 'ALTER TABLE orders ALTER COLUMN store_id TYPE text;'],
    ['an operator', 'CREATE OPERATOR = (LEFTARG = bigint, RIGHTARG = text, FUNCTION = f);'],
    ['a collation on the tenant', 'DROP TABLE orders; CREATE TABLE orders (store_id text COLLATE ci, order_id int);'],
    [
      'a table that inherits',
      'CREATE TABLE more (x int) INHERITS (stores); DROP TABLE orders; CREATE TABLE orders (y int) INHERITS (stores);',
    ],
  ])('the check says that it does not know of %s in the DDL', (_, more) => {
    expect(rowsOf(SAFE)).toBe('safe');
    expect(rowsOf(SAFE, `${schema}\n${more}`)).not.toBe('safe');
  });

  it('the check says that it does not know of writes to a table with a trigger, and of deletes that go along without the tenant', () => {
    const more = `CREATE TRIGGER t BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION f();
      CREATE TABLE lines (store_id bigint, id bigint REFERENCES products ON DELETE CASCADE);`;
    expect(rowsOf('UPDATE orders SET total = 1 WHERE store_id = 1', `${schema}\n${more}`)).toBe('unknown');
    expect(rowsOf('DELETE FROM products WHERE store_id = 1', `${schema}\n${more}`)).toBe('unknown');
  });
});

describe('SQL-S1 names that mean something else', () => {
  const outside = (inner: string): string => {
    const sql = `SELECT * FROM (${inner}) s WHERE s.tenant = 1`;
    return checkStatement(catalog, parser.parse(sql, 'query')[0]!.node).rows.verdict;
  };

  it.each([
    ['safe', 'SELECT DISTINCT ON (store_id) store_id AS tenant, order_id FROM orders ORDER BY store_id, order_id'],
    ['leaks', 'SELECT DISTINCT ON (store_id) order_id AS store_id, store_id AS tenant FROM orders ORDER BY 1, 2'],
    ['safe', 'SELECT store_id AS tenant, count(*) OVER (PARTITION BY store_id) AS n FROM orders'],
    ['leaks', 'SELECT store_id AS tenant, count(*) OVER (PARTITION BY 1) AS n FROM orders'],
    ['leaks', 'SELECT order_id AS store, store_id AS tenant, count(*) OVER (PARTITION BY order_id) AS n FROM orders'],
    ['safe', 'SELECT store_id AS tenant, count(*) AS n FROM orders GROUP BY 1'],
    ['leaks', 'SELECT 1 AS tenant, count(*) AS n FROM orders GROUP BY status'],
    ['leaks', 'SELECT max(store_id) AS tenant FROM orders'],
    ['leaks', 'SELECT coalesce(o.store_id, 1) AS tenant FROM orders o'],
  ])('%s: %s', (verdict, inner) => {
    expect(outside(inner)).toBe(verdict);
  });

  it.each([
    // A store without items has a null among these, which makes NOT IN unknown for all stores.
    'SELECT * FROM orders o WHERE o.store_id = 1 AND o.store_id NOT IN (SELECT i.store_id FROM stores s LEFT JOIN order_items i ON i.store_id = s.store_id)',
    // count(*) has a row whatever WHERE says.
    'SELECT o.order_id, l.n FROM orders o, LATERAL (SELECT count(*) AS n FROM countries c WHERE o.store_id = 1) l',
  ])('a statement with a name that means something else leaks: %s', (sql) => {
    expect(checkStatement(catalog, parser.parse(sql, 'query')[0]!.node).rows.verdict).toBe('leaks');
  });

  it('two subqueries with one text are two values', () => {
    const sub = '(SELECT floor(random() * 3)::bigint)';
    const sql = `SELECT * FROM orders o, products p WHERE o.store_id = ${sub} AND p.store_id = ${sub}`;
    expect(checkStatement(catalog, parser.parse(sql, 'query')[0]!.node).rows.verdict).not.toBe('safe');
  });
});

it('the parser names the line of a text that ends too early', () => {
  expect(() => parser.parse('SELECT 1\nFROM orders WHERE\n\n', 'q.sql')).toThrow(
    'q.sql:2: syntax error at end of input',
  );
});
