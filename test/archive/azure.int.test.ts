import { once } from 'node:events';
import { type Server as HttpServer, createServer as createHttp } from 'node:http';
import { type AddressInfo, type Server, createServer } from 'node:net';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SpanStatusCode, trace } from '@opentelemetry/api';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test } from 'vitest';
import { AzureBlobStore } from '../../src/archive/blobs/azure-blob-store.ts';
import { FolderBlobStore } from '../../src/archive/blobs/folder-blob-store.ts';
import type { BlobContainer, BlobHandle } from '../../src/archive/blobs/blob-container.ts';
import { restoreArchive } from '../../src/archive/restore.ts';
import { verifyArchive } from '../../src/archive/verify.ts';
import type { Clock } from '../../src/base/clock.ts';
import { startTracing } from '../../src/base/telemetry/opentelemetry.ts';
import { freePort } from '../support/free-port.ts';
import { type Azurite, startAzurite } from '../support/azurite.ts';
import { ManualClock } from '../support/clock.ts';
import { recordedSpans } from '../support/spans.ts';
import { SIGNAL, archiveStage, collect, order } from './stage.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/observability.md'), 'utf8');

let azurite: Azurite;
let service: BlobServiceClient;

beforeAll(async () => {
  azurite = await startAzurite();
  service = BlobServiceClient.fromConnectionString(azurite.connectionString, { retryOptions: { maxTries: 1 } });
});

afterAll(async () => azurite.close());

async function container(name: string): Promise<ContainerClient> {
  const client = service.getContainerClient(name);
  await client.create();
  return client;
}

const folder = mkdtempSync(join(tmpdir(), 'millrace-blobs-'));
afterAll(() => rmSync(folder, { recursive: true }));
const STORES = {
  'an account': async (name: string) => new AzureBlobStore(await container(name)),
  'a folder': async (name: string) => new FolderBlobStore(join(folder, name)),
};

describe.each(Object.entries(STORES))('in %s', (_, open) => {
  it('a blob is written once, and again only over the ETag that was read', async () => {
    const store = await open('conditions');
    expect(await store.read('a/b')).toBeUndefined();
    expect(await store.put('a/b', Buffer.from('one'), null)).toBe(true);
    expect(await store.put('a/b', Buffer.from('two'), null)).toBe(false);
    const first = await store.read('a/b');
    expect(Buffer.from(first?.bytes ?? []).toString()).toBe('one');
    expect(await store.put('a/b', Buffer.from('two'), first?.etag ?? null)).toBe(true);
    expect(await store.put('a/b', Buffer.from('three'), first?.etag ?? null)).toBe(false);
    await store.put('a/empty', Buffer.alloc(0), null);
    await store.put('b', Buffer.from('x'), null);
    expect(await collect(store.list('a/'))).toEqual(['a/b', 'a/empty']);
    expect(await collect(store.list(''))).toEqual(['a/b', 'a/empty', 'b']);
    expect(await store.remove('a/b')).toBe('removed');
    expect(await store.read('a/b')).toBeUndefined();
  });

  it('documents go to blobs and come back', async () => {
    const stage = await archiveStage(await open('there-and-back'));
    for (let n = 0; n < 250; n++) {
      await stage.orders.items.create(order(`o${n}`, { date: `2000-0${1 + (n % 3)}-05`, tenant: `t ${n % 2}` }));
    }
    expect(await stage.sweep()).toMatchObject({ archived: 250, removed: 250 });
    expect(await stage.hot()).toEqual([]);
    expect((await stage.history()).filter(({ cold }) => cold)).toHaveLength(250);
    expect(await verifyArchive(stage.archive, { signal: SIGNAL })).toMatchObject({
      blobs: 6,
      documents: 250,
      archived: 250,
      superfluous: 0,
      faults: [],
    });
    expect(await restoreArchive(stage.archive, {}, { signal: SIGNAL })).toMatchObject({ restored: 250, skipped: 0 });
    expect(await stage.hot()).toHaveLength(250);
    expect(await stage.sweep()).toMatchObject({ read: 250, removed: 0 });
  });
});

test('names of blobs are names of files, whatever they hold', async () => {
  const store = await STORES['a folder']('names');
  const names = ['a', 'a/b', 'a/..', '..', 'tenant ~1/ü%41/$', `${'long '.repeat(150)}/x`];
  for (const name of names) expect(await store.put(name, Buffer.from(name), null)).toBe(true);
  expect(await collect(store.list(''))).toEqual(names.toSorted());
  for (const name of names) expect((await store.read(name))?.bytes.toString()).toBe(name);
});

