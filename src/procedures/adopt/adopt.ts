import { sayRange } from '../../cosmos/ranges.ts';
import { parseDate } from '../../pipeline/date.ts';
import { CosmosLeaseStore } from '../../feed/leases/cosmos-lease-store.ts';
import { positionIn } from '../../feed/reading/position.ts';
import type { Context } from '../context.ts';
import { type Counterparts, counterparts, positionsOf } from './counterpart.ts';
import { type LeaseGroup, openLeases } from '../leases/groups.ts';
import { type Move, moveLeases, raiseEpochs } from '../rewind/rewind-leases.ts';
import { positionAtTime, rangeOf } from '../rewind/targets.ts';
import { operationsError } from '../errors.ts';

/** Creates the pipeline's own leases where they are missing, and gives them the other processor's positions. */
export async function takeOver(
  { prefix, start }: { readonly prefix: string; readonly start?: string | undefined },
  context: Context,
): Promise<Move[]> {
  const services = await context.workspace.services();
  const prepare = async ({ ownPrefix, monitored }: Counterparts): Promise<void> =>
    new CosmosLeaseStore({
      monitored: monitored.container,
      leases: services.global.leases,
      host: 'adopt',
      prefix: ownPrefix,
    }).prepare(context.signal);
  await prepare(counterparts(await openLeases(context), prefix));
  const inventory = await openLeases(context);
  const found = counterparts(inventory, prefix);
  const moves: Move[] = [];
  for (const lease of oursOf(found).leases) {
    const to = await adoptPlaceOf(rangeOf(lease), found, start, context.signal);
    if (to === (lease.position ?? 'beginning')) continue;
    moves.push({ group: oursOf(found), lease, to });
  }
  await moveLeases(inventory.leases, moves, () => raiseEpochs(context, moves));
  // Leases that start at the beginning were deleted: create them again.
  await prepare(found);
  return moves;
}

function oursOf({ ours, ownPrefix }: Counterparts): LeaseGroup {
  if (ours) return ours;
  throw operationsError('leases-none', `The pipeline's leases ${ownPrefix} were deleted while they were written`, {
    hint: 'Run the command again.',
  });
}

/** A quoted LSN, or `beginning`. @throws UsageError `input-invalid` if the other processor has no position for the range */
export async function adoptPlaceOf(
  range: { readonly min: string; readonly max: string },
  { theirs, monitored }: Counterparts,
  start: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const position = positionIn(range, positionsOf(theirs));
  if (position !== undefined) return position;
  if (start === 'beginning') return 'beginning';
  if (start === undefined) {
    throw operationsError(
      'input-invalid',
      `${theirs.prefix} has no position for the whole range ${sayRange(range)}, so the start is not known`,
      { hint: 'Add `--start beginning`, or `--start` with a time before the other processor first started.' },
    );
  }
  const at = parseDate(start);
  if (at !== undefined) return positionAtTime(monitored, range, new Date(at), signal);
  throw operationsError('input-invalid', `--start ${start} is neither beginning nor a time`, {
    hint: 'Write a time as 2026-06-03T12:00:00Z.',
  });
}
