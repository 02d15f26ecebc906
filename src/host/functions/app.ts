import { app } from '@azure/functions';
import { messageOf } from '../../base/errors.ts';
import { startTracing, traced } from '../../base/opentelemetry.ts';
import type { Settings } from '../../base/settings.ts';
import { feedModeOf, refuseTriggers } from '../../definition/all-versions.ts';
import type { Pipeline } from '../../definition/specs.ts';
import { leaseNameOf } from '../../runtime/processor-name.ts';
import type { Workspace } from '../../runtime/workspace.ts';
import { hostError } from '../errors.ts';
import { Drain } from './drain.ts';
import { registerHttp } from './http.ts';
import { ingestOptions, registerIngests } from './ingest.ts';
import { renewed } from './renewed.ts';
import { registerTimers } from './timers.ts';
import { type FeedTrigger, registerTrigger, triggerOptions } from './triggers.ts';
import { compareDeployed } from '../http/readiness.ts';
import { feedContainers, refuseRenamedPrefix } from '../../runtime/renamed-prefix.ts';
import { type Consume, triggerConsumer } from '../../runtime/trigger-host.ts';

/** While a projection is held, the app compares it with its deployment again after this time. */
const RECHECK_MS = 30_000;

/**
 * Registers the functions that the pipeline needs: a Cosmos DB trigger for each container whose feed it reads, an Event
 * Hubs trigger for each ingest, the timers, and HTTP for health and operations. The first request to the account comes
 * with the first batch, and nothing throws at import: the Functions host would then index no function and not say why.
 */
export async function registerFunctions(workspace: Workspace): Promise<void> {
  const endTracing = traced() ? startTracing() : undefined;
  const drain = new Drain();
  const loaded = await triggersOf(workspace);
  const checkLeases = async (): Promise<void> => {
    const [{ pipeline }, services] = await Promise.all([workspace.pipeline(), workspace.services()]);
    await refuseRenamedPrefix(pipeline, services, workspace.settings());
  };
  const consumer = renewed(() => openConsumer(workspace, checkLeases), {
    stands: ({ held }) => held === 0,
    afterMs: RECHECK_MS,
  });
  for (const trigger of loaded.triggers)
    registerTrigger(trigger, drain, async (batch) => (await consumer()).consume(batch));
  if (loaded.pipeline) registerTimers(loaded.pipeline, workspace, drain);
  const ingests = loaded.pipeline?.ingests ?? [];
  registerIngests(ingests, workspace, drain);
  registerHttp(workspace, drain, {
    workspace,
    bindings: [
      ...loaded.triggers.map((trigger) => ({ type: 'cosmosDBTrigger', ...triggerOptions(trigger) })),
      ...ingests.map((ingest) => ({ type: 'eventHubTrigger', ...ingestOptions(ingest) })),
    ],
    checkLeases,
    ...(loaded.error ? { unloadable: loaded.error } : {}),
  });
  app.hook.appTerminate(async () => {
    await drain.end();
    await workspace.close();
    endTracing?.();
  });
}

async function openConsumer(
  workspace: Workspace,
  checkLeases: () => Promise<void>,
): Promise<{ consume: Consume; held: number }> {
  const [loaded, services] = await Promise.all([workspace.pipeline(), workspace.services()]);
  const [{ held }] = await Promise.all([compareDeployed(loaded, services), checkLeases()]);
  for (const [projection, why] of held) console.error(`millrace: ${projection} is held: ${why}`);
  const consume = triggerConsumer({ settings: workspace.settings(), services, loaded, held });
  return { consume, held: held.size };
}

/** The other settings are read with the first batch, so that the host can index an app without them. */
const triggersReadAllVersions = (): Pick<Settings, 'triggerAllVersions'> =>
  process.env['TRIGGER_ALL_VERSIONS'] === 'preview' ? { triggerAllVersions: true } : {};

interface Triggers {
  readonly triggers: readonly FeedTrigger[];
  /** Absent if it couldn't be loaded. */
  readonly pipeline?: Pipeline;
  readonly error?: Error;
}

/** A trigger for each source container. If the pipeline can't be loaded: no triggers, and the reason on standard error. */
async function triggersOf(workspace: Workspace): Promise<Triggers> {
  try {
    const { pipeline } = await workspace.pipeline();
    // Triggers are declared before the shard map can be read.
    if (pipeline.shards) throw hostError('functions-over-shards', `The pipeline ${pipeline.name} is over shards`);
    const containers = feedContainers(pipeline);
    const allowed = triggersReadAllVersions();
    if (!allowed.triggerAllVersions) refuseTriggers(pipeline, containers);
    const triggers = containers.map((container) => ({
      container,
      prefix: leaseNameOf(pipeline, container, allowed),
      mode: feedModeOf(pipeline, container),
    }));
    return { pipeline, triggers };
  } catch (error) {
    console.error(`millrace: no trigger was registered: ${messageOf(error)}`);
    return { triggers: [], error: error instanceof Error ? error : new Error(messageOf(error)) };
  }
}
