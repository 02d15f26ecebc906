import type { BlobStore } from './blob-store.ts';
import { type Period, isBlob, isManifest, isOfLog, manifestBeside, placeOf } from './layout.ts';
import { readManifest } from './manifests.ts';

/**
 * The blobs that may hold documents of a container, in the folders for which `wanted` returns true: those that the
 * manifests list, and those in no manifest. A listed blob may be missing.
 * @throws ArchiveDamaged a manifest can't be read
 */
export async function* storedBlobs(
  store: BlobStore,
  container: string,
  wanted: (place: Period) => boolean = () => true,
): AsyncGenerator<{ readonly name: string; readonly listed: boolean }> {
  let folder: { readonly manifest: string; readonly present: string[] } | undefined;
  const finish = async function* (): AsyncGenerator<{ name: string; listed: boolean }> {
    if (!folder) return;
    const manifest = await readManifest(store, folder.manifest);
    if (manifest && manifest.source.container !== container) return;
    const listed = new Set(manifest?.blobs.map(({ name }) => name));
    for (const name of listed) yield { name, listed: true };
    for (const name of folder.present) if (!listed.has(name)) yield { name, listed: false };
  };
  for await (const name of store.list('')) {
    if ((!isBlob(name) && !isManifest(name)) || isOfLog(placeOf(name)) || !wanted(placeOf(name))) continue;
    const manifest = manifestBeside(name);
    if (folder?.manifest !== manifest) {
      yield* finish();
      folder = { manifest, present: [] };
    }
    if (isBlob(name)) folder.present.push(name);
  }
  yield* finish();
}
