// What the rules of Citus say of tables, and that the statements of a finding correct it.
import { describe, expect, it } from 'vitest';
import { checkFile } from '../../src/sql-check/check-file.ts';
import { schemaFindings } from '../../src/sql-check/schema.ts';
import { readDdl } from '../../src/sql-check/session.ts';
import { loadParser } from '../../src/sql-check/parser.ts';

const parser = await loadParser();
const catalogOf = (text: string) => readDdl(parser, { file: 'schema.sql', text }, 'store_id').catalog;
const BASE = `CREATE TABLE stores (store_id bigint PRIMARY KEY);
  SELECT create_distributed_table('stores', 'store_id');
  CREATE TABLE orders (store_id bigint NOT NULL, order_id bigint NOT NULL, PRIMARY KEY (store_id, order_id));
  SELECT create_distributed_table('orders', 'store_id', colocate_with => 'stores');
  CREATE TABLE countries (code text PRIMARY KEY); SELECT create_reference_table('countries');`;
const items = (
  table: string,
  place = `SELECT create_distributed_table('items', 'store_id', colocate_with => 'orders');`,
) => `CREATE TABLE items (store_id bigint NOT NULL, order_id bigint, line int, country text, ${table}); ${place}`;
const local = `CREATE TABLE notes (store_id bigint, note_id bigint PRIMARY KEY);`;

const FAULTS: readonly [string, string, string][] = [
  ['a primary key', items('PRIMARY KEY (order_id, line)'), 'the primary key of items (order_id, line) has no store_id'],
  ['a unique constraint', items('UNIQUE (line)'), 'the unique constraint of items (line) has no store_id'],
  [
    'a unique index',
    `${items('CHECK (line > 0)')} CREATE UNIQUE INDEX i ON items (line, lower(country));`,
    'the unique index of items (line) has no store_id',
  ],
  [
    'an exclusion',
    items('EXCLUDE USING gist (line WITH =, store_id WITH &&)'),
    'the exclusion constraint of items (line) has no store_id',
  ],
  [
    'a foreign key without the column',
    items('CONSTRAINT f FOREIGN KEY (order_id) REFERENCES orders (order_id)'),
    'the foreign key f of items leads to orders without store_id',
  ],
  [
    'a foreign key with the column in another place',
    items('CONSTRAINT f FOREIGN KEY (order_id, store_id) REFERENCES orders (store_id, order_id)'),
    'the foreign key f of items leads to orders without store_id',
  ],
  [
    'a foreign key to a table that lies elsewhere',
    items(
      'CONSTRAINT f FOREIGN KEY (store_id, order_id) REFERENCES orders',
      `SELECT create_distributed_table('items', 'store_id', colocate_with => 'none');`,
    ),
    'the foreign key f of items leads to orders, which doesn’t lie beside it',
  ],
  [
    'a foreign key to a local table',
    `${local} ${items('note_id bigint CONSTRAINT f REFERENCES notes')}`,
    'the foreign key f of items leads to notes, which is a local table',
  ],
  [
    'a foreign key of a local table',
    items('CONSTRAINT f FOREIGN KEY (store_id, order_id) REFERENCES orders', ''),
    'the foreign key f of items leads to orders, which is distributed, and items is not',
  ],
  [
    'an action',
    items('CONSTRAINT f FOREIGN KEY (store_id, order_id) REFERENCES orders ON DELETE SET NULL'),
    'the foreign key f of items changes rows in a way that Citus doesn’t take',
  ],
  [
    'a place that is not there',
    items('CHECK (line > 0)', `SELECT create_distributed_table('items', 'store_id', colocate_with => 'order');`),
    'items is to lie beside order, which the DDL doesn’t have',
  ],
  [
    'a place of another type',
    `CREATE TABLE items (store_id text); SELECT create_distributed_table('items', 'store_id', colocate_with => 'orders');`,
    'items can’t lie beside orders: store_id is text here and int8 there',
  ],
  [
    'a column that is not there',
    items('CHECK (line > 0)', `SELECT create_distributed_table('items', 'shop_id');`),
    'items is distributed by shop_id, a column that it doesn’t have',
  ],
];

describe('SQL-S10 Citus refuses', () => {
  it.each(FAULTS)('%s', (_, ddl, says) => {
    const catalog = catalogOf(BASE + ddl);
    const refused = schemaFindings(catalog).filter((each) => each.refused);
    expect(refused.map((each) => each.says)).toContain(says);
    const [found] = checkFile(parser, catalog, { file: 'q.sql', text: 'SELECT 1 FROM items WHERE store_id = 1' });
    expect(found?.runs).toBe('unknown');
  });

  it('nothing of these', () => {
    const fine = items(`PRIMARY KEY (store_id, order_id, line), UNIQUE (line, store_id),
      FOREIGN KEY (store_id, order_id) REFERENCES orders ON DELETE CASCADE, FOREIGN KEY (country) REFERENCES countries`);
    const index = 'CREATE UNIQUE INDEX ON items (store_id, lower(country)); CREATE INDEX ON items (line);';
    expect(schemaFindings(catalogOf(BASE + fine + index))).toEqual([]);
  });

  it.each(FAULTS.filter(([, ddl]) => !/EXCLUDE|lower\(|shop_id|'order'|text\);/.test(ddl)))(
    'no more after the statements against %s',
    (_, ddl) => {
      // One correction may show the next.
      let [text, rounds] = [BASE + ddl, 0];
      const refused = () => schemaFindings(catalogOf(text)).filter((each) => each.refused);
      for (; refused().length > 0 && rounds < 3; rounds++)
        text += `\n${refused()
          .flatMap(({ statements }) => statements)
          .join('\n')}`;
      expect(refused()).toEqual([]);
      expect(rounds).toBeGreaterThan(0);
    },
  );
});
