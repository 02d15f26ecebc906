// Joins small blobs of a month into larger ones while others read, archive, restore and erase (ADR 68).
import { CLOCK_SKEW_MS, LANDING_BOUND_MS, WRITE_BOUND_MS } from '../base/bounds.ts';
import { systemClock } from '../base/clock.ts';
import { projectionId } from '../definition/specs.ts';
import { type Version, compareVersions } from '../feed/reading/change.ts';
import { untilStopped, whileFresh } from '../feed/tenure/fences.ts';
import { Entries, type StoredEntry, forEach } from '../projections/archive/entries.ts';
import { untilDone } from '../projections/conflict.ts';
import type { DocumentAccess } from '../sinks/document-access.ts';
import { ArchiveDamaged, bytesOf, documentOf, linesIn } from './blob.ts';
import type { ErasableStore } from './blob-store.ts';
import { isOfErased } from './eligibility.ts';
import { type Period, isBlob, isTenant, manifestBeside, manifestName, placeOf, prefixOf } from './layout.ts';
import { writeBlob } from './leave.ts';
import { delist, enlist, readManifest } from './manifests.ts';
import type { Archive, ArchiveFault, ArchivedDocument, BlobRecord, ReadErased } from './types.ts';

/** A blob of fewer stored bytes is small. */
export const SMALL = 1024 * 1024;
/** What one new blob takes at most: stored bytes of small blobs, their unpacked characters, their lines. */
const PACKED = 8 * SMALL;
const UNPACKED = 32 * SMALL;
const LINES = 50_000;
/** Blobs whose removal waits together. */
const RETIRED = 1_000;
/**
 * How long a blob stays that is listed no more: a sweep, an erasure or another compaction may still write what it decided
 * before, and a reader may use an entry or a manifest that it has read.
 */
const GRACE_MS = WRITE_BOUND_MS + LANDING_BOUND_MS + CLOCK_SKEW_MS;

export interface CompactOptions {
  readonly signal: AbortSignal;
  readonly tenant?: string | undefined;
  /** Begins no other blob after this time, milliseconds. What is begun ends, and the old blobs go after the grace. */
  readonly withinMs?: number | undefined;
  /** Counts what would be joined, and writes nothing. */
  readonly dryRun?: boolean;
  /** Which tenants are erased now: their blobs are left to the erasure. Absent: the pipeline declares no tenant. */
  readonly erased?: ReadErased | undefined;
  /** Whether a blob may not be removed. Such a blob is not joined. */
  readonly isHeld?: ((name: string) => Promise<boolean>) | undefined;
  /** Waits for the grace. */
  readonly grace?: (() => Promise<void>) | undefined;
  progress?(so: CompactResult): void;
}

export interface CompactResult {
  readonly projection: string;
  /** False: its time was up. The next compaction goes on. */
  readonly complete: boolean;
  /** Small blobs that were joined, with their stored bytes. */
  readonly joined: number;
  readonly bytesBefore: number;
  /** Blobs that were written instead, with their stored bytes. */
  readonly written: number;
  readonly bytesAfter: number;
  /** Lines of older versions, which no new blob has. */
  readonly dropped: number;
  /** Blobs that were removed; also such as an interrupted run had left. */
  readonly removed: number;
  /** Blobs that a hold or a policy keeps. */
  readonly held: number;
  /** Blobs whose tenant is erased, that may still be archived into, or that an entry named again. They stay. */
  readonly left: number;
  readonly faults: readonly ArchiveFault[];
}

type Tally = { -readonly [K in keyof CompactResult]: CompactResult[K] } & { readonly faults: ArchiveFault[] };
type Work = Archive & { readonly store: ErasableStore };

/** A blob that no manifest lists any more, and its record if one did. */
interface Retired {
  readonly name: string;
  readonly record: BlobRecord | undefined;
}

/**
 * Writes the lines of small blobs into larger ones, makes the entries name these, and removes the small ones after the
 * grace. May be stopped and run again at any time, and by several hosts at the same time.
 */
