// Joins small blobs of a month into larger ones while others read, archive, restore and erase (ADR 68).
import { WRITE_GRACE_MS } from '../base/bounds.ts';
import { systemClock } from '../base/clock.ts';
import { mapSettled } from '../base/map-settled.ts';
import { projectionId } from '../pipeline/specs.ts';
import { type Key, compareVersions } from '../feed/reading/change.ts';
import { untilStopped, whileFresh } from '../feed/tenure/fences.ts';
import { Entries, type StoredEntry, forEach } from '../kinds/archive/entries.ts';
import type { DocumentAccess } from '../access/document-access.ts';
import { ArchiveDamaged, blobBytesOf, documentOf, linesIn, unlessDamaged } from './blobs/blob.ts';
import { BlobOffline } from './blobs/blob-offline.ts';
import type { ErasableStore, HoldingStore } from '../access/blob-store.ts';
import { isOfErased } from './sweep/eligibility.ts';
import { isEntryOf } from './read/archived-line.ts';
import { holdNew } from './holds.ts';
import { type Period, isShared, isTenant, manifestBeside, prefixOf } from './blobs/layout.ts';
import { writeBlob } from './sweep/leave-by-ttl.ts';
import { delist, enlist, readManifest } from './blobs/manifests.ts';
import { retainNew } from './sweep/retention.ts';
import { foldersOf } from './blobs/stored-blobs.ts';
import type { Archive, ArchiveFault, ArchivedDocument, BlobRecord, ReadErased } from './types.ts';

/** A blob of fewer stored bytes is small. */
export const SMALL = 1024 * 1024;
/** What one new blob takes at most: stored bytes of small blobs, their unpacked characters, their lines. */
const PACKED = 8 * SMALL;
const UNPACKED = 32 * SMALL;
const LINES = 50_000;
/** Blobs whose removal waits together. */
const RETIRED = 1_000;
const REMOVED_AT_ONCE = 16;

export interface CompactOptions {
  readonly signal: AbortSignal;
  readonly tenant?: string | undefined;
  /** Begins no other blob after this time, milliseconds. What is begun ends, and the old blobs go after the grace. */
  readonly withinMs?: number | undefined;
  /** Counts what would be joined, and writes nothing. */
  readonly dryRun?: boolean;
  /** Which tenants are erased now: their blobs are left to the erasure. Absent: the pipeline declares no tenant. */
  readonly erased?: ReadErased | undefined;
  /** Over shards, before each new blob: which keys a move has in hand. Blobs with lines of these stay. */
  readonly moving?: (() => Promise<MovingKeys>) | undefined;
  /** Waits for the grace. */
  readonly grace?: (() => Promise<void>) | undefined;
  progress?(so: CompactResult): void;
}

export interface MovingKeys {
  readonly has: (key: Key) => boolean;
  /** Called when all writes of the blob were answered. */
  readonly ended: () => Promise<void>;
}

export interface CompactResult {
  readonly projection: string;
  /** False: its time was up. The next compaction goes on. */
  readonly complete: boolean;
  /** Small blobs whose lines were written again or are needed no more, with their stored bytes. */
  readonly joined: number;
  readonly bytesBefore: number;
  /** Blobs that were written instead, with their stored bytes. */
  readonly written: number;
  readonly bytesAfter: number;
  /** Lines of older versions, which no new blob has. */
  readonly dropped: number;
  /** Blobs that were removed; also such as an interrupted run had left. */
  readonly removed: number;
  /**
   * Small blobs that a legal hold or `retain` keeps, which are left alone; and blobs that the account keeps although no
   * manifest lists them any more.
   */
  readonly held: number;
  /** Blobs whose tenant is erased, that may still be archived into, or that an entry still names. They stay. */
  readonly left: number;
  readonly faults: readonly ArchiveFault[];
}

