// What the statements of a file change for those behind them, and what they don't.
import { describe, expect, it } from 'vitest';
import { checkFile } from '../../src/sql-check/check-file.ts';
import { readDdl } from '../../src/sql-check/session.ts';
import { loadParser } from '../../src/sql-check/parser.ts';
import { schema } from './queries.ts';

const parser = await loadParser();
const MORE = `CREATE SCHEMA shared; CREATE TABLE shared.orders (order_id bigint); SELECT create_reference_table('shared.orders');`;
const { catalog } = readDdl(parser, { file: 'schema.sql', text: `${schema}\n${MORE}` });
const LEAK = 'SELECT * FROM orders;';

/** The verdict of the statement that leaks, wherever it stands. */
function verdictOf(text: string, leak = LEAK): string | undefined {
  const found = checkFile(parser, catalog, { file: 'q.sql', text });
  return found.find(({ sql }) => `${sql};` === leak)?.rows;
}

describe('SQL-S7 a leak stays one', () => {
  it.each([
    ['before a search path', `${LEAK} SET search_path TO shared;`],
    ['after a search path of a transaction that has ended', `BEGIN; SET LOCAL search_path TO shared; COMMIT; ${LEAK}`],
    ['after a search path that was rolled back', `BEGIN; SET search_path TO shared; ROLLBACK; ${LEAK}`],
    ['after SET LOCAL without a transaction', `SET LOCAL search_path TO shared; ${LEAK}`],
    ['after a search path that was reset', `SET search_path TO shared; RESET search_path; ${LEAK}`],
    ['after RESET ALL', `SET search_path TO shared; RESET ALL; ${LEAK}`],
    ['after set_config', `BEGIN; SELECT set_config('search_path', 'shared', true); COMMIT; ${LEAK}`],
    ['before a temporary table of its name', `${LEAK} CREATE TEMP TABLE orders (order_id bigint);`],
    ['after one that was rolled back', `BEGIN; CREATE TEMP TABLE orders (order_id bigint); ROLLBACK; ${LEAK}`],
    [
      'after one that was rolled back to a savepoint',
      `BEGIN; SAVEPOINT s; CREATE TEMP TABLE orders (order_id bigint); ROLLBACK TO s; ${LEAK}`,
    ],
    [
      'after one that went with its transaction',
      `BEGIN; CREATE TEMP TABLE orders (order_id bigint) ON COMMIT DROP; COMMIT; ${LEAK}`,
    ],
    ['after one that was discarded', `CREATE TEMP TABLE orders (order_id bigint); DISCARD TEMP; ${LEAK}`],
    ['after a table that is there already', `CREATE TABLE IF NOT EXISTS orders (order_id bigint); ${LEAK}`],
    ['after a table that PostgreSQL refuses', `CREATE TABLE orders (order_id bigint); ${LEAK}`],
    ['after a view that PostgreSQL refuses', `CREATE OR REPLACE VIEW orders AS SELECT 1 AS order_id; ${LEAK}`],
    ['before a table that takes its place', `${LEAK} DROP TABLE orders; CREATE TABLE orders (order_id bigint);`],
    ['after a distribution that Citus refuses', `SELECT create_reference_table('orders'); ${LEAK}`],
    ['beside a call that distributes', `SELECT create_reference_table('notes'), order_id FROM orders; ${LEAK}`],
  ])('%s', (_, text) => {
    expect(verdictOf(text)).toBe('leaks');
  });

  it('through a view, which keeps the tables that it was made of', () => {
    const leak = 'SELECT * FROM paid_orders;';
    expect(verdictOf(`CREATE TEMP TABLE orders (order_id bigint); ${leak}`, leak)).toBe('leaks');
    expect(
      verdictOf(`SET search_path TO shared; SELECT * FROM public.paid_orders;`, 'SELECT * FROM public.paid_orders;'),
    ).toBe('leaks');
  });

  it('and what stands beside a call that distributes is a query', () => {
    const text = `SELECT create_reference_table('settings'), o.order_id FROM orders o;`;
    expect(checkFile(parser, catalog, { file: 'q.sql', text })).toMatchObject([{ rows: 'leaks' }]);
  });

  it.each([
    ['a temporary table', `CREATE TEMP TABLE orders (order_id bigint); ${LEAK}`],
    ['a search path', `SET search_path TO shared; ${LEAK}`],
    ['a search path, in its transaction', `BEGIN; SET LOCAL search_path TO shared; ${LEAK}`],
  ])('and is none where its name stands for %s', (_, text) => {
    expect(verdictOf(text)).toBe('safe');
  });

  it('in DDL that ends with a search path or in a transaction', () => {
    const rowsOf = (more: string): string => {
      const of = readDdl(parser, { file: 's.sql', text: `${schema}\n${MORE}\n${more}` }).catalog;
      return checkFile(parser, of, { file: 'q.sql', text: LEAK })[0]!.rows;
    };
    for (const more of [
      'SET search_path TO shared;',
      'BEGIN; DROP TABLE orders; CREATE TABLE orders (order_id bigint);',
      'CREATE TEMP TABLE orders (order_id bigint);',
    ])
      expect(rowsOf(more)).toBe('leaks');
  });
});

