// Moves blobs between access tiers, by the rules of the pipeline or to a tier that was named.
import { systemClock } from '../base/clock.ts';
import { mapSettled } from '../base/map-settled.ts';
import { type ArchiveSpec, projectionId } from '../definition/specs.ts';
import { archiveError } from './errors.ts';
import type { AccessTier, TieredBlob, TieringStore } from './blob-store.ts';
import { type PeriodSelection, isBlob, isSelected, placeOf, prefixOf } from './layout.ts';
import { DAY_MS, earlyCharge, isCooler, moveOf, storageOf } from './tier-prices.ts';

export interface TierSelection extends PeriodSelection {
  /** Only blobs that were written so long ago, milliseconds. */
  readonly olderMs?: number | undefined;
}

export interface TierOptions {
  readonly selection: TierSelection;
  /** The tier for all of them. Absent: the rules of the archive decide. */
  readonly tier?: AccessTier | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly signal: AbortSignal;
  readonly dryRun?: boolean;
  /** Begins no new move after this time, milliseconds. */
  readonly withinMs?: number | undefined;
  progress?(so: TierResult): void;
}

/** US dollars, by the sample prices of Azure's documentation. */
export interface TierPrice {
  /** The requests, and what is read from a cooler tier. */
  readonly move: number;
  /** For leaving a tier before its least time. */
  readonly early: number;
  /** By how much a month of storage becomes cheaper. */
  readonly saved: number;
}

export interface TierResult {
  readonly projection: string;
  /** False: its time was up before it had looked at every blob. */
  readonly complete: boolean;
  /** Blobs that were moved, or would be, by their new tier. */
  readonly moved: Readonly<Partial<Record<AccessTier, number>>>;
  readonly bytes: number;
  /** Of them, blobs that leave a tier before its least time. */
  readonly early: number;
  /** Blobs in the Archive tier, which only a rehydration takes out of it. */
  readonly offline: number;
  readonly price: TierPrice;
}

type Tally = { -readonly [K in keyof TierResult]: TierResult[K] };

const AT_ONCE = 16;
/** How long the rules leave a blob alone that came back from the Archive tier, so that it can be read. */
export const REHYDRATED_DAYS = 7;

/**
 * Moves the blobs of an archive. Manifests stay: a sweep must read and write them. May be stopped and run again.
 * @throws UsageError `tier-refused`, before anything is moved if the account is known to have no Archive tier
 */
export async function moveTiers(
  { spec, store }: { readonly spec: ArchiveSpec; readonly store: TieringStore },
  options: TierOptions,
): Promise<TierResult> {
  const { selection, tier, now, signal, dryRun = false, withinMs = Infinity } = options;
  const tally: Tally = {
    projection: projectionId(spec),
    complete: true,
    moved: {},
    bytes: 0,
    early: 0,
    offline: 0,
    price: { move: 0, early: 0, saved: 0 },
  };
  let archiveTier: 'unknown' | 'there' = 'unknown';
  const move = async (blob: TieredBlob, target: AccessTier): Promise<void> => {
    if (!dryRun && !(await store.setTier(blob.name, target))) return;
    count(tally, blob, target, now);
    options.progress?.(tally);
  };
  const until = systemClock.monotonic() + withinMs;
  let due: (readonly [TieredBlob, AccessTier])[] = [];
  const flush = async (): Promise<void> => {
    const of = due;
    due = [];
    await mapSettled(of, ([blob, target]) => move(blob, target), { concurrency: AT_ONCE });
  };
  for await (const blob of selectedBlobs({ spec, store }, selection, now)) {
    signal.throwIfAborted();
    const target = tier ?? ruledTier(spec, blob, now);
    if (target === undefined || target === blob.tier) continue;
    if (blob.tier === 'Archive') {
      tally.offline += 1;
      continue;
    }
    if (target === 'Archive' && archiveTier === 'unknown') {
      await assertArchiveTier(store);
      archiveTier = 'there';
    }
    if (due.push([blob, target]) >= AT_ONCE * 16) await flush();
    if (systemClock.monotonic() < until) continue;
    tally.complete = false;
    break;
  }
  await flush();
  return tally;
}

/** The blobs of an archive that a selection has, without manifests. */
export async function* selectedBlobs(
  { spec, store }: { readonly spec: ArchiveSpec; readonly store: TieringStore },
  { olderMs = 0, ...months }: TierSelection,
  now: number,
): AsyncGenerator<TieredBlob> {
  for await (const blob of store.tiers(prefixOf(spec)))
    if (isBlob(blob.name) && isSelected(placeOf(blob.name), months) && now - blob.writtenAt >= olderMs) yield blob;
}

/** The tier that the rules want for a blob; undefined: they don't move it. They move no blob to a warmer tier. */
export function ruledTier(
  { tiers = [] }: Pick<ArchiveSpec, 'tiers'>,
  { tier, writtenAt, tierSince }: Pick<TieredBlob, 'tier' | 'writtenAt' | 'tierSince'>,
  now: number,
): AccessTier | undefined {
  const rule = tiers.findLast(({ days }) => now - writtenAt >= days * DAY_MS);
  const target = rule && NAMES[rule.tier];
  if (target === undefined || !isCooler(target, tier)) return undefined;
  // Its tier changed after it was written: it may have come back from the Archive tier.
  const since = tierSince > writtenAt ? now - tierSince : Infinity;
  return target === 'Archive' && since < REHYDRATED_DAYS * DAY_MS ? undefined : target;
}

const NAMES = { cool: 'Cool', cold: 'Cold', archive: 'Archive' } as const;

/**
 * Accounts with zones have no Archive tier (ASM-H57). Where the account doesn't say its redundancy, the first move is refused.
 * @throws UsageError `tier-refused`
 */
async function assertArchiveTier(store: TieringStore): Promise<void> {
  const redundancy = await store.redundancy();
  if (redundancy === undefined || !/ZRS|Premium/.test(redundancy)) return;
  throw archiveError('tier-refused', `The storage account has no Archive tier: its redundancy is ${redundancy}`);
}

function count(tally: Tally, { tier, bytes, tierSince }: TieredBlob, target: AccessTier, now: number): void {
  const early = earlyCharge(tier, bytes, now - tierSince);
  tally.moved = { ...tally.moved, [target]: (tally.moved[target] ?? 0) + 1 };
  tally.bytes += bytes;
  tally.early += early > 0 ? 1 : 0;
  tally.price = {
    move: tally.price.move + moveOf(tier, target, bytes),
    early: tally.price.early + early,
    saved: tally.price.saved + storageOf(tier, bytes) - storageOf(target, bytes),
  };
}
