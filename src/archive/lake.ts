// Parquet files beside the blobs of an archive, which DuckDB and Spark read as one table: a file for each tenant and month.
import { createHash } from 'node:crypto';
import { canonical } from '../base/json.ts';
import { untilStopped } from '../feed/tenure/fences.ts';
import type { Model } from '../model/model.ts';
import { Entries, type StoredEntry } from '../projections/archive/entries.ts';
import type { DocumentAccess } from '../sinks/document-access.ts';
import { ArchiveDamaged, readBlob } from './blob.ts';
import { BlobOffline } from './blob-offline.ts';
import type { ErasableStore, FileStore } from './blob-store.ts';
import { isOfErased } from './eligibility.ts';
import { type LakeColumn, lakeColumns } from './lake-columns.ts';
import {
  type Period,
  folderOf,
  isLakeSelected,
  isShared,
  isSelected,
  type PeriodSelection,
  lakeFile,
  lakeOf,
  placeOf,
  prefixOf,
} from './layout.ts';
import { parquetPieces } from './parquet.ts';
import { lineIn } from './selected.ts';
import type { Archive, ArchiveFault, ArchivedDocument, ReadErased } from './types.ts';

type LakeArchive = Archive & { readonly store: FileStore & Pick<ErasableStore, 'remove'> };

export interface LakeOptions {
  readonly model: Model;
  readonly selection: PeriodSelection;
  readonly signal: AbortSignal;
  readonly dryRun?: boolean;
  /** Which tenants are erased now: their documents get into no file. Absent: the pipeline declares no tenant. */
  readonly erased?: ReadErased | undefined;
  progress?(so: LakeResult): void;
}

/** Counts of files: each is of one tenant and month. */
export interface LakeResult {
  readonly archive: string;
  /** Where the files are in the blob container. */
  readonly folder: string;
  readonly written: number;
  /** Their documents. */
  readonly documents: number;
  readonly bytes: number;
  /** Their documents are those of before. */
  readonly unchanged: number;
  /** No document of their month is archived any more. */
  readonly removed: number;
  /** Those of which a hold or a policy of the storage account kept something. */
  readonly held: number;
  /** Another run wrote them meanwhile. */
  readonly left: number;
  /** Left as they are, because a blob is in the Archive tier. */
  readonly offline: number;
  /** Damage: the files of these months are left as they are. */
  readonly faults: readonly ArchiveFault[];
}

type Tally = { -readonly [K in keyof LakeResult]: LakeResult[K] } & { readonly faults: ArchiveFault[] };

/** What the files of this version are made like. Raised, every file is written again. */
const FORM = 1;

/**
 * Writes the files of months whose archived documents have changed. Entries decide what is in a file: exactly the documents
 * that are archived while it is made. A file appears whole, in place of the one before. May be stopped and run again, also
 * by several hosts at the same time.
 */
export async function writeLake(archive: LakeArchive, options: LakeOptions): Promise<LakeResult> {
  const { spec, store } = archive;
  const { model, selection, signal, dryRun = false } = options;
  const tally: Tally = {
    archive: spec.name,
    folder: lakeOf(spec),
    written: 0,
    documents: 0,
    bytes: 0,
    unchanged: 0,
    removed: 0,
    held: 0,
    left: 0,
    offline: 0,
    faults: [],
  };
  const access = archive.access(untilStopped(signal));
  const columns = lakeColumns(spec, model);
  // Before the entries: a run that has read older ones can't write over the file of one that has read newer ones.
  const files = new Map<string, { readonly etag: string; readonly note: string | undefined }>();
  for await (const { name, ...file } of store.files(lakeOf(spec))) files.set(name, file);
  const months = await monthsOf(archive, access);
  for (const [name, places] of months) {
    signal.throwIfAborted();
    const file = files.get(name);
    files.delete(name);
    if (!places.some((place) => isSelected(place, selection))) continue;
    const [place] = places;
    if (place && !isShared(place) && (await options.erased?.())?.(place.tenant)) continue;
    try {
      await writeMonth(archive, { name, places, file, columns, access }, options, tally);
    } catch (error) {
      if (error instanceof BlobOffline) tally.offline += 1;
      else if (!(error instanceof ArchiveDamaged)) throw error;
      // A compaction or an erasure has removed the blob since the entries were read: the next run writes the file.
      else if (error.fault.code === 'blob-missing' && !(await isNamed(archive, error.fault.blob, access)))
        tally.left += 1;
      else tally.faults.push(error.fault);
    }
    options.progress?.(tally);
  }
  for (const name of files.keys()) if (isLakeSelected(name, selection)) await removeFile(store, name, tally, dryRun);
  return tally;
}

