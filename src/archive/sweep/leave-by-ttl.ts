import { systemClock } from '../../base/clock.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type Change, compareVersions } from '../../feed/reading/change.ts';
import { untilDone } from '../../access/change.ts';
import { Entries, type FoundEntry, forEach } from '../../kinds/archive/entries.ts';
import { asArchived, type leavingFields } from '../../kinds/archive/leaving.ts';
import type { DocumentAccess, PatchOperation, Write } from '../../access/document-access.ts';
import { ArchiveDamaged, type Packing, pack, recordOf, unpack } from '../blobs/blob.ts';
import type { BlobStore, StoredBlob } from '../../access/blob-store.ts';
import { holdNew } from '../holds.ts';
import { type Period, blobName, folderOf } from '../blobs/layout.ts';
import { enlist } from '../blobs/manifests.ts';
import { retainNew } from './retention.ts';
import { RESTORING } from '../../feed/reading/mapper.ts';
import type { Archive, ArchiveFault, BlobRecord } from '../types.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { archiveError } from '../errors.ts';

/** A document that is about to leave its container, with its line. */
export interface LeavingByTtl {
  readonly change: Change;
  readonly period: Period;
  readonly line: string;
  /** With the all-versions feed: the fields that let the document expire. Absent: it is deleted. */
  readonly expiring?: ReturnType<typeof leavingFields>;
}

/** With its entry as it was read. */
type Read = LeavingByTtl & FoundEntry;

/** Counts of one chunk. */
export interface LeaveCounts {
  archived: number;
  removed: number;
  superseded: number;
  bytes: number;
  /** Documents that stay, since the manifest of their folder can't be read. */
  blocked: number;
  readonly faults: ArchiveFault[];
}

/**
 * Moves documents into the archive. The order must not change: write the blob, read it back, hold it if its tenant is under a hold, have it kept for its time, then manifest, entry, and
 * only then the removal, on the ETag of the archived version. Where the all-versions feed is read, the removal is one patch
 * (a mark, and a time to live): that feed would show a delete as a deletion of the application's.
 */
export async function leave(
  archive: Archive,
  chunk: readonly LeavingByTtl[],
  access: DocumentAccess,
): Promise<LeaveCounts> {
  const counts: LeaveCounts = { archived: 0, removed: 0, superseded: 0, bytes: 0, blocked: 0, faults: [] };
  const entries = new Entries(archive.stateContainer);
  const known = await entries.read(
    chunk.map(({ change }) => change),
    access,
  );
  // An interrupted sweep has written their entries; only the removal is missing.
  const recorded: LeavingByTtl[] = [];
  const fresh: Read[] = [];
  for (const [index, one] of chunk.entries()) {
    const entry = known[index];
    if (entry?.state === 'archived' && compareVersions(one.change.version, entry.version) === 'same')
      recorded.push(one);
    else fresh.push({ ...one, entry });
  }
  await removeAll(archive, recorded, counts, access);
  const folders = Map.groupBy(fresh, ({ period }) => folderOf(period));
  await mapSettled(folders.values(), (of) => leaveTogether(archive, entries, of, counts, access), { concurrency: 8 });
  return counts;
}

/** The documents of one folder, as one blob. */
async function leaveTogether(
  archive: Archive,
  entries: Entries,
  leaving: readonly Read[],
  counts: LeaveCounts,
  access: DocumentAccess,
): Promise<void> {
  const [first] = leaving;
  if (!first) return;
  const ordered = inOrder(leaving);
  const record = await writeBlob(archive.store, first.period, ordered, { codec: archive.spec.codec });
  counts.bytes += record.bytes;
  await holdNew(archive, first.period, record.name);
  await retainNew(archive.store, archive.spec, record.name, systemClock.now());
  // A blob that a late sweeper lists may have been joined and removed meanwhile (ARC-H30).
  access.fence.assert();
  try {
    await enlist(archive.store, first.period, archive.spec.from, record);
  } catch (error) {
    if (!(error instanceof ArchiveDamaged)) throw error;
    // Only the documents of this manifest's folder stay. A blob that no entry names does no harm.
    counts.blocked += leaving.length;
    counts.faults.push(error.fault);
    return;
  }
  const gone: LeavingByTtl[] = [];
  await forEach([...ordered.entries()], async ([line, one]) => {
    const blob = { name: record.name, line };
    const entered = await entries.archive(first.period.projection, one.change, blob, access, one);
    if (entered === 'overtaken') counts.superseded += 1;
    else gone.push(one);
    if (entered === 'written') counts.archived += 1;
  });
  await removeAll(archive, gone, counts, access);
}

/** The order of the lines of a blob. */
export const inOrder = <T extends Pick<LeavingByTtl, 'line'>>(leaving: readonly T[]): T[] =>
  leaving.toSorted((a, b) => (a.line < b.line ? -1 : 1));

/** Writes the blob and reads it back. A blob whose content doesn't fit its name (a broken upload) is written again. */
export async function writeBlob(
  store: BlobStore,
  period: Period,
  leaving: readonly { readonly line: string; readonly change: Pick<Change, 'at'> }[],
  how: Packing = {},
): Promise<BlobRecord> {
  const { bytes, sha256 } = pack(
    leaving.map(({ line }) => line),
    how,
  );
  const name = blobName(period, sha256, how.codec);
  await store.put(name, bytes, null);
  // Written again only over the ETag of the broken blob: another host may have repaired and listed it meanwhile.
  const found = await store.read(name);
  if (!isIntact(name, found)) {
    await store.put(name, bytes, found?.etag ?? null);
    if (!isIntact(name, await store.read(name)))
      throw archiveError('blob-unverified', `Blob ${name} could not be read back as it was written`);
  }
  return recordOf(
    name,
    bytes,
    leaving.map(({ change }) => change),
  );
}

function isIntact(name: string, stored: StoredBlob | undefined): boolean {
  try {
    return stored !== undefined && unpack(name, stored.bytes).length > 0;
  } catch {
    return false;
  }
}

const removeAll = (
  archive: Archive,
  leaving: readonly LeavingByTtl[],
  counts: LeaveCounts,
  access: DocumentAccess,
): Promise<void> =>
  forEach(leaving, async (one) => {
    if (await remove(one, access)) counts.removed += 1;
    else counts.superseded += 1;
  });

/**
 * Deletes the document on the ETag of the archived version, or lets it expire. After a conflict, the read decides only what is counted: a
 * newer version stays in any case, and its change voids the entry.
 */
async function remove({ change, expiring }: LeavingByTtl, access: DocumentAccess): Promise<boolean> {
  const { container, key, id, version } = change;
  const write: Write = expiring
    ? { op: 'patch', id, operations: setAll(expiring), ifMatch: version.etag }
    : { op: 'delete', id, ifMatch: version.etag };
  let removed = false;
  await untilDone(`${container}/${id}`, async () => {
    const answer = await access.commit(container, key, [write]);
    if (answer.kind === 'refused')
      throw sharedError(
        'document-refused',
        `Container ${container} refused to ${expiring ? 'mark' : 'delete'} ${id}: ${answer.why}`,
        { hint: 'Check the rights of the identity on the container, then run `millrace archive sweep` again.' },
      );
    const [found] = answer.kind === 'done' ? [] : await access.read(container, key, [id]);
    removed = !found || found['type'] === RESTORING || asArchived(found)['_etag'] === version.etag;
    return found?._etag !== version.etag;
  });
  return removed;
}

const setAll = (fields: object): PatchOperation[] =>
  Object.entries(fields).map(([name, value]) => ({ op: 'set', path: `/${name}`, value: value as unknown }));
