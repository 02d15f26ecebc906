import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChangeFeedMode, ChangeFeedStartFrom } from '@azure/cosmos';
import type { Container } from '@azure/cosmos';
import { expect, onTestFinished, test } from 'vitest';
import { clientOf, emulate, HASH_KEY, refusal } from './emulate.ts';

interface Doc {
  readonly id: string;
  readonly pk: string;
  readonly v: number;
  readonly _ts: number;
  readonly _etag: string;
  readonly _lsn: number;
}

const feed = async (container: Container): Promise<Doc[]> => {
  const iterator = container.items.getChangeFeedIterator<Doc>({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() });
  const found: Doc[] = [];
  for (;;) {
    const { result, statusCode } = await iterator.readNext();
    if (statusCode === 304) return found.toSorted((a, b) => Number(a.id) - Number(b.id));
    found.push(...result);
  }
};

test('a restore brings back what was, as another container: new rid, new etags, lsns from the beginning', async () => {
  const { emulator, container } = await emulate(
    { throughput: 12_000, uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/v'] }] } },
    { faults: { historyMs: 60_000 } },
  );
  emulator.freeze(true);
  for (let v = 0; v < 20; v++) await container.items.create({ id: `${v}`, pk: `k${v}`, v });
  for (let v = 0; v < 5; v++) await container.item('0', 'k0').patch([{ op: 'incr', path: '/n', value: 1 }]);
  const before = await feed(container);
  const { resource: old } = await container.read();
  const { result: _, continuationToken } = await container.items
    .getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() })
    .readNext();
  const page = await container.items.query('SELECT * FROM c', { maxItemCount: 5 }).fetchNext();
  emulator.advance(10_000);
  await container.item('1', 'k1').delete();
  await container.item('2', 'k2').replace({ id: '2', pk: 'k2', v: 99 });
  await container.items.create({ id: 'new', pk: 'new', v: 100 });

  expect(emulator.restore('d/c', 5000)).toBe(20);
  const fresh = clientOf(emulator).database('d').container('c');
  const { resource: made } = await fresh.read();
  expect(made?._rid).not.toBe(old?._rid);
  expect((await fresh.readPartitionKeyRanges().fetchAll()).resources).toHaveLength(2);
  expect((await fresh.readOffer()).resource?.content?.offerThroughput).toBe(12_000);
  const after = await feed(fresh);
  const named = (docs: Doc[]) => docs.map(({ id, pk, v, _ts }) => ({ id, pk, v, _ts }));
  expect(named(after)).toEqual(named(before));
  expect(new Set([...before, ...after].map(({ _etag }) => _etag)).size).toBe(before.length + after.length);
  // Patches had gone before: they are no part of the new numbering, which each of the two ranges begins with 1.
  expect(after.filter(({ _lsn }) => _lsn === 1)).toHaveLength(2);
  expect(Math.max(...after.map(({ _lsn }) => _lsn))).toBeLessThan(after.length);
  // Unique keys are those of what is there.
  expect(await refusal(fresh.items.create({ id: 'x', pk: 'k3', v: 3 }))).toMatchObject({ code: 409 });

  // What was made of the old container is good for nothing: neither positions nor pages nor sessions.
  const resumed = fresh.items.getChangeFeedIterator({
    changeFeedStartFrom: ChangeFeedStartFrom.Continuation(continuationToken),
  });
  await expect(resumed.readNext()).rejects.toThrow('not for the current container');
  const paged = fresh.items.query('SELECT * FROM c', { continuationToken: page.continuationToken });
  expect(await refusal(paged.fetchNext())).toMatchObject({ code: 400, message: /Invalid Continuation Token/ });
  const range = (await fresh.readPartitionKeyRanges().fetchAll()).resources[0]!.id;
  // 404/1002, upon which the client tries once more without the token.
  const { '404': missed = 0 } = emulator.stats().statuses;
  await fresh.items.query('SELECT * FROM c', { sessionToken: `${range}:-1#999` }).fetchAll();
  expect(emulator.stats().statuses['404']).toBe(missed + 1);
});

test('a dropped container comes back as it last was', async () => {
  const { emulator, container } = await emulate({}, { faults: { historyMs: 60_000 } });
  await container.items.create({ id: '1', pk: 'a' });
  const { resource: old } = await container.read();
  await container.delete();
  expect(emulator.restore('d/c')).toBe(1);
  expect((await container.read()).resource?._rid).not.toBe(old?._rid);
  expect((await container.item('1', 'a').read()).statusCode).toBe(200);
});

test('the account as a whole goes back, and refuses to go further than the past is kept', async () => {
  const { emulator, container, database } = await emulate({}, { faults: { historyMs: 60_000 } });
  const { container: two } = await database.containers.create({ id: 'two', partitionKey: HASH_KEY });
  emulator.freeze(true);
  await container.items.create({ id: '1', pk: 'a' });
  emulator.advance(10_000);
  await two.items.create({ id: '1', pk: 'a' });
  expect(emulator.restore(undefined, 5000)).toBe(1);
  expect((await container.item('1', 'a').read()).statusCode).toBe(200);
  expect((await two.item('1', 'a').read()).statusCode).toBe(404);
  expect(() => emulator.restore('d/c', 60_001)).toThrow('keeps the last 60000 ms');
  expect(() => emulator.restore('d/none')).toThrow("There is no container 'd/none'");
  emulator.faults({});
  expect(() => emulator.restore('d/c', 1)).toThrow('keeps the last 0 ms');
  expect(emulator.restore('d/c')).toBe(1);
});

test('a restored all-versions container begins its feed again', async () => {
  const { emulator, container } = await emulate({
    changeFeedPolicy: { retentionDuration: 10 },
  });
  await container.items.create({ id: '1', pk: 'a' });
  emulator.restore('d/c');
  const fresh = clientOf(emulator).database('d').container('c');
  const iterator = fresh.items.getChangeFeedIterator({
    changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
    changeFeedStartFrom: ChangeFeedStartFrom.Now(),
  });
  expect((await iterator.readNext()).statusCode).toBe(304);
  await fresh.items.create({ id: '2', pk: 'a' });
  expect((await iterator.readNext()).result).toHaveLength(1);
});

test('what was restored is there after a crash, and nothing of what it replaced', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { emulator, container } = await emulate({ throughput: 12_000 }, { data: folder });
  for (let v = 0; v < 10; v++) await container.items.create({ id: `${v}`, pk: `k${v}`, v });
  await container.item('3', 'k3').delete();
  emulator.restore('d/c');
  const { resource: made } = await container.read();
  await emulator.restart();
  const fresh = clientOf(emulator).database('d').container('c');
  expect((await fresh.read()).resource).toEqual(made);
  expect((await fresh.items.readAll().fetchAll()).resources).toHaveLength(9);
  expect((await fresh.readOffer()).resource?.content?.offerThroughput).toBe(12_000);
  expect(await feed(fresh)).toHaveLength(9);
});
