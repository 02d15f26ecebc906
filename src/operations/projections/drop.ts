import type { Container } from '@azure/cosmos';
import pMap from 'p-map';
import { z } from 'zod';
import { LANDING_BOUND_MS, WRITE_BOUND_MS } from '../../base/bounds.ts';
import { UsageError } from '../../base/errors.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { type KeyPath, fullKey, splitPath } from '../../cosmos/paths.ts';
import { AmbiguousOutcome, withRetry } from '../../cosmos/retry.ts';
import { projectionId } from '../../definition/specs.ts';
import { type View, type ViewVersion, Views } from '../../engine/views/views.ts';
import { audited } from '../audit/record.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { defineOperation } from '../operation.ts';
import { secondsToWrite } from '../seconds.ts';
import { suggestion } from '../../base/near.ts';
import { plural } from '../table.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { splitId } from './choose.ts';
import { StagedHost } from '../../runtime/staged-host.ts';
import type { Settings } from '../../base/settings.ts';

export interface Dropped {
  readonly projection: string;
  /** Documents of its sink, contributions included. */
  readonly documents: number;
  /** What Millrace kept about it: locators, joined states, dead letters. */
  readonly state: number;
}

export interface DropOptions {
  readonly settings: Settings;
  readonly services: Services;
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  readonly name: string;
  readonly version: number;
  readonly signal: AbortSignal;
  readonly progress?: (removed: number) => void;
  /** Milliseconds since 1970; default the time it is. */
  readonly now?: number;
}

/**
 * Removes a version that isn't current: what it wrote and what was kept about it; a version that is being built is given
 * up. May be stopped and run again.
 * @throws UsageError `version-current`, `version-unknown`, `still-readable`
 */
export async function drop(options: DropOptions): Promise<Dropped> {
  const { services, loaded, name, version, signal, progress, now = Date.now() } = options;
  const { database, state } = services;
  const views = new Views(state, loaded.pipeline.name);
  const view = (await views.read())?.[name];
  const id = projectionId({ name, version });
  const target = droppable(view, options, now);
  const spec = loaded.pipeline.projections.find((of) => projectionId(of) === id);
  if (view?.staged?.version === version) {
    await views.change(name, (of) => (of.staged?.version === version ? { ...of, staged: null } : undefined));
    // Whoever still builds it loses its leases, and with them the right to write.
    if (spec) {
      await using staged = await StagedHost.open({ ...options, spec, purpose: id });
      await staged.stop();
      await staged.removeLeases();
    }
  }
  let removed = 0;
  const remove = async (container: Container, keyPaths: readonly KeyPath[], where: string): Promise<number> => {
    let count = 0;
    // Again until nothing is found: what a sleeping host wrote meanwhile, and what a lagging replica hid.
    for (let quiet = 0; quiet < 2;) {
      const query = { query: `SELECT * FROM c WHERE ${where}`, parameters: [{ name: '@id', value: id }] };
      let found = 0;
      const gone = async (document: Record<string, unknown>): Promise<void> => {
        if (!(await removeDocument(container, keyPaths, document))) return;
        found += 1;
        removed += 1;
        progress?.(removed);
      };
      await pMap(fetchAll<Record<string, unknown>>(container, query, signal), gone, { concurrency: 32 });
      count += found;
      quiet = found === 0 ? quiet + 1 : 0;
    }
    return count;
  };
  const sink = loaded.model.containers.find((of) => of.name === target.container);
  const documents = sink
    ? await remove(
        database.container(sink.name),
        sink.partitionKey.map(splitPath),
        'c._mr["by"] = @id OR c["by"] = @id',
      )
    : 0;
  const kept = await remove(state, [['pk']], 'c.projection = @id');
  await views.change(name, (of) => (of.previous?.version === version ? { ...of, previous: null } : undefined));
  return { projection: id, documents, state: kept };
}

async function removeDocument(
  container: Container,
  keyPaths: readonly KeyPath[],
  document: Record<string, unknown>,
): Promise<boolean> {
  const keyed = fullKey(document, keyPaths);
  const { id } = document;
  if (!('key' in keyed) || typeof id !== 'string') return false;
  try {
    await withRetry(() => container.item(id, [...keyed.key] as never).delete(), { reads: false });
    return true;
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return false;
    // The next round finds it again, if it is still there.
    if (error instanceof AmbiguousOutcome) return true;
    throw error;
  }
}

/** What of the view may be dropped, or why not. */
function droppable(
  view: View | undefined,
  { loaded: { pipeline }, name, version }: Pick<DropOptions, 'loaded' | 'name' | 'version'>,
  now: number,
): Pick<ViewVersion, 'container'> {
  const id = projectionId({ name, version });
  if (view?.current?.version === version) {
    throw new UsageError('version-current', `${id} is current: readers read it`, {
      mend: `Promote another version first: \`millrace projections rebuild ${name}\`.`,
    });
  }
  const { previous, staged } = view ?? {};
  if (previous?.version === version) {
    const until = Math.max(
      Date.parse(previous.readableUntil),
      Date.parse(previous.replacedAt) + WRITE_BOUND_MS + LANDING_BOUND_MS,
    );
    if (now < until) {
      throw new UsageError('still-readable', `${id} may still be read until ${new Date(until).toISOString()}`, {
        mend: 'Wait until then. Who resolves the view at each read sees the new version already.',
      });
    }
    return previous;
  }
  if (staged?.version === version) return staged;
  const spec = pipeline.projections.find((of) => projectionId(of) === id);
  if (spec) return spec.into;
  const known = pipeline.projections.map(projectionId);
  throw new UsageError('version-unknown', `There is no ${id}${suggestion(id, known)}`, {
    mend: '`millrace projections list` lists the versions there are.',
  });
}

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
    const { workspace, signal, screen } = context;
    const loaded = await workspace.pipeline();
    const services = await workspace.services();
    const meant = await versionMeant(asked.name, new Views(services.state, loaded.pipeline.name));
    return audited(context, 'projections drop', { name: projectionId(meant) }, () =>
      drop({
        settings: workspace.settings(),
        services,
        loaded,
        ...meant,
        signal,
        progress: (removed) => screen.progress('removed', removed),
      }),
    );
  },
  format: ({ projection, documents, state }) =>
    `${projection} is dropped: ${plural(documents, 'document')} of its sink, ${plural(state, 'document')} of what was kept about it. Take it out of the pipeline now.`,
});