test('of writers of one blob in a folder one wins, and the others are told', async () => {
  const store = await STORES['a folder']('writers');
  await store.put('n', Buffer.from('0'), null);
  const add = async (): Promise<void> => {
    for (;;) {
      const found = await store.read('n');
      const next = Buffer.from(String(Number(found?.bytes.toString()) + 1));
      if (await store.put('n', next, found?.etag ?? null)) return;
    }
  };
  await Promise.all(Array.from({ length: 20 }, add));
  expect((await store.read('n'))?.bytes.toString()).toBe('20');
});

test('without a blob container, rights or an address nothing leaves, and one error says why', async () => {
  const stranger = BlobServiceClient.fromConnectionString(
    azurite.connectionString.replace(/AccountKey=[^;]*/, `AccountKey=${Buffer.alloc(64).toString('base64')}`),
    { retryOptions: { maxTries: 1 } },
  );
  for (const [client, code] of [
    [service.getContainerClient('missing'), 'storage-container-missing'],
    [stranger.getContainerClient('conditions'), 'denied'],
  ] as const) {
    const stage = await archiveStage(new AzureBlobStore(client));
    await stage.orders.items.create(order('a'));
    await expect(stage.sweep()).rejects.toMatchObject({ name: 'UsageError', code, hint: expect.any(String) as string });
    expect(await stage.hot()).toEqual(['a']);
  }
});

/** A container of an account that may or may not be at a port of this machine. */
const containerAt = (port: number): ContainerClient =>
  BlobServiceClient.fromConnectionString(
    azurite.connectionString.replace(/BlobEndpoint=[^;]*/, `BlobEndpoint=http://127.0.0.1:${port}/devstoreaccount1`),
    { retryOptions: { maxTries: 1 } },
  ).getContainerClient('c');

async function listening(server: Server | HttpServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const UNREACHABLE = { name: 'UsageError', code: 'unreachable', hint: expect.any(String) as string };

test('an address that has never answered and refuses the connection is not waited for', async () => {
  // Time stands: a second attempt would never come.
  const store = new AzureBlobStore(containerAt(await freePort()), { clock: new ManualClock() });
  await expect(collect(store.list(''))).rejects.toMatchObject(UNREACHABLE);
  await expect(store.read('a')).rejects.toMatchObject(UNREACHABLE);
});

test('one that takes the connection and says nothing is told of, and given up', async () => {
  const silent = createServer();
  const clock = new ManualClock();
  const said: string[] = [];
  const store = new AzureBlobStore(containerAt(await listening(silent)), { clock, say: (text) => said.push(text) });
  const connected = once(silent, 'connection');
  const listed = collect(store.list(''));
  listed.catch(() => undefined);
  await connected;
  clock.advance(3_000);
  await expect
    .poll(() => said)
    .toEqual([expect.stringMatching(/^The blob container c at http.* has not answered for 3 s$/)]);
  clock.advance(12_000);
  await expect(listed).rejects.toMatchObject({
    ...UNREACHABLE,
    message: expect.stringContaining('no answer within 15 s'),
  });
  silent.close();
});

test('one that has answered and is away for a while is waited for', async () => {
  const server = createHttp((_, response) => {
    response.writeHead(404, { 'content-type': 'application/xml', connection: 'close' });
    response.end('<?xml version="1.0"?><Error><Code>BlobNotFound</Code><Message>gone</Message></Error>');
  });
  const port = await listening(server);
  const clock = new ManualClock();
  const store = new AzureBlobStore(containerAt(port), { clock });
  expect(await store.read('a')).toBeUndefined();
  server.close();
  await once(server, 'close');
  const before = clock.slept.length;
  const read = store.read('a');
  // The wait for a late answer, and the pause before the next attempt.
  await expect.poll(() => clock.slept.length).toBe(before + 2);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  clock.advance(100);
  expect(await read).toBeUndefined();
  server.close();
});

/** A container whose account refuses the `busy` next writes of blobs that match, each after ten seconds. */
function throttled(inner: ContainerClient, which: RegExp): { readonly store: AzureBlobStore; busy: number } {
  let now = 0;
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    sleep: async (ms, signal) => {
      // Longer than a pause between attempts: the report of a late answer.
      if (ms > 2_000)
        await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('over'))));
      now += ms;
    },
  };
  const account = { busy: 0 };
  const through: BlobContainer = {
    containerName: inner.containerName,
    url: inner.url,
    listBlobsFlat: (options) => inner.listBlobsFlat(options),
    getBlobClient: (name) => {
      const blob: BlobHandle = inner.getBlobClient(name);
      const upload: ReturnType<BlobHandle['getBlockBlobClient']>['upload'] = async (...of) => {
        if (!which.test(name) || account.busy === 0) return blob.getBlockBlobClient().upload(...of);
        account.busy -= 1;
        now += 10_000;
        throw Object.assign(new Error('The server is busy.'), { statusCode: 503, code: 'ServerBusy' });
      };
      return Object.assign(Object.create(blob) as BlobHandle, { getBlockBlobClient: () => ({ upload }) });
    },
  };
  return Object.assign(account, { store: new AzureBlobStore(through, { clock }) });
}

