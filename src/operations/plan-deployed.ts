// What a pipeline would change of what is deployed: read only, so that it can run for every pull request.
import { type EmbedSpec, type Pipeline, type ProjectionSpec, projectionId } from '../definition/specs.ts';
import { Fingerprints } from '../engine/fingerprints.ts';
import { Views } from '../engine/views/views.ts';
import type { Model } from '../model/model.ts';
import { estimate } from './projections/estimate.ts';
import type { Services } from '../runtime/workspace.ts';

/**
 * - `unchanged`: goes on as it is
 * - `first`: nothing was ever deployed; the first host reads everything from the beginning
 * - `new`, `version`: has to be built and promoted before anybody reads it
 * - `refused`: its keys changed under its version, and hosts would park its changes
 * - `gone`: deployed, and declared no more
 */
export type DeployedState = 'unchanged' | 'first' | 'new' | 'version' | 'refused' | 'gone';

export interface Deployed {
  readonly id: string;
  readonly state: DeployedState;
  readonly why: string;
  /** What mends or finishes it; absent where there is nothing to do. */
  readonly command?: string;
  /** Of building it. */
  readonly rebuild?: { readonly documents: number; readonly ru: number };
}

/** @throws UsageError where the account can't be reached */
export async function againstDeployed(pipeline: Pipeline, model: Model, services: Services): Promise<Deployed[]> {
  const views = await new Views(services.state, pipeline.name).read();
  const fingerprints = new Fingerprints(services.state, { pipeline, model });
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
        return { id, state: 'unchanged', why: 'it is at work' };
      const rebuild = await estimate(spec, services, pipeline.sources);
      if (!views) return { id, state: 'first', why: 'nothing is deployed yet', rebuild };
      if (spec.kind === 'embed') return { id, ...addedEmbed(spec), rebuild };
      const command = `millrace projections rebuild ${spec.name}, then promote`;
      if (!current) return { id, state: 'new', why: 'it was added to a running pipeline', command, rebuild };
      if (spec.version < current.version) return { id, state: 'unchanged', why: `${current.version} is current` };
      return { id, state: 'version', why: `version ${current.version} is current`, command, rebuild };
    }),
  );
  const names = new Set(pipeline.projections.map(({ name }) => name));
  const gone = Object.entries(views ?? {}).flatMap(([name, { current }]): Deployed[] => {
    if (names.has(name) || !current) return [];
    const why = 'it is deployed and declared no more: nobody keeps it up';
    return [
      { id: `${name}@${current.version}`, state: 'gone', why, command: `remove ${current.container}, or declare it` },
    ];
  });
  return [...declared, ...gone];
}

/** It begins with the parents that change from then on: what the others say is filled in by a pass over all of them. */
const addedEmbed = ({ name, version }: EmbedSpec): Pick<Deployed, 'state' | 'why' | 'command'> => ({
  state: version > 1 ? 'version' : 'new',
  why:
    version > 1
      ? 'it has not run yet: fields stay as the version before left them until their parents change'
      : 'it was added to a running pipeline: fields stay as they are until their parents change',
  command: `millrace projections rebuild ${name} once it is deployed, which fills it in in place`,
});

export const sayDeployed = ({ id, state, why, command, rebuild }: Deployed): string =>
  `${id}: ${state}: ${why}` +
  (rebuild && state !== 'unchanged'
    ? `; ${rebuild.documents.toLocaleString('en-US')} documents to read, some ${Math.ceil(rebuild.ru).toLocaleString('en-US')} RU`
    : '') +
  (command === undefined ? '' : `. ${command}`);
