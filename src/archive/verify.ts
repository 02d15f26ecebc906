import { projectionId } from '../pipeline/specs.ts';
import { Entries, type StoredEntry } from '../kinds/archive/entries.ts';
import { ArchiveDamaged, blobBytesOf, recordOf, unpack } from './blobs/blob.ts';
import type { BlobStore } from '../access/blob-store.ts';
import { BlobOffline } from './blobs/blob-offline.ts';
import { drawBlobs } from './blobs/draw-blobs.ts';
import { isLineOf } from './read/archived-line.ts';
import { identityOf } from './read/identities.ts';
import { isBlob, isManifest, isTenant, manifestBeside, placeOf, prefixOf } from './blobs/layout.ts';
import { type ListedManifest, manifests, readManifest } from './blobs/manifests.ts';
import { ownBlobs, ownOf } from './blobs/own-blobs.ts';
import { untilStopped } from '../feed/tenure/fences.ts';
import type { Archive, ArchiveFault, ArchiveVerification, ArchivedDocument, BlobRecord } from './types.ts';

/**
 * Reads every blob of an archive and compares it with its name, its manifest and the entries. Faults come back as data.
 * With `tenant` only the tenant's blobs are read, with `sample` so many that are drawn by chance. Sweeps and restores may run meanwhile, since blobs and lines are only added.
 */
export async function verifyArchive(
  archive: Omit<Archive, 'feed' | 'source' | 'mode'>,
  options: {
    readonly signal: AbortSignal;
    readonly tenant?: string | undefined;
    readonly sample?: number | undefined;
    progress?(blobs: number): void;
  },
): Promise<ArchiveVerification> {
  const { store, spec } = archive;
  const access = archive.access(untilStopped(options.signal));
  const entries = new Entries(archive.stateContainer);
  const faults: ArchiveFault[] = [];
  const { sample, tenant } = options;
  const drawn =
    sample === undefined
      ? undefined
      : await drawBlobs(store, prefixOf(spec), { most: sample, tenant, faults }, { entries, access });
  const listed = drawn?.blobs ?? (await listedBlobs(store, prefixOf(spec), faults));
  const isOwn = await ownBlobs(archive, options.signal);
  const total = { blobs: 0, documents: 0, archived: 0, bytes: 0, superfluous: 0 };
  const visited = new Set<string>();
  const visit = async (name: string): Promise<void> => {
    if (visited.has(name) || (options.tenant !== undefined && !isTenant(placeOf(name), options.tenant))) return;
    visited.add(name);
    options.signal.throwIfAborted();
    let record = listed.get(name);
    const blob = await inspect(store, name);
    const wanted = (await entries.ofBlob(name, access)).filter(({ state }) => state === 'archived');
    // A compaction or a sweep may have changed the manifest since it was read.
    if (record ? 'fault' in blob && blob.fault.code === 'blob-missing' : wanted.length > 0)
      record = await recordNow(store, name);
    if ('fault' in blob && blob.fault.code === 'blob-missing' && !record && wanted.length === 0) return;
    total.archived += wanted.length;
    faults.push(...compare(name, blob, wanted));
    if ('fault' in blob) return;
    if (!record && wanted.length > 0)
      faults.push({ code: 'blob-unlisted', what: `No manifest lists blob ${name}`, blob: name });
    if (record) faults.push(...misstatedBy(record, blob.record));
    total.superfluous += !record && wanted.length === 0 ? 1 : 0;
    total.blobs += 1;
    total.documents += blob.documents.length;
    total.bytes += blob.bytes;
    options.progress?.(total.blobs);
  };
  let offline = 0;
  for (const name of listed.keys()) {
    if (!isOwn(name)) continue;
    await visit(name).catch((error: unknown) => {
      // By a rule, old blobs go there: a sample says nothing of them.
      if (!drawn || !(error instanceof BlobOffline)) throw error;
      offline += 1;
    });
  }
  // A blob that is missing and that no manifest lists is known only by its entries.
  if (!drawn) for (const name of await entries.blobs(prefixOf(spec), access)) await visit(name);
  const sampled = drawn && sample !== undefined && { asked: sample, of: drawn.of, offline };
  return { projection: projectionId(spec), ...total, ...(sampled && { sampled }), faults };
}

