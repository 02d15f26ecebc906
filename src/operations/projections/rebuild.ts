import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { type ProjectionSpec, projectionId } from '../../definition/kinds.ts';
import { sourcesOf } from '../../definition/pipeline.ts';
import { type Staged as StagedView, type View, Views, versionOf } from '../../engine/views.ts';
import { audited } from '../audit/record.ts';
import { explain } from '../fetch-all.ts';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import type { Services } from '../workspace.ts';
import { chooseProjection } from './choose.ts';
import { type StagedOptions, openStaged } from './staged.ts';

export interface Rebuilt {
  readonly projection: string;
  readonly container: string;
  readonly changes: number;
  /** Changes that this version can't apply: `dead-letters list --only name@version` names them. */
  readonly parked: number;
  /** Request units. */
  readonly charge: number;
  /** It went on where an earlier rebuild had stopped. */
  readonly resumed: boolean;
}

export type RebuildOptions = Omit<StagedOptions, 'purpose' | 'startOf'> & {
  readonly signal: AbortSignal;
  readonly progress?: (changes: number) => void;
};

export const rebuildPurpose = (spec: ProjectionSpec): string => projectionId(spec);

/**
 * Fills a version that isn't current from history, hot and cold, into its own sink, beside the live hosts and without
 * side effects. May be stopped at any point and run again. Promoting it is another step.
 * @throws UsageError `version-current`, `rebuild-under-way`, `sink-shared`, `version-exists`, `container-missing`
 */
export async function rebuild(options: RebuildOptions): Promise<Rebuilt> {
  const { services, loaded, spec, signal, progress } = options;
  const views = new Views(services.state, loaded.pipeline.name);
  await views.adopt(loaded.pipeline.projections);
  const resumed = (await views.read())?.[spec.name]?.staged?.version === spec.version;
  if (!resumed) await assertEmptySink(spec, services);
  const since = new Date().toISOString();
  await views.change(spec.name, (view) => stage(view, spec, since));
  await using staged = await openStaged({ ...options, purpose: rebuildPurpose(spec) });
  const telling = setInterval(() => progress?.(staged.progress().changes), 250);
  try {
    await staged.drained(signal);
    // Afterwards: what left a container for the archive before nothing could leave any more is there by now.
    await staged.applyCold(signal);
    await staged.drained(signal);
  } finally {
    clearInterval(telling);
  }
  await views.change(spec.name, (view) =>
    view.staged?.version === spec.version && view.staged.phase === 'filling'
      ? { ...view, staged: { ...view.staged, phase: 'filled' } }
      : undefined,
  );
  await staged.stop();
  return { projection: projectionId(spec), container: spec.into.container, resumed, ...staged.progress() };
}

function stage(view: View, spec: ProjectionSpec, since: string): View | undefined {
  refuseVersion(view, spec);
  if (view.staged) return undefined;
  return { ...view, staged: { ...versionOf(spec), phase: 'filling', since } };
}

function refuseVersion({ current, staged, previous }: View, spec: ProjectionSpec): void {
  const id = projectionId(spec);
  if (current?.version === spec.version) {
    throw new UsageError('version-current', `${id} is current: readers see it while it would be rebuilt`, {
      mend: `Declare ${spec.name} with version ${spec.version + 1} and a container of its own beside it, deploy, and rebuild that; or see what is wrong with it by \`millrace projections verify ${spec.name} --repair\`.`,
    });
  }
  if (staged && staged.version !== spec.version) {
    throw new UsageError(
      'rebuild-under-way',
      `${spec.name}@${staged.version} is being built since ${staged.since} (${staged.phase})`,
      {
        mend: `Finish it (\`millrace projections promote ${spec.name}\`) or give it up (\`millrace projections drop ${spec.name}@${staged.version}\`).`,
      },
    );
  }
  const shared = [current, previous].find(
    (other) => other?.container === spec.into.container && other.type === spec.into.type,
  );
  if (shared) {
    throw new UsageError(
      'sink-shared',
      `${id} writes ${spec.into.type} in ${spec.into.container}, as version ${shared.version} does`,
      {
        mend: 'Give the new version a container of its own in the data-model document, or, where it is an aggregate, a type of its own.',
      },
    );
  }
}

/** What an earlier attempt left would be taken for good: a version is built from nothing, or goes on with what it began. */
async function assertEmptySink(spec: ProjectionSpec, { database }: Services): Promise<void> {
  const container = database.container(spec.into.container);
  const id = projectionId(spec);
  const query = {
    query: 'SELECT TOP 1 c.id FROM c WHERE c._mr["by"] = @by OR c["by"] = @by',
    parameters: [{ name: '@by', value: id }],
  };
  const { resources } = await withRetry(() => container.items.query(query).fetchAll(), { reads: true }).catch(
    (error: unknown) => {
      throw explain(error, container);
    },
  );
  if (resources.length === 0) return;
  throw new UsageError('version-exists', `${spec.into.container} already has documents of ${id}`, {
    mend: `Remove them by \`millrace projections drop ${id}\`, or raise the version.`,
  });
}

