// Time-based retention of blobs: ARC-H82 to ARC-H84.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BlobServiceClient } from '@azure/storage-blob';
import { expect, it, onTestFinished, vi } from 'vitest';
import { AzureBlobStore } from '../../../src/archive/blobs/azure-blob-store.ts';
import { compactArchive } from '../../../src/archive/compact.ts';
import { restoreArchive } from '../../../src/archive/restore.ts';
import { verifyArchive } from '../../../src/archive/verify.ts';
import type { ArchiveSpec } from '../../../src/pipeline/specs.ts';
import { MemoryBlobStore } from '../memory-blob-store.ts';
import { SIGNAL, SPEC, archiveStage, collect, order } from '../stage.ts';

const DAY_MS = 86_400_000;
const KEPT: ArchiveSpec = { ...SPEC, retain: { ms: 10 * DAY_MS, text: '10d', locked: true } };
const blobsOf = ({ blobs }: MemoryBlobStore): string[] => [...blobs.keys()].filter((name) => name.endsWith('.gz'));

it('retention keeps each blob for its time, and no manifest; a compaction passes over it until then', async () => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1, 10), toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  for (const id of ['a', 'b']) {
    await stage.orders.items.create(order(id));
    await stage.sweep({}, { spec: KEPT });
  }
  expect([...store.retained]).toEqual(
    blobsOf(store).map((name) => [name, { until: Date.UTC(2026, 0, 12), locked: true }]),
  );
  expect(store.retained.size).toBe(2);
  for (const name of blobsOf(store)) expect(await store.remove(name)).toBe('held');
  const compact = () =>
    compactArchive({ ...stage.archive, spec: KEPT, store }, { signal: SIGNAL, grace: async () => undefined });
  expect(await compact()).toMatchObject({ joined: 0, written: 0, removed: 0, held: 2 });
  expect((await verifyArchive(stage.archive, { signal: SIGNAL })).faults).toEqual([]);
  vi.setSystemTime(Date.UTC(2026, 0, 12));
  expect(await compact()).toMatchObject({ joined: 2, written: 1, removed: 2, held: 0 });
  const [joined = ''] = blobsOf(store);
  expect(store.retained.get(joined)).toEqual({ until: Date.UTC(2026, 0, 23), locked: true });
  expect(await restoreArchive(stage.archive, {}, { signal: SIGNAL })).toMatchObject({ restored: 2 });
});

it('nothing leaves while its blob can not be kept, and a sweep that comes back to it sets the same end', async () => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1, 10), toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  await stage.orders.items.create(order('a'));
  const retain = store.retain.bind(store);
  store.retain = () => Promise.reject(new Error('no retention here'));
  await expect(stage.sweep({}, { spec: KEPT })).rejects.toThrow('no retention here');
  expect(await stage.hot()).toEqual(['a']);
  // Stopped after it: the blob is there and kept, and the clock of the next host is behind.
  store.retain = async (...of) => {
    await retain(...of);
    throw new Error('stopped');
  };
  await expect(stage.sweep({}, { spec: KEPT })).rejects.toThrow('stopped');
  vi.setSystemTime(Date.UTC(2026, 0, 1, 9));
  store.retain = retain;
  expect(await stage.sweep({}, { spec: KEPT })).toMatchObject({ archived: 1, removed: 1 });
  expect(await stage.hot()).toEqual([]);
});

it('retention asks the service for a policy of the blob, and says it when the account can not', async () => {
  const asked: unknown[] = [];
  const server = createServer(({ method, url = '', headers }, response) => {
    const policy = url.includes('comp=immutabilityPolicies');
    const mode = headers['x-ms-immutability-policy-mode'];
    if (policy) asked.push([method, headers['x-ms-immutability-policy-until-date'], mode]);
    const refused = policy && (/\/(none|gone)\?/.exec(url)?.[1] ?? '');
    response.statusCode = refused === 'none' ? 409 : refused === 'gone' ? 404 : 200;
    response.setHeader('content-type', 'application/xml');
    const blob = (name: string, until: string): string =>
      `<Blob><Name>${name}</Name><Properties><ImmutabilityPolicyUntilDate>${until}</ImmutabilityPolicyUntilDate></Properties></Blob>`;
    const blobs = `${blob('a', 'Mon, 12 Jan 2026 00:00:00 GMT')}${blob('b', 'Thu, 01 Jan 2026 00:00:00 GMT')}`;
    const list = `<EnumerationResults><Blobs>${url.includes('immutabilitypolicy') ? blobs : ''}</Blobs><NextMarker/></EnumerationResults>`;
    const code = refused === 'none' ? 'NotSupported' : 'BlobNotFound';
    const body = refused ? `<Error><Code>${code}</Code></Error>` : list;
    response.end(policy && !refused ? '' : `<?xml version="1.0"?>${body}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/account`;
  const client = new BlobServiceClient(url, undefined, { retryOptions: { maxTries: 1 } });
  const store = new AzureBlobStore(client.getContainerClient('archive'));
  const until = new Date(Date.UTC(2026, 0, 12));
  await store.retain('b', until, true);
  await store.retain('b', until, false);
  const day = 'Mon, 12 Jan 2026 00:00:00 GMT';
  expect(asked).toEqual([
    ['PUT', day, 'Locked'],
    ['PUT', day, 'Unlocked'],
  ]);
  expect(await collect(store.listRetained('', Date.UTC(2026, 0, 2)))).toEqual(['a']);
  for (const name of ['none', 'gone'])
    await expect(store.retain(name, until, true)).rejects.toMatchObject({ code: 'immutability-off' });
});
