import type { Container, IndexingPolicy, SqlQuerySpec } from '@azure/cosmos';
import { type Bench, type Probe, holds, same, statusOf } from '../probe.ts';

const KEY = { partitionKey: 'a' };
const ask = async (container: Container, query: string | SqlQuerySpec): Promise<unknown[]> =>
  (await container.items.query<unknown>(query, KEY).fetchAll()).resources;
const status = (container: Container, query: string): Promise<string> =>
  statusOf(
    container.items
      .query(query, KEY)
      .fetchNext()
      .then(() => ({ statusCode: 200 })),
  );

async function filled(bench: Bench, values: readonly object[], indexingPolicy?: IndexingPolicy): Promise<Container> {
  const container = await bench.container(indexingPolicy ? { indexingPolicy } : {});
  for (const [n, value] of values.entries()) await container.items.create({ id: `${n}`, pk: 'a', ...value });
  return container;
}

export const queries: readonly Probe[] = [
  {
    number: 'ASM-E85',
    asks: 'a page of one logical partition has a batch as a whole or not at all',
    run: async (bench) => {
      const container = await bench.container();
      const ids = ['x', 'y', 'z'];
      const write = (n: number): Promise<unknown> =>
        container.items.batch(
          ids.map((id) => ({ operationType: 'Upsert', resourceBody: { id, pk: 'a', n } as never })),
          'a',
        );
      await write(0);
      for (let n = 1; n <= 30; n++) {
        const [, ...pages] = await Promise.all([write(n), ...ids.map(() => ask(container, 'SELECT VALUE c.n FROM c'))]);
        for (const page of pages) holds(new Set(page).size === 1, `a page has ${JSON.stringify(page)}`);
      }
    },
  },
  {
    number: 'ASM-E86',
    asks: 'a point read in a container that is not there is answered with 404',
    run: async (bench) => {
      const { database } = await bench.container();
      const read = (): Promise<string> => statusOf(database.container('nothing').item('x', 'a').read());
      same(await read(), '404', 'a point read');
    },
  },
  {
    number: 'ASM-E89',
    asks: 'the argument of an aggregate may be a conditional expression with the constant undefined',
    run: async (bench) => {
      const container = await filled(bench, [{ v: 'text' }, { v: 2 }, { v: 1 }, {}]);
      const least =
        'SELECT MIN(IS_NUMBER(c.v) ? c.v : undefined) AS least, SUM(IS_NUMBER(c.v) ? 1 : 0) AS numbers FROM c';
      same(await ask(container, least), [{ least: 1, numbers: 2 }], 'the parts of MIN');
    },
  },
  {
    number: 'ASM-E19',
    asks: 'conditions on a missing property hold in no direction, and results leave it out',
    run: async (bench) => {
      const container = await filled(bench, [{}, { v: 2 }, { v: 1 }, { w: null }]);
      const either = 'SELECT VALUE c.id FROM c WHERE c.v = 1 OR NOT (c.v = 1)';
      same(await ask(container, either), ['1', '2'], 'either direction');
      same(await ask(container, 'SELECT VALUE c.id FROM c WHERE c.w = null'), ['3'], '= null');
      same(await ask(container, 'SELECT c.v FROM c'), [{}, { v: 2 }, { v: 1 }, {}], 'the results');
    },
  },
  {
    number: 'ASM-E20',
    asks: '= is false and != is true across types, and < and > are undefined',
    run: async (bench) => {
      const container = await filled(bench, [{ v: 'text' }]);
      for (const condition of ['c.v != 5', 'c.v != null', 'NOT (c.v = 5)'])
        same(await ask(container, `SELECT VALUE c.id FROM c WHERE ${condition}`), ['0'], condition);
      for (const condition of ['c.v < 5', 'c.v > 5', 'NOT (c.v < 5)'])
        same(await ask(container, `SELECT VALUE c.id FROM c WHERE ${condition}`), [], condition);
    },
  },
  {
    number: 'ASM-E21',
    asks: 'ORDER BY sorts undefined, null, booleans, numbers, strings, and keeps documents without the property',
    run: async (bench) => {
      const container = await filled(bench, [{ v: 'a' }, { v: 1 }, { v: true }, { v: null }, {}]);
      same(await ask(container, 'SELECT VALUE c.id FROM c ORDER BY c.v'), ['4', '3', '2', '1', '0'], 'the order');
    },
  },
  {
    number: 'ASM-E95',
    asks: 'a query for a few documents of a large logical partition costs by those',
    run: async (bench) => {
      const container = await bench.container();
      for (let from = 0; from < 1_100; from += 100)
        await container.items.batch(
          Array.from({ length: 100 }, (_, n) => ({
            operationType: 'Create' as const,
            resourceBody: { id: `${from + n}`, pk: 'a', type: 'logged', at: from + n },
          })),
          'a',
        );
      const query = "SELECT VALUE c.id FROM c WHERE c.type = 'logged' AND c.at > 1097 ORDER BY c.at";
      const { resources, requestCharge } = await container.items.query(query, { partitionKey: 'a' }).fetchAll();
      same(resources, ['1098', '1099'], 'what is found');
      same(requestCharge < 10, true, 'a charge below 10 RU');
    },
  },
  {
    number: 'ASM-E22',
    asks: 'SUM and AVG over anything but numbers, and MIN over a list, are undefined; over nothing SUM is 0',
    run: async (bench) => {
      const container = await filled(bench, [{ v: 'a' }, { v: 1 }]);
      same(await ask(container, 'SELECT SUM(c.v) AS s FROM c'), [{}], 'SUM over a text');
      same(await ask(container, 'SELECT VALUE SUM(c.v) FROM c WHERE c.v = 9'), [0], 'SUM over nothing');
      same(await ask(container, 'SELECT MIN(c.v) AS m FROM c'), [{ m: 1 }], 'MIN over a text and a number');
      const lists = await filled(bench, [{ v: [1] }, { v: 1 }]);
      same(await ask(lists, 'SELECT MIN(c.v) AS m FROM c'), [{}], 'MIN over a list and a number');
    },
  },
  {
    number: 'ASM-E23',
    asks: 'a page without a size has at most 100 entries',
    run: async (bench) => {
      const container = await bench.container();
      for (const part of [0, 1]) {
        const body = (n: number) => ({ id: `${part}-${n}`, pk: 'a' });
        await container.items.batch(
          Array.from({ length: 60 }, (_, n) => ({ operationType: 'Create' as const, resourceBody: body(n) })),
          'a',
        );
      }
      const { resources } = await container.items.query('SELECT * FROM c', KEY).fetchNext();
      holds(resources.length === 100, `the first page has ${resources.length} of 120`);
    },
  },
  {
    number: 'ASM-E32',
    asks: 'ORDER BY two properties needs a composite index',
    run: async (bench) => {
      const two = 'SELECT * FROM c ORDER BY c.a, c.b';
      same(await status(await filled(bench, [{ a: 1, b: 1 }]), two), '400', 'without one');
      const compositeIndexes = [
        [
          { path: '/a', order: 'ascending' as const },
          { path: '/b', order: 'ascending' as const },
        ],
      ];
      const indexed = await filled(bench, [{ a: 1, b: 1 }], { includedPaths: [{ path: '/*' }], compositeIndexes });
      same(await status(indexed, two), '200', 'with one');
    },
  },
  {
    number: 'ASM-E33',
    asks: 'an indexing policy names /* among the included or the excluded paths',
    run: async (bench) => {
      const policy = (indexingPolicy: IndexingPolicy) =>
        bench.container({ indexingPolicy }).then(() => ({ statusCode: 201 }));
      same(
        await statusOf(policy({ includedPaths: [{ path: '/a/?' }], excludedPaths: [] })),
        '400',
        'a policy without /*',
      );
      same(
        await statusOf(policy({ includedPaths: [{ path: '/a/?' }], excludedPaths: [{ path: '/*' }] })),
        '201',
        'one with /*',
      );
    },
  },
  {
    number: 'ASM-E34',
    asks: 'ORDER BY with GROUP BY is refused',
    run: async (bench) => {
      const container = await filled(bench, [{ v: 1 }]);
      same(await status(container, 'SELECT c.v FROM c GROUP BY c.v'), '200', 'GROUP BY');
      same(await status(container, 'SELECT c.v FROM c GROUP BY c.v ORDER BY c.v'), '400', 'with ORDER BY');
    },
  },
  {
    number: 'ASM-E41',
    asks: 'a page that came out full has a continuation even where nothing follows',
    run: async (bench) => {
      const container = await filled(bench, [{}, {}]);
      const page = await container.items.query('SELECT * FROM c', { ...KEY, maxItemCount: 2 }).fetchNext();
      holds(page.continuationToken !== undefined && page.continuationToken !== '', 'it has none');
    },
  },
  {
    number: 'ASM-E50',
    asks: 'an aggregate without GROUP BY may have an ORDER BY',
    run: async (bench) => {
      const container = await filled(bench, [{ v: 1 }, { v: 2 }]);
      same(await ask(container, 'SELECT VALUE COUNT(1) FROM c ORDER BY c.v'), [2], 'the count');
    },
  },
  {
    number: 'ASM-E52',
    asks: 'a continuation token can be used more than once and goes on in the state of then',
    run: async (bench) => {
      const container = await filled(bench, [{ v: 1 }, { v: 2 }, { v: 3 }]);
      const query = 'SELECT VALUE c.v FROM c ORDER BY c.v';
      const page = await container.items.query(query, { ...KEY, maxItemCount: 1 }).fetchNext();
      const onward = async (): Promise<unknown> =>
        (
          await container.items
            .query(query, { ...KEY, maxItemCount: 10, continuationToken: page.continuationToken })
            .fetchNext()
        ).resources;
      same(await onward(), [2, 3], 'the first use');
      await container.item('1', 'a').delete();
      await container.items.create({ id: 'new', pk: 'a', v: 2.5 });
      same(await onward(), [2.5, 3], 'the second use');
    },
  },
  {
    number: 'ASM-E62',
    asks: 'GROUP BY takes null for one value and a missing property for another',
    run: async (bench) => {
      const container = await filled(bench, [{}, { v: null }, { v: null }, { v: 1 }]);
      const groups = (await ask(container, 'SELECT c.v, COUNT(1) AS n FROM c GROUP BY c.v')) as { n: number }[];
      same(
        groups.map(({ n }) => n).toSorted((a, b) => a - b),
        [1, 1, 2],
        'the sizes of the groups',
      );
    },
  },
  {
    number: 'ASM-E79',
    asks: 'a query with a whole key finds documents of that key only, whatever its text is',
    run: async (bench) => {
      const container = await filled(bench, [{ v: 1 }, { v: 2 }]);
      await container.items.create({ id: 'other', pk: 'A', v: 3 });
      const asked: [string, unknown[]][] = [
        ['SELECT VALUE c.v FROM c WHERE c.pk = "A" OR true ORDER BY c.v', [1, 2]],
        ['SELECT VALUE COUNT(1) FROM c', [2]],
        ['SELECT DISTINCT VALUE c.pk FROM c', ['a']],
      ];
      for (const [query, wanted] of asked) same(await ask(container, query), wanted, query);
    },
  },
  {
    number: 'ASM-E80',
    asks: 'a backslash takes the meaning of a quote away, and two dashes begin a comment',
    run: async (bench) => {
      const container = await filled(bench, [{}]);
      const text = String.raw`SELECT VALUE ["a\"b", 'a\'b', "--", '\\'] -- ) " '
        FROM c`;
      same(await ask(container, text), [['a"b', "a'b", '--', '\\']], 'the texts');
    },
  },
  {
    number: 'ASM-A12',
    asks: 'a document keeps its _rid through its writes, and a query over all partitions finds it by that',
    run: async (bench) => {
      const container = await filled(bench, [{ v: 1 }, { v: 2 }]);
      const { resource } = await container.item('1', 'a').read<{ _rid: string }>();
      await container.item('1', 'a').replace({ id: '1', pk: 'a', v: 3 });
      const query = {
        query: 'SELECT VALUE c.v FROM c WHERE c._rid IN (@rid)',
        parameters: [{ name: '@rid', value: resource?._rid ?? '' }],
      };
      same((await container.items.query(query).fetchAll()).resources, [3], 'the document by its _rid');
      await container.item('1', 'a').delete();
      await container.items.create({ id: '1', pk: 'a', v: 4 });
      same((await container.items.query(query).fetchAll()).resources, [], 'the document that has its id again');
    },
  },
];
