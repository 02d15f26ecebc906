import { z } from 'zod';
import { optional, positive } from '../flags.ts';
import type { SweepResult } from '../../archive/types.ts';
import { parseDate } from '../../pipeline/date.ts';
import { type Context, type Plan, partsOf } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { sweep, formatSweep } from '../../procedures/archive/sweep.ts';
import { rateInput } from '../../procedures/projections/estimate.ts';
import { tenantInput } from '../../procedures/tenants/tenant-flag.ts';
import { operationsError } from '../../procedures/errors.ts';

const input = z.object({
  name: optional('one archive (default: all)'),
  ...tenantInput,
  now: optional('the date from which rules by age count back (default: now)'),
  within: positive('stop after this many seconds; the next sweep goes on (default: sweep all that is due)'),
  ...rateInput,
});
type SweepInput = z.output<typeof input>;

const run = async (
  { name: only, now, tenant, within, ruPerSecond }: SweepInput,
  context: Context,
  dryRun: boolean,
): Promise<SweepResult[]> =>
  sweep({
    ...(await partsOf(context)),
    screen: context.screen,
    only,
    tenant,
    now: dateOf(now),
    dryRun,
    ruPerSecond,
    withinMs: within === undefined ? undefined : within * 1_000,
  });

export const archiveSweep = defineOperation({
  name: 'archive sweep',
  summary: 'Move the documents that an archive’s rule selects from their container to Blob Storage',
  examples: [
    'millrace archive sweep --dry-run',
    'millrace archive sweep orders-cold --env production',
    'millrace archive sweep --within 200',
    'millrace archive sweep --ru-per-second 500',
    'millrace archive sweep --now 2026-06-03 --json',
  ],
  effect: 'changes',
  shards: 'every',
  bulk: true,
  argument: 'name',
  input,
  plan: async (asked, context): Promise<Plan> => {
    const results = await run(asked, context, true);
    return { steps: results.flatMap(planned), ru: 0 };
  },
  run: (asked, context) => run(asked, context, false),
  format: (results, { tenant }) =>
    [
      formatSweep(results),
      // It may be one that has no documents yet, so an unknown tenant is no error.
      ...(tenant !== undefined && results.every(foundNothing)
        ? [`No document of tenant ${tenant} is due: check the name.`]
        : []),
    ].join('\n'),
  ok: (results) => results.every(({ faults }) => faults.length === 0),
});

const foundNothing = (of: SweepResult): boolean =>
  of.complete && of.archived + of.removed + of.held + of.superseded + of.undated + of.refused + of.erased === 0;

/** A dry run counts as archived what a real run would archive. */
const planned = ({ projection, archived, held, stayed }: SweepResult): string[] => [
  ...(archived > 0 ? [`${projection}: archive ${plural(archived, 'document')}`] : []),
  ...(held > 0 ? [`${projection}: leave ${plural(held, 'document')} until every projection has applied them`] : []),
  ...stayed.map((line) => `${projection}: leave ${line}`),
];

function dateOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const date = parseDate(text);
  if (date !== undefined) return date;
  throw operationsError('input-invalid', `--now ${JSON.stringify(text)} is not a date`, {
    hint: 'Write it as 2026-06-03 or 2026-06-03T12:00:00Z.',
  });
}
