import { beforeAll, expect, test } from 'vitest';
import { parseDesign } from '../../src/model/reader/design.ts';
import { queryOf } from '../../src/model/reader/sql.ts';
import type { Doc } from '../../src/pipeline/specs.ts';
import { type Evaluate, Meant, evaluator } from '../../src/testing/prove/meaning.ts';

let evaluate: Evaluate;
beforeAll(async () => {
  evaluate = await evaluator();
});

const order = (id: string, store: string, cents: number) => ({ id, type: 'order', store, cents });
const ORDERS = [order('1', 'a', 5), order('2', 'a', 9), order('3', 'b', 7)];
const meant = (text: string, type?: string): Meant =>
  new Meant(
    { text, ids: ['1'], container: 'Orders', at: { file: 'm', line: 1 }, ...(type !== undefined && { type }) },
    evaluate,
    ORDERS,
  );
const query = (text: string) => {
  const read = queryOf(text);
  if (!read) throw new Error('no query');
  return read;
};

const OF_STORE = 'SELECT c.id, c.cents FROM c WHERE c.store = @store';
const LIST = query("SELECT * FROM c WHERE c.store = @store AND c.type = 'listed'");
const A = [{ name: '@store', value: 'a' }];
const listed = (id: string, cents: number): Doc => ({ id, type: 'listed', store: 'a', cents, name: 'joined' });

test('the fields that the meaning selects are compared, in any order; other fields are not', () => {
  const of = meant(OF_STORE);
  expect(of.ofQuery(LIST, A, [listed('2', 9), listed('1', 5)])).toBeUndefined();
  expect([...of.columns]).toEqual(['id', 'cents']);
  expect(of.rows).toBe(2);
});

test('a row too many, a row that lacks and another value are differences', () => {
  const difference = (...rows: Doc[]) => meant(OF_STORE).ofQuery(LIST, A, rows);
  expect(difference(listed('1', 5))).toContain('1 rows instead of 2; missing {"cents":9,"id":"2"}');
  expect(difference(listed('1', 5), listed('2', 9), listed('4', 1))).toContain('unexpected {"cents":1,"id":"4"}');
  expect(difference(listed('1', 5), listed('2', 8))).toContain('by its meaning, unexpected');
  expect(meant(OF_STORE).ofQuery(LIST, [{ name: '@store', value: 'c' }], [listed('1', 5)])).toContain('instead of 0');
});

test('a field that the meaning selects is compared though it has no value', () => {
  const of = meant('SELECT c.store, SUM(c.id) AS cents FROM c WHERE c.store = @store GROUP BY c.store', 'total');
  expect(of.ofRead({ id: 't', store: 'a' }, { id: 't', store: 'a', cents: 14 })).toContain('by its meaning');
});

test('a range is asked from the beginning to above the greatest value, and up to the value itself', () => {
  const days = query('SELECT * FROM c WHERE c.day >= @from AND c.day < @to');
  const text = 'SELECT c.id FROM c WHERE LEFT(c.at, 10) >= @from AND LEFT(c.at, 10) < @to';
  const at = (id: string, time: string): Doc => ({ id, at: `${time}T10:00` });
  const of = new Meant({ text, ids: ['1'], container: 'Orders', at: { file: 'm', line: 1 } }, evaluate, [
    at('1', '2026-01-01'),
    at('2', '2026-01-02'),
  ]);
  const sets = of.parameters(days).map((set) => set.map(({ value }) => value));
  expect(sets).toEqual([
    ['2026-01-01', '2026-01-02~'],
    ['2026-01-02', '2026-01-02~'],
    ['', '2026-01-01'],
    ['', '2026-01-02'],
  ]);
});

test('a limited list has the first rows of the meaning', () => {
  const top = query('SELECT TOP 1 * FROM c WHERE c.store = @store ORDER BY c.cents DESC');
  expect(meant(OF_STORE).ofQuery(top, A, [listed('2', 9)])).toBeUndefined();
  expect(meant(OF_STORE).ofQuery(top, A, [listed('1', 5)])).toContain('row 1 is');
});

test('the order and the limit that the meaning states hold, also of groups', () => {
  const listing = query("SELECT * FROM c WHERE c.store = @store AND c.type = 'listed' ORDER BY c.cents");
  const newest = meant(`${OF_STORE} ORDER BY c.cents DESC`);
  expect(newest.ordered).toBe(true);
  expect(meant(OF_STORE).ordered).toBe(false);
  expect(newest.ofQuery(listing, A, [listed('2', 9), listed('1', 5)])).toBeUndefined();
  expect(newest.ofQuery(listing, A, [listed('1', 5), listed('2', 9)])).toContain('row 1 is');
  const all = 'SELECT c.store, SUM(c.cents) AS cents FROM c GROUP BY c.store ORDER BY cents DESC LIMIT 1';
  expect(meant(all).ofQuery(LIST, [], [{ store: 'a', cents: 14 }])).toBeUndefined();
  expect(meant(all).ofQuery(LIST, [], [{ store: 'b', cents: 7 }])).toContain('by its meaning');
  const both = [
    { store: 'a', cents: 14 },
    { store: 'b', cents: 7 },
  ];
  expect(meant(all).ofQuery(LIST, [], both)).toContain('2 rows instead of 1');
  expect(
    meant(all.replace('LIMIT 1', 'OFFSET 1 LIMIT 1')).ofQuery(LIST, [], [{ store: 'b', cents: 7 }]),
  ).toBeUndefined();
});

