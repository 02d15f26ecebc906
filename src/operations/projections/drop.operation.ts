import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { projectionId } from '../../definition/specs.ts';
import { Views } from '../../engine/views/views.ts';
import { audited } from '../audit/record.ts';
import { defineOperation, partsOf } from '../operation.ts';
import { secondsToWrite } from '../seconds.ts';
import { suggestion } from '../../base/near.ts';
import { plural } from '../table.ts';
import { splitId } from './choose.ts';
import { drop, droppable } from './drop.ts';

const input = z.object({
  name: z
    .string()
    .describe('the version, as name@version; name alone means the one that was replaced, or is being built'),
});

/** The version that a name alone means: the one replaced, else the one being built. */
async function versionMeant(told: string, views: Views): Promise<{ name: string; version: number }> {
  const { name, version } = splitId(told);
  if (version !== undefined) return { name, version };
  const all = await views.read();
  const view = all?.[name];
  const meant = view?.previous?.version ?? view?.staged?.version;
  if (meant !== undefined) return { name, version: meant };
  throw new UsageError(
    'version-unknown',
    `Nothing of ${name} can be dropped${view ? '' : suggestion(name, Object.keys(all ?? {}))}`,
    {
      mend: 'Say which version: `millrace projections drop NAME@VERSION`.',
    },
  );
}

export const projectionsDrop = defineOperation({
  noun: 'projections',
  verb: 'drop',
  summary: 'Remove a version that is not current, with all it wrote; or give up one that is being built',
  examples: ['millrace projections drop summaries@1 --dry-run', 'millrace projections drop summaries@1 --yes'],
  effect: 'destroys',
  argument: 'name',
  input,
  plan: async (asked, { workspace }) => {
    const loaded = await workspace.pipeline();
    const services = await workspace.services();
    const views = new Views(services.state, loaded.pipeline.name);
    const { name, version } = await versionMeant(asked.name, views);
    const { container } = droppable((await views.read())?.[name], { loaded, name, version }, Date.now());
    const id = projectionId({ name, version });
    const query = {
      query: 'SELECT VALUE COUNT(1) FROM c WHERE c._mr["by"] = @id OR c["by"] = @id',
      parameters: [{ name: '@id', value: id }],
    };
    const { resources } = await withRetry(
      () => services.database.container(container).items.query<number>(query).fetchAll(),
      { reads: true },
    );
    const count = resources[0] ?? 0;
    return {
      steps: [`remove ${plural(count, 'document')} of ${id} from ${container}, and what is kept about it`],
      ru: count * 12,
      seconds: secondsToWrite(count, 0),
    };
  },
  run: async (asked, context) => {
    const parts = await partsOf(context);
    const { services, loaded } = parts;
    const meant = await versionMeant(asked.name, new Views(services.state, loaded.pipeline.name));
    return audited(context, 'projections drop', { name: projectionId(meant) }, () =>
      drop({ ...parts, ...meant, progress: (removed) => context.screen.progress('removed', removed) }),
    );
  },
  format: ({ projection, documents, state }) =>
    `${projection} is dropped: ${plural(documents, 'document')} of its sink, ${plural(state, 'document')} of what was kept about it. Take it out of the pipeline now.`,
});