it('SQL-S7 knows no name without schema where the DDL sets the path of a role', () => {
  for (const of of ['ROLE app', 'DATABASE shop']) {
    const text = `${schema}\n${MORE}\nALTER ${of} SET search_path = shared;`;
    const found = readDdl(parser, { file: 's.sql', text });
    const queries = { file: 'q.sql', text: 'SELECT * FROM orders; SELECT * FROM public.orders;' };
    expect(found.skipped).toEqual([]);
    expect(checkFile(parser, found.catalog, queries)).toMatchObject([{ rows: 'unknown' }, { rows: 'leaks' }]);
  }
});

describe('SQL-S8 dumps', () => {
  const DUMP = `--
-- PostgreSQL database dump
--

\\restrict aBc123

SET statement_timeout = 0;
SELECT pg_catalog.set_config('search_path', '', false);
SET row_security = off;
CREATE TABLE public.orders (store_id bigint NOT NULL, order_id bigint NOT NULL, note text DEFAULT E'it\\'s; \\\\');
ALTER TABLE public.orders OWNER TO shop;
CREATE SEQUENCE public.orders_order_id_seq;
ALTER TABLE ONLY public.orders ALTER COLUMN order_id SET DEFAULT nextval('public.orders_order_id_seq'::regclass);
CREATE FUNCTION public.f() RETURNS text LANGUAGE sql AS $$
\\. SELECT ';'
$$;
COPY public.orders (store_id, order_id, note) FROM stdin;
1\t1\tit's; "odd" $$ /* ä
2\t2\t\\N
\\.


SELECT pg_catalog.setval('public.orders_order_id_seq', 2, true);
ALTER TABLE ONLY public.orders ADD CONSTRAINT orders_pkey PRIMARY KEY (store_id, order_id);
SELECT * FROM create_distributed_table('public.orders', 'store_id');
\\unrestrict aBc123
`;

  it('are read whole, with their rows and the commands around them', () => {
    const read = readDdl(parser, { file: 'dump.sql', text: DUMP });
    expect(read.skipped).toEqual([]);
    expect(read.catalog.tenant).toBe('store_id');
    const found = checkFile(parser, read.catalog, {
      file: 'q.sql',
      text: 'SELECT note FROM orders WHERE store_id = $1',
    });
    expect(found).toMatchObject([{ rows: 'safe', runs: 'one node' }]);
  });

  it('keep their lines: an error behind rows names its own', () => {
    expect(() => parser.parse(`${DUMP}SELEC 1;`, 'dump.sql')).toThrow(
      `dump.sql:${DUMP.split('\n').length}: syntax error`,
    );
    expect(() => parser.parse('\\i other.sql', 'dump.sql')).toThrow('dump.sql:1: syntax error');
  });

  const PARTS = `CREATE TABLE orders (store_id bigint, day date) PARTITION BY RANGE (day);
    CREATE TABLE orders_1 (store_id bigint, day date);`;
  it.each([
    `SELECT create_distributed_table('orders', 'store_id'); ALTER TABLE orders ATTACH PARTITION orders_1 DEFAULT;`,
    `ALTER TABLE orders ATTACH PARTITION orders_1 DEFAULT; SELECT * FROM create_distributed_table('orders', 'store_id');`,
  ])('have partitions that are distributed as their table: %s', (more) => {
    const of = readDdl(parser, { file: 'd.sql', text: PARTS + more }).catalog;
    for (const table of ['orders', 'orders_1'])
      expect(checkFile(parser, of, { file: 'q.sql', text: `SELECT day FROM ${table}` })).toMatchObject([
        { rows: 'leaks', runs: 'all nodes' },
      ]);
  });

  const TWO = `CREATE TABLE orders (store_id bigint, order_id bigint); CREATE TABLE notes (store_id bigint);`;
  it.each([
    `SELECT alter_distributed_table('orders', shard_count := 4);`,
    `SELECT create_distributed_table('orders', 'store_id') WHERE now() > '2026-01-01';`,
    `SELECT create_distributed_table(oid::regclass, 'store_id') FROM pg_class;`,
    'ALTER TABLE orders INHERIT notes;',
    `DO $$ BEGIN PERFORM create_distributed_table('orders', 'store_id'); END $$;`,
    'ALTER TABLE orders RENAME TO notes;',
    'ALTER TABLE orders SET SCHEMA shared;',
    'CREATE TABLE orders (order_id bigint);',
  ])('with a statement that is not understood leave its table unclear: %s', (more) => {
    const verdict = (ddl: string) => {
      const of = readDdl(parser, { file: 'd.sql', text: ddl }, 'store_id').catalog;
      return checkFile(parser, of, { file: 'q.sql', text: 'SELECT count(*) FROM orders WHERE store_id = 1' });
    };
    expect(verdict(TWO)).toMatchObject([{ rows: 'safe', runs: 'one node' }]);
    expect(verdict(TWO + more)).toMatchObject([{ rows: 'unknown', runs: 'unknown' }]);
  });
});

