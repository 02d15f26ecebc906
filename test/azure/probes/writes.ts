import {
  ChangeFeedStartFrom,
  type Container,
  type OperationInput,
  PartitionKeyDefinitionVersion,
  type PatchOperation,
  PriorityLevel,
} from '@azure/cosmos';
import { type Probe, holds, same, statusOf } from '../probe.ts';

const creates = (count: number, size = 0): OperationInput[] =>
  Array.from({ length: count }, (_, n) => ({
    operationType: 'Create',
    resourceBody: { id: `n${n}`, pk: 'a', text: 'x'.repeat(size) },
  }));

const ids = async (container: Container): Promise<string[]> =>
  (await container.items.query<string>('SELECT VALUE c.id FROM c').fetchAll()).resources.toSorted();

const sets = (count: number): PatchOperation[] =>
  Array.from({ length: count }, (_, n) => ({ op: 'set', path: `/p${n}`, value: n }));

/** A document whose deepest object is the `levels`th, itself counted. */
const nested = (levels: number): object => (levels === 1 ? {} : { in: nested(levels - 1) });

export const writes: readonly Probe[] = [
  {
    number: 'ASM-A5',
    asks: 'a batch is applied whole or not at all, and a patch has at most 10 operations',
    run: async (bench) => {
      const container = await bench.container();
      await container.items.create({ id: 'there', pk: 'a' });
      await container.items.batch(
        [...creates(2), { operationType: 'Create', resourceBody: { id: 'there', pk: 'a' } }],
        'a',
      );
      same(await ids(container), ['there'], 'what a failed batch leaves');
      const wrong = {
        operationType: 'Replace' as const,
        id: 'there',
        resourceBody: { id: 'there', pk: 'a' },
        ifMatch: '"wrong"',
      };
      await container.items.batch([...creates(2), wrong], 'a');
      same(await ids(container), ['there'], 'what a batch with a wrong condition leaves');
      await container.items.batch(creates(2), 'a');
      same(await ids(container), ['n0', 'n1', 'there'], 'what a good batch leaves');
    },
  },
  {
    number: 'ASM-E92',
    asks: 'a batch may replace a document under its ETag and delete it',
    run: async (bench) => {
      const container = await bench.container();
      const { resource } = await container.items.create({ id: 'x', pk: 'a' });
      const removal = (ifMatch: string): OperationInput[] => [
        { operationType: 'Replace', id: 'x', resourceBody: { id: 'x', pk: 'a' }, ifMatch },
        { operationType: 'Delete', id: 'x' },
      ];
      await container.items.batch(removal('"wrong"'), 'a');
      same(await ids(container), ['x'], 'what a removal with a wrong condition leaves');
      same((await container.items.batch(removal(resource?._etag ?? ''), 'a')).code, 200, 'a removal');
      same(await ids(container), [], 'what a removal leaves');
    },
  },
  {
    number: 'ASM-E13',
    asks: 'the culprit of a batch carries its status and the others 424; 101 operations are refused',
    run: async (bench) => {
      const container = await bench.container();
      await container.items.create({ id: 'n1', pk: 'a' });
      const { code, result } = await container.items.batch(creates(3), 'a');
      same([code, result?.map(({ statusCode }) => statusCode)], [207, [424, 409, 424]], 'a batch with a conflict');
      same(
        (
          await container.items.batch(
            creates(100).map((of) => ({ ...of, operationType: 'Upsert' as const })) as OperationInput[],
            'a',
          )
        ).code,
        200,
        'a batch of 100',
      );
      // The client may refuse it itself, without a status.
      const ended = await statusOf(
        container.items
          .batch(creates(101), 'a')
          .then(({ code: statusCode }) => ({ ...(statusCode !== undefined && { statusCode }) })),
      ).catch(() => 'refused by the client');
      holds(!ended.startsWith('2'), `a batch of 101 ends with ${ended}`);
    },
  },
  {
    number: 'ASM-E14',
    asks: 'an upsert that inserts ignores If-Match',
    run: async (bench) => {
      const { items } = await bench.container();
      const accessCondition = { type: 'IfMatch', condition: '"0000"' };
      same(await statusOf(items.upsert({ id: '1', pk: 'a' }, { accessCondition })), '201', 'the upsert');
      same(await statusOf(items.upsert({ id: '1', pk: 'a' }, { accessCondition })), '412', 'the same again');
    },
  },
  {
    number: 'ASM-E15',
    asks: 'If-None-Match: * on a write is refused with 412 where the item exists',
    run: async (bench) => {
      const { items } = await bench.container();
      const accessCondition = { type: 'IfNoneMatch', condition: '*' };
      same(await statusOf(items.upsert({ id: '1', pk: 'a' }, { accessCondition })), '201', 'the upsert of a new item');
      same(await statusOf(items.upsert({ id: '1', pk: 'a' }, { accessCondition })), '412', 'the upsert of that item');
    },
  },
  {
    number: 'ASM-E16',
    asks: 'a patch has at most ten operations and can’t touch id or the partition key',
    run: async (bench) => {
      const container = await bench.container();
      await container.items.create({ id: '1', pk: 'a' });
      const item = container.item('1', 'a');
      same(await statusOf(item.patch(sets(10))), '200', 'ten operations');
      same(await statusOf(item.patch(sets(11))), '400', 'eleven operations');
      for (const path of ['/id', '/pk'])
        same(await statusOf(item.patch([{ op: 'set', path, value: 'b' }])), '400', `a patch of ${path}`);
      const condition = { condition: 'FROM c WHERE c.p1 = 99' };
      same(await statusOf(item.patch({ ...condition, operations: sets(1) })), '412', 'a patch whose condition fails');
    },
  },
  {
    number: 'ASM-A33',
    asks: 'a create that violates a unique key is answered by 409, and a read of its id finds nothing',
    run: async (bench) => {
      const container = await bench.container({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] } });
      await container.items.create({ id: 'one', pk: 'a', email: 'x' });
      same(await statusOf(container.items.create({ id: 'two', pk: 'a', email: 'x' })), '409', 'the second value');
      same((await container.item('two', 'a').read()).statusCode, 404, 'a read of the refused id');
      same(await statusOf(container.items.create({ id: 'one', pk: 'a', email: 'y' })), '409', 'an id that exists');
    },
  },
  {
    number: 'ASM-E17',
    asks: 'unique keys hold within one logical partition, and a missing value counts as null',
    run: async (bench) => {
      const { items } = await bench.container({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] } });
      same(await statusOf(items.create({ id: '1', pk: 'a', email: 'x' })), '201', 'a value');
      same(await statusOf(items.create({ id: '2', pk: 'a', email: 'x' })), '409', 'it again');
      same(await statusOf(items.create({ id: '3', pk: 'b', email: 'x' })), '201', 'it in another partition');
      same(await statusOf(items.create({ id: '4', pk: 'a' })), '201', 'none');
      same(await statusOf(items.create({ id: '5', pk: 'a', email: null })), '409', 'null beside none');
    },
  },
  {
    number: 'ASM-E25',
    asks: 'replacing an item under another id renames it',
    run: async (bench) => {
      const container = await bench.container();
      await container.items.create({ id: '1', pk: 'a' });
      same(await statusOf(container.item('1', 'a').replace({ id: '2', pk: 'a' })), '200', 'the replace');
      same(await ids(container), ['2'], 'what is there');
    },
  },
  {
    number: 'ASM-E35',
    asks: 'an item’s ttl of null is refused',
    run: async (bench) => {
      const { items } = await bench.container({ defaultTtl: -1 });
      same(await statusOf(items.create<object>({ id: '1', pk: 'a', ttl: null })), '400', 'ttl: null');
      same(await statusOf(items.create({ id: '2', pk: 'a', ttl: -1 })), '201', 'ttl: -1');
    },
  },
  {
    number: 'ASM-E37',
    asks: 'a document nests at most 128 levels',
    run: async (bench) => {
      const { items } = await bench.container();
      same(await statusOf(items.create({ id: '1', pk: 'a', ...nested(120) })), '201', '120 levels');
      same(await statusOf(items.create({ id: '2', pk: 'a', ...nested(140) })), '400', '140 levels');
    },
  },
  {
    number: 'ASM-E40',
    asks: 'a key value has at most 2 KB',
    run: async (bench) => {
      const { items } = await bench.container();
      same(await statusOf(items.create({ id: '1', pk: 'x'.repeat(2048) })), '201', '2,048 bytes');
      same(await statusOf(items.create({ id: '2', pk: 'x'.repeat(2049) })), '400', '2,049 bytes');
    },
  },
  {
    number: 'ASM-E39',
    asks: 'a key path’s names are letters, digits and _, or quoted',
    run: async (bench) => {
      const path = (text: string) =>
        bench
          .container({ partitionKey: { paths: [text], version: PartitionKeyDefinitionVersion.V2 } })
          .then(() => ({ statusCode: 201 }));
      same(await statusOf(path('/a_1')), '201', '/a_1');
      same(await statusOf(path('/a-b')), '400', '/a-b');
      same(await statusOf(path('/"a-b"')), '201', '/"a-b"');
    },
  },
  {
    number: 'ASM-A13',
    asks: 'a read in a batch or a bulk request sees what was written before it, and of two batches that patch one document both count',
    run: async (bench) => {
      const { items } = await bench.container();
      await items.create({ id: 'gate', pk: 'a', n: 0 });
      const joins = (): OperationInput[] => [
        {
          operationType: 'Patch',
          id: 'gate',
          resourceBody: { operations: [{ op: 'incr', path: '/n', value: 1 }] },
        },
        { operationType: 'Read', id: 'gate' },
      ];
      const seen: unknown[] = [];
      const join = async (): Promise<void> => {
        for (;;) {
          const { code, result } = await items.batch(joins(), 'a');
          if (code === 200) return void seen.push(result?.[1]?.resourceBody?.['n']);
          // One of two at the same time may be refused; which status says so is not assumed.
          holds(code === 207 || code === 409 || code === 449, `a batch ends with ${code}`);
        }
      };
      await Promise.all([join(), join(), join(), join()]);
      same(
        seen.map(Number).toSorted((a, b) => a - b),
        [1, 2, 3, 4],
        'what each batch read',
      );
      for (let n = 10; n < 60; n++) {
        await items.upsert({ id: 'gate', pk: 'a', n });
        const [read] = await items.bulk([{ operationType: 'Read', id: 'gate', partitionKey: 'a' }]);
        same(read?.resourceBody?.['n'], n, 'what a bulk request read after a write');
      }
    },
  },
  {
    number: 'ASM-A15',
    asks: 'a patch with a condition answers 404, 412 or, by return=representation, the document, and one that changes no value is a write',
    run: async (bench) => {
      const container = await bench.container();
      await container.items.create({ id: '1', pk: 'a', v: 1 });
      const where = (value: number) => ({
        condition: `FROM c WHERE c.v = ${value}`,
        operations: [{ op: 'set' as const, path: '/v', value: 1 }],
      });
      same(await statusOf(container.item('2', 'a').patch(where(1))), '404', 'a patch of what is not there');
      same(await statusOf(container.item('1', 'a').patch(where(2))), '412', 'a patch whose condition fails');
      const before = (await container.item('1', 'a').read<object>()).etag;
      const asking = (content: string) => ({ initialHeaders: { Prefer: `return=${content}` } });
      const minimal = await container.item('1', 'a').patch(where(1), asking('minimal'));
      holds(!minimal.resource, 'return=minimal was answered with the document');
      const { resource, etag } = await container
        .item('1', 'a')
        .patch<{ v: number }>(where(1), asking('representation'));
      same(resource?.v, 1, 'the document in the answer');
      holds(etag !== before, 'a patch that changes no value left the etag as it was');
    },
  },
  {
    number: 'ASM-A14',
    asks: 'each kind of request on items takes priority level Low, whether the account has priorities or not',
    run: async (bench) => {
      const container = await bench.container();
      const low = { priorityLevel: PriorityLevel.Low };
      same(await statusOf(container.items.create({ id: '1', pk: 'a' }, low)), '201', 'a create');
      same(await statusOf(container.item('1', 'a').read(low)), '200', 'a read');
      const set: PatchOperation[] = [{ op: 'set', path: '/v', value: 1 }];
      same(await statusOf(container.item('1', 'a').patch(set, low)), '200', 'a patch');
      same((await container.items.query('SELECT VALUE c.v FROM c', low).fetchAll()).resources, [1], 'a query');
      same((await container.items.batch(creates(2), 'a', low)).code, 200, 'a batch');
      const [bulk] = await container.items.bulk([{ operationType: 'Read', id: '1', partitionKey: 'a' }], {}, low);
      same(bulk?.statusCode, 200, 'a bulk request');
      const from = { changeFeedStartFrom: ChangeFeedStartFrom.Beginning(), ...low };
      same(await statusOf(container.items.getChangeFeedIterator(from).readNext()), '200', 'the feed');
    },
  },
  {
    number: 'ASM-A16',
    asks: 'a throughput bucket that is not configured limits nothing, and a number above 5 is refused',
    run: async (bench) => {
      const container = await bench.container();
      const create = (id: string, throughputBucket: number) =>
        container.items.create({ id, pk: 'a' }, { throughputBucket });
      same(await statusOf(create('1', 1)), '201', 'bucket 1');
      same(await statusOf(create('2', 6)), '400', 'bucket 6');
    },
  },
  {
    number: 'ASM-F22',
    asks: 'the path of a patch escapes / and ~',
    run: async (bench) => {
      const container = await bench.container();
      await container.items.create({ id: '1', pk: 'a' });
      await container.item('1', 'a').patch([{ op: 'set', path: '/x~1y~0z', value: 1 }]);
      const { resource } = await container.item('1', 'a').read<Record<string, unknown>>();
      same(resource?.['x/y~z'], 1, 'the field');
    },
  },
];
