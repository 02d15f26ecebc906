import { z } from 'zod';
import { sweepArchive } from '../../archive/sweep.ts';
import type { Archive, SweepResult } from '../../archive/types.ts';
import { UsageError } from '../../base/errors.ts';
import { parseDate } from '../../definition/date.ts';
import { type Context, type Plan, defineOperation } from '../operation.ts';
import type { Screen } from '../screen.ts';
import { plural, size, table } from '../table.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { faultLines } from './faults.ts';
import { gateOf, openArchives } from './open.ts';

export interface Sweeping extends Parts {
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'draw' | 'line'>;
  /** One archive by its name; all of them if absent. */
  readonly only?: string | undefined;
  /** Milliseconds; default the time it is. */
  readonly now?: number | undefined;
  readonly dryRun?: boolean;
}

/** Runs the archives' rules over their source containers, one archive after the other. */
export async function sweep(options: Sweeping): Promise<SweepResult[]> {
  const { services, loaded, signal, screen, only, now = Date.now(), dryRun = false } = options;
  const results: SweepResult[] = [];
  for (const archive of await openArchives(loaded, services, { only, signal, screen }))
    results.push(await sweepOne(archive, { ...options, now, dryRun }));
  return results;
}

async function sweepOne(
  archive: Archive,
  { screen, now, dryRun, signal, ...parts }: Sweeping & { readonly now: number; readonly dryRun: boolean },
): Promise<SweepResult> {
  const gate = await gateOf(archive, parts, signal);
  return sweepArchive(archive, {
    now,
    gate,
    signal,
    dryRun,
    progress: ({ projection, read, archived, removed }) =>
      screen.draw([
        `${projection}: ${[`${plural(read, 'document')} read`, `${count(archived)} archived`, `${count(removed)} removed`].join(', ')}`,
      ]),
  });
}

interface SweepInput {
  readonly name?: string | undefined;
  readonly now?: string | undefined;
}

const run = async ({ name: only, now }: SweepInput, context: Context, dryRun: boolean): Promise<SweepResult[]> => {
  const { workspace, signal, screen } = context;
  return sweep({
    settings: workspace.settings(),
    services: await workspace.services(),
    loaded: await workspace.pipeline(),
    signal,
    screen,
    only,
    now: dateOf(now),
    dryRun,
  });
};

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

export function formatSweep(results: readonly SweepResult[]): string {
  const lines = [
    table(
      ['archive', 'read', 'archived', 'removed', 'size', 'held', 'superseded', 'undated', 'refused'],
      results.map((of) => [
        of.projection,
        of.read,
        of.archived,
        of.removed,
        size(of.bytes),
        of.held,
        of.superseded,
        of.undated,
        of.refused,
      ]),
    ),
  ];
  for (const { projection, held, stayed, undated, refused, blocked, faults } of results) {
    if (blocked > 0)
      lines.push(
        `${projection}: ${plural(blocked, 'document')} stayed, because the manifest of their month can't be read:`,
      );
    lines.push(...faultLines(faults));
    if (held > 0) lines.push(`${projection}: ${plural(held, 'document')} held until every projection has them`);
    lines.push(...stayed.map((line) => `${projection}: stayed: ${line}`));
    const more = undated + refused - stayed.length;
    if (more > 0) lines.push(`${projection}: … and ${plural(more, 'other')} stayed`);
  }
  return lines.join('\n');
}

const count = (number: number): string => number.toLocaleString('en-US');
