import { ArchiveDamaged, readBlob } from './blob.ts';
import type { BlobStore } from '../../access/blob-store.ts';
import { type Period, isBlob, isManifest, manifestBeside, placeOf } from './layout.ts';
import { readManifest } from './manifests.ts';
import type { ArchivedDocument, Manifest } from '../types.ts';

export type IsNamed = (name: string) => Promise<boolean>;

export interface ReadableBlob {
  readonly name: string;
  readonly listed: boolean;
  /**
   * Its documents; none if a compaction or an erasure has removed it, whose new blobs then come too.
   * @throws ArchiveDamaged it is listed or an entry names it, and it is missing or changed
   */
  readonly read: () => Promise<ArchivedDocument[]>;
}

/**
 * The blobs of a folder, whose manifest was read before. A compaction may replace them meanwhile (ARC-H31). `isNamed`: an
 * entry names the blob.
 */
export async function* blobsOf(
  store: BlobStore,
  isNamed: IsNamed,
  manifest: { readonly name: string; readonly read: Manifest | undefined },
  present: readonly string[] = [],
): AsyncGenerator<ReadableBlob> {
  const listed = new Set(manifest.read?.blobs.map(({ name }) => name));
  const names = new Set([...listed, ...present]);
  // A set gives what is added while it is read.
  for (const name of names)
    yield {
      name,
      listed: listed.has(name),
      read: async () => {
        try {
          return await readBlob(store, name);
        } catch (error) {
          if (!(error instanceof ArchiveDamaged) || error.fault.code !== 'blob-missing') throw error;
          const now = await readManifest(store, manifest.name);
          if (now?.blobs.some((blob) => blob.name === name) || (await isNamed(name))) throw error;
          for (const blob of now?.blobs ?? []) {
            listed.add(blob.name);
            names.add(blob.name);
          }
          return [];
        }
      },
    };
}

/** The folders for which `wanted` returns true, each with the blobs that exist in it and the name of its manifest. */
export async function* foldersOf(
  store: BlobStore,
  prefix: string,
  wanted: (place: Period) => boolean,
): AsyncGenerator<{ readonly manifest: string; readonly place: Period; readonly present: readonly string[] }> {
  let folder: { readonly manifest: string; readonly place: Period; readonly present: string[] } | undefined;
  for await (const name of store.list(prefix)) {
    if ((!isBlob(name) && !isManifest(name)) || !wanted(placeOf(name))) continue;
    const manifest = manifestBeside(name);
    if (folder?.manifest !== manifest) {
      if (folder) yield folder;
      folder = { manifest, place: placeOf(name), present: [] };
    }
    if (isBlob(name)) folder.present.push(name);
  }
  if (folder) yield folder;
}

/**
 * The blobs that may hold documents of a container, in the folders for which `wanted` returns true: those that the
 * manifests list, and those in no manifest. A listed blob may be missing.
 * @throws ArchiveDamaged a manifest can't be read
 */
export async function* storedBlobs(
  store: BlobStore,
  isNamed: IsNamed,
  container: string,
  wanted: (place: Period) => boolean = () => true,
): AsyncGenerator<ReadableBlob> {
  for await (const { manifest: name, present } of foldersOf(store, '', wanted)) {
    const manifest = await readManifest(store, name);
    if (manifest && manifest.source.container !== container) continue;
    yield* blobsOf(store, isNamed, { name, read: manifest }, present);
  }
}
