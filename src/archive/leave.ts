import { MillraceError } from '../base/errors.ts';
import { mapSettled } from '../base/map-settled.ts';
import { type Change, compareVersions } from '../feed/reading/change.ts';
import { untilDone } from '../projections/conflict.ts';
import { Entries, forEach } from '../projections/archive/entries.ts';
import type { SinkSession } from '../sinks/session.ts';
import { ArchiveDamaged, pack, unpack } from './blob.ts';
import type { BlobStore, StoredBlob } from './blob-store.ts';
import { type Period, blobName, folderOf } from './layout.ts';
import { enlist } from './manifests.ts';
import { RESTORING } from './placeholder.ts';
import type { Archive, ArchiveFault, BlobRecord } from './types.ts';

/** A document on its way out, with its line. */
export interface Leaving {
  readonly change: Change;
  readonly period: Period;
  readonly line: string;
}

/** What became of a batch. */
export interface Left {
  archived: number;
  removed: number;
  superseded: number;
  bytes: number;
  /** They stay, since the manifest of their folder can't be read. */
  blocked: number;
  readonly faults: ArchiveFault[];
}

/**
 * Moves documents into the archive. Order is law: blob, read back, manifest, entry, and only then the removal, on the
 * ETag of what was archived.
 */
export async function leave(archive: Archive, batch: readonly Leaving[], session: SinkSession): Promise<Left> {
  const left: Left = { archived: 0, removed: 0, superseded: 0, bytes: 0, blocked: 0, faults: [] };
  const entries = new Entries(archive.stateContainer);
  const known = await entries.read(
    batch.map(({ change }) => change),
    session,
  );
  // Found half done: its entry is there, only the removal is missing.
  const recorded = batch.filter((one, index) => {
    const entry = known[index];
    return entry?.state === 'archived' && compareVersions(one.change.version, entry.version) === 'same';
  });
  await removeAll(archive, recorded, left, session);
  const fresh = batch.filter((one) => !recorded.includes(one));
  const folders = Map.groupBy(fresh, ({ period }) => folderOf(period));
  await mapSettled(folders.values(), (of) => leaveTogether(archive, entries, of, left, session), { concurrency: 8 });
  return left;
}

/** The documents of one folder, as one blob. */
async function leaveTogether(
  archive: Archive,
  entries: Entries,
  leaving: readonly Leaving[],
  left: Left,
  session: SinkSession,
): Promise<void> {
  const [first] = leaving;
  if (!first) return;
  const ordered = leaving.toSorted((a, b) => (a.line < b.line ? -1 : 1));
  const record = await writeBlob(archive.store, first.period, ordered);
  left.bytes += record.bytes;
  try {
    await enlist(archive.store, first.period, archive.spec.from, record);
  } catch (error) {
    if (!(error instanceof ArchiveDamaged)) throw error;
    // One folder's manifest keeps no other folder's documents: these stay, and a blob that no entry names does no harm.
    left.blocked += leaving.length;
    left.faults.push(error.fault);
    return;
  }
  const gone: Leaving[] = [];
  await forEach([...ordered.entries()], async ([line, one]) => {
    const blob = { name: record.name, line };
    const entered = await entries.archive(first.period.projection, one.change, blob, session);
    if (entered === 'overtaken') left.superseded += 1;
    else gone.push(one);
    if (entered === 'written') left.archived += 1;
  });
  await removeAll(archive, gone, left, session);
}

/** Steps 1 and 2. A blob of that name which isn't what its name says (a torn upload, a hand) is written again. */
async function writeBlob(store: BlobStore, period: Period, leaving: readonly Leaving[]): Promise<BlobRecord> {
  const { bytes, sha256 } = pack(leaving.map(({ line }) => line));
  const name = blobName(period, sha256);
  await store.put(name, bytes, null);
  // Seen broken and written again on one and the same ETag: another host may have mended it, and listed it, meanwhile.
  const found = await store.read(name);
  if (!isIntact(name, found)) {
    await store.put(name, bytes, found?.etag ?? null);
    if (!isIntact(name, await store.read(name))) {
      throw new MillraceError('blob-unverified', `Blob ${name} could not be read back as it was written`, {
        retryable: true,
        mend: 'Nothing of it has left its container. Look at the storage account, then sweep again.',
      });
    }
  }
  const times = leaving.map(({ change }) => change.at);
  const [from, to] = times.reduce(([least, most], at) => [Math.min(least, at), Math.max(most, at)], [Infinity, 0]);
  return { name, sha256, bytes: bytes.length, documents: leaving.length, from: from ?? 0, to: to ?? 0 };
}

function isIntact(name: string, stored: StoredBlob | undefined): boolean {
  try {
    return stored !== undefined && unpack(name, stored.bytes).length > 0;
  } catch {
    return false;
  }
}

const removeAll = (archive: Archive, leaving: readonly Leaving[], left: Left, session: SinkSession): Promise<void> =>
  forEach(leaving, async ({ change }) => {
    if (await remove(change, session)) left.removed += 1;
    else left.superseded += 1;
  });

/**
 * Step 3, on the ETag of what was archived. What is read after a conflict decides nothing but the count: a newer
 * version stays whatever is read here, and voids the entry through its feed.
 */
async function remove({ container, key, id, version }: Change, session: SinkSession): Promise<boolean> {
  let removed = false;
  await untilDone(`${container}/${id}`, async () => {
    const answer = await session.commit(container, key, [{ op: 'delete', id, ifMatch: version.etag }]);
    if (answer.kind === 'refused')
      throw new MillraceError('removal-refused', `${container} refused to remove ${id}: ${answer.why}`);
    const [found] = answer.kind === 'done' ? [] : await session.read(container, key, [id]);
    removed = !found || found['type'] === RESTORING;
    return found?._etag !== version.etag;
  });
  return removed;
}