/** Documents of the sources as the service counts them, and what reading and writing each once would take. */
export async function estimate(
  spec: ProjectionSpec,
  { database }: Services,
): Promise<{ documents: number; ru: number }> {
  let documents = 0;
  for (const of of sourcesOf(spec)) {
    const query = {
      query: 'SELECT VALUE COUNT(1) FROM c WHERE c.type = @type',
      parameters: [{ name: '@type', value: of.type }],
    };
    const container = database.container(of.container);
    const { resources } = await withRetry(() => container.items.query<number>(query).fetchAll(), { reads: true }).catch(
      (error: unknown) => {
        throw explain(error, container);
      },
    );
    documents += resources[0] ?? 0;
  }
  return { documents, ru: documents * RU_A_DOCUMENT[spec.kind] };
}

/** Of reading one document by a query or the feed. */
export const RU_A_READ = 0.1;
/** Of reading a change and writing what is derived from it anew, by docs/benchmarks.md (B2, B3), rounded up. */
export const RU_A_DOCUMENT: Readonly<Record<ProjectionSpec['kind'], number>> = {
  copy: 15,
  aggregate: 16,
  reference: 15,
};

export const rateInput = {
  ruPerSecond: z.number().positive().optional().describe('most request units a second (default: no bound)'),
};

const input = z.object({
  name: z.string().describe('the projection, as name or name@version; of several versions the highest'),
  ...rateInput,
  ...backgroundInput,
});

export const projectionsRebuild = defineOperation({
  noun: 'projections',
  verb: 'rebuild',
  summary: 'Fill a new version of a projection from history, beside the current one; `promote` then makes it current',
  examples: [
    'millrace projections rebuild summaries --dry-run',
    'millrace projections rebuild summaries@2 --ru-per-second 2000',
    'millrace projections rebuild summaries@2 --background --env production',
  ],
  effect: 'changes',
  argument: 'name',
  input,
  plan: async ({ name, ruPerSecond }, { workspace }) => {
    const { pipeline } = await workspace.pipeline();
    const services = await workspace.services();
    const spec = chooseProjection(pipeline, name);
    const view = (await new Views(services.state, pipeline.name).read())?.[spec.name];
    if (view) refuseVersion(view, spec);
    const { documents, ru } = await estimate(spec, services);
    return {
      steps: [
        `read ${plural(documents, 'document')} of ${sourcesOf(spec)
          .map(({ container, type }) => `${container}/${type}`)
          .join(', ')}`,
        `fill ${spec.into.container} with ${projectionId(spec)}${view?.staged ? ', going on where it stopped' : ''}`,
      ],
      ru,
      ...(ruPerSecond === undefined ? {} : { seconds: Math.ceil(ru / ruPerSecond) }),
    };
  },
  run: async (asked, context): Promise<Rebuilt | Enqueued> => {
    const { workspace, signal, screen } = context;
    const loaded = await workspace.pipeline();
    const spec = chooseProjection(loaded.pipeline, asked.name);
    if (asked.background) return enqueue('projections rebuild', asked, context);
    const services = await workspace.services();
    return audited(context, 'projections rebuild', asked, async () => {
      const { documents } = await estimate(spec, services);
      return rebuild({
        settings: workspace.settings(),
        services,
        loaded,
        spec,
        ruPerSecond: asked.ruPerSecond,
        signal,
        progress: (changes) =>
          screen.progress(`${projectionId(spec)}: changes applied`, changes, Math.max(documents, changes)),
      });
    });
  },
  format: (result) =>
    isEnqueued(result)
      ? sayEnqueued(result)
      : [
          `${result.projection} is filled${result.resumed ? ' (gone on where it stopped)' : ''}: ${plural(result.changes, 'change')} into ${result.container}, ${Math.round(result.charge).toLocaleString('en-US')} RU.`,
          ...(result.parked > 0
            ? [`${plural(result.parked, 'change')} parked: \`millrace dead-letters list --only ${result.projection}\`.`]
            : []),
          `Make it current by \`millrace projections promote ${result.projection.split('@')[0]}\`.`,
        ].join('\n'),
});

/** In words, for refusals and lists. */
export const sayStaged = ({ version, phase, since }: StagedView): string =>
  `version ${version} ${phase} since ${since}`;
