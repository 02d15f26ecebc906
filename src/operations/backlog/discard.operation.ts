import { z } from 'zod';
import { feedModeOf } from '../../definition/all-versions.ts';
import { removeBacklog, storedBacklogs } from '../../engine/backlog/stored.ts';
import { sourceContainers } from '../../engine/runners.ts';
import { suggestion } from '../../base/near.ts';
import { audited } from '../audit/record.ts';
import { backlogError } from './errors.ts';
import { type Context, defineOperation } from '../operation.ts';
import { plural } from '../table.ts';

const input = z.object({
  container: z.string().describe('source container whose changes are set aside, and that the pipeline no longer reads'),
  reason: z.string().trim().min(3).describe('why the changes are not needed; recorded in the audit'),
});

export const backlogDiscard = defineOperation({
  noun: 'backlog',
  verb: 'discard',
  summary: 'Discard what is set aside of a container that the pipeline no longer reads: it is never applied',
  examples: ['millrace backlog discard OldOrders --reason "the container was removed" --yes'],
  shards: 'one',
  effect: 'destroys',
  argument: 'container',
  input,
  plan: async ({ container }, context) => {
    const { queues } = await discardable(container, context);
    return { steps: [`remove ${plural(queues, 'queue')} of changes of ${container}`], ru: 10 * queues };
  },
  run: async (asked, context) => {
    const { container } = asked;
    await discardable(container, context);
    const { state } = (await context.workspace.services()).place;
    const { pipeline } = await context.workspace.pipeline();
    return audited(context, 'backlog discard', asked, async () => ({
      container,
      documents: await removeBacklog(state, { pipeline: pipeline.name, source: container }, context.signal),
    }));
  },
  format: ({ container, documents }) => `${plural(documents, 'document')} of the backlog of ${container} removed.`,
});

/** @throws UsageError `backlog-none`, `backlog-drained` */
async function discardable(
  container: string,
  { workspace, signal }: Pick<Context, 'workspace' | 'signal'>,
): Promise<{ readonly queues: number }> {
  const { pipeline, model } = await workspace.pipeline();
  const { state } = (await workspace.services()).place;
  const stored = await storedBacklogs(state, pipeline.name, signal);
  const found = stored.find(({ source }) => source === container);
  if (!found) {
    const known = stored.map(({ source }) => source);
    throw backlogError('backlog-none', `Nothing of ${container} is set aside${suggestion(container, known)}`);
  }
  if (sourceContainers(pipeline, model).has(container) && feedModeOf(pipeline, container) === 'latest-version')
    throw backlogError('backlog-drained', `The pipeline reads ${container}, and its hosts drain what is set aside`);
  return found;
}