test('a meaning cannot be compared in an order that it does not select', () => {
  const of = meant('SELECT c.id FROM c WHERE c.store = @store ORDER BY c.cents');
  expect(of.ofQuery(LIST, A, [{ id: '1' }, { id: '2' }])).toContain("sorts by cents, which it doesn't select");
});

test('a limit that is not the query’s, and an order by what the condition fixes, are differences', () => {
  const top = query('SELECT TOP 2 * FROM c WHERE c.store = @store ORDER BY c.cents');
  const rows = [listed('1', 5), listed('2', 9)];
  const of = (tail: string) => meant(`SELECT c.id, c.store, c.cents FROM c WHERE c.store = @store ORDER BY ${tail}`);
  expect(of('c.cents LIMIT 2').ofQuery(top, A, rows)).toBeUndefined();
  expect(of('c.cents LIMIT 3').ofQuery(top, A, rows)).toContain('at most 3 rows, and its query 2');
  expect(of('c.store').ofQuery(top, A, rows)).toContain('sorts by store, which is the same in all of its rows');
});

test('of rows that tie for the last place one of them must be there', () => {
  const first = query('SELECT TOP 1 * FROM c WHERE c.store = @store ORDER BY c.store');
  const of = meant('SELECT c.id, c.store, c.cents FROM c WHERE c.store = @store');
  expect(of.ofQuery(first, A, [listed('1', 5)])).toBeUndefined();
  expect(of.ofQuery(first, A, [listed('2', 9)])).toBeUndefined();
  expect(of.ofQuery(first, A, [listed('3', 7)])).toContain('unexpected');
});

test('values without a name are compared', () => {
  const count = meant('SELECT VALUE COUNT(1) FROM c WHERE c.store = @store');
  const asked = query('SELECT VALUE COUNT(1) FROM c WHERE c.store = @store');
  expect(count.ofQuery(asked, A, [2])).toBeUndefined();
  expect(count.ofQuery(asked, A, [3])).toContain('by its meaning');
});

test('rows that the sink lacks are asked for by the source documents', () => {
  const distinct = new Set(
    meant(OF_STORE)
      .parameters(LIST)
      .map((set) => JSON.stringify(set)),
  );
  expect([...distinct]).toEqual([JSON.stringify(A), JSON.stringify([{ name: '@store', value: 'b' }])]);
  expect(meant('SELECT c.id FROM c').parameters(LIST)).toEqual([]);
});

test('a point read has the fields of its document as parameters; other types of the container are not asked', () => {
  const of = meant('SELECT COUNT(1) AS orders FROM c WHERE c.store = @store GROUP BY c.store', 'total');
  expect(of.ofRead({ id: 't', store: 'a' }, { id: 't', store: 'a', orders: 2 })).toBeUndefined();
  expect(of.ofRead({ id: 't', store: 'a' }, { id: 't', store: 'a', orders: 3 })).toContain('by its meaning');
  expect(of.ofRead({ id: 't', store: 'a' }, undefined)).toContain('0 rows instead of 1');
  expect([{ type: 'total' }, { type: 'listed' }].map((doc) => of.reads(doc))).toEqual([true, false]);
});

test('a meaning that is no query is a difference with the reason', () => {
  expect(meant('SELECT c.id FRM c').ofQuery(LIST, A, [])).toContain("its meaning can't be evaluated");
});

test('the fence names patterns, type and container', () => {
  const fence = (info: string) =>
    parseDesign(
      `# A model\n\n## Container Designs\n\n### Orders Container\n\n\`\`\`json\n[{ "id": "1", "type": "order" }]\n\`\`\`\n- **Partition Key**: \`/id\`\n\n\`\`\`${info}\nSELECT 1\n\`\`\`\n`,
      'm.md',
    );
  expect(fence('sql meaning of 3 over Orders').meanings).toMatchObject([
    { ids: ['3'], container: 'Orders', text: 'SELECT 1' },
  ]);
  expect(fence('sql meaning of 3, 4 for total over Orders').meanings).toMatchObject([
    { ids: ['3', '4'], type: 'total' },
  ]);
  expect(fence('sql').meanings).toEqual([]);
});

test('a field named top, a limit without an order, and an order within an object are read', () => {
  const top = ORDERS.map((one) => ({ ...one, top: one.cents, at: { n: one.cents } }));
  const of = (text: string): Meant =>
    new Meant({ text, ids: ['1'], container: 'Orders', at: { file: 'm', line: 1 } }, evaluate, top);
  const all = query('SELECT * FROM c');
  const rows = top.map(({ id, top: value, at }): Doc => ({ id, top: value, at }));
  expect(of('SELECT c.id, c.top FROM c WHERE c.top > 1').ofQuery(all, [], rows)).toBeUndefined();
  const [, second, third] = rows;
  const paged = query('SELECT * FROM c OFFSET 1 LIMIT 2');
  expect(of('SELECT c.id FROM c OFFSET 1 LIMIT 2').ofQuery(paged, [], [second, third])).toBeUndefined();
  const [first] = rows;
  expect(of('SELECT * FROM c ORDER BY c.at.n').ofQuery(all, [], [top[0], top[2], top[1]])).toBeUndefined();
  expect(
    of('SELECT c.id, c.at.n FROM c ORDER BY c["at"].n DESC').ofQuery(
      all,
      [],
      [
        { ...second, n: 9 },
        { ...third, n: 7 },
        { ...first, n: 5 },
      ],
    ),
  ).toBeUndefined();
});
