import { ChangeFeedMode, ChangeFeedPolicy, ChangeFeedRetentionTimeSpan, ChangeFeedStartFrom } from '@azure/cosmos';
import type { Container } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { emulate, refusal } from './emulate.ts';

const POLICY = { changeFeedPolicy: new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10)) };

interface Entry {
  readonly current?: { id: string; v: number };
  readonly previous?: { v: number };
  readonly metadata: Record<string, unknown>;
}

const read = (container: Container, start: ChangeFeedStartFrom) =>
  container.items.getChangeFeedIterator<Entry>({
    changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
    changeFeedStartFrom: start,
  });

test('every version and every delete comes, in order', async () => {
  const { container } = await emulate(POLICY);
  const feed = read(container, ChangeFeedStartFrom.Now());
  await feed.readNext();
  await container.items.create({ id: '1', pk: 'a', v: 1 });
  await container.items.upsert({ id: '1', pk: 'a', v: 2 });
  await container.item('1', 'a').delete();
  const { result } = await feed.readNext();
  expect(result.map(({ current, metadata }) => [metadata.operationType, current?.v])).toEqual([
    ['create', 1],
    ['replace', 2],
    ['delete', undefined],
  ]);
  expect(result[2]?.metadata).toMatchObject({ timeToLiveExpired: false, id: '1', partitionKey: { pk: 'a' } });
  expect(result[1]?.metadata.previousImageLSN).toBe(result[0]?.metadata.lsn);
  expect(result[1]).not.toHaveProperty('previous');
});

test('what expires is a delete that says so; the image before comes where it was asked for', async () => {
  const { emulator, container } = await emulate(
    { ...POLICY, defaultTtl: 10 },
    { faults: { purge: false }, previousImages: true },
  );
  const feed = read(container, ChangeFeedStartFrom.Now());
  await feed.readNext();
  await container.items.create({ id: '1', pk: 'a', v: 1 });
  emulator.advance(11_000);
  emulator.purge();
  const { result } = await feed.readNext();
  expect(result.map(({ metadata }) => [metadata.operationType, metadata.timeToLiveExpired])).toEqual([
    ['create', undefined],
    ['delete', true],
  ]);
  expect(result[1]?.previous?.v).toBe(1);
});

test('it starts now or at a continuation inside the retention, and only where the container keeps it', async () => {
  const { emulator, container, database } = await emulate(POLICY);
  const plain = await database.containers.create({ id: 'plain', partitionKey: '/pk' });
  expect(await refusal(read(plain.container, ChangeFeedStartFrom.Now()).readNext())).toMatchObject({ code: 400 });
  const first = await read(container, ChangeFeedStartFrom.Now()).readNext();
  await container.items.create({ id: '1', pk: 'a', v: 1 });
  emulator.advance(11 * 60_000);
  const old = read(container, ChangeFeedStartFrom.Continuation(first.continuationToken));
  expect(await refusal(old.readNext())).toMatchObject({
    code: 400,
    message: expect.stringContaining('within the retention period') as string,
  });
});

test('a split keeps every version, a merge is refused', async () => {
  const { emulator, container } = await emulate(POLICY);
  const first = await read(container, ChangeFeedStartFrom.Now()).readNext();
  for (let i = 0; i < 10; i++) await container.items.create({ id: `${i}`, pk: `k${i}`, v: i });
  for (let i = 0; i < 10; i++) await container.item(`${i}`, `k${i}`).delete();
  emulator.split('d/c');
  const feed = read(container, ChangeFeedStartFrom.Continuation(first.continuationToken));
  const kinds: unknown[] = [];
  for (let page = await feed.readNext(); page.statusCode === 200; page = await feed.readNext()) {
    kinds.push(...page.result.map(({ metadata }) => metadata.operationType));
  }
  expect(kinds.filter((kind) => kind === 'create')).toHaveLength(10);
  expect(kinds.filter((kind) => kind === 'delete')).toHaveLength(10);
  expect(() => emulator.merge('d/c')).toThrow('all-versions');
});
