import { z } from 'zod';
import { positionIn } from '../../feed/reading/position.ts';
import { audited } from '../../procedures/audit/record.ts';
import {
  type LeaseGroup,
  type LeaseInventory,
  chooseGroups,
  monitoredOf,
  openLeases,
} from '../../procedures/leases/groups.ts';
import { expiration } from '../leases/inputs.ts';
import {
  type Move,
  costOf,
  goesBack,
  moveLeases,
  moveText,
  movedRows,
  raiseEpochs,
  whileStopped,
} from '../../procedures/rewind/rewind-leases.ts';
import { chooseLeases, notCovered, rangeOf, savedFor } from '../../procedures/rewind/targets.ts';
import type { Context, Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { checkpointName, comparedSets } from '../../procedures/checkpoints/store.ts';

const input = z.object({
  name: checkpointName.describe('name of the checkpoint'),
  prefix: z
    .string()
    .min(1)
    .optional()
    .describe('whole prefix of another processor’s leases (default: the pipeline’s own)'),
  leaseExpiration: expiration,
});
type RestoreInput = z.output<typeof input>;

async function prepare(
  { name, prefix }: RestoreInput,
  context: Context,
): Promise<{ inventory: LeaseInventory; moves: Move[]; groups: LeaseGroup[] }> {
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
  return { inventory, moves, groups };
}

export const checkpointsRestore = defineOperation({
  noun: 'checkpoints',
  verb: 'restore',
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
    return {
      steps: [
        'wait until no host has written the leases for two expirations; stop their hosts first',
        ...moves.map(moveText),
        ...(forward > 0
          ? [
              `skip the changes before the checkpoint for ${plural(forward, 'lease')}: they were processed before it was saved`,
            ]
          : []),
        'wait one more expiration',
      ],
      ...costOf(moves.length, { prefixes: prefixesOf(moves), expirationMs: given.leaseExpiration }),
    };
  },
  run: async (given, context) => {
    const first = await prepare(given, context);
    if (first.moves.length === 0) return { name: given.name, moved: [] };
    const procedure = { prefixes: prefixesOf(first.moves), expirationMs: given.leaseExpiration };
    return audited(context, 'checkpoints restore', given, async () => {
      const moves = await whileStopped(first.inventory.leases, procedure, context, async () => {
        const { moves: current } = await prepare(given, context);
        await moveLeases(first.inventory.leases, current, () => raiseEpochs(context, current));
        return current;
      });
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
          `${plural(moved.length, 'lease')} moved to ${name}. Start the hosts again.`,
        ].join('\n'),
});

const prefixesOf = (moves: readonly Move[]): string[] => [...new Set(moves.map(({ group }) => group.prefix))];
