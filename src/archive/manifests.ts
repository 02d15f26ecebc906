import { z } from 'zod';
import { messageOf } from '../base/errors.ts';
import type { SourceRef } from '../definition/kinds.ts';
import { untilDone } from '../projections/conflict.ts';
import { ArchiveDamaged } from './blob.ts';
import type { BlobStore } from './blob-store.ts';
import { type Period, isManifest, manifestName } from './layout.ts';
import type { BlobRecord, Manifest } from './types.ts';

const schema = z.object({
  format: z.literal(1),
  projection: z.string(),
  source: z.object({ container: z.string(), type: z.string() }),
  tenant: z.string(),
  period: z.string(),
  blobs: z.array(
    z.object({
      name: z.string(),
      sha256: z.string(),
      bytes: z.number(),
      documents: z.number(),
      from: z.number(),
      to: z.number(),
    }),
  ),
});

/** Adds a blob to its period's manifest, under If-Match; several hosts may do so at once. */
export async function enlist(store: BlobStore, period: Period, source: SourceRef, record: BlobRecord): Promise<void> {
  const name = manifestName(period);
  await untilDone(`Manifest ${name}`, async () => {
    const stored = await store.read(name);
    const manifest: Manifest = stored
      ? parseManifest(name, stored.bytes)
      : { format: 1, ...period, source: { container: source.container, type: source.type }, blobs: [] };
    if (manifest.blobs.some((blob) => blob.name === record.name)) return true;
    const text = JSON.stringify({ ...manifest, blobs: [...manifest.blobs, record] }, undefined, 1);
    return store.put(name, Buffer.from(text), stored?.etag ?? null);
  });
}

/**
 * The manifest and when it was read its ETag; undefined where there is none.
 * @throws ArchiveDamaged
 */
export async function readManifest(store: BlobStore, name: string): Promise<Manifest | undefined> {
  const stored = await store.read(name);
  return stored && parseManifest(name, stored.bytes);
}

/** Every manifest below a prefix. */
export async function* manifests(store: BlobStore, prefix: string): AsyncGenerator<Manifest> {
  for await (const name of store.list(prefix)) {
    const manifest = isManifest(name) ? await readManifest(store, name) : undefined;
    if (manifest) yield manifest;
  }
}

function parseManifest(name: string, bytes: Uint8Array): Manifest {
  try {
    return schema.parse(JSON.parse(Buffer.from(bytes).toString()));
  } catch (error) {
    throw new ArchiveDamaged({
      code: 'manifest-unreadable',
      what: `Manifest ${name} can't be read: ${messageOf(error)}`,
    });
  }
}
