// Deletes archived documents whose time is over, by the rule `keep` (docs/SPEC-archive.md, ADR 95).
import { utc } from '../pipeline/date.ts';
import { TOMBSTONE_TTL_S, WRITE_GRACE_MS } from '../base/bounds.ts';
import { systemClock } from '../base/clock.ts';
import { canonical } from '../base/json.ts';
import { type ArchiveSpec, projectionId } from '../pipeline/specs.ts';
import { RESTORING } from '../feed/reading/mapper.ts';
import { untilStopped } from '../feed/tenure/fences.ts';
import { Entries, type StoredEntry, forEach } from '../kinds/archive/entries.ts';
import type { DocumentAccess } from '../access/document-access.ts';
import type { MovingKeys } from './compact.ts';
import { blobBytesOf, recordOf, unlessDamaged, unpack } from './blobs/blob.ts';
import type { ErasableStore } from '../access/blob-store.ts';
import { type Period, isShared, isTenant, prefixOf } from './blobs/layout.ts';
import { delist, enlist, markExpired, readManifest } from './blobs/manifests.ts';
import { foldersOf } from './blobs/stored-blobs.ts';
import type { Archive, ArchiveFault, ArchivedDocument, BlobRecord } from './types.ts';

export interface ExpireOptions {
  /** Milliseconds since 1970: months whose end and `keep` lie before it are over. */
  readonly now: number;
  readonly signal: AbortSignal;
  readonly tenant?: string | undefined;
  /** Begins no other blob after this time, milliseconds. The next run goes on. */
  readonly withinMs?: number | undefined;
  /** Counts what would go, and writes nothing. */
  readonly dryRun?: boolean;
  /** Over shards: to each place whose documents the blobs have. Absent: to the place of the archive. */
  readonly accesses?: readonly DocumentAccess[];
  /** Over shards, before entries become void: which keys a move has in hand. Blobs with documents of these wait. */
  readonly moving?: (() => Promise<MovingKeys>) | undefined;
}

export interface ExpireResult {
  readonly projection: string;
  /** False: its time was up. The next run goes on. */
  readonly complete: boolean;
  /** Documents that count as archived no more: nothing reads them, and their blobs go with a later run. */
  readonly documents: number;
  /** Blobs that wait for a later run: five minutes after their documents. */
  readonly waiting: number;
  /** Blobs that were removed, with their stored bytes. */
  readonly removed: number;
  readonly bytes: number;
  /** Blobs that a legal hold or an immutability policy keeps. */
  readonly held: number;
  /** Blobs with a document that still stands in its container, since a sweep or a restore was cut off, or whose key moves. */
  readonly left: number;
  readonly faults: readonly ArchiveFault[];
}

type Tally = { -readonly [K in keyof ExpireResult]: ExpireResult[K] } & { readonly faults: ArchiveFault[] };
type Work = Archive & { readonly store: ErasableStore };

/** Absent documents are read together. */
const AT_ONCE = 100;

/**
 * Deletes the documents of months that are over, in two runs: the first makes their entries void and notes the time in the
 * manifest, and a run that comes a grace later removes the blobs. May be stopped at any time, and run by several hosts.
 */
export async function expireArchive(archive: Work, options: ExpireOptions): Promise<ExpireResult> {
  const { spec, store } = archive;
  const { now, signal, tenant, withinMs = Infinity } = options;
  const tally: Tally = {
    projection: projectionId(spec),
    complete: true,
    documents: 0,
    waiting: 0,
    removed: 0,
    bytes: 0,
    held: 0,
    left: 0,
    faults: [],
  };
  if (!spec.keep) return tally;
  const until = systemClock.monotonic() + withinMs;
  const isOf = (place: Period): boolean =>
    isOver(place, spec, now) && (tenant === undefined || isTenant(place, tenant));
  for await (const { manifest: name, place, present } of foldersOf(store, prefixOf(spec), isOf)) {
    await unlessDamaged(tally.faults, async () => {
      const manifest = await readManifest(store, name);
      if (manifest && manifest.source.container !== spec.from.container) return;
      const listed = new Map((manifest?.blobs ?? []).map((record) => [record.name, record]));
      const names = new Set([...listed.keys(), ...present]);
      if (await isHeld(archive, place)) {
        tally.held += names.size;
        return;
      }
      for (const blob of names) {
        signal.throwIfAborted();
        if (systemClock.monotonic() >= until) {
          tally.complete = false;
          return;
        }
        await unlessDamaged(tally.faults, () =>
          expireBlob(archive, { blob, manifest: name, place, record: listed.get(blob) }, options, tally),
        );
      }
    });
    if (!tally.complete) break;
  }
  return tally;
}

