import { z } from 'zod';
import type { SweepResult } from '../../archive/types.ts';
import { UsageError } from '../../base/errors.ts';
import { parseDate } from '../../definition/date.ts';
import { type Context, type Plan, defineOperation, partsOf } from '../operation.ts';
import { plural } from '../table.ts';
import { sweep, formatSweep } from './sweep.ts';

interface SweepInput {
  readonly name?: string | undefined;
  readonly now?: string | undefined;
}

const run = async ({ name: only, now }: SweepInput, context: Context, dryRun: boolean): Promise<SweepResult[]> =>
  sweep({ ...(await partsOf(context)), screen: context.screen, only, now: dateOf(now), dryRun });

export const archiveSweep = defineOperation({
  noun: 'archive',
  verb: 'sweep',
  summary: 'Move what an archive’s rule names from its container to Blob Storage',
  examples: [
    'millrace archive sweep --dry-run',
    'millrace archive sweep orders-cold --env production',
    'millrace archive sweep --now 2026-06-03 --json',
  ],
  effect: 'changes',
  argument: 'name',
  input: z.object({
    name: z.string().optional().describe('one archive; all of them if absent'),
    now: z.string().optional().describe('the date that rules by age count from (default: the time it is)'),
  }),
  plan: async (input, context): Promise<Plan> => {
    const results = await run(input, context, true);
    return { steps: results.flatMap(planned), ru: 0 };
  },
  run: (input, context) => run(input, context, false),
  format: formatSweep,
  ok: (results) => results.every(({ faults }) => faults.length === 0),
});

/** What a dry run counts as archived is what would be. */
const planned = ({ projection, archived, held, stayed }: SweepResult): string[] => [
  ...(archived > 0 ? [`${projection}: archive ${plural(archived, 'document')}`] : []),
  ...(held > 0 ? [`${projection}: leave ${plural(held, 'document')} until every projection has them`] : []),
  ...stayed.map((line) => `${projection}: leave ${line}`),
];

function dateOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const date = parseDate(text);
  if (date !== undefined) return date;
  throw new UsageError('input-invalid', `--now ${JSON.stringify(text)} is no date`, {
    mend: 'Write it as 2026-06-03 or 2026-06-03T12:00:00Z.',
  });
}
