// What tiers cost, by the sample prices of Azure's documentation (ASM-H58). They rank designs; a bill has other numbers.
import type { AccessTier } from './blob-store.ts';

interface Prices {
  /** US dollars a GB and month. */
  readonly gigabyteMonth: number;
  /** US dollars a write and a read request. */
  readonly write: number;
  readonly read: number;
  /** US dollars a GB that is read. */
  readonly retrieval: number;
  /** A blob that leaves the tier before so many days is billed for the rest of them. */
  readonly leastDays: number;
}

export const PRICES: Readonly<Record<AccessTier, Prices>> = {
  Hot: { gigabyteMonth: 0.0208, write: 0.055 / 1e4, read: 0.0044 / 1e4, retrieval: 0, leastDays: 0 },
  Cool: { gigabyteMonth: 0.0115, write: 0.1 / 1e4, read: 0.01 / 1e4, retrieval: 0.01, leastDays: 30 },
  Cold: { gigabyteMonth: 0.0045, write: 0.18 / 1e4, read: 0.1 / 1e4, retrieval: 0.03, leastDays: 90 },
  Archive: { gigabyteMonth: 0.002, write: 0.11 / 1e4, read: 5.5 / 1e4, retrieval: 0.022, leastDays: 180 },
};

export const DAY_MS = 86_400_000;
const DAYS_A_MONTH = 30;
const GIGABYTE = 1024 ** 3;

/** US dollars a month. */
export const storageOf = (tier: AccessTier, bytes: number): number => (bytes / GIGABYTE) * PRICES[tier].gigabyteMonth;

/** US dollars for leaving a tier before its least time: the charge for early deletion. */
export function earlyCharge(tier: AccessTier, bytes: number, sinceMs: number): number {
  const left = Math.max(0, PRICES[tier].leastDays - sinceMs / DAY_MS);
  return (left / DAYS_A_MONTH) * storageOf(tier, bytes);
}

/** US dollars for moving a blob, without the charge for early deletion: a write to a cooler tier, a read from a cooler one. */
export const moveOf = (from: AccessTier, to: AccessTier, bytes: number): number =>
  isCooler(to, from) ? PRICES[to].write : PRICES[from].read + (bytes / GIGABYTE) * PRICES[from].retrieval;

/** Whether a tier is cooler than another. */
export const isCooler = (tier: AccessTier, than: AccessTier): boolean =>
  PRICES[tier].gigabyteMonth < PRICES[than].gigabyteMonth;
