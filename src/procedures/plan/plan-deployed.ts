// Compares a pipeline with what is deployed. It only reads, so that it can run for every pull request.
import { wholeOf } from '../../pipeline/places.ts';
import { type EmbedSpec, type Pipeline, type ProjectionSpec, projectionId } from '../../pipeline/specs.ts';
import { Fingerprints } from '../../engine/guard-fingerprints.ts';
import { Views } from '../../engine/views/views.ts';
import type { Model } from '../../model/model.ts';
import { estimate } from '../projections/estimate.ts';
import type { Services } from '../../runtime/workspace.ts';

/**
 * - `unchanged`: hosts continue it
 * - `first`: nothing was ever deployed; the first host reads everything from the beginning
 * - `new`, `version`: must be built and promoted before readers see it
 * - `refused`: its declaration changed without a new version, and hosts would park its changes
 * - `gone`: deployed, but no longer declared
 */
export type DeployedState = 'unchanged' | 'first' | 'new' | 'version' | 'refused' | 'gone';

export interface Deployed {
  readonly id: string;
  readonly state: DeployedState;
  readonly why: string;
  /** What the user has to do; absent if nothing. */
  readonly command?: string;
  /** The cost of building it. */
  readonly rebuild?: { readonly documents: number; readonly ru: number };
}

/**
 * Of a part of a pipeline over shards: what runs in its place. Versions are those of all places, and what is no longer
 * declared is named in the global place.
 * @throws UsageError if the account can't be reached
 */
export async function againstDeployed(pipeline: Pipeline, model: Model, services: Services): Promise<Deployed[]> {
  const whole = wholeOf(pipeline);
  const views = await new Views(services.global.state, pipeline.name).read();
  const fingerprints = new Fingerprints(services.global.state, { pipeline: whole, model });
  const specs: readonly (ProjectionSpec | EmbedSpec)[] = [...pipeline.projections, ...pipeline.embeds];
  const declared = await Promise.all(
    specs.map(async (spec): Promise<Deployed> => {
      const id = projectionId(spec);
      const changed = await fingerprints.changes(spec);
      if (changed.length > 0) {
        return {
          id,
          state: 'refused',
          why: changed.join('; '),
          command: `Declare it as version ${spec.version + 1}`,
        };
      }
      const current = views?.[spec.name]?.current;
      if (current?.version === spec.version) return { id, state: 'unchanged', why: 'it is current' };
      if (spec.kind === 'embed' && views && (await fingerprints.hasRun(spec)))
        return { id, state: 'unchanged', why: 'it is running' };
      const rebuild = await estimate(spec, services, pipeline.sources);
      if (!views) return { id, state: 'first', why: 'nothing is deployed yet', rebuild };
      if (spec.kind === 'embed') return { id, ...addedEmbed(spec), rebuild };
      const command = `millrace projections rebuild ${spec.name}, then promote`;
      if (!current) return { id, state: 'new', why: 'it was added to a running pipeline', command, rebuild };
      if (spec.version < current.version) return { id, state: 'unchanged', why: `${current.version} is current` };
      return { id, state: 'version', why: `version ${current.version} is current`, command, rebuild };
    }),
  );
  if (pipeline.part?.place === 'shard') return declared;
  const names = new Set(whole.projections.map(({ name }) => name));
  const gone = Object.entries(views ?? {}).flatMap(([name, { current }]): Deployed[] => {
    if (names.has(name) || !current) return [];
    const why = 'it is deployed but no longer declared: no host updates it';
    return [
      { id: `${name}@${current.version}`, state: 'gone', why, command: `remove ${current.container}, or declare it` },
    ];
  });
  return [...declared, ...gone];
}

/** A new embed only gets parents that change from then on. A rebuild fills in the fields of the others. */
const addedEmbed = ({ name, version }: EmbedSpec): Pick<Deployed, 'state' | 'why' | 'command'> => ({
  state: version > 1 ? 'version' : 'new',
  why:
    version > 1
      ? 'it has not run yet: fields stay as the previous version left them until their parents change'
      : 'it was added to a running pipeline: fields stay as they are until their parents change',
  command: `millrace projections rebuild ${name} after the deployment: it fills the fields in place`,
});

export const sayDeployed = ({ id, state, why, command, rebuild }: Deployed): string =>
  `${id}: ${state}: ${why}` +
  (rebuild && state !== 'unchanged'
    ? `; ${rebuild.documents.toLocaleString('en-US')} documents to read, about ${Math.ceil(rebuild.ru).toLocaleString('en-US')} RU`
    : '') +
  (command === undefined ? '' : `. ${command}`);
