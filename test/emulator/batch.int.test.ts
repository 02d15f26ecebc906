import { ChangeFeedStartFrom } from '@azure/cosmos';
import type { OperationInput } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { clientInside, emulate, heldTime, refusal, watched } from './emulate.ts';

test('a batch does everything, in order, under one lsn', async () => {
  const { container } = await emulate();
  await container.items.create({ id: 'old', pk: 'a', n: 1 });
  await container.items.create({ id: 'gone', pk: 'a' });
  const { code, result } = await container.items.batch(
    [
      { operationType: 'Create', resourceBody: { id: 'new', pk: 'a' } },
      { operationType: 'Upsert', resourceBody: { id: 'up', pk: 'a' } },
      { operationType: 'Read', id: 'new' },
      { operationType: 'Replace', id: 'old', resourceBody: { id: 'old', pk: 'a', n: 2 } },
      { operationType: 'Patch', id: 'old', resourceBody: { operations: [{ op: 'incr', path: '/n', value: 40 }] } },
      { operationType: 'Delete', id: 'gone' },
    ],
    'a',
  );
  expect(code).toBe(200);
  expect(result?.map((each) => each.statusCode)).toEqual([201, 201, 200, 200, 200, 204]);
  expect(result?.[4]?.resourceBody).toMatchObject({ n: 42 });
  const feed = container.items.getChangeFeedIterator<{ id: string; _lsn: number }>({
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
  });
  const { result: changes } = await feed.readNext();
  expect(changes.map(({ id }) => id).toSorted()).toEqual(['new', 'old', 'up']);
  expect(new Set(changes.map(({ _lsn }) => _lsn)).size).toBe(1);
  expect((await container.item('gone', 'a').read()).statusCode).toBe(404);
});

test('a batch that fails has had no effect at all', async () => {
  const { container } = await emulate({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] } });
  const { etag } = await container.items.create({ id: 'old', pk: 'a', email: 'o' });
  await container.item('old', 'a').patch([{ op: 'set', path: '/x', value: 1 }]);
  const before = (await container.items.query('SELECT * FROM c').fetchAll()).resources;
  const failing: [OperationInput, number][] = [
    [{ operationType: 'Create', resourceBody: { id: 'old', pk: 'a' } }, 409],
    [{ operationType: 'Create', resourceBody: { id: 'n2', pk: 'a', email: 'n' } }, 409],
    [{ operationType: 'Read', id: 'none' }, 404],
    [{ operationType: 'Delete', id: 'none' }, 404],
    // The client sends `ifMatch` on as it is, though its type has it for some operations only.
    [{ operationType: 'Delete', id: 'old', ifMatch: etag } as OperationInput, 412],
    [{ operationType: 'Create', resourceBody: { id: 'x', pk: 'b' } }, 400],
    [{ operationType: 'Patch', id: 'old', resourceBody: { operations: [{ op: 'remove', path: '/no' }] } }, 400],
  ];
  for (const [bad, status] of failing) {
    const { code, result } = await container.items.batch(
      [
        { operationType: 'Create', resourceBody: { id: 'new', pk: 'a', email: 'n' } },
        { operationType: 'Delete', id: 'new' },
        { operationType: 'Upsert', resourceBody: { id: 'new', pk: 'a', email: 'n' } },
        bad,
        { operationType: 'Delete', id: 'old' },
      ],
      'a',
    );
    expect(code).toBe(207);
    expect(result?.map((each) => each.statusCode)).toEqual([424, 424, 424, status, 424]);
    expect((await container.items.query('SELECT * FROM c').fetchAll()).resources).toEqual(before);
  }
  // The unique value that was claimed on the way is free.
  await container.items.create({ id: 'other', pk: 'a', email: 'n' });
});

test('a batch has limits', async () => {
  const { container } = await emulate();
  const large: OperationInput[] = Array.from({ length: 3 }, (_, i) => ({
    operationType: 'Create',
    resourceBody: { id: String(i), pk: 'a', pad: 'x'.repeat(800_000) },
  }));
  expect((await refusal(container.items.batch(large, 'a'))).message).toContain('too large');
  expect((await container.items.query('SELECT VALUE COUNT(1) FROM c').fetchAll()).resources).toEqual([0]);
});

test('minimal answers leave bodies out', async () => {
  const { container } = await emulate();
  const create: OperationInput = { operationType: 'Create', resourceBody: { id: '1', pk: 'a' } };
  const { result } = await container.items.batch([create], 'a', { contentResponseOnWriteEnabled: false });
  expect(result?.[0]).not.toHaveProperty('resourceBody');
  expect(result?.[0]?.eTag).toBe((await container.item('1', 'a').read()).etag);
});

test('bulk operations stand each for itself, over all ranges', async () => {
  const { container } = await emulate({ throughput: 18_000 });
  const creates: OperationInput[] = Array.from({ length: 60 }, (_, i) => ({
    operationType: 'Create',
    resourceBody: { id: String(i), pk: `k${i % 7}` },
  }));
  const first = await container.items.bulk(creates);
  expect(first.map((each) => each.statusCode)).toEqual(Array.from({ length: 60 }, () => 201));
  const mixed = await container.items.bulk([
    { operationType: 'Create', resourceBody: { id: '0', pk: 'k0' } },
    {
      operationType: 'Patch',
      id: '1',
      partitionKey: 'k1',
      resourceBody: { operations: [{ op: 'set', path: '/n', value: 1 }] },
    },
    { operationType: 'Delete', id: '2', partitionKey: 'k2' },
    { operationType: 'Read', id: 'none', partitionKey: 'k3' },
  ]);
  expect(mixed.map((each) => each.statusCode)).toEqual([409, 200, 204, 404]);
  const again = await container.items.executeBulkOperations([{ operationType: 'Read', id: '3', partitionKey: 'k3' }]);
  expect(again[0]?.response?.statusCode).toBe(200);
});

test('a batch that would take more than five seconds is broken off then, and has had no effect', async () => {
  const { emulator } = await emulate();
  const client = clientInside(emulator);
  const container = client.database('d').container('c');
  await container.items.create({ id: 'first', pk: 'a' });
  const create: OperationInput = { operationType: 'Create', resourceBody: { id: '1', pk: 'a' } };
  emulator.faults({ latencyMs: 600_000 });
  const time = heldTime();
  const batch = refusal(container.items.batch([create], 'a'));
  const call = watched(batch);
  await time.until(() => emulator.stats().requests.batch === 1);
  await time.pass(4999);
  expect(call.done).toBe(false);
  await time.pass(1);
  expect((await batch).message).toContain('exceeded the alloted time');
  expect(emulator.stats().statuses['408']).toBe(1);
  emulator.faults({});
  expect((await container.item('1', 'a').read()).statusCode).toBe(404);
  client.dispose();
});
