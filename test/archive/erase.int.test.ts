// ERASE-B4 to ERASE-B6.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BlobServiceClient } from '@azure/storage-blob';
import { expect, test } from 'vitest';
import { AzureBlobStore } from '../../src/archive/blobs/azure-blob-store.ts';
import type { ErasableStore } from '../../src/access/blob-store.ts';
import { type ErasedArchive, eraseFromArchive } from '../../src/archive/erase.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { ArchiveSpec } from '../../src/pipeline/specs.ts';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import { CosmosAccess } from '../../src/access/cosmos-access.ts';
import type { DocumentAccess } from '../../src/access/document-access.ts';
import { UNFENCED } from '../kinds/history.ts';
import { startAzurite } from '../support/azurite.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { type ArchiveStage, SIGNAL, SPEC, archiveStage, collect, order } from './stage.ts';

const { tenantField: _, ...TOGETHER } = SPEC satisfies ArchiveSpec;

const erase = (
  stage: ArchiveStage,
  store: ErasableStore,
  { tenant = 't', others = [] }: { readonly tenant?: string; readonly others?: readonly DocumentAccess[] } = {},
): Promise<ErasedArchive> =>
  eraseFromArchive({
    store,
    stateContainer: 'millrace',
    accesses: [stage.access(), ...others],
    tenant,
    owns: (_container, doc) => (doc as { tenant?: unknown }).tenant === tenant,
    settleMs: 0,
    clock: systemClock,
    signal: SIGNAL,
  });

/** Two documents of the tenant and one of another, in folders of their own and in one folder. */
async function archived(store: ErasableStore): Promise<ArchiveStage> {
  const stage = await archiveStage(store);
  await stage.orders.items.create(order('a'));
  await stage.orders.items.create(order('a', { tenant: 'other' }));
  await stage.sweep();
  await stage.orders.items.create(order('b'));
  await stage.orders.items.create(order('b', { tenant: 'other' }));
  await stage.sweep({}, { spec: TOGETHER });
  return stage;
}

const told = async (stage: ArchiveStage): Promise<string[]> =>
  (await stage.history()).map(({ id, key }) => `${key[0] as string}/${id}`).toSorted();

test('on Azurite, blobs go with their snapshots, and a second run finds nothing', async () => {
  const azurite = await startAzurite();
  try {
    const service = BlobServiceClient.fromConnectionString(azurite.connectionString, { retryOptions: { maxTries: 1 } });
    const container = service.getContainerClient('erase');
    await container.create();
    const stage = await archived(new AzureBlobStore(container));
    for await (const { name } of container.listBlobsFlat()) await container.getBlobClient(name).createSnapshot();
    const store = new AzureBlobStore(container);
    expect(await erase(stage, store)).toMatchObject({ lines: 2, rewritten: 1, entries: 2, held: [], faults: [] });
    expect(await told(stage)).toEqual(['other/a', 'other/b']);
    const names: string[] = [];
    for await (const { name } of container.listBlobsFlat({ includeSnapshots: true })) names.push(name);
    expect(names.filter((name) => name.includes('/t/'))).toEqual([]);
    expect(new Set(names.filter((name) => name.includes('/all/') && name.endsWith('.gz'))).size).toBe(1);
    expect(await erase(stage, store)).toEqual({
      lines: 0,
      removed: [],
      rewritten: 0,
      entries: 0,
      held: [],
      faults: [],
    });
  } finally {
    await azurite.close();
  }
});

test('entries of every place that shares a blob are detached before it goes', async () => {
  const store = new MemoryBlobStore();
  const stage = await archived(store);
  const { database } = await stage.database.client.databases.create({ id: 'e' });
  await database.containers.create({ id: 'millrace', partitionKey: { paths: ['/pk'] }, defaultTtl: -1 });
  // The second documents are in another place, of which both blobs' container is too.
  const all = "SELECT * FROM c WHERE c.type = 'millrace.archived' AND c.source.id = 'b'";
  const { resources } = await stage.database.container('millrace').items.query<Entry>(all).fetchAll();
  for (const entry of resources) {
    await database.container('millrace').items.create(entry);
    await stage.database.container('millrace').item(entry.id, entry.pk).delete();
  }
  expect(resources).toHaveLength(2);
  const others = [new CosmosAccess(database, UNFENCED, new Meter())];
  expect(await erase(stage, store, { others })).toMatchObject({ lines: 2, rewritten: 1, entries: 2 });
  const left = (await database.container('millrace').items.query<Entry>(all).fetchAll()).resources;
  expect(left).toMatchObject([{ source: { key: ['other'] } }]);
  expect([...store.blobs.keys()]).toContain(left[0]!.blob.name);
});

interface Entry {
  readonly id: string;
  readonly pk: string;
  readonly source: { readonly key: readonly unknown[] };
  readonly blob: { readonly name: string };
}

test('a blob under a legal hold is named, and nothing reads it any more', async () => {
  const store = new MemoryBlobStore();
  const stage = await archived(store);
  for (const name of store.blobs.keys()) if (name.includes('/all/') && name.endsWith('.gz')) store.held.add(name);
  const [held] = store.held;
  expect(await erase(stage, store)).toMatchObject({ lines: 1, rewritten: 0, held: [held] });
  expect(await told(stage)).toEqual(['other/a', 'other/b']);
  expect(await erase(stage, store)).toMatchObject({ held: [held] });
  store.held.clear();
  expect(await erase(stage, store)).toMatchObject({ lines: 1, removed: [held], held: [] });
  expect(await told(stage)).toEqual(['other/a', 'other/b']);
});