export async function compactArchive(archive: Work, options: CompactOptions): Promise<CompactResult> {
  const { spec, store } = archive;
  const { signal, tenant, withinMs, dryRun = false } = options;
  const tally: Tally = {
    projection: projectionId(spec),
    complete: true,
    joined: 0,
    bytesBefore: 0,
    written: 0,
    bytesAfter: 0,
    dropped: 0,
    removed: 0,
    held: 0,
    left: 0,
    faults: [],
  };
  const until = systemClock.monotonic() + (withinMs ?? Infinity);
  const isOver = (): boolean => systemClock.monotonic() >= until;
  let retired: Retired[] = [];
  const finish = async (): Promise<void> => {
    const of = retired;
    retired = [];
    await removeRetired(archive, of, options, tally);
    options.progress?.(tally);
  };
  for await (const { place, present } of folders(store, prefixOf(spec))) {
    if (tenant !== undefined && !isTenant(place, tenant)) continue;
    signal.throwIfAborted();
    await unlessDamaged(tally, async () => {
      const manifest = await readManifest(store, manifestName(place));
      if (manifest && manifest.source.container !== spec.from.container) return;
      const listed = manifest?.blobs ?? [];
      const small = listed.filter(({ bytes }) => bytes < SMALL).toSorted((a, b) => a.bytes - b.bytes);
      for (const batch of batchesOf(await freeOf(small, options, tally))) {
        if (isOver()) break;
        if (dryRun) count(tally, batch);
        else retired.push(...((await unlessDamaged(tally, () => join(archive, place, batch, options, tally))) ?? []));
        options.progress?.(tally);
      }
      // A run that was interrupted has listed them no more.
      const names = new Set(listed.map(({ name }) => name));
      if (!dryRun && !isOver())
        for (const name of present) if (!names.has(name)) retired.push({ name, record: undefined });
    });
    if (retired.length >= RETIRED) await finish();
    if (isOver()) {
      tally.complete = false;
      break;
    }
  }
  await finish();
  return tally;
}

/** The folders below a prefix, each with the blobs that exist in it. */
async function* folders(
  store: ErasableStore,
  prefix: string,
): AsyncGenerator<{ readonly place: Period; readonly present: readonly string[] }> {
  let folder: { readonly manifest: string; readonly place: Period; readonly present: string[] } | undefined;
  for await (const name of store.list(prefix)) {
    const manifest = manifestBeside(name);
    if (folder?.manifest !== manifest) {
      if (folder) yield folder;
      folder = { manifest, place: placeOf(name), present: [] };
    }
    if (isBlob(name)) folder.present.push(name);
  }
  if (folder) yield folder;
}

async function freeOf(
  records: readonly BlobRecord[],
  { isHeld }: CompactOptions,
  tally: Tally,
): Promise<readonly BlobRecord[]> {
  const free: BlobRecord[] = [];
  for (const record of records) {
    if (await isHeld?.(record.name)) tally.held += 1;
    else free.push(record);
  }
  return free;
}

/** Two blobs or more each. */
function batchesOf(records: readonly BlobRecord[]): (readonly BlobRecord[])[] {
  const batches: BlobRecord[][] = [];
  let [bytes, lines] = [0, 0];
  for (const record of records) {
    bytes += record.bytes;
    lines += record.documents;
    const last = batches.at(-1);
    if (last && bytes <= PACKED && lines <= LINES) last.push(record);
    else {
      batches.push([record]);
      [bytes, lines] = [record.bytes, record.documents];
    }
  }
  return batches.filter(({ length }) => length > 1);
}

