import { z } from 'zod';
import { optional } from '../flags.ts';
import { sayRange } from '../../cosmos/ranges.ts';
import { audited } from '../../procedures/journal/runs.ts';
import type { Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { type Counterparts, counterparts } from '../../procedures/adopt/counterpart.ts';
import { openLeases } from '../../procedures/leases/groups.ts';
import { expiration } from './inputs.ts';
import { type Procedure, costOf, movedRows, whileStopped } from '../../procedures/rewind/rewind-leases.ts';
import { rangeOf } from '../../procedures/rewind/targets.ts';
import { replaceLease } from '../../procedures/rewind/write-leases.ts';
import { takeOver, adoptPlaceOf } from '../../procedures/adopt/adopt.ts';

const input = z.object({
  prefix: z
    .string()
    .min(1)
    .describe('whole prefix of the other processor’s leases: the part of the ids before the two dots'),
  start: optional('beginning, or a time; only for ranges without a position of the other processor'),
  leaseExpiration: expiration,
});

type AdoptInput = z.output<typeof input>;

const sofar = 'No position was changed.';

export const leasesAdopt = defineOperation({
  name: 'leases adopt',
  summary: 'Adopt the positions of a Functions app, or a .NET or Java service: the pipeline resumes where it stopped',
  examples: [
    'millrace leases adopt billingacc.documents.azure.com_dbRid==_collRid= --dry-run',
    'millrace leases adopt acc.documents.azure.com_dbRid==_collRid= --start beginning',
  ],
  effect: 'changes',
  argument: 'prefix',
  input,
  plan: async (given, context): Promise<Plan> => {
    const inventory = await openLeases(context);
    const found = counterparts(inventory, given.prefix);
    const ranges = found.ours?.leases.map(rangeOf) ?? found.monitored.partitions.ranges;
    const steps: string[] = [];
    for (const range of ranges)
      steps.push(
        `read ${found.monitored.container.id} ${sayRange(range)} from ${await adoptPlaceOf(range, found, given.start, context.signal)}`,
      );
    return {
      steps: [
        `wait until no host has written the leases ${given.prefix} for two expirations; stop their hosts and the pipeline’s first`,
        `free their ${plural(found.theirs.leases.length, 'lease')}, without changing positions`,
        'wait one more expiration',
        ...steps,
      ],
      ...costOf(found.theirs.leases.length + ranges.length, procedureOf(found, given)),
    };
  },
  run: async (given, context) => {
    const first = counterparts(await openLeases(context), given.prefix);
    for (const range of first.ours?.leases.map(rangeOf) ?? first.monitored.partitions.ranges)
      await adoptPlaceOf(range, first, given.start, context.signal);
    return audited(context, 'leases adopt', given, async () => {
      const { leases } = await openLeases(context);
      await whileStopped(leases, procedureOf(first, given), context, async () => {
        for (const { document } of counterparts(await openLeases(context), given.prefix).theirs.leases)
          await replaceLease(leases, document, { Owner: null }, sofar);
      });
      const moves = await takeOver(given, context);
      return {
        prefix: given.prefix,
        moved: movedRows(moves),
      };
    });
  },
  format: ({ prefix, moved }) =>
    [
      ...moved.map(({ text }) => text),
      `The pipeline resumes where ${prefix} stopped. Start it, and keep the other one stopped.`,
    ].join('\n'),
});

const procedureOf = ({ theirs, ownPrefix }: Counterparts, { leaseExpiration }: AdoptInput): Procedure => ({
  prefixes: [theirs.prefix, ownPrefix],
  expirationMs: leaseExpiration,
});
