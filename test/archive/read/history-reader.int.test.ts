import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AzureBlobStore } from '../../../src/archive/blobs/azure-blob-store.ts';
import { restoreArchive } from '../../../src/archive/restore.ts';
import type { BlobContainer, HistoryReader } from '../../../src/client.ts';
import { openHistory } from '../../../src/client.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type ArchiveStage, SIGNAL, archiveStage, collect, order } from '../stage.ts';

const SEED = suiteSeed();
const OWN_TYPES = ['millrace.tombstone', 'millrace.contribution', 'millrace.pending', 'millrace.restoring'];

let azurite: Azurite;
let service: BlobServiceClient;

beforeAll(async () => {
  azurite = await startAzurite();
  service = BlobServiceClient.fromConnectionString(azurite.connectionString);
});

afterAll(async () => azurite.close());

interface Read {
  readonly stage: ArchiveStage;
  readonly history: HistoryReader;
  readonly blobs: ContainerClient;
  /** The blobs that the reader has asked for, one entry a request. */
  readonly asked: readonly string[];
}

async function opened(name: string): Promise<Read> {
  const blobs = service.getContainerClient(name);
  await blobs.create();
  const stage = await archiveStage(new AzureBlobStore(blobs));
  const asked: string[] = [];
  const storage: BlobContainer = {
    containerName: blobs.containerName,
    url: blobs.url,
    listBlobsFlat: (options) => blobs.listBlobsFlat(options),
    getBlobClient: (blob) => {
      asked.push(blob);
      return blobs.getBlobClient(blob);
    },
  };
  return { stage, history: openHistory({ state: stage.database.container('millrace'), storage }), blobs, asked };
}

test('a document is read from its container, then from the archive, and again from its container', async () => {
  const { stage, history } = await opened('there-and-back');
  await stage.orders.items.create(order('a', { cents: 7 }));
  expect(await history.read('Orders', 't', 'a')).toMatchObject({ cold: false, doc: { cents: 7 } });
  expect(await history.coldRead('Orders', 't', 'a')).toBeUndefined();
  const [{ at } = { at: 0 }] = await stage.changes();

  await stage.sweep();
  const cold = { cold: true, changedAt: new Date(at), doc: order('a', { cents: 7 }) };
  expect(await history.read('Orders', 't', 'a')).toMatchObject(cold);
  expect(await history.coldRead('Orders', ['t'], 'a')).toEqual({
    ...cold,
    container: 'Orders',
    key: ['t'],
    id: 'a',
    type: 'order',
  });

  await restoreArchive(stage.archive, {}, { signal: SIGNAL });
  expect(await history.read('Orders', 't', 'a')).toMatchObject({ cold: false, doc: { cents: 7 } });
  await stage.live();
  expect(await history.coldRead('Orders', 't', 'a')).toBeUndefined();

  await stage.orders.item('a', 't').delete();
  expect(await history.read('Orders', 't', 'a')).toBeUndefined();
  for (const type of OWN_TYPES) {
    await stage.orders.items.upsert({ ...order('a'), type });
    expect(await history.read('Orders', 't', 'a')).toBeUndefined();
  }
  expect(await history.read('Orders', 't', 'never')).toBeUndefined();
  expect(await history.read('Orders', 'another tenant', 'a')).toBeUndefined();
});

test('documents of one blob cost one request for the blob, also if they are asked for together', async () => {
  const { stage, history, asked } = await opened('one-request');
  const ids = Array.from({ length: 60 }, (_, n) => `o${n}`);
  for (const id of ids) await stage.orders.items.create(order(id));
  await stage.sweep();
  const found = await Promise.all(ids.map((id) => history.coldRead<{ id: string }>('Orders', 't', id)));
  expect(found.map((of) => of?.doc.id)).toEqual(ids);
  expect(asked).toHaveLength(1);
});

