import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChangeFeedStartFrom } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { clientOf, emulate, refusal } from './emulate.ts';

test('a split leaves two children with the parent between them, and the documents where they were', async () => {
  const { emulator, container } = await emulate();
  for (let i = 0; i < 20; i++) await container.items.create({ id: `${i}`, pk: `k${i}` });
  expect(emulator.split('d/c')).toEqual(['1', '2']);
  const { resources } = await container.readPartitionKeyRanges().fetchAll();
  expect(resources.map(({ id, parents }) => [id, parents])).toEqual([
    ['1', ['0']],
    ['2', ['0']],
  ]);
  expect(resources[0]?.maxExclusive).toBe(resources[1]?.minInclusive);
  expect((await container.items.readAll().fetchAll()).resources).toHaveLength(20);
  expect(emulator.merge('d/c')).toBe('3');
  const merged = await container.readPartitionKeyRanges().fetchAll();
  expect(merged.resources.map(({ id, parents }) => [id, parents])).toEqual([['3', ['0', '1', '2']]]);
});

test('a split under way is answered 410/1007, and 410/1002 once it is done', async () => {
  const { emulator, container } = await emulate();
  expect(emulator.split('d/c', '0', { refuse: 2 })).toEqual([]);
  const iterator = container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() });
  expect((await iterator.readNext()).statusCode).toBe(304);
  expect(emulator.stats().statuses['410']).toBe(3);
  expect((await container.readPartitionKeyRanges().fetchAll()).resources.map(({ id }) => id)).toEqual(['1', '2']);
});

test('after a merge the feed starts from the beginning, a continuation or now, but not from a time', async () => {
  const { emulator, container } = await emulate({ throughput: 12_000 });
  await container.items.create({ id: '1', pk: 'a' });
  const from = (start: ChangeFeedStartFrom) =>
    container.items.getChangeFeedIterator({ changeFeedStartFrom: start }).readNext();
  const time = new Date(Date.now() - 60_000);
  expect((await from(ChangeFeedStartFrom.Time(time))).statusCode).toBe(200);
  emulator.merge('d/c', ['1', '0']);
  expect(await refusal(from(ChangeFeedStartFrom.Time(time)))).toMatchObject({ code: 400 });
  const page = await from(ChangeFeedStartFrom.Beginning());
  expect(page.count).toBe(1);
  expect((await from(ChangeFeedStartFrom.Continuation(page.continuationToken))).statusCode).toBe(304);
  expect((await from(ChangeFeedStartFrom.Now())).statusCode).toBe(304);
});

test('a query under way goes on over a split', async () => {
  const { emulator, container } = await emulate();
  for (let i = 0; i < 30; i++) await container.items.create({ id: `${i}`, pk: `k${i}` });
  const query = container.items.query<{ id: string }>('SELECT * FROM c', { maxItemCount: 7 });
  const found: string[] = [];
  while (query.hasMoreResults()) {
    const page = await query.fetchNext();
    found.push(...(page.resources ?? []).map(({ id }) => id));
    emulator.split('d/c');
  }
  expect(new Set(found).size).toBe(30);
  expect(found).toHaveLength(30);
});

test('partitions, parents and the merge are there after a restart', async ({ onTestFinished }) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { emulator, container } = await emulate({}, { data: folder });
  for (let i = 0; i < 10; i++) await container.items.create({ id: `${i}`, pk: `k${i}` });
  emulator.split('d/c');
  emulator.split('d/c', '2');
  emulator.merge('d/c', ['1', '3']);
  const before = (await container.readPartitionKeyRanges().fetchAll()).resources;
  await emulator.restart();
  const client = clientOf(emulator);
  onTestFinished(() => client.dispose());
  const again = client.database('d').container('c');
  const after = (await again.readPartitionKeyRanges().fetchAll()).resources;
  expect(after.map(({ id, parents }) => [id, parents])).toEqual(before.map(({ id, parents }) => [id, parents]));
  expect((await again.items.readAll().fetchAll()).resources).toHaveLength(10);
  const time = again.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Time(new Date()) });
  expect(await refusal(time.readNext())).toMatchObject({ code: 400 });
});

test('what is not there is refused with what is', async () => {
  const { emulator } = await emulate();
  expect(() => emulator.split('d/x')).toThrow("There is no container 'd/x'.");
  expect(() => emulator.split('d/c', '7')).toThrow("has no partition key range '7': it has 0");
  expect(() => emulator.merge('d/c')).toThrow('Only two neighbouring');
});
