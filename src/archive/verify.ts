import { projectionId } from '../definition/specs.ts';
import { canonical } from '../base/json.ts';
import type { Identity, Version } from '../feed/reading/change.ts';
import { Entries, type StoredEntry } from '../projections/archive/entries.ts';
import { ArchiveDamaged, bytesOf, unpack } from './blob.ts';
import type { BlobStore } from './blob-store.ts';
import { isBlob, isManifest, isTenant, manifestBeside, placeOf, prefixOf, promised } from './layout.ts';
import { type ListedManifest, manifests, readManifest } from './manifests.ts';
import { untilStopped } from '../feed/tenure/fences.ts';
import type { Archive, ArchiveFault, ArchiveVerification, ArchivedDocument, BlobRecord } from './types.ts';

/**
 * Reads every blob of an archive and compares it with its name, its manifest and the entries. Faults come back as data.
 * With `tenant` only the tenant's blobs are read. Sweeps and restores may run meanwhile, since blobs and lines are only added.
 */
export async function verifyArchive(
  archive: Omit<Archive, 'feed' | 'source' | 'mode'>,
  options: { readonly signal: AbortSignal; readonly tenant?: string | undefined; progress?(blobs: number): void },
): Promise<ArchiveVerification> {
  const { store, spec } = archive;
  const access = archive.access(untilStopped(options.signal));
  const entries = new Entries(archive.stateContainer);
  const faults: ArchiveFault[] = [];
  const listed = await listedBlobs(store, prefixOf(spec), faults);
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
    const wrong = record && misstated(record, blob);
    if (wrong) {
      const manifest = manifestBeside(name);
      const what = `Manifest ${manifest} is wrong about blob ${name}: ${wrong}. The blob is unchanged`;
      faults.push({ code: 'manifest-wrong', what, blob: manifest });
    }
    total.superfluous += !record && wanted.length === 0 ? 1 : 0;
    total.blobs += 1;
    total.documents += blob.documents.length;
    total.bytes += blob.bytes;
    options.progress?.(total.blobs);
  };
  for (const name of listed.keys()) await visit(name);
  // A blob that is missing and that no manifest lists is known only by its entries.
  for (const name of await entries.blobs(prefixOf(spec), access)) await visit(name);
  return { projection: projectionId(spec), ...total, faults };
}

/** The manifests of a projection, for `archive list`: one for each tenant and period. */
export const listArchive = ({ spec, store }: Pick<Archive, 'spec' | 'store'>): AsyncIterable<ListedManifest> =>
  manifests(store, prefixOf(spec));

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
    if (markOf(document) === markOf(entry)) return [];
    return [fault('line-differs', entry, `: line ${line} of ${name} is another document or version`)];
  });
}

type Inspected =
  | { readonly documents: readonly ArchivedDocument[]; readonly bytes: number }
  | { readonly fault: ArchiveFault };

async function inspect(store: BlobStore, name: string): Promise<Inspected> {
  try {
    const bytes = await bytesOf(store, name);
    return { documents: unpack(name, bytes), bytes: bytes.length };
  } catch (error) {
    if (!(error instanceof ArchiveDamaged)) throw error;
    return { fault: error.fault };
  }
}

/** What a manifest has wrong about a blob, whose own name proves its content; undefined: nothing. */
function misstated(
  { name, ...record }: BlobRecord,
  { documents, bytes }: Exclude<Inspected, { fault: unknown }>,
): string | undefined {
  const times = documents.map(({ at }) => at);
  const found: Omit<BlobRecord, 'name'> = {
    sha256: promised(name),
    bytes,
    documents: documents.length,
    from: times.reduce((least, at) => Math.min(least, at), Infinity),
    to: times.reduce((most, at) => Math.max(most, at), 0),
  };
  const fields = Object.keys(found) as (keyof typeof found)[];
  const wrong = fields.filter((field) => record[field] !== found[field]);
  return wrong.length === 0
    ? undefined
    : wrong.map((field) => `${field} ${record[field]} instead of ${found[field]}`).join('; ');
}

const markOf = ({ container, key, id, version: { epoch, lsn, etag } }: Identity & { version: Version }): string =>
  canonical([container, key, id, epoch, lsn, etag]);
