// Operations of a pipeline over shards: each place by itself, or none where that would be wrong.
import type { z } from 'zod';
import { sharedError } from '../base/shared-errors.ts';
import { MillraceError, type UsageError, messageOf } from '../base/errors.ts';
import { suggestion } from '../base/near.ts';
import { once } from '../base/once.ts';
import { resourceName } from '../base/settings.ts';
import { type PipelinePlace, placesOf } from '../runtime/places.ts';
import { type LoadedPipeline, type Workspace, changedWorkspace } from '../runtime/workspace.ts';
import type { Plan } from '../procedures/context.ts';
import { operationsError } from '../procedures/errors.ts';
import { isForShards, refusedOverShards } from '../procedures/refused-over-shards.ts';

/**
 * How an operation works on a pipeline over shards. `every`: in each place, or in the one that `--shard` names. `one`: only
 * in the one that `--shard` names. `itself`: it gets the whole pipeline, and opens the places that it needs. Absent: it is
 * refused, because it would work on the global place alone.
 */
export type OverShards = 'every' | 'one' | 'itself';

/** The flag of operations that work in places. */
export const placeInput = {
  shard: resourceName('A database name')
    .optional()
    .describe('database of one shard, or that of the settings for the global place; for a pipeline over shards'),
};

/** What an operation found in one place. */
export interface AtPlace {
  /** The shard, or the database of the settings. */
  readonly place: string;
  readonly global: boolean;
  readonly ok: boolean;
  /** Absent: it failed there. */
  readonly value?: unknown;
  /** Why it failed, and the code of the error, if it is one of Millrace. */
  readonly failure?: string;
  readonly code?: string;
}

export interface OperationPlace {
  readonly name: string;
  readonly global: boolean;
  readonly workspace: Workspace;
}

/**
 * The places that an operation works on. Undefined: the pipeline has one place, so it works as on any other.
 * @throws UsageError `unsupported`, `input-invalid`
 */
export async function operationPlaces(
  workspace: Workspace,
  name: string,
  how: OverShards,
  shard: string | undefined,
): Promise<OperationPlace[] | undefined> {
  // The operation reports a pipeline that can't be loaded, or works without one.
  const loaded = await workspace.pipeline().catch(() => undefined);
  if (!loaded?.pipeline.shards) {
    if (shard === undefined) return undefined;
    // It may have failed to load.
    const { pipeline } = await workspace.pipeline();
    throw operationsError('input-invalid', `--shard is given, and the pipeline ${pipeline.name} is not over shards`, {
      hint: 'Leave --shard out, or name the folder of the pipeline that you mean with --pipeline.',
    });
  }
  if (how === 'one' && shard === undefined)
    throw sharedError('unsupported', `\`millrace ${name}\` works in one place of a pipeline over shards`, {
      hint: `Name it with --shard: the database of a shard${isForShards(name) ? '' : ', or that of the settings for the global place'}.`,
    });
  const settings = workspace.settings();
  const places = await placesOf({ settings, services: await workspace.services(), loaded }).list();
  const all = places.map((place) => ({
    name: place.shard ?? settings.database,
    global: place.shard === undefined,
    workspace: workspaceAt(workspace, name, place),
  }));
  if (shard === undefined) return all;
  const found = all.filter((place) => place.name === shard);
  if (found.length > 0) return found;
  const known = all.map((place) => place.name);
  throw operationsError('input-invalid', `There is no shard ${shard}${suggestion(shard, known)}`, {
    hint: `The places are: ${known.join(', ')}.`,
  });
}

/** A workspace on one place, with the part of the pipeline that runs there. */
function workspaceAt(workspace: Workspace, name: string, { loaded, open }: PipelinePlace<LoadedPipeline>): Workspace {
  const of: Workspace = changedWorkspace(workspace, {
    at: (folder) => (folder === undefined ? of : onOnePlace(workspace.at(folder), name)),
    pipeline: async () => loaded,
    services: once(async () => (await open()).services),
  });
  return of;
}

/** A workspace whose pipeline may not be over shards. */
export function onOnePlace(workspace: Workspace, name: string): Workspace {
  const pipeline = async (): Promise<LoadedPipeline> => {
    const loaded = await workspace.pipeline();
    if (loaded.pipeline.shards && !loaded.pipeline.part) throw unsupported(name);
    return loaded;
  };
  return changedWorkspace(workspace, { at: (folder) => onOnePlace(workspace.at(folder), name), pipeline });
}

function unsupported(name: string): UsageError {
  const { why, instead } = refusedOverShards(name);
  return sharedError('unsupported', `\`millrace ${name}\` can’t work on a pipeline over shards: ${why}`, {
    hint: instead,
  });
}

/** The results of several places as one. */
export const joinPlaces = (results: readonly (AtPlace & { readonly text: string })[]) => ({
  value: {
    places: results.map(({ place, global, ok, value, failure, code }): AtPlace => ({
      place,
      global,
      ok,
      ...(failure === undefined ? { value } : { failure, ...(code !== undefined && { code }) }),
    })),
  },
  text: results
    .map(({ place, global, text }) => `── ${global ? `global place ${place}` : `shard ${place}`}\n${text}`)
    .join('\n\n'),
  ok: results.every(({ ok }) => ok),
});

export const failedAt = (
  { name: place, global }: Pick<OperationPlace, 'name' | 'global'>,
  error: unknown,
): AtPlace & { text: string } => {
  const failure = messageOf(error);
  const code = error instanceof MillraceError ? { code: error.code } : {};
  return { place, global, ok: false, failure, ...code, text: `It failed here: ${failure}` };
};

export const withPlaceInput = (schema: z.ZodObject, how: OverShards | undefined): z.ZodObject =>
  how === 'every' || how === 'one' ? schema.extend(placeInput) : schema;

/** A plan whose steps name the place. */
export const planAt = ({ name, global }: OperationPlace, plan: Plan): Plan => ({
  ...plan,
  steps: plan.steps.map((step) => `${global ? 'global place' : 'shard'} ${name}: ${step}`),
});

/** Plans of several places, which are worked on one after the other. */
export function joinPlans(plans: readonly Plan[]): Plan {
  const [only, ...more] = plans;
  if (only && more.length === 0) return only;
  const sum = (of: (plan: Plan) => number): number => plans.reduce((total, plan) => total + of(plan), 0);
  return {
    steps: plans.flatMap(({ steps }) => steps),
    ru: sum(({ ru }) => ru),
    seconds: sum(({ seconds = 0 }) => seconds),
  };
}
