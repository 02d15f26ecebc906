import { z } from 'zod';
import { named } from '../flags.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { UsageError } from '../../base/errors.ts';
import { formatOf } from '../../base/format.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';
import { storedEpochs } from '../../feed/reading/epochs.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import { type LeaseGroup, chooseGroups, monitoredOf, openLeases } from '../../procedures/leases/groups.ts';
import { positionsOf } from '../../procedures/adopt/counterpart.ts';
import type { Context, Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { operationPlaces } from '../at-places.ts';
import { plural } from '../../procedures/table.ts';
import { type Checkpoint, type SavedSet, checkpointName } from '../../procedures/checkpoints/store.ts';

const input = z.object({
  name: checkpointName.describe('name of the new checkpoint'),
  prefix: named('whole prefix of another processor’s leases (default: the pipeline’s own)'),
});

/** The positions in every place: those of the feeds that are there. */
async function setsOf(prefix: string | undefined, context: Context): Promise<SavedSet[]> {
  const places = await operationPlaces(context.workspace, 'checkpoints save', 'every', undefined);
  if (!places) return setsIn(prefix, context);
  const sets: SavedSet[] = [];
  let none: unknown;
  for (const { workspace } of places)
    try {
      sets.push(...(await setsIn(prefix, { workspace, signal: context.signal })));
    } catch (error) {
      // The place has none of the leases.
      if (!(error instanceof UsageError && error.code === 'leases-none')) throw error;
      none = error;
    }
  if (sets.length === 0) throw none;
  return sets;
}

async function setsIn(prefix: string | undefined, context: Pick<Context, 'workspace' | 'signal'>): Promise<SavedSet[]> {
  const { state } = (await context.workspace.services()).place;
  // Before the positions: a container that loses changes in between makes the checkpoint unusable, not wrong.
  const epochs = await storedEpochs(state, context.signal).catch(throwMissing(state));
  return chooseGroups(await openLeases(context), prefix).map((group: LeaseGroup) => {
    const { container, rid } = monitoredOf(group);
    const known = epochs.get(container.id);
    return {
      prefix: group.prefix,
      container: container.id,
      rid,
      positions: positionsOf(group),
      ...(known?.rid === rid && { epoch: known.epoch }),
    };
  });
}

const setText = ({ prefix, container, positions }: SavedSet): string =>
  `${container}: ${plural(positions.length, 'position')} of ${prefix}`;

export const checkpointsSave = defineOperation({
  name: 'checkpoints save',
  summary: 'Save the positions of all leases under a name, to return to them later',
  examples: [
    'millrace checkpoints save before-release',
    'millrace checkpoints save billing-june --prefix billingacc.documents.azure.com_dbRid==_collRid=',
  ],
  shards: 'itself',
  effect: 'changes',
  argument: 'name',
  input,
  plan: async ({ name, prefix }, context): Promise<Plan> => ({
    steps: (await setsOf(prefix, context)).map((set) => `save in ${name}: ${setText(set)}`),
    ru: 10,
  }),
  run: async ({ name, prefix }, context) => {
    const sets = await setsOf(prefix, context);
    return audited(context, 'checkpoints save', { name, prefix }, async () => {
      const { state } = (await context.workspace.services()).global;
      const at = new Date().toISOString();
      const document: Checkpoint = {
        id: name,
        pk: 'checkpoints',
        type: 'millrace.checkpoint',
        ...formatOf('checkpoint'),
        at,
        actor: context.actor,
        sets,
      };
      const save = (stored?: Checkpoint): Checkpoint => {
        if (!stored) return document;
        throw sharedError('exists', `Checkpoint ${name} already exists`, {
          hint: 'Choose another name, or delete it with `millrace checkpoints delete`.',
        });
      };
      await rewrite(state, document, save).catch(throwMissing(state));
      return { name, at, sets };
    });
  },
  format: ({ name, sets }) => [`Checkpoint ${name}:`, ...sets.map((set) => `  ${setText(set)}`)].join('\n'),
});
