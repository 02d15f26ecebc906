import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChangeFeedStartFrom, CosmosClient } from '@azure/cosmos';
import type { Container } from '@azure/cosmos';
import { expect, onTestFinished, test } from 'vitest';
import { EMULATOR_KEY } from '../../src/emulator/index.ts';
import { HASH_KEY } from './emulate.ts';

interface Served {
  readonly process: ChildProcess;
  readonly client: CosmosClient;
}

async function serve(folder: string): Promise<Served> {
  const child = fork(join(import.meta.dirname, 'server-process.ts'), [folder], { execArgv: [] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [endpoint] = (await once(child, 'message')) as [string];
  return { process: child, client: new CosmosClient({ endpoint, key: EMULATOR_KEY, consistencyLevel: 'Session' }) };
}

async function kill({ process: child, client }: Served): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
  client.dispose();
}

interface State {
  readonly items: unknown[];
  readonly definition: unknown;
  readonly offer: unknown;
  readonly feed: [string, number][];
}

async function state(container: Container): Promise<State> {
  const { resources } = await container.items
    .query<{ id: string }>('SELECT * FROM c ORDER BY c.id', { maxItemCount: 1000 })
    .fetchAll();
  const feed: [string, number][] = [];
  for (const range of await container.getFeedRanges()) {
    const iterator = container.items.getChangeFeedIterator<{ id: string; _lsn: number }>({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(range),
    });
    for (let page = await iterator.readNext(); page.statusCode !== 304; page = await iterator.readNext()) {
      for (const { id, _lsn } of page.result) feed.push([id, _lsn]);
    }
  }
  return {
    items: resources,
    definition: (await container.read()).resource,
    offer: (await container.readOffer()).resource,
    feed: feed.toSorted(([a], [b]) => (a < b ? -1 : 1)),
  };
}

test('a killed server has everything it answered, and goes on numbering where it was', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  let served = await serve(folder);
  const { database } = await served.client.databases.create({ id: 'd' });
  const { container } = await database.containers.create({
    id: 'c',
    partitionKey: HASH_KEY,
    throughput: 12_000,
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] },
  });
  await container.items.create({ id: 'u', pk: 'u', email: 'x' });
  for (let i = 0; i < 20; i++) await container.items.create({ id: `s${i}`, pk: `k${i}`, email: i });
  await container.item('s3', 'k3').delete();
  await container.item('s4', 'k4').patch([{ op: 'set', path: '/n', value: 1 }]);
  const before = await state(container);
  const before5 = before.feed.find(([id]) => id === 's5')![1];
  await kill(served);

  served = await serve(folder);
  const again = served.client.database('d').container('c');
  expect(await state(again)).toEqual(before);
  await expect(again.items.create({ id: 'v', pk: 'u', email: 'x' })).rejects.toMatchObject({ code: 409 });
  await again.items.upsert({ id: 's5', pk: 'k5', email: 5 });
  const after = await state(again);
  expect(after.feed.find(([id]) => id === 's5')![1]).toBeGreaterThan(before5);
  expect(new Set(after.items.map((item) => (item as { _etag: string })._etag)).size).toBe(after.items.length);
  await kill(served);
});

test('killed in the middle of writing, batches are there whole or not at all, and all that were answered are there', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  let served = await serve(folder);
  const { database } = await served.client.databases.create({ id: 'd' });
  await database.containers.create({ id: 'c', partitionKey: HASH_KEY });
  const answered = new Map<string, string>();
  for (let round = 0; round < 3; round++) {
    const container = served.client.database('d').container('c');
    let next = 0;
    const killAt = 150 + round * 70;
    const writer = async (): Promise<void> => {
      for (;;) {
        const pk = `r${round}-${next++}`;
        const create = (id: string) => ({ operationType: 'Create' as const, resourceBody: { id, pk } });
        try {
          const { code, result } = await container.items.batch([create('a'), create('b'), create('c')], pk);
          if (code === 200) answered.set(pk, String(result?.[0]?.eTag));
        } catch {
          return;
        }
        if (answered.size >= killAt * (round + 1)) served.process.kill('SIGKILL');
      }
    };
    const gone = once(served.process, 'exit');
    await Promise.all(Array.from({ length: 16 }, writer));
    await gone;
    served.client.dispose();
    served = await serve(folder);
  }
  const { resources } = await served.client
    .database('d')
    .container('c')
    .items.query<{ id: string; pk: string; _etag: string }>('SELECT * FROM c', { maxItemCount: 1000 })
    .fetchAll();
  const groups = Map.groupBy(resources, ({ pk }) => pk);
  for (const [pk, items] of groups) expect([pk, items.map(({ id }) => id).toSorted()]).toEqual([pk, ['a', 'b', 'c']]);
  for (const [pk, etag] of answered) expect(groups.get(pk)?.find(({ id }) => id === 'a')?._etag).toBe(etag);
  await kill(served);
});
