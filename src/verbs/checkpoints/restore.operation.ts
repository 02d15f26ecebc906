import { z } from 'zod';
import { named } from '../flags.ts';
import { positionIn } from '../../feed/reading/position.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { chooseGroups, monitoredOf, openLeases } from '../../procedures/leases/groups.ts';
import { expiration } from '../leases/inputs.ts';
import {
  type Move,
  type Moving,
  goesBack,
  moveByHand,
  movedRows,
  planByHand,
} from '../../procedures/rewind/rewind-leases.ts';
import { chooseLeases, notCovered, rangeOf, savedFor } from '../../procedures/rewind/targets.ts';
import type { Context, Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { checkpointName, comparedSets } from '../../procedures/checkpoints/store.ts';

const input = z.object({
  name: checkpointName.describe('name of the checkpoint'),
  prefix: named('whole prefix of another processor’s leases (default: the pipeline’s own)'),
  leaseExpiration: expiration,
});
type RestoreInput = z.output<typeof input>;

async function prepare({ name, prefix }: RestoreInput, context: Context): Promise<Moving> {
  const sets = await comparedSets(await context.workspace.services(), name, context.signal);
  const inventory = await openLeases(context);
  const groups = chooseGroups(inventory, prefix);
  const moves = chooseLeases(groups, undefined).flatMap(({ group, lease }): Move[] => {
    const monitored = monitoredOf(group);
    const of = sets.filter(({ container }) => container === monitored.container.id);
    const to = positionIn(rangeOf(lease), savedFor(of, group, monitored, name));
    if (to === undefined) throw notCovered(name, lease);
    return to === lease.position ? [] : [{ group, lease, to }];
  });
  return { inventory, moves };
}

export const checkpointsRestore = defineOperation({
  name: 'checkpoints restore',
  summary: 'Move leases, back or forward, to the positions of a checkpoint',
  examples: ['millrace checkpoints restore before-release --dry-run', 'millrace checkpoints restore before-release'],
  shards: 'one',
  effect: 'changes',
  argument: 'name',
  input,
  plan: async (given, context): Promise<Plan> => {
    const { moves } = await prepare(given, context);
    if (moves.length === 0) return { steps: [], ru: 0 };
    const forward = moves.filter((move) => !goesBack(move)).length;
    const skipped = `skip the changes before the checkpoint for ${plural(forward, 'lease')}: they were processed before it was saved`;
    return planByHand(moves, given.leaseExpiration, context, forward > 0 ? [skipped] : []);
  },
  run: async (given, context) => {
    const first = await prepare(given, context);
    if (first.moves.length === 0) return { name: given.name, moved: [] };
    return audited(context, 'checkpoints restore', given, async () => {
      const moves = await moveByHand(() => prepare(given, context), given.leaseExpiration, context);
      return {
        name: given.name,
        moved: movedRows(moves),
      };
    });
  },
  format: ({ name, moved }) =>
    moved.length === 0
      ? `Every lease is already at its position of ${name}.`
      : [
          ...moved.map(({ text }) => text),
          `${plural(moved.length, 'lease')} moved to ${name}. Hosts that you stopped can start again.`,
        ].join('\n'),
});
