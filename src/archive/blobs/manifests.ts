import { z } from 'zod';
import { messageOf } from '../../base/errors.ts';
import { FORMATS, FormatUnreadable, assertFormat } from '../../base/format.ts';
import { isObject } from '../../base/json.ts';
import type { SourceRef } from '../../pipeline/specs.ts';
import { untilDone } from '../../access/change.ts';
import { ArchiveDamaged } from './blob.ts';
import type { BlobStore } from '../../access/blob-store.ts';
import { type Period, isManifest, manifestName, placeOf } from './layout.ts';
import type { ArchiveFault, BlobRecord, Manifest } from '../types.ts';

const schema = z.object({
  format: z.int(),
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
      expired: z.number().optional(),
    }),
  ),
});

/** Adds a blob to its period's manifest, under If-Match; several hosts may do so at the same time. */
export async function enlist(store: BlobStore, period: Period, source: SourceRef, record: BlobRecord): Promise<void> {
  await changeManifest(store, manifestName(period), (stored) => {
    const manifest: Manifest = stored ?? {
      format: FORMATS.manifest.writes,
      ...period,
      source: { container: source.container, type: source.type },
      blobs: [],
    };
    if (manifest.blobs.some((blob) => blob.name === record.name)) return undefined;
    return { ...manifest, blobs: [...manifest.blobs, record] };
  });
}

/**
 * Takes blobs out of a manifest, under If-Match.
 * @throws ArchiveDamaged, FormatUnreadable
 */
export async function delist(store: BlobStore, name: string, gone: readonly string[]): Promise<void> {
  const names = new Set(gone);
  await changeManifest(store, name, (stored) => {
    const blobs = stored?.blobs.filter((record) => !names.has(record.name));
    return stored && blobs && blobs.length < stored.blobs.length ? { ...stored, blobs } : undefined;
  });
}

/** Notes for a blob when its documents ceased to be archived, under If-Match. One that is not listed is left alone. */
export async function markExpired(store: BlobStore, name: string, blob: string, at: number): Promise<void> {
  const marked = (record: BlobRecord) => (record.name === blob ? { ...record, expired: at } : record);
  await changeManifest(store, name, (stored) => stored && { ...stored, blobs: stored.blobs.map(marked) });
}

/** Writes what is decided, undefined: nothing; decides again if another host was faster. */
async function changeManifest(
  store: BlobStore,
  name: string,
  decide: (stored: Manifest | undefined) => Manifest | undefined,
): Promise<void> {
  await untilDone(`Manifest ${name}`, async () => {
    const stored = await store.read(name);
    const decided = decide(stored && parseManifest(name, stored.bytes));
    return !decided || store.put(name, textOf(decided), stored?.etag ?? null);
  });
}

/**
 * The manifest; undefined if there is none.
 * @throws ArchiveDamaged, FormatUnreadable
 */
export async function readManifest(store: BlobStore, name: string): Promise<Manifest | undefined> {
  const stored = await store.read(name);
  return stored && parseManifest(name, stored.bytes);
}

/** A manifest, or the fault for which it can't be read; its name gives its place. */
export type ListedManifest = { readonly place: Period } & (
  | { readonly manifest: Manifest }
  | { readonly fault: ArchiveFault }
);

/**
 * The manifests below a prefix for whose place `wanted` returns true; it reads no others. After one that can't be read
 * it continues with the next.
 */
export async function* manifests(
  store: BlobStore,
  prefix: string,
  wanted: (place: Period) => boolean = () => true,
): AsyncGenerator<ListedManifest> {
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

/** The places of the manifests below a prefix, from their names alone. */
export async function* manifestPlaces(store: BlobStore, prefix: string): AsyncGenerator<Period> {
  for await (const name of store.list(prefix)) if (isManifest(name)) yield placeOf(name);
}

const textOf = (manifest: Manifest): Buffer => Buffer.from(JSON.stringify(manifest, undefined, 1));

function parseManifest(name: string, bytes: Uint8Array): Manifest {
  try {
    const stored: unknown = JSON.parse(Buffer.from(bytes).toString());
    // Before its form is judged: a later version's manifest isn't damaged.
    if (isObject(stored)) assertFormat('manifest', stored['format'], name);
    return schema.parse(stored);
  } catch (error) {
    if (error instanceof FormatUnreadable) throw error;
    const why = error instanceof z.ZodError ? 'it is not a manifest that Millrace wrote' : messageOf(error);
    throw new ArchiveDamaged({
      code: 'manifest-unreadable',
      what: `Manifest ${name} can't be read: ${why}`,
      blob: name,
    });
  }
}
