import { expect, test } from 'vitest';
import { checkDocuments } from '../../../src/model/rules/index.ts';
import { parserFor, relationalOf } from '../../../src/model/rules/relational.ts';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { loadParser } from '../../../src/sql-check/parser.ts';
import { documentsOf, edited } from './base.ts';

const parser = await loadParser();
const documents = (sql: string) => ({
  requirements: undefined,
  design: parseDesign(`${documentsOf(edited([])).design?.lines.join('\n')}\n\n\`\`\`sql\n${sql}\n\`\`\`\n`, 'm.md'),
});
const read = (sql: string) => relationalOf(documents(sql), parser);

test('reads tables with keys of columns, of ALTER TABLE and of unique indexes', () => {
  const { tables, added } = read(`
CREATE TABLE shop.orders (id bigint PRIMARY KEY CHECK (id IN (1, 2)), "Store" text REFERENCES stores, note text DEFAULT 'a, b; c');
ALTER TABLE shop.orders ADD COLUMN tenant text, ADD CONSTRAINT one UNIQUE (tenant, id);
CREATE UNIQUE INDEX ON shop.orders (note);
SELECT create_distributed_table('shop.orders', distribution_column => 'tenant');`);
  expect(tables).toMatchObject([
    {
      name: 'shop.orders',
      columns: ['id', 'Store', 'note', 'tenant'],
      keys: [
        { kind: 'PRIMARY KEY', columns: ['id'] },
        { kind: 'FOREIGN KEY', columns: ['Store'], to: 'stores' },
        { kind: 'UNIQUE', columns: ['tenant', 'id'] },
        { kind: 'UNIQUE', columns: ['note'] },
      ],
      distribution: 'tenant',
    },
  ]);
  expect(added).toMatchObject([{ table: 'shop.orders', column: 'tenant' }]);
});

test('what joins compare: not below OR, and WHERE only for inner joins', () => {
  const equal = (sql: string) => read(sql).joins.map((join) => join.equal);
  expect(equal('SELECT 1 FROM a JOIN b ON a.id = b.id OR a.t = b.t')).toEqual([[]]);
  expect(equal('SELECT 1 FROM a JOIN b ON a.id = b.id WHERE a.t = b.t')).toEqual([['id', 't']]);
  expect(equal('SELECT 1 FROM a LEFT JOIN b ON a.id = b.id WHERE a.t = b.t')).toEqual([['id']]);
  expect(equal('SELECT 1 FROM (SELECT 1 FROM x JOIN y USING (t, id)) q')).toEqual([['t', 'id']]);
});

test('judges joins by commas, CROSS JOIN and NATURAL JOIN', () => {
  const joins = (sql: string) => read(sql).joins.map(({ text, equal }) => `${text}: ${equal.join()}`);
  expect(joins('SELECT 1 FROM a, b WHERE a.id = b.id')).toEqual(['a with b: id']);
  expect(joins('SELECT 1 FROM a, b, c WHERE a.t = c.t AND c.t = b.t')).toEqual(['a with b: t', 'a, b with c: t']);
  expect(joins('SELECT 1 FROM a, b x WHERE a.t = $1 AND x.t = $1 AND a.u = 1 AND x.u = 2')).toEqual(['a with b x: t']);
  expect(joins('SELECT 1 FROM a JOIN b USING (t), c WHERE c.id = a.id')).toEqual(['a with b: t', 'a, b with c: id']);
  expect(joins('SELECT 1 FROM a, b WHERE a.t = b.t OR a.id = 1')).toEqual(['a with b: ']);
  expect(joins('SELECT 1 FROM a CROSS JOIN b')).toEqual(['a with b: ']);
  expect(joins('SELECT 1 FROM a, unnest(a.tags) tag CROSS JOIN LATERAL unnest(a.more) m')).toEqual([]);
  const known = 'CREATE TABLE a (t text, id int); CREATE TABLE b (t text, note text);';
  expect(joins(`${known} SELECT 1 FROM a NATURAL JOIN b`)).toEqual(['a with b: t']);
  expect(read('SELECT 1 FROM a NATURAL JOIN b')).toMatchObject({
    joins: [],
    unread: [{ kind: 'natural', text: 'a with b' }],
  });
  const given = documents('SELECT 1 FROM a NATURAL JOIN b');
  expect(checkDocuments(given, [], { parser }).reading).toContainEqual(
    expect.objectContaining({ code: 'sql-unread', message: expect.stringContaining('NATURAL JOIN') }),
  );
});

test('names a statement that it does not read, and reads the others of its fence', () => {
  const given = documents(
    'CREATE TABLE a (id int, …);\nCREATE TABLE b (id int);\nSELECT VALUE c.id FROM c JOIN t IN c.tags;',
  );
  const { tables, unread } = relationalOf(given, parser);
  expect(tables.map(({ name, at }) => [name, given.design.lines[at.line - 1]])).toEqual([
    ['b', 'CREATE TABLE b (id int);'],
  ]);
  expect(unread).toMatchObject([{ kind: 'syntax', text: 'CREATE TABLE a (id int, …)' }]);
  expect(checkDocuments(given, [], { parser }).reading).toContainEqual(
    expect.objectContaining({ code: 'sql-unread', severity: 'information' }),
  );
});

test('loads no parser for documents without SQL', async () => {
  expect(await parserFor(documentsOf(edited([])))).toBeUndefined();
});