describe('SQL-S9 large statements', () => {
  const chain = (length: number): string => {
    const next = Array.from({ length }, (_, at) => `c${at + 1} AS (SELECT a.* FROM c${at} a, c${at} b)`);
    return `WITH c0 AS (SELECT * FROM orders), ${next.join(', ')} SELECT * FROM c${length} WHERE store_id = 1`;
  };
  const joins = (kind: string, count: number): string =>
    `SELECT 1 FROM orders${Array.from({ length: count }, (_, at) => ` ${kind} JOIN orders o${at} USING (store_id)`).join('')}`;

  const recursions = (count: number): string =>
    `WITH RECURSIVE ${Array.from({ length: count }, (_, at) => `c${at} AS (SELECT store_id FROM orders UNION ALL SELECT a.store_id FROM c${at} a JOIN c${Math.max(0, at - 1)} b USING (store_id))`).join(', ')} SELECT * FROM c${count - 1} WHERE store_id = 1`;

  it.each([
    ['a chain of WITH, each used twice', chain(60)],
    ['350 joins', joins('', 350)],
    ['350 full joins', joins('FULL', 350)],
    ['a tower of stars', `SELECT a.* FROM ${'(SELECT a.*, a.*, a.*, a.* FROM '.repeat(12)}orders a${') a'.repeat(12)}`],
    ['a recursion over recursions', recursions(60)],
    ['rows in a list', `SELECT 1 FROM orders WHERE (store_id, order_id) IN (${'(1, 2), '.repeat(40_000)}(1, 2))`],
    ['a list of 200,000 values', `SELECT 1 FROM orders WHERE store_id IN (${'1,'.repeat(200_000)}1)`],
  ])('are not judged: %s', (_, text) => {
    const [found] = checkFile(parser, catalog, { file: 'q.sql', text });
    expect(found).toMatchObject({ rows: 'unknown', runs: 'unknown' });
    expect(found?.why).toMatch(/^it has more than \d+ (queries|tables|expressions)/);
  });

  it.each([
    ['6,000 UNIONs', Array.from({ length: 6_000 }, () => 'SELECT 1').join(' UNION ')],
    ['1,500 joins', joins('', 1_500)],
    ['100,000 UNIONs', Array.from({ length: 100_000 }, () => 'SELECT 1').join(' UNION ')],
    ['6,000 operators', `SELECT ${'1 + '.repeat(6_000)}1`],
    ['6,000 queries in queries', `SELECT ${'(SELECT '.repeat(6_000)}1${')'.repeat(6_000)}`],
    ['6,000 brackets in a list', `SELECT ARRAY${'['.repeat(6_000)}1${']'.repeat(6_000)}`],
    ['3,000 CASEs', `SELECT ${'CASE WHEN true THEN 1 ELSE '.repeat(3_000)}1${' END'.repeat(3_000)}`],
    ['20,000 openings of comments', `${'/*'.repeat(20_000)} SELECT 1`],
    ['20,000 comments in comments', `${'/*'.repeat(20_000)}${'*/'.repeat(20_000)} SELECT 1`],
    ['40,000 signs', `SELECT 1 ${'+-'.repeat(20_000)} 1`],
    ['a condition of 6,000 NOTs', `SELECT 1 FROM orders WHERE ${'NOT '.repeat(6_000)}true`],
  ])('are refused: %s', (_, text) => {
    expect(() => checkFile(parser, catalog, { file: 'q.sql', text })).toThrow(
      expect.objectContaining({ code: 'query-unsupported' }) as Error,
    );
    expect(checkFile(parser, catalog, { file: 'q.sql', text: LEAK })).toMatchObject([{ rows: 'leaks' }]);
  });

  it('just below the bounds are judged', () => {
    const arms = Array.from({ length: 290 }, () => 'SELECT order_id FROM orders WHERE store_id = 1').join(
      ' UNION ALL ',
    );
    expect(checkFile(parser, catalog, { file: 'q.sql', text: arms })).toMatchObject([{ rows: 'safe' }]);
    const lateral = Array.from(
      { length: 200 },
      (_, at) => ` CROSS JOIN LATERAL (SELECT * FROM orders x WHERE x.store_id = o${at}.store_id) o${at + 1}`,
    );
    const exists = Array.from(
      { length: 100 },
      (_, at) => ` AND EXISTS (SELECT 1 FROM orders o${at + 1} WHERE o${at + 1}.store_id = o${at}.store_id`,
    );
    for (const [more, end] of [
      [lateral.join(''), ' WHERE o0.store_id = 1'],
      ['', ` WHERE o0.store_id = 1${exists.join('')}${')'.repeat(100)}`],
      ['', ` WHERE ${'('.repeat(3_000)}o0.store_id = 1${')'.repeat(3_000)}`],
    ])
      expect(checkFile(parser, catalog, { file: 'q.sql', text: `SELECT 1 FROM orders o0${more}${end}` })).toMatchObject(
        [{ rows: 'safe' }],
      );
    const comment = `${'-'.repeat(400)}\nSELECT 1 /${'*'.repeat(400)} */ FROM orders WHERE store_id = 1`;
    expect(checkFile(parser, catalog, { file: 'q.sql', text: comment })).toMatchObject([{ rows: 'safe' }]);
    const deep = `SELECT ${'1 + '.repeat(300)}total FROM orders WHERE store_id = 1`;
    expect(checkFile(parser, catalog, { file: 'q.sql', text: deep })).toMatchObject([{ rows: 'safe' }]);
  });
});

