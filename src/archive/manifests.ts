import { z } from 'zod';
import { messageOf } from '../base/errors.ts';
import type { SourceRef } from '../definition/specs.ts';
import { untilDone } from '../projections/conflict.ts';
import { ArchiveDamaged } from './blob.ts';
import type { BlobStore } from './blob-store.ts';
import { type Period, isManifest, manifestName, placeOf } from './layout.ts';
import type { ArchiveFault, BlobRecord, Manifest } from './types.ts';

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

/** A manifest that is there, or why it can't be read; where it lies is told by its name. */
export type Listed = { readonly place: Period } & ({ readonly manifest: Manifest } | { readonly fault: ArchiveFault });

/**
 * Every manifest below a prefix that is wanted by its place; one that can't be read hides no other, and those that
 * aren't wanted are not read.
 */
export async function* manifests(
  store: BlobStore,
  prefix: string,
  wanted: (place: Period) => boolean = () => true,
): AsyncGenerator<Listed> {
  for await (const name of store.list(prefix)) {
    const place = placeOf(name);
    if (!isManifest(name) || !wanted(place)) continue;
    try {
      const manifest = await readManifest(store, name);
      if (manifest) yield { place, manifest };
    } catch (error) {
      if (!(error instanceof ArchiveDamaged)) throw error;
      yield { place, fault: error.fault };
    }
  }
}

/** Where manifests lie below a prefix, without reading any. */
export async function* manifestPlaces(store: BlobStore, prefix: string): AsyncGenerator<Period> {
  for await (const name of store.list(prefix)) if (isManifest(name)) yield placeOf(name);
}

function parseManifest(name: string, bytes: Uint8Array): Manifest {
  try {
    return schema.parse(JSON.parse(Buffer.from(bytes).toString()));
  } catch (error) {
    const why = error instanceof z.ZodError ? 'it is no manifest of ours' : messageOf(error);
    throw new ArchiveDamaged({
      code: 'manifest-unreadable',
      what: `Manifest ${name} can't be read: ${why}`,
      blob: name,
    });
  }
}