type Tally = { -readonly [K in keyof CompactResult]: CompactResult[K] } & { readonly faults: ArchiveFault[] };
type Work = Archive & { readonly store: ErasableStore & Partial<HoldingStore> };

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
  let retired: string[] = [];
  const finish = async (): Promise<void> => {
    const of = retired;
    retired = [];
    await removeRetired(archive, of, options, tally);
    options.progress?.(tally);
  };
  const retained = new Set<string>();
  if (spec.retain && store.listRetained)
    for await (const name of store.listRetained(prefixOf(spec), systemClock.now())) retained.add(name);
  const isOf = (place: Period): boolean => tenant === undefined || isTenant(place, tenant);
  for await (const { manifest: manifestAt, place, present } of foldersOf(store, prefixOf(spec), isOf)) {
    signal.throwIfAborted();
    await unlessDamaged(tally.faults, async () => {
      const manifest = await readManifest(store, manifestAt);
      if (manifest && manifest.source.container !== spec.from.container) return;
      const listed = manifest?.blobs ?? [];
      const all = listed.filter(({ bytes }) => bytes < SMALL).toSorted((a, b) => a.bytes - b.bytes);
      const small = all.filter(({ name }) => !retained.has(name));
      tally.held += all.length - small.length;
      // The name of the folder has only a digest of a long tenant.
      const owner = { ...place, tenant: manifest?.tenant ?? place.tenant };
      // A joined blob would be held beside the old ones, which stay.
      if (small.length > 1 && !isShared(owner) && (await archive.holds?.of(owner.tenant))) {
        tally.held += small.length;
        return;
      }
      for (const batch of batchesOf(small)) {
        if (dryRun) {
          count(tally, batch);
          continue;
        }
        for (let rest = batch; rest.length > 1 && !isOver();) {
          const moving = await options.moving?.();
          const joined = await join(archive, owner, rest, { ...options, isMoving: moving?.has }, tally);
          await moving?.ended();
          retired.push(...joined.retired);
          rest = joined.rest;
          options.progress?.(tally);
        }
      }
      const names = new Set(listed.map(({ name }) => name));
      if (dryRun || isOver()) return;
      for (const name of present)
        if (!names.has(name) && (await unlessDamaged(tally.faults, () => isLeftOver(archive, name, signal))))
          retired.push(name);
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

interface Line {
  readonly line: string;
  readonly change: ArchivedDocument;
}

/** A line that the new blob has, and the entries that name it in an old one. */
interface Kept extends Line {
  readonly named: Set<StoredEntry>;
}

/**
 * Writes one new blob. The order must not change: write it, list it, then the entries. The old blobs stay listed: a sweep
 * that is under way may still make an entry name one. All of it is within the write bound of the reading, so that a grace
 * later nothing of it can still happen.
 */
async function join(
  archive: Work,
  place: Period,
  batch: readonly BlobRecord[],
  options: CompactOptions & { readonly isMoving: MovingKeys['has'] | undefined },
  tally: Tally,
): Promise<{ readonly retired: readonly string[]; readonly rest: readonly BlobRecord[] }> {
  const { store, stateContainer, spec } = archive;
  const access = archive.access(whileFresh(systemClock.monotonic(), options.signal));
  const entries = new Entries(stateContainer);
  const kept = new Map<string, Kept>();
  const taken: BlobRecord[] = [];
  const idle: BlobRecord[] = [];
  let rest: readonly BlobRecord[] = [];
  let [characters, dropped] = [0, 0];
  for (const [index, record] of batch.entries()) {
    const read = await unlessDamaged(tally.faults, () => linesUnlessGone(store, record.name));
    if (!read) continue;
    const size = read.reduce((sum, { line }) => sum + line.length, 0);
    if (characters + size > UNPACKED && taken.length > 0) {
      rest = batch.slice(index);
      break;
    }
    const known = await entries.read(
      read.map(({ change }) => change),
      access,
    );
    // A mover makes entries of another place name the lines. A sweep may write such a blob again at any time.
    const isHeld = read.some(({ change }) => options.isMoving?.(change.key) === true);
    if (
      isHeld ||
      (await isAnyErased(archive, read, options)) ||
      !read.some(({ change }, at) => isPast(change, known[at]))
    ) {
      tally.left += 1;
      continue;
    }
    const names = (at: number): boolean => isLine(known[at], { name: record.name, line: at });
    const needed = [...read.entries()].filter(([at, { change }]) => names(at) || !isPast(change, known[at]));
    dropped += read.length - needed.length;
    if (needed.length === 0) {
      idle.push(record);
      continue;
    }
    characters += size;
    taken.push(record);
    for (const [at, { line, change }] of needed) {
      const one = kept.get(line) ?? { line, change, named: new Set() };
      kept.set(line, one);
      const entry = known[at];
      if (entry && names(at)) one.named.add(entry);
    }
  }
  const old = taken.length > 1 ? [...taken, ...idle] : idle;
  if (taken.length > 1) {
    const lines = [...kept.values()];
    access.fence.assert();
    const record = await writeBlob(store, place, lines, { codec: spec.codec, unique: true });
    // Of a tenant under a hold, whose old blobs stay.
    await holdNew(archive, place, record.name);
    await retainNew(store, spec, record.name, systemClock.now());
    access.fence.assert();
    await enlist(store, place, spec.from, record);
    tally.written += 1;
    tally.bytesAfter += record.bytes;
    await forEach([...lines.entries()], async ([line, { named }]) => {
      for (const entry of named) await rename(entries, entry, { name: record.name, line }, access);
    });
  }
  count(tally, old);
  tally.dropped += dropped;
  return { retired: old.map(({ name }) => name), rest };
}

async function linesOf(store: ErasableStore, name: string): Promise<Line[]> {
  return linesIn(name, await blobBytesOf(store, name)).map((line) => ({ line, change: documentOf(name, line) }));
}

/** The lines of a blob; undefined if another compaction has removed it since the manifest was read. */
async function linesUnlessGone(store: ErasableStore, name: string): Promise<Line[] | undefined> {
  try {
    return await linesOf(store, name);
  } catch (error) {
    // In the Archive tier it stays as it is.
    if (error instanceof BlobOffline) return undefined;
    if (!(error instanceof ArchiveDamaged) || error.fault.code !== 'blob-missing') throw error;
    const now = await readManifest(store, manifestBeside(name));
    if (now?.blobs.some((blob) => blob.name === name)) throw error;
    return undefined;
  }
}

async function isAnyErased(archive: Archive, read: readonly Line[], { erased }: CompactOptions): Promise<boolean> {
  if (!erased) return false;
  for (const { change } of read) if (await isOfErased(archive, change, erased)) return true;
  return false;
}

/** Whether no sweep that reads the entry now can archive this version again: it is archived, or a newer one is known. */
function isPast(document: ArchivedDocument, entry: StoredEntry | undefined): boolean {
  if (!entry) return false;
  if (isEntryOf(entry, document)) return true;
  return compareVersions(document.version, entry.version) === 'older';
}

const isLine = (entry: StoredEntry | undefined, { name, line }: NonNullable<StoredEntry['blob']>): boolean =>
  entry?.state === 'archived' && entry.blob?.name === name && entry.blob.line === line;

/** Makes an entry name the new blob, unless it names another one than it did. */
async function rename(
  entries: Entries,
  was: StoredEntry,
  blob: NonNullable<StoredEntry['blob']>,
  access: DocumentAccess,
): Promise<void> {
  const renamed = (entry: StoredEntry): StoredEntry | undefined =>
    was.blob && isLine(entry, was.blob) ? { ...entry, blob: { ...entry.blob, ...blob } } : undefined;
  // Its ETag says whether it is still the one that was read.
  await entries.change(was, access, renamed, { entry: was });
}

/** Removes blobs that no entry names after the grace. */
async function removeRetired(
  archive: Work,
  retired: readonly string[],
  options: CompactOptions,
  tally: Tally,
): Promise<void> {
  const { store, stateContainer } = archive;
  if (retired.length === 0) return;
  // A sweep, an erasure or another compaction may still write what it decided before, and a reader use an entry that it has read.
  await (options.grace?.() ?? systemClock.sleep(WRITE_GRACE_MS, options.signal));
  const access = archive.access(untilStopped(options.signal));
  const entries = new Entries(stateContainer);
  const remove = async (name: string): Promise<void> => {
    options.signal.throwIfAborted();
    tally[await store.remove(name)] += 1;
    options.progress?.(tally);
  };
  for (const [manifest, names] of Map.groupBy(retired, manifestBeside))
    await unlessDamaged(tally.faults, async () => {
      const named = await mapSettled(names, (name) => entries.name(name, access), { concurrency: REMOVED_AT_ONCE });
      const free = names.filter((_, at) => !named[at]);
      tally.left += names.length - free.length;
      // First, since a listed blob that is missing is damage. All at once, since a month may have thousands.
      await delist(store, manifest, free);
      await mapSettled(free, remove, { concurrency: REMOVED_AT_ONCE });
    });
}

/** Whether a blob that no manifest lists was left by a compaction or sweep that died, and no sweep can write it again. */
async function isLeftOver(archive: Work, name: string, signal: AbortSignal): Promise<boolean> {
  const access = archive.access(untilStopped(signal));
  const read = await linesOf(archive.store, name).catch((error: unknown) => {
    // An upload that was cut off: a sweep that comes back to it writes it whole. Or it is gone, or in the Archive tier.
    if (error instanceof ArchiveDamaged || error instanceof BlobOffline) return [];
    throw error;
  });
  const entries = new Entries(archive.stateContainer);
  const known = await entries.read(
    read.map(({ change }) => change),
    access,
  );
  return read.some(({ change }, at) => isPast(change, known[at])) && !(await entries.name(name, access));
}