describe('SQL-S1 equalities', () => {
  const rowsOf = (condition: string, from = 'orders o'): string =>
    checkFile(parser, catalog, { file: 'q.sql', text: `SELECT 1 FROM ${from} WHERE ${condition}` })[0]!.rows;

  it.each([
    ['safe', 'o.store_id IS NOT DISTINCT FROM $1'],
    ['safe', '$1 IS NOT DISTINCT FROM o.store_id'],
    ['safe', 'NOT (o.store_id IS DISTINCT FROM $1)'],
    ['leaks', 'o.store_id IS DISTINCT FROM $1'],
    ['leaks', 'NOT (o.store_id IS NOT DISTINCT FROM $1)'],
    ['leaks', 'o.store_id IS NOT DISTINCT FROM NULL'],
    ['safe', '(o.store_id, o.order_id) IN ((1, 2), (1, 3))'],
    ['safe', '(o.order_id, o.store_id) IN ((2, $1))'],
    ['leaks', '(o.store_id, o.order_id) IN ((1, 2), (2, 2))'],
    ['leaks', '(o.store_id, o.order_id) NOT IN ((1, 2))'],
  ])('%s: %s', (verdict, condition) => {
    expect(rowsOf(condition)).toBe(verdict);
  });

  it('with null are not known of a column that may be null, also by an outer join or a total', () => {
    expect(
      rowsOf('o.store_id IS NOT DISTINCT FROM $1', 'stores s LEFT JOIN orders o ON o.store_id = s.store_id'),
    ).not.toBe('safe');
    const totals = '(SELECT store_id, count(*) FROM orders GROUP BY ROLLUP (store_id)) o';
    for (const value of ['$1', 'NULL'])
      expect(rowsOf(`o.store_id IS NOT DISTINCT FROM ${value}`, totals)).toBe('leaks');
  });
});
