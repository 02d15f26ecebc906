import { z } from 'zod';
import { withRetry } from '../../cosmos/retry.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { planStorage } from '../../procedures/archive/open.ts';
import { pipelineDirectory } from './model-flags.ts';
import type { ApplyStep } from '../../procedures/apply/step.ts';
import { planModel } from '../../procedures/apply/apply.ts';

export const modelApply = defineOperation({
  name: 'model apply',
  summary: 'Create or change the containers of the database as the model says, and the archive’s blob container',
  examples: ['millrace model apply --dry-run', 'millrace model apply --env production'],
  shards: 'every',
  effect: 'changes',
  argument: 'directory',
  input: z.object({ directory: pipelineDirectory }),
  plan: async ({ directory }, context) => {
    const steps = await planAll(directory, context);
    return { steps: steps.map(({ say }) => say), ru: 0 };
  },
  run: async ({ directory }, context) => {
    const { signal, screen } = context;
    const steps = await planAll(directory, context);
    for (const { say, apply } of steps) {
      signal.throwIfAborted();
      screen.line(`${say} …`);
      await withRetry(apply, { reads: true, signal });
    }
    return { done: steps.map(({ say }) => say) };
  },
  format: ({ done }) =>
    done.length === 0 ? 'The account already agrees with the model.' : `${plural(done.length, 'change')} made.`,
});

async function planAll(directory: string | undefined, { workspace, signal }: Context): Promise<ApplyStep[]> {
  const [loaded, services] = [await workspace.at(directory).pipeline(), await workspace.services()];
  return [...(await planModel(loaded, services)), ...(await planStorage(loaded, services, signal))];
}
