import { z } from 'zod';
import { withRetry } from '../../cosmos/retry.ts';
import { allPlaces, holding } from './in-places.ts';
import { projectionId } from '../../definition/specs.ts';
import { Views } from '../../engine/views/views.ts';
import { audited } from '../audit/record.ts';
import { defineOperation, partsOf } from '../operation.ts';
import { secondsToWrite } from '../seconds.ts';
import { suggestion } from '../../base/near.ts';
import { plural } from '../table.ts';
import { findSink, splitId } from './choose.ts';
import { drop, droppable } from './drop.ts';
import { dropTarget, stagedTarget } from './rebuild-sink.ts';
import { operationsError } from '../errors.ts';

const input = z.object({
  name: z
    .string()
    .describe('the version, as name@version; name alone means the replaced version, or else the one being built'),
});

/** The version that a name alone means: the replaced one, else the one being built. */
async function versionMeant(given: string, views: Views): Promise<{ name: string; version: number }> {
  const { name, version } = splitId(given);
  if (version !== undefined) return { name, version };
  const all = await views.read();
  const view = all?.[name];
  const meant = view?.previous?.version ?? view?.staged?.version;
  if (meant !== undefined) return { name, version: meant };
  throw operationsError(
    'version-unknown',
    `${name} has no replaced version and no rebuild to drop${view ? '' : suggestion(name, Object.keys(all ?? {}))}`,
  );
}

export const projectionsDrop = defineOperation({
  noun: 'projections',
  verb: 'drop',
  summary: 'Drop a version that is not current, or a rebuild, with all its documents',
  examples: ['millrace projections drop summaries@1 --dry-run', 'millrace projections drop summaries@1 --yes'],
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
    const { name, version } = await versionMeant(asked.name, views);
    const { container } = droppable((await views.read())?.[name], { loaded, name, version }, Date.now());
    const id = projectionId({ name, version });
    const query = {
      query: 'SELECT VALUE COUNT(1) FROM c WHERE c._mr["by"] = @id OR c["by"] = @id',
      parameters: [{ name: '@id', value: id }],
    };
    let count = 0;
    for (const { services: at } of holding(await allPlaces(parts), container)) {
      const filled = at.place.database.container(container);
      const { resources } = await withRetry(() => filled.items.query<number>(query).fetchAll(), { reads: true });
      count += resources[0] ?? 0;
    }
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
    const meant = await versionMeant(asked.name, new Views(services.global.state, loaded.pipeline.name));
    return audited(context, 'projections drop', { name: projectionId(meant) }, () =>
      drop({ ...parts, ...meant, progress: (removed) => context.screen.progress('removed', removed) }),
    );
  },
  format: ({ projection, documents, state, target }) =>
    target !== undefined
      ? `${target} is dropped. The current content of the sink stays as it is.`
      : `${projection} is dropped: ${plural(documents, 'document')} of its sink and ${plural(state, 'document')} of the state container. Remove it from the pipeline now.`,
});
