import { z } from 'zod';
import { type Context, defineOperation } from '../operation.ts';
import { catchUpText, plural, table } from '../table.ts';
import { chooseGroups, openLeases } from './groups.ts';
import { expiration } from './inputs.ts';
import { lagText } from './lags.ts';
import { leaseRows, STUCK_MS } from './lease-rows.ts';
import { withRates } from './rates.ts';

const RATES = ['changes/s', 'in/s', 'out/s', 'catches up in'];

export const leasesList = defineOperation({
  noun: 'leases',
  verb: 'list',
  summary: 'List the leases: which host reads which range, its lag, its rates, its state and why',
  examples: [
    'millrace leases list',
    'millrace leases list --prefix billingacc.documents.azure.com_dbRid==_collRid=',
    'millrace leases list --env production --json',
  ],
  shards: 'every',
  effect: 'reads',
  input: z.object({
    prefix: z.string().min(1).optional().describe('whole prefix of the leases to list (default: all)'),
    leaseExpiration: expiration,
  }),
  run: async ({ prefix, leaseExpiration }, context: Context) => {
    const inventory = await openLeases(context);
    const groups = prefix === undefined ? inventory.groups : chooseGroups(inventory, prefix);
    const rows = await leaseRows(groups, { expirationMs: leaseExpiration, stuckMs: STUCK_MS });
    return withRates(rows, groups, context);
  },
  format: (rows) => {
    if (rows.length === 0) return 'No leases yet: no processor has started.';
    const blocks = [...Map.groupBy(rows, ({ prefix }) => prefix)].map(([prefix, of]) => {
      const unknown = new Set(of.flatMap(({ lag, state }) => (lag.known || state === 'unexplained' ? [] : [lag.why])));
      // Only the pipeline's own hosts report rates.
      const rated = of.some(({ rates }) => rates !== null);
      return [
        `${prefix}  (${of[0]?.container ?? 'container not in this database'})`,
        table(
          ['token', 'range', 'owner', 'position', 'written', 'lag', ...(rated ? RATES : []), 'state', 'why'],
          of.map((row) => [
            row.token,
            row.range ?? '(unknown)',
            row.owner ?? (row.state === 'unexplained' ? '' : '(free)'),
            row.position ?? '(none)',
            row.age === null ? '' : `${row.age} s ago`,
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
  },
});