test('of damaged blobs, the tenant’s own go; one that others share is named and stays', async () => {
  const store = new MemoryBlobStore();
  const stage = await archived(store);
  const blobs = [...store.blobs.keys()].filter((name) => name.endsWith('.gz'));
  const shared = blobs.find((name) => name.includes('/all/'))!;
  const own = blobs.find((name) => name.includes('/t/'))!;
  for (const name of [shared, own]) store.blobs.set(name, { bytes: Buffer.from('torn'), etag: '"torn"' });
  const erased = await erase(stage, store);
  expect(erased).toMatchObject({ lines: 0, entries: 1, faults: [{ code: 'blob-changed', blob: shared }] });
  expect(erased.removed).toContain(own);
  expect(erased.removed).not.toContain(shared);
  expect([...store.blobs.keys()]).toContain(shared);
});

test('a storage account with versioning: every version goes, and one under a policy is told', async () => {
  await using account = await versioned({ 'x/t/2000/05/a.jsonl.gz': ['v1', 'v2'], 'x/t/2000/05/ab': ['v3'] });
  const store = new AzureBlobStore(account.container);
  const name = 'x/t/2000/05/a.jsonl.gz';
  expect(Buffer.from((await store.readEver(name))!.bytes).toString()).toBe('v2');
  account.locked.add('v1');
  expect(await store.remove(name)).toBe('held');
  expect(await store.read(name)).toBeUndefined();
  // A blob of which only a version is left is still found.
  expect(await collect(store.listEver(''))).toEqual([name, 'x/t/2000/05/ab']);
  expect(Buffer.from((await store.readEver(name))!.bytes).toString()).toBe('v1');
  account.locked.clear();
  account.locked.add('v3');
  expect(await store.remove('x/t/2000/05/ab')).toBe('held');
  expect(Buffer.from((await store.read('x/t/2000/05/ab'))!.bytes).toString()).toBe('v3');
  expect(await store.remove(name)).toBe('removed');
  expect(await collect(store.listEver(''))).toEqual(['x/t/2000/05/ab']);
  expect(await store.remove(name)).toBe('removed');
});

/** Answers like an account with versioning (ASM-F26, ASM-F27), which Azurite doesn't have. A version's id is its content. */
async function versioned(blobs: Record<string, string[]>) {
  const locked = new Set<string>();
  const versions = new Map(Object.entries(blobs));
  /** Blobs that have a current version, which is the last. */
  const current = new Set(versions.keys());
  const isCurrent = (name: string, id: string): boolean => current.has(name) && id === versions.get(name)?.at(-1);
  const versionOf = (name: string, id: string): string =>
    `<VersionId>${id}</VersionId>${isCurrent(name, id) ? '<IsCurrentVersion>true</IsCurrentVersion>' : ''}`;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    const answer = (status: number, body = '', headers: Record<string, string> = {}): void => {
      response.writeHead(status, { etag: '"e"', 'content-length': String(Buffer.byteLength(body)), ...headers });
      response.end(body);
    };
    const refuse = (status: number, code: string): void =>
      answer(status, `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`, {
        'x-ms-error-code': code,
        'content-type': 'application/xml',
      });
    if (url.searchParams.get('comp') === 'list') {
      const prefix = url.searchParams.get('prefix') ?? '';
      const all = url.searchParams.get('include') === 'versions';
      const items = [...versions].flatMap(([name, ids]) =>
        ids
          .filter((id) => name.startsWith(prefix) && (all || isCurrent(name, id)))
          .map((id) => `<Blob><Name>${name}</Name>${all ? versionOf(name, id) : ''}<Properties/></Blob>`),
      );
      const xml = `<?xml version="1.0"?><EnumerationResults><Blobs>${items.join('')}</Blobs><NextMarker/></EnumerationResults>`;
      return answer(200, xml, { 'content-type': 'application/xml' });
    }
    const name = decodeURIComponent(url.pathname.slice('/account/c/'.length));
    const ids = versions.get(name) ?? [];
    const id = url.searchParams.get('versionid');
    const found = id ?? (current.has(name) ? ids.at(-1) : undefined);
    if (found === undefined || !ids.includes(found)) return refuse(404, 'BlobNotFound');
    if (request.method === 'GET') return answer(200, found);
    if (id !== null && isCurrent(name, id)) return refuse(403, 'OperationNotAllowedOnRootBlob');
    if (locked.has(found)) return refuse(409, 'BlobImmutableDueToPolicy');
    current.delete(name);
    if (id !== null)
      versions.set(
        name,
        ids.filter((one) => one !== id),
      );
    return answer(202);
  });
  server.listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const service = BlobServiceClient.fromConnectionString(
    `DefaultEndpointsProtocol=http;AccountName=account;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:${port}/account;`,
    { retryOptions: { maxTries: 1 } },
  );
  return {
    container: service.getContainerClient('c'),
    locked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
