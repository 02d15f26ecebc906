// ARC-H60: when the rules move a blob.
import { describe, expect, it } from 'vitest';
import type { AccessTier } from '../../src/archive/blob-store.ts';
import { earlyCharge, moveOf, storageOf } from '../../src/archive/tier-prices.ts';
import { ruledTier } from '../../src/archive/tiers.ts';

const DAY = 86_400_000;
const GIGABYTE = 1024 ** 3;
const spec = {
  tiers: [
    { tier: 'cool', days: 30 },
    { tier: 'cold', days: 90 },
    { tier: 'archive', days: 365 },
  ],
} as const;
/** A blob that was written at 0, and is in its tier since a day. */
const at = (day: number, tier: AccessTier = 'Hot', since = 0): AccessTier | undefined =>
  ruledTier(spec, { tier, writtenAt: 0, tierSince: since * DAY }, day * DAY);

describe('the rules', () => {
  it('take the coolest tier whose days are over', () => {
    expect([at(29), at(30), at(89), at(90), at(364), at(365)]).toEqual([
      undefined,
      'Cool',
      'Cool',
      'Cold',
      'Cold',
      'Archive',
    ]);
    expect(ruledTier({}, { tier: 'Hot', writtenAt: 0, tierSince: 0 }, 1_000 * DAY)).toBeUndefined();
  });

  it('make no blob warmer, and move none that is there', () => {
    expect([at(30, 'Cool'), at(30, 'Cold'), at(400, 'Archive')]).toEqual([undefined, undefined, undefined]);
  });

  it('leave a blob alone for seven days after it came back', () => {
    expect([at(406, 'Hot', 400), at(407, 'Hot', 400), at(94, 'Cool', 90)]).toEqual([undefined, 'Archive', 'Cold']);
  });
});

describe('prices', () => {
  it('of storage, moves and leaving early', () => {
    expect(storageOf('Hot', 1_000 * GIGABYTE)).toBeCloseTo(20.8);
    // A write to the cooler tier; a read and retrieval from the cooler one.
    expect(moveOf('Hot', 'Cool', GIGABYTE)).toBeCloseTo(0.1 / 10_000, 10);
    expect(moveOf('Archive', 'Hot', GIGABYTE)).toBeCloseTo(0.022 + 5.5 / 10_000, 10);
    expect(earlyCharge('Archive', GIGABYTE, 90 * DAY)).toBeCloseTo(3 * 0.002, 10);
    expect([earlyCharge('Cool', GIGABYTE, 31 * DAY), earlyCharge('Hot', GIGABYTE, 0)]).toEqual([0, 0]);
  });
});
