import type { Database } from '@azure/cosmos';
import { z } from 'zod';
import { withRetry } from '../../cosmos/retry.ts';
import { ShardMapManager } from '../../shards/index.ts';
import { ROUTERS_CONTAINER } from '../../shards/gate/shard-gate-store.ts';
import { LOCAL_CONTAINER, MAP_CONTAINER } from '../../shards/map/documents.ts';
import { partOf } from '../../pipeline/places.ts';
import { requireShardMaps } from '../../base/settings.ts';
import { ownContainer, planContainers, planState, wantedContainers } from '../../procedures/apply/apply.ts';
import type { ApplyStep } from '../../procedures/apply/step.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { pipelineIfAny } from '../../procedures/pipeline-if-any.ts';
import { plural } from '../../procedures/table.ts';
import { type ShardInput, shardFilter } from './inputs.ts';
import { openPlaces } from '../../procedures/shards/open.ts';
import { locationOf } from './select.ts';

const input = z.object({
  ...shardFilter,
  shard: shardFilter.shard.describe(
    'prepare this database to be a shard: create its container for the local map, and with a pipeline over shards those of the pipeline',
  ),
});
type Input = z.output<typeof input>;

export const shardsInit = defineOperation({
  name: 'shards init',
  summary: 'Create the store of shard maps, or the containers in the database of a shard',
  examples: ['millrace shards init --dry-run', 'millrace shards init', 'millrace shards init --shard west'],
  effect: 'changes',
  input,
  plan: async (asked, context) => ({ steps: (await stepsOf(asked, context)).map(({ say }) => say), ru: 0 }),
  run: async (asked, context) => {
    const steps = await stepsOf(asked, context);
    for (const { say, apply } of steps) {
      context.signal.throwIfAborted();
      context.screen.line(`${say} …`);
      await withRetry(apply, { reads: true, signal: context.signal });
    }
    return { done: steps.map(({ say }) => say) };
  },
  format: ({ done }) => (done.length === 0 ? 'Everything is there already.' : `${plural(done.length, 'change')} made.`),
});

async function stepsOf({ shard, endpoint }: Input, context: Context): Promise<ApplyStep[]> {
  const places = await openPlaces(context);
  if (shard !== undefined) {
    const database = places.connect(locationOf({ shard, endpoint }));
    const local = { database, definition: ownContainer('state', LOCAL_CONTAINER) };
    return planContainers([local, ...(await pipelineContainers({ shard, endpoint }, database, context))]);
  }
  const { database } = places;
  const wanted = [MAP_CONTAINER, ROUTERS_CONTAINER].map((id) => ({ database, definition: ownContainer('state', id) }));
  const store = await planContainers(wanted);
  const steps = [...store, ...(await planState(await context.workspace.services()))];
  if (await ShardMapManager.tryGet(places)) return steps;
  return [...steps, { say: 'create the store of shard maps', apply: () => ShardMapManager.create(places) }];
}

/** What hosts and applications need in a shard of the pipeline, if there is one over shards. */
async function pipelineContainers(at: ShardInput, database: Database, { workspace }: Context) {
  const loaded = await pipelineIfAny(workspace);
  if (!loaded?.pipeline.shards) return [];
  const { pipeline, model } = loaded;
  const { endpoint } = requireShardMaps(workspace.settings());
  const there = await (await workspace.services()).at({ endpoint, ...locationOf(at) });
  const part = { ...loaded, pipeline: partOf(pipeline, model, 'shard') };
  // One object for each database, so that it is created once.
  return wantedContainers(part, there).map((one) =>
    one.database === there.place.database ? { ...one, database } : one,
  );
}
