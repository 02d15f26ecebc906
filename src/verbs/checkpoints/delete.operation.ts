import { z } from 'zod';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { audited } from '../../procedures/journal/runs.ts';
import type { Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { checkpointName, readCheckpoint } from '../../procedures/checkpoints/store.ts';

export const checkpointsDelete = defineOperation({
  name: 'checkpoints delete',
  summary: 'Delete a saved checkpoint; the leases do not change',
  examples: ['millrace checkpoints delete before-release --yes'],
  shards: 'itself',
  effect: 'destroys',
  argument: 'name',
  input: z.object({ name: checkpointName.describe('name of the checkpoint') }),
  plan: async ({ name }, { workspace, signal }): Promise<Plan> => {
    const { at } = await readCheckpoint(await workspace.services(), name, signal);
    return { steps: [`delete checkpoint ${name} of ${at}`], ru: 6 };
  },
  run: async ({ name }, context) => {
    const services = await context.workspace.services();
    const checkpoint = await readCheckpoint(services, name, context.signal);
    return audited(context, 'checkpoints delete', { name }, async () => {
      const item = services.global.state.item(name, 'checkpoints');
      await withRetry(() => item.delete(), { reads: true }).catch((error: unknown) => {
        if (failureOf(error).kind !== 'not-found') throw error;
      });
      return checkpoint;
    });
  },
  format: ({ id, at }) => `Checkpoint ${id} of ${at} is deleted.`,
});