/** The manifests of a projection, for `archive list`: one for each tenant and period. */
export async function* listArchive(
  archive: Omit<Archive, 'feed' | 'source' | 'mode'>,
  signal: AbortSignal,
): AsyncGenerator<ListedManifest> {
  const isOwn = await ownBlobs(archive, signal);
  for await (const listed of manifests(archive.store, prefixOf(archive.spec))) {
    const own = 'fault' in listed ? listed : ownOf(listed, isOwn);
    if (own) yield own;
  }
}

/** Every blob that exists or that a manifest lists, with its record in the manifest. */
async function listedBlobs(
  store: BlobStore,
  prefix: string,
  faults: ArchiveFault[],
): Promise<Map<string, BlobRecord | undefined>> {
  const listed = new Map<string, BlobRecord | undefined>();
  const names: string[] = [];
  for await (const name of store.list(prefix)) {
    if (isBlob(name)) listed.set(name, undefined);
    else if (isManifest(name)) names.push(name);
  }
  // Manifests after the blobs: one that was written meanwhile lists more blobs than were seen, never less.
  for (const name of names) {
    try {
      for (const record of (await readManifest(store, name))?.blobs ?? []) listed.set(record.name, record);
    } catch (error) {
      if (!(error instanceof ArchiveDamaged)) throw error;
      faults.push(error.fault);
    }
  }
  return listed;
}

async function recordNow(store: BlobStore, name: string): Promise<BlobRecord | undefined> {
  const manifest = await readManifest(store, manifestBeside(name)).catch((error: unknown) => {
    // It is among the faults already.
    if (error instanceof ArchiveDamaged) return undefined;
    throw error;
  });
  return manifest?.blobs.find((blob) => blob.name === name);
}

/** Compares each entry with the line that it names. */
function compare(name: string, blob: Inspected, wanted: readonly StoredEntry[]): ArchiveFault[] {
  const fault = (code: ArchiveFault['code'], { container, key, id }: StoredEntry, why: string): ArchiveFault => ({
    code,
    what: `${container}/${JSON.stringify(key)}/${id}${why}`,
    blob: name,
    container,
    key,
    id,
  });
  if ('fault' in blob)
    return [blob.fault, ...wanted.map((entry) => fault('line-missing', entry, ` is in ${name}, which is damaged`))];
  return wanted.flatMap((entry): ArchiveFault[] => {
    const line = entry.blob?.line ?? -1;
    const document = blob.documents[line];
    if (!document) return [fault('line-missing', entry, `: ${name} has no line ${line}`)];
    const isSame = document.container === entry.container && identityOf(document) === identityOf(entry);
    if (isSame && isLineOf(entry, document)) return [];
    return [fault('line-differs', entry, `: line ${line} of ${name} is another document or version`)];
  });
}

type Inspected =
  | {
      readonly documents: readonly ArchivedDocument[];
      readonly bytes: number;
      /** What a manifest should say of it. */
      readonly record: BlobRecord;
    }
  | { readonly fault: ArchiveFault };

async function inspect(store: BlobStore, name: string): Promise<Inspected> {
  try {
    const bytes = await blobBytesOf(store, name);
    const documents = unpack(name, bytes);
    return { documents, bytes: bytes.length, record: recordOf(name, bytes, documents) };
  } catch (error) {
    if (!(error instanceof ArchiveDamaged)) throw error;
    return { fault: error.fault };
  }
}

/** What a manifest has wrong about a blob, whose own name proves its content. */
function misstatedBy(record: BlobRecord, found: BlobRecord): ArchiveFault[] {
  const fields = Object.keys(found) as (keyof BlobRecord)[];
  const wrong = fields.filter((field) => record[field] !== found[field]);
  if (wrong.length === 0) return [];
  const manifest = manifestBeside(found.name);
  const why = wrong.map((field) => `${field} ${record[field]} instead of ${found[field]}`).join('; ');
  const what = `Manifest ${manifest} is wrong about blob ${found.name}: ${why}. The blob is unchanged`;
  return [{ code: 'manifest-wrong', what, blob: manifest }];
}
