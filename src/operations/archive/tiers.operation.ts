import { z } from 'zod';
import { ACCESS_TIERS, type AccessTier } from '../../archive/blob-store.ts';
import { storageOf } from '../../archive/tier-prices.ts';
import { ruledTier, selectedBlobs } from '../../archive/tiers.ts';
import { systemClock } from '../../base/clock.ts';
import { projectionId } from '../../definition/specs.ts';
import { defineOperation } from '../operation.ts';
import { plural, size, table } from '../table.ts';
import { money, SAMPLE_PRICES } from './money.ts';
import { openTiers, tierSelection, tierSelectionInput } from './tier-selection.ts';
import { type Tiering, tieringOf } from './tiering.ts';

/** The blobs of an archive in a tier. */
export interface TierShare {
  readonly tier: AccessTier;
  readonly blobs: number;
  readonly bytes: number;
  /** US dollars, by the sample prices. */
  readonly month: number;
  /** On their way out of the Archive tier. */
  readonly rehydrating: number;
  /** Blobs that the rules of the pipeline move to a cooler tier now. */
  readonly due: number;
}

export interface ArchiveTiers {
  readonly projection: string;
  /** The rules; empty: none. */
  readonly rules: readonly { readonly tier: string; readonly days: number }[];
  readonly tiers: readonly TierShare[];
  /** The last time that a sweep applied the rules; null: never. */
  readonly applied: Tiering | null;
}

export const archiveTiers = defineOperation({
  shards: 'itself',
  noun: 'archive',
  verb: 'tiers',
  summary: 'Show in which access tiers the blobs of each archive are, what they cost a month, and what is due to move',
  examples: [
    'millrace archive tiers',
    'millrace archive tiers orders-cold --tenant store-1 --from 2025-01',
    'millrace archive tiers --older 365d --json',
  ],
  effect: 'reads',
  argument: 'name',
  input: z.object(tierSelectionInput),
  run: async (given, context): Promise<ArchiveTiers[]> => {
    const { clock = systemClock, workspace, signal } = context;
    const now = clock.now();
    const { state } = (await workspace.services()).global;
    const results: ArchiveTiers[] = [];
    for (const archive of await openTiers(given, context)) {
      const shares = new Map<AccessTier, { -readonly [K in keyof TierShare]: TierShare[K] }>();
      for await (const blob of selectedBlobs(archive, tierSelection(given), now)) {
        signal.throwIfAborted();
        const { tier, bytes, rehydrating } = blob;
        const share = shares.get(tier) ?? { tier, blobs: 0, bytes: 0, month: 0, rehydrating: 0, due: 0 };
        share.blobs += 1;
        share.bytes += bytes;
        share.month += storageOf(tier, bytes);
        share.rehydrating += rehydrating ? 1 : 0;
        share.due += ruledTier(archive.spec, blob, now) === undefined ? 0 : 1;
        shares.set(tier, share);
      }
      const projection = projectionId(archive.spec);
      const stored = await tieringOf(state, projection);
      results.push({
        projection,
        rules: archive.spec.tiers ?? [],
        tiers: ACCESS_TIERS.flatMap((tier) => shares.get(tier) ?? []),
        applied: stored ? { at: stored.at, ...(stored.failed !== undefined && { failed: stored.failed }) } : null,
      });
    }
    return results;
  },
  format: (results) =>
    [
      table(
        ['archive', 'tier', 'blobs', 'size', 'a month', 'on their way', 'due'],
        results.flatMap(({ projection, tiers }) =>
          tiers.map((of) => [projection, of.tier, of.blobs, size(of.bytes), money(of.month), of.rehydrating, of.due]),
        ),
      ),
      ...results.map(lineOf),
      `Prices are ${SAMPLE_PRICES}.`,
    ].join('\n'),
});

function lineOf({ projection, rules, tiers, applied }: ArchiveTiers): string {
  if (tiers.length === 0) return `${projection}: no blob`;
  if (rules.length === 0) return `${projection}: no rules for tiers`;
  const said = rules.map(({ tier, days }) => `${tier} after ${plural(days, 'day')}`).join(', ');
  const when =
    applied === null ? 'no sweep has applied them yet' : `a sweep applied them at ${applied.at.slice(0, 19)}Z`;
  return `${projection}: ${said}; ${applied?.failed === undefined ? when : `no blob was moved: ${applied.failed}`}`;
}