/** Whether the last moment of a month and the time after it are over. */
export function isOver({ period }: Pick<Period, 'period'>, { keep }: Pick<ArchiveSpec, 'keep'>, now: number): boolean {
  const [year = Number.NaN, month = Number.NaN] = period.split('-').map(Number);
  // The month after the period's: months of dates count from 0.
  return keep !== undefined && utc(year, month, 1) + keep.ms <= now;
}

/** A hold wins: its tenant's documents stay archived. */
const isHeld = async ({ holds }: Archive, place: Period): Promise<boolean> =>
  holds !== undefined && !isShared(place) && (await holds.of(place.tenant)) !== undefined;

interface Expiring {
  readonly blob: string;
  /** The name of its manifest. */
  readonly manifest: string;
  readonly place: Period;
  /** Absent: the manifest doesn't list it. */
  readonly record: BlobRecord | undefined;
}

async function expireBlob(archive: Work, of: Expiring, options: ExpireOptions, tally: Tally): Promise<void> {
  const { store, stateContainer } = archive;
  const { blob, record } = of;
  const access = archive.access(untilStopped(options.signal));
  // What a sweep had read before the documents were gone has landed, and what it wrote is seen.
  const isRipe = record?.expired !== undefined && record.expired + WRITE_GRACE_MS <= options.now;
  if (!isRipe || (await new Entries(stateContainer).name(blob, access))) {
    if (record?.expired !== undefined && !isRipe) tally.waiting += 1;
    else await retire(archive, of, access, options, tally);
    return;
  }
  tally.bytes += record.bytes;
  if (options.dryRun) {
    tally.removed += 1;
    return;
  }
  // First, since a listed blob that is missing is damage.
  await delist(store, of.manifest, [blob]);
  tally[await store.remove(blob)] += 1;
}

/** Makes the entries void that name the blob, and notes when, unless a sweep or a move can still make one name it again. */
async function retire(
  archive: Work,
  of: Expiring,
  access: DocumentAccess,
  options: ExpireOptions,
  tally: Tally,
): Promise<void> {
  const bytes = await blobBytesOf(archive.store, of.blob);
  const documents = unpack(of.blob, bytes);
  const moving = await options.moving?.();
  if (documents.some(({ key }) => moving?.has(key))) tally.left += 1;
  else await retireBlob(archive, { ...of, bytes, documents }, access, options, tally);
  await moving?.ended();
}

async function retireBlob(
  archive: Work,
  {
    blob,
    manifest,
    place,
    record,
    bytes,
    documents,
  }: Expiring & { readonly bytes: Uint8Array; readonly documents: readonly ArchivedDocument[] },
  access: DocumentAccess,
  { dryRun = false, now: at, accesses = [access] }: ExpireOptions,
  tally: Tally,
): Promise<void> {
  const { store, stateContainer, spec } = archive;
  const entries = new Entries(stateContainer);
  const known = await entries.read(documents, access);
  const named = (entry: StoredEntry | undefined): entry is StoredEntry =>
    entry?.state === 'archived' && entry.blob?.name === blob;
  // Of the others a newer version is known.
  const open = documents.filter((_, nth) => named(known[nth]) || !known[nth]);
  for (const one of accesses)
    if (await isAnyStanding(open, one)) {
      tally.left += 1;
      return;
    }
  const due = known.filter(named);
  tally.waiting += 1;
  tally.documents += due.length;
  if (dryRun) return;
  // Not removed: a sweep with an older version in memory would write it (ARC-H3).
  const voided = (now: StoredEntry) =>
    named(now) ? ({ ...now, state: 'void', blob: null, ttl: TOMBSTONE_TTL_S } as const) : undefined;
  await forEach(due, (entry) => entries.change(entry, access, voided));
  if (!record) await enlist(store, place, spec.from, recordOf(blob, bytes, documents));
  await markExpired(store, manifest, blob, at);
}

/**
 * Whether one of the documents stands in its container in the version that is archived: a sweep that was cut off has not
 * removed it, and would archive it again into a blob of this name. Or a restore is bringing one back.
 */
async function isAnyStanding(documents: readonly ArchivedDocument[], access: DocumentAccess): Promise<boolean> {
  for (const of of Map.groupBy(documents, ({ container, key }) => canonical([container, key])).values()) {
    for (let at = 0; at < of.length; at += AT_ONCE) {
      const some = of.slice(at, at + AT_ONCE);
      const [first] = some;
      if (!first) continue;
      const found = await access.read(
        first.container,
        first.key,
        some.map(({ id }) => id),
      );
      if (
        found.some(
          (stored, nth) => stored && (stored['type'] === RESTORING || stored._etag === some[nth]?.version.etag),
        )
      )
        return true;
    }
  }
  return false;
}
