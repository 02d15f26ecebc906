import { LARGE, digits, textsOf } from '../support/exact.ts';
import { describe, expect, test } from 'vitest';
import { emulate, refusal, TWO_LEVELS } from './emulate.ts';

describe('items', () => {
  test('items are created, read, replaced and deleted with system fields of their own', async () => {
    const { container } = await emulate();
    const { resource: created, statusCode } = await container.items.create({ id: '1', pk: 'a', _etag: 'mine', _ts: 1 });
    expect(statusCode).toBe(201);
    expect(created?._etag).toMatch(/^"[0-9a-f-]{36}"$/);
    expect(created?._ts).toBeGreaterThan(1_600_000_000);
    expect((await container.item('1', 'a').read()).resource).toEqual(created);
    const { resource: replaced } = await container.item('1', 'a').replace({ id: '1', pk: 'a', n: 2 });
    expect(replaced).toMatchObject({ n: 2, _rid: created?._rid });
    expect(replaced?._etag).not.toBe(created?._etag);
    expect((await container.item('1', 'a').delete()).statusCode).toBe(204);
    expect((await container.item('1', 'a').read()).statusCode).toBe(404);
  });

  test('items refuse what the service refuses', async () => {
    const { container } = await emulate();
    await container.items.create({ id: '1', pk: 'a' });
    expect(await refusal(container.items.create({ id: '1', pk: 'a' }))).toMatchObject({ code: 409 });
    expect(await refusal(container.item('2', 'a').replace({ id: '2', pk: 'a' }))).toMatchObject({ code: 404 });
    expect(await refusal(container.item('2', 'a').delete())).toMatchObject({ code: 404 });
    expect(await refusal(container.item('1', 'a').replace({ id: '1', pk: 'b' }))).toMatchObject({
      code: 400,
      substatus: 1001,
    });
    expect(await refusal(container.items.create({ id: 'x'.repeat(1024), pk: 'a' }))).toMatchObject({ code: 400 });
    expect(await refusal(container.items.create({ id: 'x', pk: 'p'.repeat(2049) }))).toMatchObject({ code: 400 });
    expect(await refusal(container.items.create({ id: 'x', pk: 'a', pad: 'x'.repeat(2_200_000) }))).toMatchObject({
      code: 413,
      message: expect.stringContaining('Request size is too large') as string,
    });
    // The same id under another key is another item.
    expect((await container.items.create({ id: '1', pk: 'b' })).statusCode).toBe(201);
  });

  test('items have ids that the service takes, reads, or refuses to read', async () => {
    const { container } = await emulate();
    const readable = ['a?b', ' a', 'a b', 'ü鱀', 'x,=.:~+-@()^${}[]!_&;', 'x'.repeat(1023)];
    for (const id of readable) {
      await container.items.create({ id, pk: id });
      expect((await container.item(id, id).read()).resource).toMatchObject({ id });
      expect((await container.item(id, id).delete()).statusCode).toBe(204);
    }
    for (const id of ['a ', 'a%20', 'a%E9%B1%80']) {
      expect((await container.items.create({ id, pk: id })).statusCode).toBe(201);
      expect(await refusal(container.item(id, id).read())).toMatchObject({ code: 401 });
      expect(await refusal(container.item(id, id).delete())).toMatchObject({ code: 401 });
    }
  });

  test('items keep names and values that JavaScript treats specially', async () => {
    const { container } = await emulate();
    const odd = JSON.parse(
      '{"id":"__proto__","pk":"constructor","__proto__":{"a":1},"toString":2,"😀":"\\ud800"}',
    ) as Record<string, unknown>;
    await container.items.create(odd);
    const { resource } = await container.item('__proto__', 'constructor').read();
    expect(Object.keys(resource as object)).toEqual(expect.arrayContaining(['__proto__', 'toString', '😀']));
    const { resources } = await container.items
      .query('SELECT VALUE c.toString FROM c WHERE c["__proto__"].a = 1')
      .fetchAll();
    expect(resources).toEqual([2]);
    expect((await container.item('toString', 'constructor').read()).statusCode).toBe(404);
  });

  test('items of any key type are told apart, and a missing key is a key', async () => {
    const { container } = await emulate();
    const keys = ['1', 1, true, null, undefined];
    for (const pk of keys) await container.items.create(pk === undefined ? { id: 'x' } : { id: 'x', pk });
    for (const pk of keys) {
      const { resource } = await container.item('x', pk).read<{ pk?: unknown }>();
      expect(resource?.pk).toEqual(pk);
    }
    const { resources } = await container.items.query('SELECT VALUE c.pk FROM c', { partitionKey: 1 }).fetchAll();
    expect(resources).toEqual([1]);
  });

  test('change only under the condition given', async () => {
    const { container } = await emulate();
    const { etag } = await container.items.create({ id: '1', pk: 'a', n: 0 });
    const item = container.item('1', 'a');
    const ifMatch = { accessCondition: { type: 'IfMatch', condition: etag } };
    expect((await item.read({ accessCondition: { type: 'IfNoneMatch', condition: etag } })).statusCode).toBe(304);
    await item.replace({ id: '1', pk: 'a', n: 1 }, ifMatch);
    expect(await refusal(item.replace({ id: '1', pk: 'a', n: 2 }, ifMatch))).toMatchObject({ code: 412 });
    expect(await refusal(item.delete(ifMatch))).toMatchObject({ code: 412 });
    expect(await refusal(item.patch([{ op: 'set', path: '/n', value: 3 }], ifMatch))).toMatchObject({ code: 412 });
    expect(await refusal(container.items.upsert({ id: '1', pk: 'a', n: 4 }, ifMatch))).toMatchObject({ code: 412 });
    expect((await item.read<{ n: number }>()).resource?.n).toBe(1);
    // ASM-E14: an upsert that inserts ignores If-Match.
    expect((await container.items.upsert({ id: 'new', pk: 'a' }, ifMatch)).statusCode).toBe(201);
  });

  test('items with hierarchical keys are found by full key and by prefix', async () => {
    const { container } = await emulate({
      partitionKey: TWO_LEVELS,
      throughput: 20_000,
    });
    for (const t of ['a', 'b', 'c']) for (const u of [1, 2]) await container.items.create({ id: `${t}${u}`, t, u });
    expect((await container.item('b2', ['b', 2]).read<{ u: number }>()).resource?.u).toBe(2);
    const { resources } = await container.items.query('SELECT VALUE c.id FROM c', { partitionKey: ['b'] }).fetchAll();
    expect(resources.toSorted((a: string, b: string) => (a < b ? -1 : 1))).toEqual(['b1', 'b2']);
    expect(await refusal(container.items.create({ id: 'x', t: 'a', u: { deep: 1 } } as never))).toMatchObject({
      code: 400,
    });
  });

  test('items with unique keys conflict within their partition only', async () => {
    const { container } = await emulate({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email', '/kind'] }] } });
    await container.items.create({ id: '1', pk: 'a', email: 'x' });
    expect(await refusal(container.items.create({ id: '2', pk: 'a', email: 'x' }))).toMatchObject({ code: 409 });
    await container.items.create({ id: '2', pk: 'b', email: 'x' });
    await container.items.create({ id: '3', pk: 'a', email: 'y' });
    expect(await refusal(container.item('3', 'a').patch([{ op: 'set', path: '/email', value: 'x' }]))).toMatchObject({
      code: 409,
    });
    await container.item('1', 'a').replace({ id: '1', pk: 'a', email: 'z' });
    await container.items.create({ id: '4', pk: 'a', email: 'x' });
    await container.item('4', 'a').delete();
    await container.items.create({ id: '5', pk: 'a', email: 'x' });
    // A swap in one batch is no conflict at its end, but is one on the way.
    const swap = await container.items.batch(
      [
        { operationType: 'Delete', id: '5' },
        { operationType: 'Create', resourceBody: { id: '6', pk: 'a', email: 'x' } },
      ],
      'a',
    );
    expect(swap.code).toBe(200);
  });

  test('items charge as the model states', async () => {
    const { container } = await emulate();
    const small = await container.items.create({ id: '1', pk: 'a' });
    const large = await container.items.create({ id: '2', pk: 'a', pad: 'x'.repeat(100 * 1024) });
    expect(small.requestCharge).toBe(5.5);
    expect(large.requestCharge).toBeGreaterThan(54);
    expect((await container.item('1', 'a').read()).requestCharge).toBe(1);
    expect((await container.item('1', 'a').replace({ id: '1', pk: 'a' })).requestCharge).toBe(11);
    expect((await container.item('9', 'a').read()).requestCharge).toBe(1);
  });
});

describe('patches', () => {
  test('patches apply each operation', async () => {
    const { container } = await emulate();
    await container.items.create({ id: '1', pk: 'a', n: 1, list: [1, 3], o: { x: 1 } });
    const { resource } = await container
      .item('1', 'a')
      .patch([
        { op: 'incr', path: '/n', value: 4 },
        { op: 'incr', path: '/fresh', value: 2 },
        { op: 'add', path: '/list/1', value: 2 },
        { op: 'add', path: '/list/-', value: 4 },
        { op: 'set', path: '/list/0', value: 0 },
        { op: 'replace', path: '/o/x', value: 'y' },
        { op: 'set', path: '/o/a~1b', value: 1 },
        { op: 'add', path: '/o/gone', value: 1 },
        { op: 'remove', path: '/o/gone' },
        { op: 'move', from: '/o/x', path: '/moved' } as never,
      ]);
    expect(resource).toMatchObject({ n: 5, fresh: 2, list: [0, 2, 3, 4], o: { 'a/b': 1 }, moved: 'y' });
    expect((resource as unknown as { o: object }).o).not.toHaveProperty('x');
  });

  test('patches are all or nothing, and refuse what they may not touch', async () => {
    const { container } = await emulate();
    const { resource: before } = await container.items.create({ id: '1', pk: 'a', n: 1, list: [], s: 'text' });
    const item = container.item('1', 'a');
    const set = { op: 'set', path: '/n', value: 9 } as const;
    for (const bad of [
      { op: 'replace', path: '/missing', value: 1 },
      { op: 'remove', path: '/missing' },
      { op: 'incr', path: '/s', value: 1 },
      { op: 'add', path: '/list/5', value: 1 },
      { op: 'set', path: '/missing/deep', value: 1 },
      { op: 'set', path: '/pk', value: 'b' },
      { op: 'set', path: '/id', value: 'b' },
      { op: 'set', path: '/_ts', value: 1 },
      { op: 'nope', path: '/n', value: 1 },
      { op: 'set', path: 'n', value: 1 },
    ]) {
      expect(await refusal(item.patch([set, bad as never]))).toMatchObject({ code: 400 });
    }
    expect(await refusal(item.patch(Array.from({ length: 11 }, () => set)))).toMatchObject({ code: 400 });
    expect(await refusal(item.patch([]))).toMatchObject({ code: 400 });
    expect((await item.read()).resource).toEqual(before);
  });

  test('patches apply under a condition', async () => {
    const { container } = await emulate();
    await container.items.create({ id: '1', pk: 'a', n: 1 });
    const item = container.item('1', 'a');
    const operations = [{ op: 'set' as const, path: '/n', value: 2 }];
    await item.patch({ condition: 'from c where c.n = 1', operations });
    expect(await refusal(item.patch({ condition: 'from c where c.n = 1', operations }))).toMatchObject({ code: 412 });
    expect(await refusal(item.patch({ condition: 'from c where', operations }))).toMatchObject({ code: 400 });
  });
});

test('all items of a key go at once, and no others', async () => {
  const { container } = await emulate({ partitionKey: TWO_LEVELS });
  for (const [t, u] of [
    ['a', '1'],
    ['a', '2'],
    ['b', '1'],
  ]) {
    await container.items.create({ id: 'x', t, u });
    await container.items.create({ id: 'y', t, u });
  }
  const left = async () =>
    (await container.items.query('SELECT VALUE CONCAT(c.t, c.u, c.id) FROM c').fetchAll()).resources;
  expect((await container.deleteAllItemsForPartitionKey(['a', '1'])).statusCode).toBe(200);
  expect(await left()).toEqual(['a2x', 'a2y', 'b1x', 'b1y']);
  await container.deleteAllItemsForPartitionKey(['a']);
  expect(await left()).toEqual(['b1x', 'b1y']);
});

test('keeps the digits of whole numbers that a double can’t hold, until a patch replaces them', async () => {
  const { emulator, container } = await emulate();
  const large = { n: digits(LARGE), list: [digits(`-${LARGE}`), 1e16], float: 1e300 };
  await container.items.create({ id: 'a', pk: 'k', large });
  await container.item('a', 'k').patch([{ op: 'set', path: '/other', value: 1 }]);
  const text = await textsOf(emulator, 'd', 'c');
  expect(text).toContain(`"large":{"n":${LARGE},"list":[-${LARGE},10000000000000000],"float":1e+300},"_rid"`);
  expect(text).toContain('"other":1}');
  await container.item('a', 'k').patch([{ op: 'set', path: '/large/n', value: Number(LARGE) }]);
  expect(await textsOf(emulator, 'd', 'c')).toContain(`"large":{"n":9007199254740992,"list":[-${LARGE}`);
});
