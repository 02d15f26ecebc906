import { type Bench, type Probe, same } from '../probe.ts';

/** Values of expressions over one document, `{}` where one is undefined. */
async function valuesOf(bench: Bench, document: object, expressions: readonly string[]): Promise<unknown[]> {
  const container = await bench.container();
  await container.items.create({ id: '1', pk: 'a', ...document });
  const values: unknown[] = [];
  for (const expression of expressions) {
    const { resources } = await container.items
      .query<object>(`SELECT ${expression} AS v FROM c`, { partitionKey: 'a' })
      .fetchAll();
    values.push(...resources);
  }
  return values;
}

export const functions: readonly Probe[] = [
  {
    number: 'ASM-E60',
    asks: 'ticks are units of 100 ns since 1970',
    run: async (bench) => {
      const expressions = [
        'DateTimeToTicks("1970-01-01T00:00:00.0000001Z")',
        'DateTimeToTicks("1969-12-31T23:59:59.9999999Z")',
        'TicksToDateTime(10000000)',
      ];
      const wanted = [{ v: 1 }, { v: -1 }, { v: '1970-01-01T00:00:01.0000000Z' }];
      same(await valuesOf(bench, {}, expressions), wanted, 'the ticks');
    },
  },
  {
    number: 'ASM-E61',
    asks: 'an undefined argument, a fraction of a character and an empty text to replace give undefined',
    run: async (bench) => {
      const expressions = [
        'CONCAT("a", c.missing)',
        'LEFT("abc", 1.5)',
        'SUBSTRING("abc", 0.5, 1)',
        'ARRAY_SLICE([1, 2], 0.5)',
        'REPLACE("abc", "", "x")',
        'ARRAY_CONTAINS([1], 1, "yes")',
        'IS_DEFINED(c.missing)',
      ];
      const wanted = [{}, {}, {}, {}, {}, {}, { v: false }];
      same(await valuesOf(bench, {}, expressions), wanted, 'the values');
    },
  },
  {
    number: 'ASM-E63',
    asks: 'IntAdd takes whole numbers, TRIM a set of characters, and SetIntersect keeps the order of its second list',
    run: async (bench) => {
      const expressions = ['IntAdd(1.5, 1)', 'IntAdd(2, 1)', 'TRIM("xyaxy", "yx")', 'SetIntersect([1, 2, 3], [3, 2])'];
      same(await valuesOf(bench, {}, expressions), [{}, { v: 3 }, { v: 'a' }, { v: [3, 2] }], 'the values');
    },
  },
];
