import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { BlobServiceClient } from '@azure/storage-blob';
import { expect, it, onTestFinished } from 'vitest';
import { AzureBlobStore } from '../../src/archive/blobs/azure-blob-store.ts';
import { Holds, holdBlobs, releaseBlobs, removeReleased } from '../../src/archive/holds.ts';
import { systemClock } from '../../src/base/clock.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { SIGNAL, archiveStage, order } from './stage.ts';

const HOLD = { tenant: 't', reason: 'a case', actor: 'test', at: '2026-01-01T00:00:00.000Z' };
const NOW = { settleMs: 0, clock: systemClock, signal: SIGNAL };
const blobsOf = (store: MemoryBlobStore): string[] => [...store.blobs.keys()].filter((name) => name.endsWith('.gz'));

it('a hold holds blobs that exist and that sweeps write later, of this tenant and no manifest', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  const holds = new Holds(stage.database.container('millrace'));
  await stage.orders.items.create(order('a'));
  await stage.sweep();
  await holds.add(HOLD);
  await holds.add({ ...HOLD, reason: 'another' });
  expect(await holds.all(SIGNAL)).toEqual([HOLD]);
  expect(await holdBlobs(store, 't', NOW)).toBe(1);
  await stage.orders.items.create(order('b'));
  await stage.orders.items.create(order('c', { tenant: 'u' }));
  await stage.sweep({}, { holds });
  expect([...store.held].toSorted()).toEqual(
    blobsOf(store)
      .filter((name) => name.includes('/t/'))
      .toSorted(),
  );
  expect(store.held.size).toBe(2);
  for (const name of store.held) {
    expect(await store.remove(name)).toBe('held');
    expect(await store.put(name, Buffer.from('x'), store.blobs.get(name)?.etag ?? null)).toBe(false);
  }
  expect(await releaseBlobs(store, 't', SIGNAL)).toBe(2);
  expect(await removeReleased(store, 't', SIGNAL)).toEqual({ removed: 2, held: 0 });
  expect(blobsOf(store).every((name) => name.includes('/u/'))).toBe(true);
});

it('nothing leaves while a blob of a held tenant can not be held', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  const holds = new Holds(stage.database.container('millrace'));
  await holds.add(HOLD);
  await stage.orders.items.create(order('a'));
  store.hold = () => Promise.reject(new Error('no holds here'));
  await expect(stage.sweep({}, { holds })).rejects.toThrow('no holds here');
  expect(await stage.hot()).toEqual(['a']);
});

it('a hold asks the service for holds of versions, and says it when the account has none', async () => {
  const asked: string[] = [];
  const items =
    '<Blob><Name>b</Name><VersionId>1</VersionId><Properties><LegalHold>true</LegalHold></Properties></Blob>';
  const server = createServer(({ method, url = '', headers }, response) => {
    const hold = url.includes('comp=legalhold');
    if (hold) asked.push(`${method} ${url.split('?')[1]} ${String(headers['x-ms-legal-hold'])}`);
    response.statusCode = hold && url.includes('/none?') ? 501 : 200;
    response.setHeader('content-type', 'application/xml');
    const list = `<EnumerationResults><Blobs>${items}</Blobs><NextMarker/></EnumerationResults>`;
    response.end(hold ? '' : `<?xml version="1.0"?>${list}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/account`;
  const client = new BlobServiceClient(url, undefined, { retryOptions: { maxTries: 1 } });
  const store = new AzureBlobStore(client.getContainerClient('archive'));
  expect(await store.hold('b', true)).toBe(true);
  expect(await store.hold('b', false)).toBe(true);
  expect(asked).toEqual(['PUT comp=legalhold true', expect.stringMatching(/^PUT (?=.*versionid=1).* false$/)]);
  await expect(store.hold('none', true)).rejects.toMatchObject({ code: 'immutability-off' });
});
