// Blobs of two codecs in one archive: ARC-H50.
import { expect, it } from 'vitest';
import { pack, unpack } from '../../../src/archive/blobs/blob.ts';
import { compactArchive } from '../../../src/archive/compact.ts';
import { eraseFromArchive } from '../../../src/archive/erase.ts';
import { KeptBlobs } from '../../../src/archive/blobs/kept-blobs.ts';
import { blobName, isBlob, promised } from '../../../src/archive/blobs/layout.ts';
import { restoreArchive } from '../../../src/archive/restore.ts';
import { verifyArchive } from '../../../src/archive/verify.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { ArchiveCodec } from '../../../src/pipeline/specs.ts';
import { MemoryBlobStore } from '../memory-blob-store.ts';
import { SIGNAL, SPEC, archiveStage, order } from '../stage.ts';

const CODECS: readonly ArchiveCodec[] = ['gzip', 'zstd'];
const ZSTD = { ...SPEC, codec: 'zstd' } as const;
const PERIOD = { projection: 'cold@1', tenant: 't', period: '2000-05' };
const LINE = JSON.stringify({
  container: 'Orders',
  key: ['t'],
  id: 'a',
  type: 'order',
  version: { epoch: 1, lsn: 1, etag: '"1"' },
  at: 1,
  doc: { id: 'a', text: 'ä'.repeat(1_000) },
});

it.each(CODECS)('%s gives the lines back, the same bytes again, and others if they shall be unique', (codec) => {
  const lines = [LINE, LINE];
  const one = pack(lines, { codec });
  const name = blobName(PERIOD, one.sha256, codec);
  expect([isBlob(name), promised(name)]).toEqual([true, one.sha256]);
  expect(unpack(name, one.bytes).map(({ id }) => id)).toEqual(['a', 'a']);
  expect(pack(lines, { codec }).sha256).toBe(one.sha256);
  const unique = [pack(lines, { codec, unique: true }), pack(lines, { codec, unique: true })];
  expect(new Set([one, ...unique].map(({ sha256 }) => sha256)).size).toBe(3);
  for (const { bytes, sha256 } of unique)
    expect(unpack(blobName(PERIOD, sha256, codec), bytes).map(({ id }) => id)).toEqual(['a', 'a']);
});

it.each(CODECS)('a blob of %s that was cut off or that another codec wrote is damage', (codec) => {
  const { bytes, sha256 } = pack([LINE], { codec });
  const damaged = expect.objectContaining({ code: 'archive-damaged' });
  const read = (name: string, of: Uint8Array) => () => unpack(name, of);
  expect(read(blobName(PERIOD, sha256, codec), bytes.subarray(0, -1))).toThrow(damaged as never);
  const other = CODECS.find((of) => of !== codec);
  expect(read(blobName(PERIOD, sha256, other), bytes)).toThrow(damaged as never);
});

it('an archive that goes over to another codec and back is read as one', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  const names = (): string[] => [...store.blobs.keys()].filter(isBlob);
  for (const [id, spec] of Object.entries({ a: SPEC, b: ZSTD, c: SPEC, d: ZSTD })) {
    await stage.orders.items.upsert(order(id));
    await stage.sweep({}, { spec });
  }
  expect(names().map((name) => name.slice(name.lastIndexOf('.')))).toEqual(['.gz', '.zst', '.gz', '.zst']);
  const sound = async (): Promise<void> => {
    expect((await stage.history()).map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c', 'd']);
    expect(await verifyArchive(stage.archive, { signal: SIGNAL })).toMatchObject({
      documents: 4,
      archived: 4,
      faults: [],
    });
    for (const name of names()) expect(await new KeptBlobs((of) => store.read(of)).document(name, 0)).toBeDefined();
  };
  await sound();
  // A compaction writes the codec that is declared now.
  const options = { signal: SIGNAL, grace: async () => undefined };
  expect(await compactArchive({ ...stage.archive, spec: ZSTD, store }, options)).toMatchObject({
    joined: 4,
    written: 1,
  });
  expect(names().map((name) => name.endsWith('.jsonl.zst'))).toEqual([true]);
  await sound();
  expect(await restoreArchive(stage.archive, {}, { signal: SIGNAL })).toMatchObject({ restored: 4 });
});

it('an erasure rewrites a shared blob in its codec', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  const { tenantField: _, ...shared } = ZSTD;
  for (const tenant of ['t', 'u']) await stage.orders.items.upsert(order(tenant, { tenant }));
  await stage.sweep({}, { spec: shared });
  const access = stage.access();
  const erased = await eraseFromArchive({
    store,
    stateContainer: 'millrace',
    accesses: [access],
    tenant: 't',
    owns: (_container, doc) => (doc as { tenant?: unknown }).tenant === 't',
    settleMs: 0,
    clock: systemClock,
    signal: SIGNAL,
  });
  expect(erased).toMatchObject({ lines: 1, rewritten: 1 });
  const [name = '', ...more] = [...store.blobs.keys()].filter(isBlob);
  expect([name.endsWith('.zst'), more]).toEqual([true, []]);
  expect(unpack(name, store.blobs.get(name)?.bytes ?? new Uint8Array()).map(({ id }) => id)).toEqual(['u']);
});
