import { z } from 'zod';
import { positionIn } from '../../feed/reading/position.ts';
import { audited } from '../audit/record.ts';
import { type LeaseGroup, type LeaseRoom, chooseGroups, monitoredOf, openLeases } from '../leases/groups.ts';
import { expiration } from '../leases/inputs.ts';
import { type Move, costOf, goesBack, moveLeases, moveText, raiseEpochs, whileStopped } from '../leases/move.ts';
import { chooseLeases, notCovered, rangeOf, savedFor } from '../leases/targets.ts';
import { type Context, type Plan, defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { checkpointName, readCheckpoint } from './store.ts';

const input = z.object({
  name: checkpointName.describe('which'),
  prefix: z
    .string()
    .min(1)
    .optional()
    .describe('another processor’s leases, by their whole prefix; the pipeline’s own if absent'),
  leaseExpiration: expiration,
});
type RestoreInput = z.output<typeof input>;

async function prepare(
  { name, prefix }: RestoreInput,
  context: Context,
): Promise<{ room: LeaseRoom; moves: Move[]; groups: LeaseGroup[] }> {
  const { sets } = await readCheckpoint(await context.workspace.services(), name, context.signal);
  const room = await openLeases(context);
  const groups = chooseGroups(room, prefix);
  const moves = chooseLeases(groups, undefined).flatMap(({ group, lease }): Move[] => {
    const monitored = monitoredOf(group);
    const of = sets.filter(({ container }) => container === monitored.container.id);
    const to = positionIn(rangeOf(lease), savedFor(of, group, monitored, name));
    if (to === undefined) throw notCovered(name, lease);
    return to === lease.position ? [] : [{ group, lease, to }];
  });
  return { room, moves, groups };
}

export const checkpointsRestore = defineOperation({
  noun: 'checkpoints',
  verb: 'restore',
  summary: 'Put leases where they were when a checkpoint was saved, back or forward',
  examples: ['millrace checkpoints restore before-release --dry-run', 'millrace checkpoints restore before-release'],
  effect: 'changes',
  argument: 'name',
  input,
  plan: async (given, context): Promise<Plan> => {
    const { moves } = await prepare(given, context);
    if (moves.length === 0) return { steps: [], ru: 0 };
    const forward = moves.filter((move) => !goesBack(move)).length;
    return {
      steps: [
        'wait until nobody has written the leases for two expirations: stop every host of theirs first',
        ...moves.map(moveText),
        ...(forward > 0
          ? [
              `pass over what ${plural(forward, 'lease')} would have delivered before it: that had been handled when the checkpoint was saved`,
            ]
          : []),
        'wait one expiration more',
      ],
      ...costOf(moves.length, { prefixes: prefixesOf(moves), expirationMs: given.leaseExpiration }),
    };
  },
  run: async (given, context) => {
    const first = await prepare(given, context);
    if (first.moves.length === 0) return { name: given.name, moved: [] };
    const procedure = { prefixes: prefixesOf(first.moves), expirationMs: given.leaseExpiration };
    return audited(context, 'checkpoints restore', given, async () => {
      const moves = await whileStopped(first.room.leases, procedure, context, async () => {
        const { moves: current } = await prepare(given, context);
        await moveLeases(first.room.leases, current, () => raiseEpochs(context, current));
        return current;
      });
      return {
        name: given.name,
        moved: moves.map((move) => ({
          lease: move.lease.id,
          from: move.lease.position ?? null,
          to: move.to,
          text: moveText(move),
        })),
      };
    });
  },
  format: ({ name, moved }) =>
    moved.length === 0
      ? `Every lease is where it was in ${name}: nothing to do.`
      : [
          ...moved.map(({ text }) => text),
          `${plural(moved.length, 'lease')} put back to ${name}. Start the hosts again.`,
        ].join('\n'),
});

const prefixesOf = (moves: readonly Move[]): string[] => [...new Set(moves.map(({ group }) => group.prefix))];
