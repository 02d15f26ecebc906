import { z } from 'zod';
import { required } from '../flags.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { mayHold } from '../../procedures/projections/in-places.ts';
import { inPlaces, placesOf } from '../../runtime/places.ts';
import { RETIRE_MS, type Retirable, inFeeds, leasesOf, retirable, retire } from '../../procedures/drop/retire.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { Views } from '../../engine/views/views.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { partsOf } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { secondsToWrite } from '../../procedures/seconds.ts';
import { suggestion } from '../../base/near.ts';
import { plural } from '../../procedures/table.ts';
import { findSink, splitId } from '../../procedures/projections/choose.ts';
import { drop, droppable } from '../../procedures/drop/drop.ts';
import { dropTarget, stagedTarget } from '../../procedures/rebuild/rebuild-sink.ts';
import { sharedError } from '../../base/shared-errors.ts';

const input = z.object({
  name: required(
    'the version, as name@version; name alone means the replaced version, or else the one being built; a name that the pipeline no longer declares: all of it',
  ),
});

/** The version that a name alone means: the replaced one, else the one being built. */
async function versionMeant(given: string, views: Views): Promise<{ name: string; version: number }> {
  const { name, version } = splitId(given);
  if (version !== undefined) return { name, version };
  const all = await views.read();
  const view = all?.[name];
  const meant = view?.previous?.version ?? view?.staged?.version;
  if (meant !== undefined) return { name, version: meant };
  throw sharedError(
    'not-found',
    `${name} has no replaced version and no rebuild to drop${view ? '' : suggestion(name, Object.keys(all ?? {}))}`,
    {
      hint: view
        ? `To remove ${name} itself, take it out of the pipeline, and run \`millrace projections drop ${name}\` again.`
        : 'Run `millrace projections list` to see the projections and their versions.',
    },
  );
}

/** A name that the pipeline no longer declares. The version may be named, if it is the one that was current. */
async function removedName(given: string, { services, loaded: { pipeline } }: Parts) {
  const { name, version } = splitId(given);
  const all = await new Views(services.global.state, pipeline.name).read();
  const view = all?.[name];
  if (view && version !== undefined && view.current?.version !== version && (view.current || view.staged))
    return undefined;
  const removed = retirable(pipeline, name, all);
  return removed && { name, removed };
}

const countIn = async (parts: Parts, container: string, id: string): Promise<number> => {
  const query = {
    query: 'SELECT VALUE COUNT(1) FROM c WHERE c._mr["by"] = @id OR c["by"] = @id',
    parameters: [{ name: '@id', value: id }],
  };
  const places = (await placesOf(parts).list()).filter(mayHold(container));
  const counts = await inPlaces(places, async ({ services: at }) => {
    const counted = () => at.place.database.container(container).items.query<number>(query).fetchAll();
    const { resources } = await withRetry(counted, { reads: true }).catch((error: unknown) => {
      if (failureOf(error).kind === 'not-found') return { resources: [0] };
      throw error;
    });
    return resources[0] ?? 0;
  });
  return counts.reduce((total, of) => total + of, 0);
};

async function planOfRemoval(parts: Parts, name: string, { version, since, unread }: Retirable) {
  if (!version) return { steps: [`end the pause of ${name}, which the pipeline no longer declares`], ru: 0 };
  const id = projectionId({ name, version: version.version });
  const count = await countIn(parts, version.container, id);
  const leases = await inFeeds(
    parts,
    unread,
    async (place, container) => (await leasesOf(place, container))?.all.length ?? 0,
  );
  const waits = since === undefined ? RETIRE_MS : Math.max(0, Date.parse(since) + RETIRE_MS - Date.now());
  return {
    steps: [
      ...(since === undefined ? [`end ${id}: readers find it no longer, and hosts no longer hold what it reads`] : []),
      `wait ${Math.ceil(waits / 1000)} s, until no host that still declares it writes`,
      `remove ${plural(count, 'document')} of ${id} from ${version.container}, and its documents in the state container`,
      ...(leases > 0 ? [`remove ${plural(leases, 'lease')} of ${unread.join(', ')}, which nothing else reads`] : []),
    ],
    ru: (count + leases) * 12,
    seconds: waits / 1000 + secondsToWrite(count, 0),
  };
}

export const projectionsDrop = defineOperation({
  name: 'projections drop',
  summary:
    'Drop a version that is not current, a rebuild, or a projection that the pipeline no longer declares, with all its documents',
  examples: [
    'millrace projections drop summaries@1 --dry-run',
    'millrace projections drop summaries@1 --yes',
    'millrace projections drop summaries --dry-run',
  ],
  shards: 'itself',
  effect: 'destroys',
  argument: 'name',
  input,
  plan: async (asked, context) => {
    const parts = await partsOf(context);
    const { loaded, services } = parts;
    const views = new Views(services.global.state, loaded.pipeline.name);
    const sink = findSink(loaded.pipeline, asked.name);
    if (sink) {
      const { container } = stagedTarget((await views.read())?.[sink.name], sink);
      return { steps: [`remove ${container} of the sink of ${sink.name}`], ru: 0 };
    }
    const gone = await removedName(asked.name, parts);
    if (gone) return planOfRemoval(parts, gone.name, gone.removed);
    const { name, version } = await versionMeant(asked.name, views);
    const { container } = droppable(await views.read(), { loaded, name, version }, Date.now());
    const id = projectionId({ name, version });
    const count = await countIn(parts, container, id);
    return {
      steps: [
        `remove ${plural(count, 'document')} of ${id} from ${container}, and its documents in the state container`,
      ],
      ru: count * 12,
      seconds: secondsToWrite(count, 0),
    };
  },
  run: async (asked, context) => {
    const parts = await partsOf(context);
    const { services, loaded } = parts;
    const sink = findSink(loaded.pipeline, asked.name);
    if (sink)
      return audited(context, 'projections drop', { name: asked.name }, () => dropTarget({ ...parts, spec: sink }));
    const gone = await removedName(asked.name, parts);
    if (gone)
      return audited(context, 'projections drop', { name: gone.name }, () => {
        const { signal, screen, clock } = context;
        const progress = (count: number): void => screen.progress('removed', count);
        return retire({ ...parts, name: gone.name, signal, screen, clock, progress }, gone.removed);
      });
    const meant = await versionMeant(asked.name, new Views(services.global.state, loaded.pipeline.name));
    return audited(context, 'projections drop', { name: projectionId(meant) }, () =>
      drop({ ...parts, ...meant, progress: (removed) => context.screen.progress('removed', removed) }),
    );
  },
  format: ({ projection, documents, state, leases, target }) =>
    target !== undefined
      ? `${target} is dropped. The current content of the sink stays as it is.`
      : leases !== undefined
        ? `${projection} is removed: ${plural(documents, 'document')} of its sink, ${plural(state, 'document')} of the state container, ${plural(leases, 'lease')}.`
        : `${projection} is dropped: ${plural(documents, 'document')} of its sink and ${plural(state, 'document')} of the state container. Remove it from the pipeline now.`,
});
