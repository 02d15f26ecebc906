import { ChangeFeedStartFrom } from '@azure/cosmos';
import { expect, test, vi } from 'vitest';
import { emulate, HASH_KEY, refusal } from './emulate.ts';

test('an item expires after its own or the container’s time, from its last write', async () => {
  const { container } = await emulate({ defaultTtl: 3600 });
  await container.items.create({ id: 'short', pk: 'a', ttl: 1 });
  await container.items.create({ id: 'long', pk: 'a' });
  await container.items.create({ id: 'never', pk: 'a', ttl: -1 });
  const gone = async (id: string): Promise<boolean> => (await container.item(id, 'a').read()).statusCode === 404;
  expect(await gone('short')).toBe(false);
  await vi.waitUntil(() => gone('short'), { timeout: 30_000, interval: 50 });
  const { resources } = await container.items.query('SELECT VALUE c.id FROM c').fetchAll();
  expect(resources).toEqual(['long', 'never']);
  expect((await container.items.create({ id: 'short', pk: 'a' })).statusCode).toBe(201);
});

test('what has expired is purged later: the lsn moves on, and no reader is told', async () => {
  const { container } = await emulate({ defaultTtl: 1 });
  const { headers } = await container.items.create({ id: '1', pk: 'a' });
  const token = async (): Promise<unknown> => (await container.item('none', 'a').read()).headers['x-ms-session-token'];
  expect(headers['x-ms-session-token']).toBe('0:-1#1');
  await vi.waitUntil(async () => (await token()) === '0:-1#2', { timeout: 10_000, interval: 50 });
  const feed = container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() });
  expect((await feed.readNext()).statusCode).toBe(304);
});

test('an item’s time counts only where the container has one, and must make sense', async () => {
  const { container } = await emulate();
  await container.items.create({ id: '1', pk: 'a', ttl: 1 });
  expect(await refusal(container.items.create({ id: '2', pk: 'a', ttl: -5 }))).toMatchObject({ code: 400 });
  const { resource } = await container.item('1', 'a').read();
  await vi.waitUntil(() => Date.now() > (Number(resource?._ts) + 2) * 1000, { timeout: 30_000, interval: 50 });
  expect((await container.item('1', 'a').read()).statusCode).toBe(200);
  // Switching it on takes effect on what is there (ASM-A4).
  await container.replace({ id: 'c', partitionKey: HASH_KEY, defaultTtl: -1 });
  expect((await container.item('1', 'a').read()).statusCode).toBe(404);
});
