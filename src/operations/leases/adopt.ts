import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { rangeId } from '../../cosmos/ranges.ts';
import { parseDate } from '../../definition/date.ts';
import { CosmosLeaseStore } from '../../feed/leases/cosmos-lease-store.ts';
import { positionIn } from '../../feed/reading/position.ts';
import { audited } from '../audit/record.ts';
import { type Context, type Plan, defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { type Counterparts, counterparts, positionsOf } from './counterpart.ts';
import { type LeaseGroup, openLeases } from './groups.ts';
import { expiration } from './inputs.ts';
import { type Move, type Procedure, costOf, moveLeases, moveText, raiseEpochs, whileStopped } from './move.ts';
import { positionAtTime, rangeOf } from './targets.ts';
import { replaceLease } from './write.ts';

const input = z.object({
  prefix: z.string().min(1).describe('whose leases: all of what stands before the two dots of their ids'),
  start: z
    .string()
    .optional()
    .describe('beginning, or a time: for ranges that the other processor has never checkpointed'),
  leaseExpiration: expiration,
});
type AdoptInput = z.output<typeof input>;

const sofar = 'No position was changed.';

export const leasesAdopt = defineOperation({
  noun: 'leases',
  verb: 'adopt',
  summary: 'Go on where a Functions app, a .NET or a Java service stopped: its positions become the pipeline’s',
  examples: [
    'millrace leases adopt billingacc.documents.azure.com_dbRid==_collRid= --dry-run',
    'millrace leases adopt acc.documents.azure.com_dbRid==_collRid= --start beginning',
  ],
  effect: 'changes',
  argument: 'prefix',
  input,
  plan: async (given, context): Promise<Plan> => {
    const room = await openLeases(context);
    const found = counterparts(room, given.prefix);
    const ranges = found.ours?.leases.map(rangeOf) ?? found.monitored.partitions.ranges;
    const steps: string[] = [];
    for (const range of ranges)
      steps.push(
        `read ${found.monitored.container.id} ${rangeId(range)} from ${await placeOf(range, found, given.start, context.signal)}`,
      );
    return {
      steps: [
        `wait until nobody has written the leases ${given.prefix} for two expirations: stop every host of theirs, and of the pipeline, first`,
        `free their ${plural(found.theirs.leases.length, 'lease')}, positions unchanged`,
        'wait one expiration more',
        ...steps,
      ],
      ...costOf(found.theirs.leases.length + ranges.length, procedureOf(found, given)),
    };
  },
  run: async (given, context) => {
    const first = counterparts(await openLeases(context), given.prefix);
    for (const range of first.ours?.leases.map(rangeOf) ?? first.monitored.partitions.ranges)
      await placeOf(range, first, given.start, context.signal);
    return audited(context, 'leases adopt', given, async () => {
      const { leases } = await openLeases(context);
      await whileStopped(leases, procedureOf(first, given), context, async () => {
        for (const { document } of counterparts(await openLeases(context), given.prefix).theirs.leases)
          await replaceLease(leases, document, { Owner: null }, sofar);
      });
      const moves = await takeOver(given, context);
      return {
        prefix: given.prefix,
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
      `The pipeline goes on where ${prefix} stopped: start it, and leave the other one off.`,
    ].join('\n'),
});

const procedureOf = ({ theirs, ownPrefix }: Counterparts, { leaseExpiration }: AdoptInput): Procedure => ({
  prefixes: [theirs.prefix, ownPrefix],
  expirationMs: leaseExpiration,
});

/** Gives the pipeline's own leases, made where they are missing, the other's positions. */
async function takeOver({ prefix, start }: AdoptInput, context: Context): Promise<Move[]> {
  const services = await context.workspace.services();
  const prepare = async ({ ownPrefix, monitored }: Counterparts): Promise<void> =>
    new CosmosLeaseStore({
      monitored: monitored.container,
      leases: services.leases,
      host: 'adopt',
      prefix: ownPrefix,
    }).prepare(context.signal);
  await prepare(counterparts(await openLeases(context), prefix));
  const room = await openLeases(context);
  const found = counterparts(room, prefix);
  const moves: Move[] = [];
  for (const lease of oursOf(found).leases) {
    const to = await placeOf(rangeOf(lease), found, start, context.signal);
    if (to === (lease.position ?? 'beginning')) continue;
    moves.push({ group: oursOf(found), lease, to });
  }
  await moveLeases(room.leases, moves, () => raiseEpochs(context, moves));
  // Those that begin at the beginning were deleted for it.
  await prepare(found);
  return moves;
}

function oursOf({ ours, ownPrefix }: Counterparts): LeaseGroup {
  if (ours) return ours;
  throw new UsageError('leases-none', `The pipeline's leases ${ownPrefix} vanished while they were written`, {
    mend: 'Say this again.',
  });
}

/** A quoted lsn, or `beginning`. @throws UsageError `start-needed` where the other processor never checkpointed the range */
async function placeOf(
  range: { readonly min: string; readonly max: string },
  { theirs, monitored }: Counterparts,
  start: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const position = positionIn(range, positionsOf(theirs));
  if (position !== undefined) return position;
  if (start === 'beginning') return 'beginning';
  if (start === undefined) {
    throw new UsageError(
      'start-needed',
      `${theirs.prefix} never checkpointed the whole of range ${rangeId(range)}, so nobody knows where it would begin`,
      {
        mend: 'Say it by --start beginning, or --start with a time before the other one was first started.',
      },
    );
  }
  const at = parseDate(start);
  if (at !== undefined) return positionAtTime(monitored, range, new Date(at), signal);
  throw new UsageError('input-invalid', `--start ${start} is neither beginning nor a time`, {
    mend: 'Write a time as 2026-06-03T12:00:00Z.',
  });
}
