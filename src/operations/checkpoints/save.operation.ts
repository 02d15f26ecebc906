import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { AmbiguousOutcome, withRetry } from '../../cosmos/retry.ts';
import { audited } from '../audit/record.ts';
import { orContainerMissing } from '../../cosmos/container-missing.ts';
import { type LeaseGroup, chooseGroups, monitoredOf, openLeases } from '../leases/groups.ts';
import { positionsOf } from '../leases/counterpart.ts';
import { type Context, type Plan, defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { type Checkpoint, type SavedSet, checkpointName } from './store.ts';

const input = z.object({
  name: checkpointName.describe('what it is called from now on'),
  prefix: z
    .string()
    .min(1)
    .optional()
    .describe('another processor’s leases, by their whole prefix; the pipeline’s own if absent'),
});

const setsOf = async (prefix: string | undefined, context: Context): Promise<SavedSet[]> =>
  chooseGroups(await openLeases(context), prefix).map((group: LeaseGroup) => {
    const { container, rid } = monitoredOf(group);
    return { prefix: group.prefix, container: container.id, rid, positions: positionsOf(group) };
  });

const setText = ({ prefix, container, positions }: SavedSet): string =>
  `${container}: ${plural(positions.length, 'position')} of ${prefix}`;

export const checkpointsSave = defineOperation({
  noun: 'checkpoints',
  verb: 'save',
  summary: 'Keep the positions of all leases under a name, to come back to',
  examples: [
    'millrace checkpoints save before-release',
    'millrace checkpoints save billing-june --prefix billingacc.documents.azure.com_dbRid==_collRid=',
  ],
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
      const { state } = await context.workspace.services();
      const at = new Date().toISOString();
      const document: Checkpoint = {
        id: name,
        pk: 'checkpoints',
        type: 'millrace.checkpoint',
        at,
        actor: context.actor,
        sets,
      };
      await create(() => withRetry(() => state.items.create(document), { reads: false })).catch((error: unknown) => {
        if (failureOf(error).kind !== 'conflict') throw orContainerMissing(error, state);
        throw new UsageError('checkpoint-exists', `There is a checkpoint ${name} already`, {
          cause: error,
          mend: 'Choose another name, or delete it by `millrace checkpoints delete`.',
        });
      });
      return { name, at, sets };
    });
  },
  format: ({ name, sets }) => [`Checkpoint ${name}:`, ...sets.map((set) => `  ${setText(set)}`)].join('\n'),
});

/** Where the answer is lost, a second try's conflict is the first one's success: a name isn't taken twice in a second. */
async function create(send: () => Promise<unknown>): Promise<void> {
  let unsure = false;
  for (;;) {
    try {
      await send();
      return;
    } catch (error) {
      if (unsure && failureOf(error).kind === 'conflict') return;
      if (!(error instanceof AmbiguousOutcome)) throw error;
      unsure = true;
    }
  }
}
