import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { rangeId } from '../../cosmos/ranges.ts';
import { positionIn, without } from '../../feed/reading/position.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { audited } from '../audit/record.ts';
import { type Plan, defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { counterparts, positionsOf } from './counterpart.ts';
import { type LeaseRoom, openLeases } from './groups.ts';
import { expiration } from './inputs.ts';
import { type Move, type Procedure, costOf, moveLeases, moveText, whileStopped } from './move.ts';
import { rangeOf } from './targets.ts';

const input = z.object({
  prefix: z.string().min(1).describe('whose leases: all of what stands before the two dots of their ids'),
  leaseExpiration: expiration,
});

export const leasesHandback = defineOperation({
  noun: 'leases',
  verb: 'handback',
  summary: 'Let a Functions app, a .NET or a Java service go on where the pipeline stopped',
  examples: ['millrace leases handback billingacc.documents.azure.com_dbRid==_collRid= --dry-run'],
  effect: 'changes',
  argument: 'prefix',
  input,
  plan: async ({ prefix, leaseExpiration }, context): Promise<Plan> => {
    const { moves, procedure } = prepare(await openLeases(context), prefix, leaseExpiration);
    return {
      steps: [
        'wait until nobody has written their leases or the pipeline’s for two expirations: stop every host of both first',
        ...moves.map(moveText),
        'wait one expiration more',
      ],
      ...costOf(moves.length, procedure),
    };
  },
  run: async (given, context) => {
    const { prefix, leaseExpiration } = given;
    const first = await openLeases(context);
    const { procedure } = prepare(first, prefix, leaseExpiration);
    return audited(context, 'leases handback', given, async () => {
      const moves = await whileStopped(first.leases, procedure, context, async () => {
        const current = prepare(await openLeases(context), prefix, leaseExpiration).moves;
        await moveLeases(first.leases, current);
        return current;
      });
      return {
        prefix,
        moved: moves.map((move) => ({
          lease: move.lease.id,
          from: move.lease.position ?? null,
          to: move.to,
          text: moveText(move),
        })),
      };
    });
  },
  format: ({ prefix, moved }) =>
    [
      ...moved.map(({ text }) => text),
      `${prefix} goes on where the pipeline stopped (${plural(moved.length, 'lease')}): enable it, and leave the pipeline off.`,
    ].join('\n'),
});

/** @throws UsageError `leases-none`, `position-missing`, `leases-incomplete`, and those of `counterparts` */
function prepare(room: LeaseRoom, prefix: string, expirationMs: number): { moves: Move[]; procedure: Procedure } {
  const { theirs, ours, ownPrefix } = counterparts(room, prefix);
  if (!ours) {
    throw new UsageError(
      'leases-none',
      'The pipeline has no leases of that container, so there is no position to hand back',
      {
        mend: 'Enable the other one as it is.',
      },
    );
  }
  const uncovered = theirs.leases.reduce<FeedRange[]>(
    (left, lease) => left.flatMap((one) => without(one, rangeOf(lease))),
    ours.leases.map(rangeOf),
  );
  if (uncovered.length > 0) {
    throw new UsageError(
      'leases-incomplete',
      `${prefix} has no lease for ${uncovered.map(rangeId).join(', ')}, and wouldn't make one`,
      {
        mend: 'Delete its leases and its `.info`, and give it the pipeline’s by `millrace leases export` and `import --prefix`.',
      },
    );
  }
  const positions = positionsOf(ours);
  const moves = theirs.leases.map((lease): Move => {
    const range = rangeOf(lease);
    const to = positionIn(range, positions);
    if (to !== undefined) return { group: theirs, lease, to };
    throw new UsageError(
      'position-missing',
      `The pipeline has not checkpointed the whole of range ${rangeId(range)} yet`,
      {
        mend: 'Let it run until it has: an empty position would mean the other host’s own start.',
      },
    );
  });
  return { moves, procedure: { prefixes: [prefix, ownPrefix], expirationMs } };
}
