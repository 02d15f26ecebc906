import { projectionId } from '../definition/kinds.ts';
import { canonical } from '../base/json.ts';
import type { Identity, Version } from '../feed/change.ts';
import { Entries, type StoredEntry } from '../projections/archive/entries.ts';
import { ArchiveDamaged, unpack } from './blob.ts';
import type { BlobStore } from './blob-store.ts';
import { isBlob, isManifest, prefixOf } from './layout.ts';
import { manifests, readManifest } from './manifests.ts';
import { untilStopped } from './reading.ts';
import type { Archive, ArchiveFault, ArchiveVerification, ArchivedDocument, BlobRecord, Manifest } from './types.ts';

/**
 * Reads every blob of an archive and holds it to its name, its manifest and the entries. What is wrong comes back as
 * data. Sweeps and restores may run meanwhile: blobs and lines only ever come to be.
 */
export async function verifyArchive(
  archive: Archive,
  options: { readonly signal: AbortSignal; progress?(blobs: number): void },
): Promise<ArchiveVerification> {
  const { store, spec } = archive;
  const session = archive.session(untilStopped(options.signal));
  const entries = new Entries(archive.stateContainer);
  const faults: ArchiveFault[] = [];
  const listed = await listedBlobs(store, prefixOf(spec), faults);
  const total = { blobs: 0, documents: 0, archived: 0, bytes: 0, superfluous: 0 };
  const visited = new Set<string>();
  const visit = async (name: string): Promise<void> => {
    if (visited.has(name)) return;
    visited.add(name);
    options.signal.throwIfAborted();
    const record = listed.get(name);
    const blob = await inspect(store, name, record);
    const wanted = (await entries.ofBlob(name, session)).filter(({ state }) => state === 'archived');
    total.archived += wanted.length;
    faults.push(...compare(name, blob, wanted));
    if ('fault' in blob) return;
    if (!record && wanted.length > 0) faults.push({ code: 'blob-unlisted', what: `Blob ${name} is in no manifest` });
    total.superfluous += !record && wanted.length === 0 ? 1 : 0;
    total.blobs += 1;
    total.documents += blob.documents.length;
    total.bytes += blob.bytes;
    options.progress?.(total.blobs);
  };
  for (const name of listed.keys()) await visit(name);
  // Blobs that are neither there nor listed any more are known by their entries alone.
  for (const name of await entries.blobs(prefixOf(spec), session)) await visit(name);
  return { projection: projectionId(spec), ...total, faults };
}

/** The manifests of a projection, for `archive list`: one a tenant and period. */
export const listArchive = ({ spec, store }: Pick<Archive, 'spec' | 'store'>): AsyncIterable<Manifest> =>
  manifests(store, prefixOf(spec));

/** Every blob that is there or that a manifest lists, with what the manifest says of it. */
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
  // After the blobs: a manifest that was written meanwhile lists more than was seen, never less.
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

/** Each entry against the line it names. */
function compare(name: string, blob: Inspected, wanted: readonly StoredEntry[]): ArchiveFault[] {
  if ('fault' in blob) {
    const what = (entry: StoredEntry): string => `${nameOf(entry)} lies in ${name}, which is damaged`;
    return [blob.fault, ...wanted.map((entry) => ({ code: 'line-missing' as const, what: what(entry) }))];
  }
  return wanted.flatMap((entry): ArchiveFault[] => {
    const line = entry.blob?.line ?? -1;
    const document = blob.documents[line];
    if (!document) return [{ code: 'line-missing', what: `${nameOf(entry)}: ${name} has no line ${line}` }];
    if (markOf(document) === markOf(entry)) return [];
    return [{ code: 'line-differs', what: `${nameOf(entry)}: line ${line} of ${name} is another document or version` }];
  });
}

type Inspected =
  | { readonly documents: readonly ArchivedDocument[]; readonly bytes: number }
  | { readonly fault: ArchiveFault };

async function inspect(store: BlobStore, name: string, record: BlobRecord | undefined): Promise<Inspected> {
  const stored = await store.read(name);
  if (!stored) return { fault: { code: 'blob-missing', what: `Blob ${name} is gone` } };
  const bytes = stored.bytes.length;
  try {
    const documents = unpack(name, stored.bytes);
    if (!record || (record.bytes === bytes && record.documents === documents.length)) return { documents, bytes };
    const what = `Blob ${name} has ${documents.length} documents in ${bytes} bytes, its manifest says ${record.documents} in ${record.bytes}`;
    return { fault: { code: 'blob-changed', what } };
  } catch (error) {
    if (!(error instanceof ArchiveDamaged)) throw error;
    return { fault: error.fault };
  }
}

const markOf = ({ container, key, id, version: { epoch, lsn, etag } }: Identity & { version: Version }): string =>
  canonical([container, key, id, epoch, lsn, etag]);

const nameOf = ({ container, key, id }: Identity): string => `${container}/${JSON.stringify(key)}/${id}`;