test.each([
  ['blobs', /\.gz$/],
  ['manifests', /manifest\.json$/],
])('an account that throttles writes of %s for minutes delays a sweep, which loses nothing', async (what, which) => {
  const account = throttled(await container(`throttled-${what}`), which);
  const stage = await archiveStage(account.store);
  for (const id of ['a', 'b', 'c']) await stage.orders.items.create(order(id));
  // For minutes: each run ends after one, with everything where it was.
  account.busy = 20;
  for (let run = 0; run < 2; run++) {
    await expect(stage.sweep()).rejects.toMatchObject({ code: 'unavailable' });
    expect(await stage.hot()).toEqual(['a', 'b', 'c']);
    expect((await stage.history()).map(({ cold }) => cold)).toEqual([false, false, false]);
  }
  // For less than a minute: it waits.
  account.busy = 4;
  expect(await stage.sweep()).toMatchObject({ archived: 3, removed: 3 });
  expect(account.busy).toBe(0);
  expect(await stage.hot()).toEqual([]);
  expect((await verifyArchive(stage.archive, { signal: SIGNAL })).faults).toEqual([]);
});

test('an account that throttles for a minute is an error that says it', async () => {
  const clock = new ManualClock();
  let asked = 0;
  const busy = createHttp((_, response) => {
    asked += 1;
    response.statusCode = 503;
    response.setHeader('x-ms-error-code', 'ServerBusy');
    response.end();
    // Two minutes pass while the service is asked a second time.
    if (asked === 1) clock.advance(120_000);
  });
  const store = new AzureBlobStore(containerAt(await listening(busy)), { clock });
  await expect(store.read('a')).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('for 60 s: 503'),
  });
  busy.close();
});

test.each(['BlobArchived', 'BlobBeingRehydrated'])(
  'a blob in the Archive tier is one clear error: %s',
  async (code) => {
    const offline = createHttp((_, response) =>
      response
        .writeHead(409, { 'content-type': 'application/xml', 'x-ms-error-code': code })
        .end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>m</Message></Error>`),
    );
    const store = new AzureBlobStore(containerAt(await listening(offline)));
    await expect(store.read('a')).rejects.toMatchObject({
      code: 'blob-offline',
      blob: 'a',
      message: expect.stringContaining('Blob a of the blob container'),
    });
    offline.close();
  },
);

test('each request within recorded work has a span, without the name of a blob', async () => {
  const { all, under, named } = recordedSpans();
  onTestFinished(startTracing());
  const store = new AzureBlobStore(await container('spans'));
  await store.put('tenant-text/one', Buffer.from('1234'), null);
  expect(all()).toEqual([]);
  await trace.getTracer('test').startActiveSpan('work', async (span) => {
    expect(await store.put('tenant-text/one', Buffer.from('1234'), null)).toBe(false);
    expect(await store.read('tenant-text/none')).toBeUndefined();
    expect(await store.read('tenant-text/one')).toBeDefined();
    expect(await collect(store.list('tenant-text/'))).toHaveLength(1);
    await store.remove('tenant-text/one');
    const missing = new AzureBlobStore(service.getContainerClient('missing'));
    await expect(missing.read('tenant-text/one')).rejects.toMatchObject({ code: 'storage-container-missing' });
    span.end();
  });
  const [work] = named('work');
  const spans = work ? under(work) : [];
  expect(
    spans.map(({ name, attributes, status }) => [name, attributes['http.response.status_code'], status.code]),
  ).toEqual([
    ['PutBlob spans', 409, SpanStatusCode.UNSET],
    ['GetBlob spans', 404, SpanStatusCode.UNSET],
    ['GetBlob spans', undefined, SpanStatusCode.UNSET],
    ['ListBlobs spans', undefined, SpanStatusCode.UNSET],
    ['DeleteBlob spans', undefined, SpanStatusCode.UNSET],
    ['ListBlobs spans', undefined, SpanStatusCode.UNSET],
    ['GetBlob missing', 404, SpanStatusCode.ERROR],
  ]);
  expect(spans.map(({ attributes }) => attributes['millrace.blob.bytes']).filter(Boolean)).toEqual([4, 4]);
  expect(spans.at(-1)?.attributes).toMatchObject({ 'error.type': '404', 'millrace.blob.container': 'missing' });
  const text = JSON.stringify(all().map(({ name, attributes, status, events }) => [name, attributes, status, events]));
  expect(text).not.toContain('tenant-text');
  for (const name of new Set(spans.flatMap(({ attributes }) => Object.keys(attributes))))
    expect(PAGE).toContain(`\`${name}\``);
});
