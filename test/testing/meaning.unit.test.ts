import { beforeAll, expect, test } from 'vitest';
import { parseDesign } from '../../src/model/reader/design.ts';
import { queryOf } from '../../src/model/reader/sql.ts';
import type { Doc } from '../../src/definition/specs.ts';
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
