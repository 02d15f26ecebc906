import { z } from 'zod';
import { flag, named } from '../flags.ts';
import { checkLeases } from '../../procedures/leases/check.ts';
import { operationsError } from '../../procedures/errors.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { ageText, catchUpText, plural, textTable } from '../../procedures/table.ts';
import { chooseGroups, openLeases } from '../../procedures/leases/groups.ts';
import { leasesWereLost } from '../../procedures/leases/lost.ts';
import { pipelineIfAny } from '../../procedures/pipeline-if-any.ts';
import { expiration } from './inputs.ts';
import { lagText } from '../../procedures/leases/lags.ts';
import { leaseRows } from '../../procedures/leases/lease-rows.ts';
import { type RatedRow, withRates } from '../../procedures/leases/rates.ts';

type Checked = Awaited<ReturnType<typeof checkLeases>>;

const RATES = ['changes/s', 'in/s', 'out/s', 'catches up in'];

export const leasesList = defineOperation({
  name: 'leases list',
  summary:
    'List the leases: which host reads which range, its lag, its rates, its state and why; with --check their faults',
  examples: [
    'millrace leases list',
    'millrace leases list --prefix billingacc.documents.azure.com_dbRid==_collRid=',
    'millrace leases list --env production --json',
    'millrace leases list --check',
    'millrace leases list --check --absent-after 120 --json',
  ],
  shards: 'every',
  effect: 'reads',
  input: z.object({
    prefix: named('whole prefix of the leases to list (default: all)'),
    check: flag(
      'report faults instead, of all leases: wrong container, uncovered ranges, duplicates, stuck or orphaned leases, clocks, absent hosts',
    ),
    absentAfter: z
      .int()
      .min(1)
      .default(300)
      .describe('with --check: report a container if no host has written its leases for this many seconds'),
    leaseExpiration: expiration,
  }),
  run: async ({ prefix, check, absentAfter, leaseExpiration }, context: Context): Promise<RatedRow[] | Checked> => {
    const inventory = await openLeases(context);
    const options = { expirationMs: leaseExpiration };
    if (check) {
      if (prefix !== undefined)
        throw operationsError('input-invalid', '--check looks at all leases', { hint: 'Leave out --prefix.' });
      const pipeline = (await pipelineIfAny(context.workspace))?.pipeline;
      const { state } = (await context.workspace.services()).place;
      const lost = pipeline !== undefined && (await leasesWereLost(inventory, state, pipeline.name));
      return checkLeases(inventory, { ...options, lost, absentMs: absentAfter * 1_000, signal: context.signal });
    }
    const groups = prefix === undefined ? inventory.groups : chooseGroups(inventory, prefix);
    const rows = await leaseRows(groups, options);
    return withRates(rows, groups, context);
  },
  ok: (result) => !('findings' in result) || result.findings.every(({ severity }) => severity === 'warning'),
  format: (result) => ('findings' in result ? sayFindings(result) : sayRows(result)),
});

function sayFindings({ leases, findings }: Checked): string {
  if (findings.length === 0) return `${plural(leases, 'lease')}: no findings.`;
  return [
    ...findings.map(
      ({ severity, code, subject, message, hint }) =>
        `${severity}: ${subject === undefined ? '' : `${subject}: `}${message} [${code}]\n  ${hint}`,
    ),
    `${plural(leases, 'lease')}, ${plural(findings.length, 'finding')}.`,
  ].join('\n');
}

function sayRows(rows: readonly RatedRow[]): string {
  if (rows.length === 0) return 'No leases yet: no processor has started.';
  const blocks = [...Map.groupBy(rows, ({ prefix }) => prefix)].map(([prefix, of]) => {
    const unknown = new Set(of.flatMap(({ lag, state }) => (lag.known || state === 'unexplained' ? [] : [lag.why])));
    // Only the pipeline's own hosts report rates.
    const rated = of.some(({ rates }) => rates !== null);
    return [
      `${prefix}  (${of[0]?.container ?? 'container not in this database'})`,
      textTable(
        ['token', 'range', 'owner', 'position', 'written', 'lag', ...(rated ? RATES : []), 'state', 'why'],
        of.map((row) => [
          row.token,
          row.range ?? '(unknown)',
          row.owner ?? (row.state === 'unexplained' ? '' : '(free)'),
          row.position ?? '(none)',
          row.age === null ? '' : `${ageText(row.age)} ago`,
          lagText(row.lag),
          ...(rated
            ? [
                row.rates?.handledPerSecond ?? '',
                row.rates?.inPerSecond ?? '',
                row.rates?.outPerSecond ?? '',
                catchUpText(row.rates?.catchUp ?? null),
              ]
            : []),
          row.state,
          row.why,
        ]),
      ),
      ...[...unknown].map((why) => `lag unknown: ${why}`),
    ].join('\n');
  });
  return `${blocks.join('\n\n')}\n${plural(rows.length, 'lease')}`;
}