test(`while documents leave and come back, each is always found (seed ${SEED})`, async () => {
  const { stage, history } = await opened('moving');
  const random = new Random(SEED);
  const ids = Array.from({ length: 12 }, (_, n) => `o${n}`);
  const written = new Map<string, number>();
  const write = async (id: string, cents: number): Promise<void> => {
    // Before, because a reader may have it before the writer has the answer.
    written.set(id, cents);
    await stage.orders.items.upsert(order(id, { cents }));
  };
  for (const id of ids) await write(id, 0);
  const moving = new AbortController();
  const seen = { hot: 0, cold: 0 };
  const reading = Promise.all(
    [1, 2, 3].map(async () => {
      while (!moving.signal.aborted) {
        const id = ids[random.int(ids.length)]!;
        const found = await history.read<{ cents: number }>('Orders', 't', id);
        expect(found, `${id} is somewhere`).toBeDefined();
        expect(found?.doc.cents).toBeLessThanOrEqual(written.get(id) ?? 0);
        seen[found?.cold ? 'cold' : 'hot'] += 1;
      }
    }),
  );
  try {
    for (let round = 1; round <= 5 || seen.hot === 0 || seen.cold === 0; round++) {
      await stage.sweep();
      await restoreArchive(stage.archive, {}, { signal: SIGNAL });
      await stage.live();
      for (const id of ids) await write(id, round);
      await stage.live();
    }
  } finally {
    moving.abort();
    await reading;
  }
});

test('archived documents come by tenant and month, each once, in the version that counts', async () => {
  const { stage, history } = await opened('selected');
  for (const tenant of ['t', 'u'])
    for (const month of ['1999-12', '2000-01', '2000-02'])
      for (const n of [1, 2])
        await stage.orders.items.create(order(`${month}-${n}`, { tenant, date: `${month}-03`, cents: 1 }));
  await stage.sweep();
  // One comes back, changes and leaves again; one changes and stays.
  await restoreArchive(stage.archive, { documents: [{ key: ['t'], id: '2000-01-1' }] }, { signal: SIGNAL });
  await stage.live();
  await stage.orders.items.upsert(order('2000-01-1', { date: '2000-01-03', cents: 2 }));
  await stage.live();
  await stage.sweep();
  await stage.orders.items.upsert(order('2000-02-1', { date: '2000-02-03', cents: 3 }));
  await stage.live();

  const idsOf = async (selection: object): Promise<string[]> =>
    (await collect(history.archived('Orders', selection))).map(({ key, id }) => `${key[0] as string} ${id}`).toSorted();
  expect(await idsOf({ tenant: 't' })).toEqual(
    ['1999-12-1', '1999-12-2', '2000-01-1', '2000-01-2', '2000-02-2'].map((id) => `t ${id}`),
  );
  expect(await idsOf({ from: '2000-01', to: '2000-01' })).toEqual([
    't 2000-01-1',
    't 2000-01-2',
    'u 2000-01-1',
    'u 2000-01-2',
  ]);
  expect(await idsOf({ to: '1999' })).toHaveLength(4);
  expect(await idsOf({})).toHaveLength(11);
  expect(await collect(history.archived('Customers'))).toEqual([]);
  const changed = await collect(history.archived<{ cents: number }>('Orders', { tenant: 't', from: '2000-01' }));
  expect(changed.find(({ id }) => id === '2000-01-1')?.doc.cents).toBe(2);
});

test('what can’t be read is an error that says which blob, and is not remembered', async () => {
  const { stage, history, blobs } = await opened('damaged');
  await stage.orders.items.create(order('a'));
  await stage.sweep();
  const [blob = ''] = (await collect(blobs.listBlobsFlat())).flatMap(({ name }) => (name.endsWith('.gz') ? name : []));
  const content = await blobs.getBlobClient(blob).downloadToBuffer();
  await blobs.deleteBlob(blob);
  await expect(history.read('Orders', 't', 'a')).rejects.toMatchObject({
    code: 'archive-damaged',
    message: expect.stringContaining(blob),
  });
  await blobs.getBlockBlobClient(blob).upload(content, content.length);
  expect(await history.read('Orders', 't', 'a')).toMatchObject({ cold: true });
});

test('bad input is refused before anything is read', async () => {
  const { history, stage, blobs } = await opened('refused');
  const wrong = { code: 'option-invalid' };
  await expect(history.read('', 't', 'a')).rejects.toMatchObject(wrong);
  await expect(history.coldRead('Orders', 't', '')).rejects.toMatchObject(wrong);
  await expect(history.coldRead('Orders', [], 'a')).rejects.toMatchObject(wrong);
  await expect(history.coldRead('Orders', { tenant: 't' } as unknown as string, 'a')).rejects.toMatchObject(wrong);
  for (const month of ['2000-13', '2000-1', 'January'])
    await expect(collect(history.archived('Orders', { from: month }))).rejects.toMatchObject(wrong);

  await stage.orders.items.create(order('a'));
  await stage.sweep();
  await blobs.delete();
  await expect(history.read('Orders', 't', 'a')).rejects.toMatchObject({ code: 'storage-container-missing' });
});
