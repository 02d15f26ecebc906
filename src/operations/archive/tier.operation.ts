import { z } from 'zod';
import { ACCESS_TIERS } from '../../archive/blob-store.ts';
import { archiveError } from '../../archive/errors.ts';
import { type TierResult, moveTiers } from '../../archive/tiers.ts';
import { systemClock } from '../../base/clock.ts';
import { audited } from '../audit/record.ts';
import { type Context, defineOperation } from '../operation.ts';
import { plural, size } from '../table.ts';
import { money, SAMPLE_PRICES } from './money.ts';
import { openTiers, tierSelection, tierSelectionInput } from './tier-selection.ts';

const input = z.object({
  ...tierSelectionInput,
  set: z
    .enum(ACCESS_TIERS)
    .optional()
    .describe('the tier for all chosen blobs (default: as the pipeline’s `tiers` say)'),
});
type TierInput = z.output<typeof input>;

export const archiveTier = defineOperation({
  shards: 'itself',
  noun: 'archive',
  verb: 'tier',
  summary: 'Move blobs to another access tier, by the pipeline’s rules or to a named tier',
  examples: [
    'millrace archive tier --dry-run',
    'millrace archive tier orders-cold --set Cold --to 2024-12',
    'millrace archive tier --tenant store-1 --set Archive --older 365d --dry-run',
  ],
  help: 'Sweeps apply the rules once a day. `--dry-run` says what it costs. A blob in the Archive tier stays there: `archive rehydrate` brings it back. Manifests stay in their tier. Run it again after it was stopped.',
  effect: 'changes',
  argument: 'name',
  input,
  plan: async (given, context) => {
    const steps = (await move(given, context, true)).flatMap(stepsOf);
    return { steps, ru: 0 };
  },
  run: (given, context) => audited(context, 'archive tier', given, () => move(given, context, false)),
  format: (results) => results.map((of) => `${of.projection}: ${said(of)}`).join('\n'),
});

async function move(given: TierInput, context: Context, dryRun: boolean): Promise<TierResult[]> {
  const { signal, screen, clock = systemClock } = context;
  const selection = tierSelection(given);
  const results: TierResult[] = [];
  for (const archive of await openTiers(given, context)) {
    if (given.set === undefined && !archive.spec.tiers) {
      if (given.name === undefined) continue;
      throw archiveError('tier-undeclared', `Archive ${archive.spec.name} declares no tiers`);
    }
    results.push(
      await moveTiers(archive, {
        selection,
        tier: given.set,
        now: clock.now(),
        signal,
        dryRun,
        progress: ({ projection, moved }) =>
          screen.progress(
            `${projection}: ${dryRun ? 'due to move' : 'moved'}`,
            Object.values(moved).reduce((all, some) => all + some, 0),
          ),
      }),
    );
  }
  if (results.length === 0) throw archiveError('tier-undeclared', 'No archive of the pipeline declares tiers');
  return results;
}

const movedText = ({ moved }: TierResult): string =>
  Object.entries(moved)
    .map(([tier, blobs]) => `${plural(blobs, 'blob')} to ${tier}`)
    .join(', ');

function priceText({ price, early }: TierResult): string {
  const parts = [
    `${money(price.move)} for the moves`,
    ...(early > 0 ? [`${money(price.early)} for early deletion of ${plural(early, 'blob')}`] : []),
    price.saved >= 0
      ? `which then saves ${money(price.saved)} a month`
      : `which then costs ${money(-price.saved)} more a month`,
  ];
  return `${parts.join(', ')}, ${SAMPLE_PRICES}`;
}

const offlineText = ({ offline }: TierResult): string[] =>
  offline === 0
    ? []
    : [`${plural(offline, 'blob')} left in the Archive tier; \`millrace archive rehydrate\` brings them back`];

const stepsOf = (of: TierResult): string[] =>
  Object.keys(of.moved).length === 0
    ? []
    : [`${of.projection}: move ${movedText(of)} (${size(of.bytes)}): ${priceText(of)}`];

function said(of: TierResult): string {
  const none = Object.keys(of.moved).length === 0;
  return [
    none ? 'no blob to move' : `moved ${movedText(of)} (${size(of.bytes)}), ${priceText(of)}`,
    ...offlineText(of),
  ].join('; ');
}
