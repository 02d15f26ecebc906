import { z } from 'zod';
import { type Rehydrated, beginRehydration, rehydrationOf, rehydrationSelection } from '../../archive/rehydrate.ts';
import { systemClock } from '../../base/clock.ts';
import { audited } from '../audit/record.ts';
import { type Context, type Plan, defineOperation, partsOf } from '../operation.ts';
import { plural, size } from '../table.ts';
import { assertKnown, chooseDocuments, selectionInput } from './chosen.ts';
import { money, SAMPLE_PRICES } from './money.ts';
import type { OpenedArchive } from './open.ts';
import { openTogether } from './open-together.ts';
import { type RehydrationJob, jobId, recordJob } from './rehydrations.ts';

const input = z.object({
  ...selectionInput,
  tier: z.enum(['Hot', 'Cool', 'Cold']).default('Hot').describe('the tier in which the blobs are to be read'),
  priority: z
    .enum(['Standard', 'High'])
    .default('Standard')
    .describe('High may take less than an hour, and costs several times as much'),
  wait: z.boolean().default(false).describe('ask once a minute, until every blob can be read'),
});
type RehydrateInput = z.output<typeof input>;

/** A rehydration, and how far it is. */
export type Rehydration = RehydrationJob & Rehydrated;

/** How often the account is asked. */
const PAUSE_MS = 60_000;

export const archiveRehydrate = defineOperation({
  shards: 'itself',
  noun: 'archive',
  verb: 'rehydrate',
  summary: 'Bring blobs back from the Archive tier, so that they can be read and restored',
  examples: [
    'millrace archive rehydrate orders-cold --tenant store-1 --from 2024 --to 2024 --dry-run',
    'millrace archive rehydrate orders-cold --tenant store-1 --from 2024 --to 2024',
    'millrace archive rehydrate orders-cold --key \'["store-1"]\' --id order-7 --priority High --wait',
  ],
  help: 'It takes up to 15 hours; the account goes on by itself. `archive rehydrations` shows how far it is. Run the same command again after it was stopped: it continues. The rules of `tiers` leave the blobs alone for 7 days.',
  effect: 'changes',
  argument: 'name',
  input,
  plan: async (given, context): Promise<Plan> => {
    const steps: string[] = [];
    for (const { archive, job } of await jobs(given, context)) {
      const found = await look(archive, job, context);
      if (found.offline > 0) steps.push(`${job.archive}: ${priced(given, found)}`);
    }
    return { steps, ru: 0 };
  },
  run: async (given, context) => {
    const { workspace, screen, signal, clock = systemClock } = context;
    const { state } = (await workspace.services()).global;
    const chosen = await jobs(given, context);
    return audited(context, 'archive rehydrate', given, async () => {
      const results: Rehydration[] = [];
      for (const { archive, job } of chosen) {
        const before = await look(archive, job, context);
        if (before.offline + before.pending > 0) await recordJob(state, job);
        if (before.offline > 0) screen.line(`${job.archive}: ${priced(given, before)}`);
        await beginRehydration(archive, job.selection, { ...job, signal });
        let now = await look(archive, job, context);
        while (given.wait && now.readable < now.blobs) {
          screen.progress(`${job.archive}: can be read`, now.readable, now.blobs);
          await clock.sleep(PAUSE_MS, signal);
          now = await look(archive, job, context);
        }
        results.push({ ...job, ...now });
      }
      return results;
    });
  },
  format: (results) => results.map(rehydrationText).join('\n'),
});

export const look = (
  archive: OpenedArchive,
  { selection, tier }: RehydrationJob,
  { signal, clock = systemClock }: Pick<Context, 'signal' | 'clock'>,
): Promise<Rehydrated> => rehydrationOf(archive, selection, { tier, now: clock.now(), signal });

/** One line: how far it is. */
export function rehydrationText({ id, archive, blobs, readable, pending, offline }: Rehydration): string {
  if (readable === blobs) return `${archive}: ${plural(blobs, 'blob')}, and all can be read`;
  const parts = [
    `${readable} of ${plural(blobs, 'blob')} can be read`,
    ...(pending > 0 ? [`${pending} on their way`] : []),
    ...(offline > 0 ? [`${offline} not begun: run \`millrace archive rehydrate\` again`] : []),
  ];
  return `${archive}: rehydration ${id}: ${parts.join(', ')}`;
}

async function jobs(
  given: RehydrateInput,
  context: Context,
): Promise<{ readonly archive: OpenedArchive; readonly job: RehydrationJob }[]> {
  const { signal, screen, actor, clock = systemClock } = context;
  const parts = await partsOf(context);
  const opened = await openTogether(parts, { only: given.name, signal, screen });
  const chosen = chooseDocuments(
    given,
    opened.map(({ archive }) => archive),
  );
  await assertKnown(chosen, given, { loaded: parts.loaded, signal });
  const { tenant, from, to, key, id, tier, priority } = given;
  const at = new Date(clock.now()).toISOString();
  return Promise.all(
    chosen.map(async ({ archive, selection }) => ({
      archive,
      job: {
        id: jobId(archive.spec.name, { tenant, from, to, key, id: id?.toSorted(), tier }),
        archive: archive.spec.name,
        selection: await rehydrationSelection(archive, selection, signal),
        tier,
        priority,
        actor,
        at,
      },
    })),
  );
}

function priced({ tier, priority }: RehydrateInput, { offline, bytes, price }: Rehydrated): string {
  const early = price.early > 0 ? `, ${money(price.early)} for early deletion` : '';
  const high = priority === 'High' ? '; priority High costs several times as much for the reading' : '';
  return `bring ${plural(offline, 'blob')} (${size(bytes)}) to the ${tier} tier: ${money(price.read)} for the reading${early}, then ${money(price.month)} more a month, ${SAMPLE_PRICES}${high}`;
}