function count(tally: Tally, batch: readonly BlobRecord[]): void {
  tally.joined += batch.length;
  tally.bytesBefore += batch.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** A line that the new blob has, and the entries that name it in an old one. */
interface Kept {
  readonly line: string;
  readonly change: ArchivedDocument;
  readonly named: Set<StoredEntry>;
}

/**
 * The order must not change: write the new blob, list it, then the entries, and only then list the old ones no more. All
 * of it within the write bound of the reading, so that a grace later nothing of it can still happen.
 */
async function join(
  archive: Work,
  place: Period,
  batch: readonly BlobRecord[],
  options: CompactOptions,
  tally: Tally,
): Promise<Retired[]> {
  const { store, stateContainer, spec } = archive;
  const access = archive.access(whileFresh(systemClock.monotonic(), options.signal));
  const entries = new Entries(stateContainer);
  // Another compaction may have ended meanwhile.
  const now = await readManifest(store, manifestName(place));
  const listed = new Set(now?.blobs.map(({ name }) => name));
  const kept = new Map<string, Kept>();
  const taken: BlobRecord[] = [];
  let [characters, dropped] = [0, 0];
  for (const record of batch.filter(({ name }) => listed.has(name))) {
    const read = await unlessDamaged(tally, () => linesOf(store, record.name));
    if (!read) continue;
    const size = read.reduce((sum, { line }) => sum + line.length, 0);
    if (characters + size > UNPACKED && taken.length > 0) break;
    if (await isAnyErased(archive, read, options)) {
      tally.left += 1;
      continue;
    }
    const known = await entries.read(
      read.map(({ change }) => change),
      access,
    );
    // A sweep may write such a blob again at any time.
    if (!read.some(({ change }, at) => isPast(change, known[at]))) {
      tally.left += 1;
      continue;
    }
    characters += size;
    taken.push(record);
    for (const [at, { line, change }] of read.entries()) {
      const entry = known[at];
      const names = entry?.state === 'archived' && entry.blob?.name === record.name && entry.blob.line === at;
      if (!names && isPast(change, entry)) {
        dropped += 1;
        continue;
      }
      const one = kept.get(line) ?? { line, change, named: new Set() };
      kept.set(line, one);
      if (names && entry) one.named.add(entry);
    }
  }
  if (taken.length < 2) return [];
  const lines = [...kept.values()];
  if (lines.length > 0) {
    access.fence.assert();
    const record = await writeBlob(store, place, lines, 'unique');
    access.fence.assert();
    await enlist(store, place, spec.from, record);
    tally.written += 1;
    tally.bytesAfter += record.bytes;
    await forEach([...lines.entries()], async ([line, { named }]) => {
      for (const entry of named) await rename(entries, entry, { name: record.name, line }, access);
    });
  }
  for (const { name } of taken) await delist(store, manifestName(place), name);
  count(tally, taken);
  tally.dropped += dropped;
  return taken.map((record) => ({ name: record.name, record }));
}

async function linesOf(
  store: ErasableStore,
  name: string,
): Promise<{ readonly line: string; readonly change: ArchivedDocument }[]> {
  return linesIn(name, await bytesOf(store, name)).map((line) => ({ line, change: documentOf(name, line) }));
}

async function isAnyErased(
  archive: Archive,
  read: readonly { readonly change: ArchivedDocument }[],
  { erased }: CompactOptions,
): Promise<boolean> {
  if (!erased) return false;
  for (const { change } of read) if (await isOfErased(archive, change, erased)) return true;
  return false;
}

/** Whether no sweep that reads the entry now can archive this version again: it is archived, or a newer one is known. */
function isPast({ version }: { readonly version: Version }, entry: StoredEntry | undefined): boolean {
  if (!entry) return false;
  const order = compareVersions(version, entry.version);
  return order === 'older' || (order === 'same' && entry.state === 'archived');
}

/** Makes an entry name the new blob, unless it names another one than it did. */
async function rename(
  entries: Entries,
  was: StoredEntry,
  blob: NonNullable<StoredEntry['blob']>,
  access: DocumentAccess,
): Promise<void> {
  await untilDone(`The archive entry of ${was.container}/${was.id}`, async () => {
    const [entry] = await entries.read([was], access);
    if (entry?.state !== 'archived' || entry.blob?.name !== was.blob?.name || entry.blob?.line !== was.blob?.line)
      return true;
    return entries.replace(entry, entry, { ...entry, blob }, access);
  });
}

/** Removes blobs that no manifest lists and no entry names. One that an entry names is listed again. */
async function removeRetired(
  archive: Work,
  retired: readonly Retired[],
  options: CompactOptions,
  tally: Tally,
): Promise<void> {
  const { store, stateContainer, spec } = archive;
  const entries = new Entries(stateContainer);
  const access = archive.access(untilStopped(options.signal));
  const due: Retired[] = [];
  for (const one of retired)
    if (one.record || (await unlessDamaged(tally, () => isLeftOver(archive, entries, one.name, access)))) due.push(one);
  if (due.length === 0) return;
  await (options.grace?.() ?? systemClock.sleep(GRACE_MS, options.signal));
  for (const { name, record } of due) {
    options.signal.throwIfAborted();
    await unlessDamaged(tally, async () => {
      if ((await entries.ofBlob(name, access)).length > 0) {
        if (record) await enlist(store, placeOf(name), spec.from, record);
        tally.left += 1;
        return;
      }
      await delist(store, manifestBeside(name), name);
      const held = (await options.isHeld?.(name)) === true || (await store.remove(name)) === 'held';
      tally[held ? 'held' : 'removed'] += 1;
    });
  }
}

/** Whether a blob that no manifest lists is what an interrupted compaction or sweep left, and no sweep can write it again. */
async function isLeftOver(archive: Work, entries: Entries, name: string, access: DocumentAccess): Promise<boolean> {
  const read = await linesOf(archive.store, name).catch((error: unknown) => {
    // An upload that was cut off: a sweep that comes back to it writes it whole.
    if (error instanceof ArchiveDamaged) return [];
    throw error;
  });
  const known = await entries.read(
    read.map(({ change }) => change),
    access,
  );
  return read.some(({ change }, at) => isPast(change, known[at])) && (await entries.ofBlob(name, access)).length === 0;
}

async function unlessDamaged<T>({ faults }: Tally, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ArchiveDamaged)) throw error;
    faults.push(error.fault);
    return undefined;
  }
}
