import { UsageError } from '../../base/errors.ts';
import { rangeId } from '../../cosmos/ranges.ts';
import { parseDate } from '../../definition/date.ts';
import { CosmosLeaseStore } from '../../feed/leases/cosmos-lease-store.ts';
import { positionIn } from '../../feed/reading/position.ts';
import type { Context } from '../operation.ts';
import { type Counterparts, counterparts, positionsOf } from './counterpart.ts';
import { type LeaseGroup, openLeases } from './groups.ts';
import { type Move, moveLeases, raiseEpochs } from './move.ts';
import { positionAtTime, rangeOf } from './targets.ts';

/** Gives the pipeline's own leases, made where they are missing, the other's positions. */
export async function takeOver(
  { prefix, start }: { readonly prefix: string; readonly start?: string | undefined },
  context: Context,
): Promise<Move[]> {
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
export async function placeOf(
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
