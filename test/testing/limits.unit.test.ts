import { expect, test } from 'vitest';
import { parseDesign } from '../../src/model/reader/design.ts';
import { limitsOf } from '../../src/testing/prove/limits.ts';

const ofMeaning = (sql: string) =>
  limitsOf({
    design: parseDesign(
      `# M\n\n### Orders Container\n- **Partition Key**: \`/id\`\n\n\`\`\`sql meaning of 1 over Orders\n${sql}\n\`\`\`\n`,
      'm.md',
    ),
    requirements: undefined,
  });
const ofCode = (code: string) => limitsOf({ design: undefined, requirements: undefined }, code);
const texts = (of: ReturnType<typeof limitsOf>) => Object.fromEntries(of.texts);

test('a meaning gives the texts of each field, and the numbers of its conditions', () => {
  const found = ofMeaning(
    "SELECT LEFT(c.at, 7) AS month FROM c WHERE c.status IN ('placed', 'paid') AND 'VIP' = c.level AND c.cents >= -5 AND c.n BETWEEN 3 AND 9",
  );
  expect(texts(found)).toEqual({ status: ['placed', 'paid'], level: ['VIP'] });
  expect(found.numbers).toEqual(expect.arrayContaining([-5, 3, 9]));
  expect(found.numbers).not.toContain(7);
});

test('code gives the texts that it compares a field with', () => {
  const found = ofCode(`
    const OPEN: string[] = ['placed', 'paid'];
    const CLOSED = new Set(['sent']);
    const is = (order: Order): boolean => OPEN.includes(order.status) && !CLOSED.has(order.state) && order.level === 'VIP';
    const other = (value: string) => value !== 'none' && value.startsWith('A') && order.sku.startsWith('TJ');
    switch (order.kind) { case 'gift': break; }
  `);
  expect(texts(found)).toEqual({
    status: ['placed', 'paid'],
    state: ['sent'],
    level: ['VIP'],
    '': ['none', 'A'],
    sku: ['TJ'],
    kind: ['gift'],
  });
});

test('a number of the code keeps its sign', () => {
  expect(
    limitsOf({ design: undefined, requirements: undefined }, 'const cold = (c) => c.celsius < -18;').numbers,
  ).toEqual([-18]);
});

test('code gives its numbers, but not the places in a text; names and modules are no values', () => {
  const found = ofCode(`import { copy } from 'millrace';
    copy('cards', { maxLag: '5 s', map: (row) => ({ day: row.at.slice(0, 10), cents: Math.min(row.cents, 50_000) }) });`);
  expect(found.numbers).toEqual([50_000]);
  expect(texts(found)).toEqual({});
});

test('a text compared by its order has one behind it, and code that cannot be parsed gives nothing', () => {
  expect(texts(ofCode("const late = (row) => row.day >= '2026-02-01';"))).toEqual({
    day: ['2026-02-01', '2026-02-01~'],
  });
  expect(texts(ofCode("const = '"))).toEqual({});
});
