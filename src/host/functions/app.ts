import { app } from '@azure/functions';
import { messageOf } from '../../base/errors.ts';
import { startTracing, traced } from '../../base/telemetry/opentelemetry.ts';
import type { Settings } from '../../base/settings.ts';
import { feedModeOf, refuseTriggers } from '../../pipeline/all-versions.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import { apartOf, leaseNameOf } from '../../runtime/hosts/processor-name.ts';
import type { Workspace } from '../../runtime/workspace.ts';
import { Drain } from './drain.ts';
import { registerHttp } from './http.ts';
import { ingestOptions, registerIngests } from './ingest.ts';
import { type AppPlace, appPart, appPlace, shardConnection } from './place.ts';
import { renewed } from './renewed.ts';
import { registerTimers } from './timers.ts';
import { type FeedTrigger, registerTrigger, triggerOptions } from './triggers.ts';
import { compareDeployed } from '../http/compare-deployed.ts';
import { feedContainers, assertPositions } from '../../runtime/lease-positions.ts';
import { type Consume, triggerConsumer } from '../../runtime/hosts/trigger-host.ts';

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
  const place = appPlace(workspace);
  const checkLeases = async (): Promise<void> => {
    const [{ pipeline }, services] = await Promise.all([place.workspace.pipeline(), place.workspace.services()]);
    const again = await assertPositions(pipeline, services, workspace.settings());
    if (again !== undefined) console.error(`millrace: ${again}`);
  };
  const consumer = renewed(() => openConsumer(place, checkLeases), {
    stands: ({ held }) => held === 0,
    afterMs: RECHECK_MS,
  });
  for (const trigger of loaded.triggers)
    registerTrigger(trigger, drain, async (batch) => (await consumer()).consume(batch));
  if (loaded.pipeline) registerTimers(loaded.pipeline, workspace, drain, place.input);
  const ingests = loaded.pipeline?.ingests ?? [];
  registerIngests(ingests, place.workspace, drain);
  registerHttp(workspace, drain, {
    workspace: place.workspace,
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
  { workspace, shard }: AppPlace,
  checkLeases: () => Promise<void>,
): Promise<{ consume: Consume; held: number }> {
  const [loaded, services] = await Promise.all([workspace.pipeline(), workspace.services()]);
  const [{ held }] = await Promise.all([compareDeployed(loaded, services), checkLeases()]);
  for (const [projection, why] of held) console.error(`millrace: ${projection} is held: ${why}`);
  const consume = triggerConsumer({ settings: workspace.settings(), services, loaded, held, shard: await shard() });
  return { consume, held: held.size };
}

/** The other settings are read with the first batch, so that the host can index an app without them. */
const triggersReadAllVersions = (): Pick<Settings, 'triggerAllVersions'> =>
  /^(on|preview)$/.test(process.env['TRIGGER_ALL_VERSIONS'] ?? '') ? { triggerAllVersions: true } : {};

interface Triggers {
  readonly triggers: readonly FeedTrigger[];
  /** What the app runs of the pipeline. Absent if it couldn't be loaded. */
  readonly pipeline?: Pipeline;
  readonly error?: Error;
}

/** A trigger for each source container. If the pipeline can't be loaded: no triggers, and the reason on standard error. */
async function triggersOf(workspace: Workspace): Promise<Triggers> {
  try {
    const pipeline = appPart(await workspace.pipeline());
    const containers = feedContainers(pipeline);
    const allowed = triggersReadAllVersions();
    if (!allowed.triggerAllVersions) refuseTriggers(pipeline, containers);
    const triggers = containers.flatMap((container): FeedTrigger[] => {
      const prefix = leaseNameOf(pipeline, container, allowed);
      const of = { container, prefix, mode: feedModeOf(pipeline, container) };
      const home = { connection: 'COSMOS', database: 'COSMOS_DATABASE' };
      if (pipeline.part?.place !== 'shard') return [{ ...of, ...home }];
      if (pipeline.part.inShards.has(container))
        return [{ ...of, connection: shardConnection(), database: 'SHARD_DATABASE' }];
      const rid = process.env['SHARD_RID'];
      // Without it no batch of any container is taken: opening the place says what it must be.
      return rid ? [{ ...of, ...home, prefix: `${prefix}${apartOf(rid)}` }] : [];
    });
    return { pipeline, triggers };
  } catch (error) {
    console.error(`millrace: no trigger was registered: ${messageOf(error)}`);
    return { triggers: [], error: error instanceof Error ? error : new Error(messageOf(error)) };
  }
}