/** Of a month of which nothing is archived any more. A hold on a Parquet file is a person's own. */
async function removeFile(
  store: Pick<ErasableStore, 'remove'>,
  name: string,
  tally: Tally,
  dryRun: boolean,
): Promise<void> {
  tally[dryRun ? 'removed' : await store.remove(name)] += 1;
}

/** The folders of blobs that entries name, by the file of their tenant and month. Versions of an archive share a file. */
async function monthsOf({ spec, stateContainer }: LakeArchive, access: DocumentAccess): Promise<Map<string, Period[]>> {
  const folders = new Map<string, Period>();
  for (const blob of await new Entries(stateContainer).blobs(prefixOf(spec), access)) {
    const place = placeOf(blob);
    folders.set(folderOf(place), place);
  }
  return Map.groupBy(folders.values(), (place) => lakeFile(spec, place));
}

const isNamed = ({ stateContainer }: LakeArchive, blob: string, access: DocumentAccess): Promise<boolean> =>
  new Entries(stateContainer).name(blob, access);

interface Month {
  readonly name: string;
  readonly places: readonly Period[];
  /** The file that is there. */
  readonly file: { readonly etag: string; readonly note: string | undefined } | undefined;
  readonly columns: readonly LakeColumn[];
  readonly access: DocumentAccess;
}

async function writeMonth(
  archive: LakeArchive,
  { name, places, file, columns, access }: Month,
  options: LakeOptions,
  tally: Tally,
): Promise<void> {
  const { store, stateContainer } = archive;
  const entries = new Entries(stateContainer);
  // While a key moves, two shards have an entry of a line.
  const byLine = new Map<string, StoredEntry>();
  for (const place of places)
    for (const entry of await entries.inFolder(folderOf(place), access))
      byLine.set(`${entry.blob?.name} ${entry.blob?.line}`, entry);
  const found = [...byLine.values()];
  if (found.length === 0) {
    // Its documents were restored since the months were read.
    if (file) await removeFile(store, name, tally, options.dryRun === true);
    return;
  }
  const note = noteOf(columns, found);
  if (file?.note === note) {
    tally.unchanged += 1;
    return;
  }
  if (options.dryRun) {
    tally.written += 1;
    tally.documents += found.length;
    return;
  }
  let documents = 0;
  let bytes = 0;
  async function* rows(): AsyncGenerator<ArchivedDocument> {
    for await (const document of documentsOf(archive, found, options)) {
      documents += 1;
      yield document;
    }
  }
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for await (const piece of parquetPieces(columns, rows())) {
      bytes += piece.length;
      yield piece;
    }
  }
  const done = await store.putFile(name, pieces(), { ifMatch: file?.etag ?? null, note });
  if (!done && !(await isThere(store, name, note))) {
    tally.left += 1;
    return;
  }
  tally.written += 1;
  tally.documents += documents;
  tally.bytes += bytes;
}

/** The documents of entries, one blob in memory at a time. Those of an erased tenant are left out (ERASE-S5). */
async function* documentsOf(
  archive: LakeArchive,
  entries: readonly StoredEntry[],
  { signal, erased }: Pick<LakeOptions, 'signal' | 'erased'>,
): AsyncGenerator<ArchivedDocument> {
  for (const [name, of] of Map.groupBy(entries, ({ blob }) => blob?.name ?? '')) {
    signal.throwIfAborted();
    const lines = await readBlob(archive.store, name);
    for (const entry of of) {
      const document = lineIn(lines, entry);
      if (!(await isOfErased(archive, document, erased))) yield document;
    }
  }
}

/** What a file is made of: the same documents in the same columns have the same note. */
function noteOf(columns: readonly LakeColumn[], entries: readonly StoredEntry[]): string {
  const hash = createHash('sha256').update(canonical([FORM, columns]));
  const lines = entries.map(({ blob, version }) => `${blob?.name} ${blob?.line} ${version.etag}\n`);
  for (const line of lines.toSorted()) hash.update(line);
  return hash.digest('hex');
}

/** Whether a file has this note: the answer to our own write may have been lost. */
async function isThere(store: FileStore, name: string, note: string): Promise<boolean> {
  for await (const file of store.files(name)) if (file.name === name) return file.note === note;
  return false;
}
