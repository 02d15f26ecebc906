import { z } from 'zod';
import { type FeedRange, sayRange } from '../../cosmos/ranges.ts';
import { positionIn, without } from '../../feed/reading/position.ts';
import { audited } from '../../procedures/journal/runs.ts';
import type { LeaseContainer } from '../../feed/leases/lease-container.ts';
import type { Context, Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { counterparts, positionsOf } from '../../procedures/adopt/counterpart.ts';
import { openLeases } from '../../procedures/leases/groups.ts';
import { expiration } from './inputs.ts';
import {
  type Move,
  type Procedure,
  costOf,
  moveLeases,
  moveText,
  movedRows,
  whileStopped,
} from '../../procedures/rewind/rewind-leases.ts';
import { assertNothingDeferred } from '../../procedures/leases/refuse-deferred.ts';
import { rangeOf } from '../../procedures/rewind/targets.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { operationsError } from '../../procedures/errors.ts';

const input = z.object({
  prefix: z
    .string()
    .min(1)
    .describe('whole prefix of the other processor’s leases: the part of the ids before the two dots'),
  leaseExpiration: expiration,
});

export const leasesHandback = defineOperation({
  name: 'leases handback',
  summary: 'Hand the pipeline’s positions back to a Functions app, or a .NET or Java service: it resumes there',
  examples: ['millrace leases handback billingacc.documents.azure.com_dbRid==_collRid= --dry-run'],
  effect: 'changes',
  argument: 'prefix',
  input,
  plan: async ({ prefix, leaseExpiration }, context): Promise<Plan> => {
    const { moves, procedure } = await prepare(context, prefix, leaseExpiration);
    return {
      steps: [
        'wait until no host has written their leases or the pipeline’s for two expirations; stop the hosts of both first',
        ...moves.map(moveText),
        'wait one more expiration',
      ],
      ...costOf(moves.length, procedure),
    };
  },
  run: async (given, context) => {
    const { prefix, leaseExpiration } = given;
    const { leases, procedure } = await prepare(context, prefix, leaseExpiration);
    return audited(context, 'leases handback', given, async () => {
      const moves = await whileStopped(leases, procedure, context, async () => {
        const { moves: current } = await prepare(context, prefix, leaseExpiration);
        await moveLeases(leases, current);
        return current;
      });
      return {
        prefix,
        moved: movedRows(moves),
      };
    });
  },
  format: ({ prefix, moved }) =>
    [
      ...moved.map(({ text }) => text),
      `${prefix} resumes where the pipeline stopped (${plural(moved.length, 'lease')}). Enable it, and keep the pipeline stopped.`,
    ].join('\n'),
});

/** @throws UsageError `leases-none`, `position-unusable`, `leases-incomplete`, `leases-deferred`, and those of `counterparts` */
async function prepare(
  context: Context,
  prefix: string,
  expirationMs: number,
): Promise<{ leases: LeaseContainer; moves: Move[]; procedure: Procedure }> {
  const inventory = await openLeases(context);
  const { theirs, ours, ownPrefix, monitored } = counterparts(inventory, prefix);
  if (!ours) {
    throw operationsError(
      'leases-none',
      'The pipeline has no leases for that container, so there is no position to hand back',
      {
        hint: 'Enable the other function or service as it is.',
      },
    );
  }
  const uncovered = theirs.leases.reduce<FeedRange[]>(
    (left, lease) => left.flatMap((one) => without(one, rangeOf(lease))),
    ours.leases.map(rangeOf),
  );
  if (uncovered.length > 0) {
    throw operationsError(
      'leases-incomplete',
      `${prefix} has no lease for ${uncovered.map(sayRange).join(', ')}, and would not create one`,
    );
  }
  const positions = positionsOf(ours);
  const moves = theirs.leases.map((lease): Move => {
    const range = rangeOf(lease);
    const to = positionIn(range, positions);
    if (to !== undefined) return { group: theirs, lease, to };
    throw sharedError(
      'position-unusable',
      `The pipeline has no stored position for the whole range ${sayRange(range)} yet`,
      {
        hint: 'Let it run until it has one. Without a position the other host would read from its configured start.',
      },
    );
  });
  await assertNothingDeferred([monitored.container.id], context);
  return { leases: inventory.leases, moves, procedure: { prefixes: [prefix, ownPrefix], expirationMs } };
}
