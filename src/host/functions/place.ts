// The place of a pipeline over shards that a function app works on: each place has an app of its own.
import type { UsageError } from '../../base/errors.ts';
import { requireShard } from '../../base/settings.ts';
import { ridOf } from '../../cosmos/rid.ts';
import { partOf } from '../../pipeline/places.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import { feedContainers } from '../../runtime/lease-positions.ts';
import { type ShardPlace, isShardAt, openShardMap, shardPlaces } from '../../runtime/places.ts';
import { type LoadedPipeline, type Services, type Workspace, changedWorkspace } from '../../runtime/workspace.ts';
import { hostError } from '../errors.ts';
import { renewed } from './renewed.ts';

/** An app's place, opened. */
interface OpenPlace {
  readonly loaded: LoadedPipeline;
  readonly services: Services;
  /** Name of the shard. Absent: the pipeline has one place, or this is the global place. */
  readonly shard?: string;
}

export interface AppPlace {
  /** The workspace on this place, with the part of the pipeline that runs there. */
  readonly workspace: Workspace;
  /** Name of the shard. Undefined: the pipeline has one place, or this is the global place. */
  readonly shard: () => Promise<string | undefined>;
  /** What operations that work in places get. Empty: the pipeline has one place. */
  readonly input: () => Promise<{ readonly shard?: string }>;
}

/**
 * The part of a pipeline that the app runs. Triggers are fixed before the account is asked, so the environment alone
 * decides. A pipeline without shards is its own part.
 * @throws UsageError `app-place-invalid`
 */
export function appPart({ pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>): Pipeline {
  if (!pipeline.shards) return pipeline;
  const database = process.env['SHARD_DATABASE'];
  if (!database)
    throw hostError(
      'app-place-invalid',
      `The pipeline ${pipeline.name} is over shards, and SHARD_DATABASE names no place`,
      {
        hint: 'Deploy an app for each shard and one for the global place. Set SHARD_DATABASE of each to the database of its shard, or to the value of COSMOS_DATABASE. Or run the pipeline with `millrace run`, which works on all places.',
      },
    );
  const isGlobal = database === process.env['COSMOS_DATABASE'] && shardConnection() === 'COSMOS';
  return partOf(pipeline, model, isGlobal ? 'global' : 'shard');
}

const OWN_ACCOUNT = 'SHARD_COSMOS';

/** The connection that bindings of a shard's containers name. */
export const shardConnection = (): string =>
  process.env[OWN_ACCOUNT] || process.env[`${OWN_ACCOUNT}__accountEndpoint`] ? OWN_ACCOUNT : 'COSMOS';

/** The app's place. It is opened at the first use, and again after a failure. */
export function appPlace(workspace: Workspace): AppPlace {
  const open = renewed(() => openPlace(workspace), { stands: () => true, afterMs: 0 });
  return {
    workspace: changedWorkspace(workspace, {
      pipeline: async () => (await open()).loaded,
      services: async () => (await open()).services,
    }),
    shard: async () => (await open()).shard,
    input: async () => {
      const { loaded, shard = workspace.settings().database } = await open();
      return loaded.pipeline.shards ? { shard } : {};
    },
  };
}

/** @throws UsageError `app-place-unknown`, `app-place-invalid`, and those of `openShardMap` */
async function openPlace(workspace: Workspace): Promise<OpenPlace> {
  const [whole, home] = await Promise.all([workspace.pipeline(), workspace.services()]);
  if (!whole.pipeline.shards) return { loaded: whole, services: home };
  const settings = workspace.settings();
  const pipeline = appPart(whole);
  const loaded = { ...whole, pipeline };
  const map = await openShardMap({ settings, services: home, loaded: whole });
  if (pipeline.part?.place !== 'shard') return { loaded, services: home };
  const { database, endpoint, rid } = requireShard(settings);
  const all = await shardPlaces(map, settings);
  const found = all.find((one) => isShardAt(one, settings, { endpoint, database: { id: database } }));
  if (!found) throw unknownPlace(map.name, all, settings.database);
  const services = await home.at(found.location);
  if (readsGlobal(pipeline).length > 0) {
    const actual = await ridOf(services.place.database);
    if (rid !== actual)
      throw hostError('app-place-invalid', `SHARD_RID is not the _rid of the shard’s database, ${actual}`, {
        hint: `Set SHARD_RID to ${actual}: the leases of ${readsGlobal(pipeline).join(', ')}, which each shard reads for itself, have it in their names.`,
      });
  }
  return { loaded, services, shard: found.name };
}

/** The containers of the global place that a shard's part reads. */
const readsGlobal = (pipeline: Pipeline): string[] =>
  feedContainers(pipeline).filter((container) => pipeline.part?.inShards.has(container) === false);

function unknownPlace(map: string, all: readonly ShardPlace[], home: string): UsageError {
  const known = [...all.map(({ name }) => name), `${home} (the global place)`];
  return hostError('app-place-unknown', `SHARD_DATABASE names no shard of the map ${map}`, {
    hint: `Set SHARD_DATABASE to one of the places: ${known.join(', ')}. If the shard is in another account than COSMOS, set SHARD_COSMOS or SHARD_COSMOS__accountEndpoint to it.`,
  });
}
