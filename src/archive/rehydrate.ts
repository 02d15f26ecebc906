// Brings blobs back from the Archive tier, which takes hours.
import { mapSettled } from '../base/map-settled.ts';
import { untilStopped } from '../feed/tenure/fences.ts';
import type { AccessTier, RehydratePriority, TieredBlob, TieringStore } from './blob-store.ts';
import { isBlob, isManifest, isSelected, manifestBeside, placeOf, prefixOf } from './layout.ts';
import { blobsOfDocuments } from './selected.ts';
import { earlyCharge, moveOf, storageOf } from './tier-prices.ts';
import type { Archive, Selection } from './types.ts';

type RehydratableArchive = Archive & { readonly store: TieringStore };

/** Blobs by tenant and months, or by their names. */
export type RehydrationSelection =
  | { readonly tenant?: string | undefined; readonly from?: string | undefined; readonly to?: string | undefined }
  | { readonly blobs: readonly { readonly tenant: string; readonly name: string }[] };

/** The blobs that a restore of the selection would read. */
export async function rehydrationSelection(
  archive: RehydratableArchive,
  selection: Selection,
  signal: AbortSignal,
): Promise<RehydrationSelection> {
  if (!('documents' in selection)) return selection;
  const names = await blobsOfDocuments(archive, selection.documents, archive.access(untilStopped(signal)));
  return { blobs: names.map((name) => ({ tenant: placeOf(name).tenant, name })) };
}

export interface RehydrateOptions {
  /** The tier in which the blobs are read. */
  readonly tier: Exclude<AccessTier, 'Archive'>;
  readonly priority: RehydratePriority;
  readonly signal: AbortSignal;
}

/** How far the blobs of a selection can be read. */
export interface Rehydrated {
  /** Blobs of the selection, with the manifests that are in the Archive tier. */
  readonly blobs: number;
  readonly readable: number;
  /** On their way. */
  readonly pending: number;
  /** In the Archive tier, and not on their way. */
  readonly offline: number;
  /** Stored bytes of those. */
  readonly bytes: number;
  /** Of those, in US dollars by the sample prices and priority Standard. */
  readonly price: {
    /** Requests and retrieval. */
    readonly read: number;
    /** For leaving the Archive tier before 180 days are over. */
    readonly early: number;
    /** A month in the new tier, beyond a month in the Archive tier. */
    readonly month: number;
  };
}

/**
 * Begins to bring back the blobs of a selection that are in the Archive tier and not on their way. The account remembers
 * which are, so it may be stopped at any request and run again.
 * @throws UsageError `tier-refused`
 */
export async function beginRehydration(
  archive: RehydratableArchive,
  selection: RehydrationSelection,
  { tier, priority, signal }: RehydrateOptions,
): Promise<void> {
  let due: TieredBlob[] = [];
  const flush = async (): Promise<void> => {
    const of = due;
    due = [];
    await mapSettled(of, ({ name }) => archive.store.setTier(name, tier, priority), { concurrency: 16 });
  };
  for await (const blob of blobsIn(archive, selection, signal))
    if (blob.tier === 'Archive' && !blob.rehydrating && due.push(blob) >= 256) await flush();
  await flush();
}

/** How far the blobs of a selection can be read, and what it costs to bring back those that are not on their way. */
export async function rehydrationOf(
  archive: RehydratableArchive,
  selection: RehydrationSelection,
  { tier, now, signal }: { readonly tier: AccessTier; readonly now: number; readonly signal: AbortSignal },
): Promise<Rehydrated> {
  const counts = { blobs: 0, readable: 0, pending: 0, offline: 0, bytes: 0 };
  const price = { read: 0, early: 0, month: 0 };
  for await (const blob of blobsIn(archive, selection, signal)) {
    const { bytes } = blob;
    counts.blobs += 1;
    counts[blob.tier !== 'Archive' ? 'readable' : blob.rehydrating ? 'pending' : 'offline'] += 1;
    if (blob.tier !== 'Archive' || blob.rehydrating) continue;
    counts.bytes += bytes;
    price.read += moveOf('Archive', tier, bytes);
    price.early += earlyCharge('Archive', bytes, now - blob.tierSince);
    price.month += storageOf(tier, bytes) - storageOf('Archive', bytes);
  }
  return { ...counts, price };
}

/**
 * The blobs of a selection, by their names, since a manifest may be in the Archive tier too. Manifests count only while
 * they are there.
 */
async function* blobsIn(
  { store, spec }: Pick<RehydratableArchive, 'store' | 'spec'>,
  selection: RehydrationSelection,
  signal: AbortSignal,
): AsyncGenerator<TieredBlob> {
  const isRead = ({ name, tier }: TieredBlob): boolean => isBlob(name) || (isManifest(name) && tier === 'Archive');
  if ('blobs' in selection) {
    for (const name of new Set(selection.blobs.flatMap((blob) => [blob.name, manifestBeside(blob.name)]))) {
      signal.throwIfAborted();
      for await (const blob of store.tiers(name)) if (blob.name === name && isRead(blob)) yield blob;
    }
    return;
  }
  for await (const blob of store.tiers(prefixOf(spec))) {
    signal.throwIfAborted();
    if (isRead(blob) && isSelected(placeOf(blob.name), selection)) yield blob;
  }
}
