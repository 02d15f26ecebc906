import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { refuseHistory } from '../../definition/all-versions.ts';
import { type EmbedSpec, type ProjectionSpec, projectionId } from '../../definition/specs.ts';
import { sourcesOf } from '../../definition/pipeline.ts';
import { type Staged as StagedView, type View, Views, versionOf } from '../../engine/views/views.ts';
import { audited } from '../audit/record.ts';
import { orContainerMissing } from '../../cosmos/container-missing.ts';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import { type Plan, defineOperation } from '../operation.ts';
import { secondsToWrite } from '../seconds.ts';
import { plural } from '../table.ts';
import type { Services } from '../../runtime/workspace.ts';
import { chooseRebuilt } from './choose.ts';
import { estimate, rateInput } from './estimate.ts';
import { replay } from './replay.ts';
import { StagedHost, type StagedOptions } from '../../runtime/staged-host.ts';

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
  /** An embed: readers see it as it is filled in, and there is nothing to promote. */
  readonly inPlace?: true;
}

export type RebuildOptions = Omit<StagedOptions, 'purpose' | 'startOf' | 'spec'> & {
  readonly spec: ProjectionSpec;
  readonly signal: AbortSignal;
  readonly progress?: (changes: number) => void;
};

export const rebuildPurpose = (spec: ProjectionSpec): string => projectionId(spec);

/**
 * Fills a version that isn't current from history, hot and cold, into its own sink, beside the live hosts and without
 * side effects. May be stopped at any point and run again. Promoting it is another step.
 * @throws UsageError `history-all-versions`, `version-current`, `rebuild-under-way`, `sink-shared`, `version-exists`,
 * `container-missing`
 */
export async function rebuild(options: RebuildOptions): Promise<Rebuilt> {
  const { services, loaded, spec, signal, progress } = options;
  refuseHistory(spec, loaded.pipeline, 'rebuilt');
  const views = new Views(services.state, loaded.pipeline.name);
  await views.adopt(loaded.pipeline.projections);
  const known = (await views.read())?.[spec.name];
  if (known) refuseVersion(known, spec);
  const resumed = known?.staged?.version === spec.version;
  if (!resumed) await assertEmptySink(spec, services);
  const since = new Date().toISOString();
  await views.change(spec.name, (view) => stage(view, spec, since));
  await using staged = await StagedHost.open({ ...options, purpose: rebuildPurpose(spec) });
  const telling = setInterval(() => progress?.(staged.progress().changes), 250);
  try {
    await staged.drained(signal);
    // Afterwards: what left a container for the archive before nothing could leave any more is there by now.
    await staged.applyCold(signal);
    await staged.drained(signal);
  } finally {
    clearInterval(telling);
  }
  progress?.(staged.progress().changes);
  await views.change(spec.name, (view) =>
    view.staged?.version === spec.version && view.staged.phase === 'filling'
      ? { ...view, staged: { ...view.staged, phase: 'filled' } }
      : undefined,
  );
  await staged.stop();
  return { projection: projectionId(spec), container: spec.into.container, resumed, ...staged.progress() };
}

/**
 * Fills an embed in from its parents' history: one that was added to a running pipeline, or whose new version gives other
 * fields. Children are found by their parents, and versions decide, so live hosts may go on, and it may be stopped and
 * run again.
 */
export async function rebuildInPlace(
  options: Omit<RebuildOptions, 'spec'> & { readonly spec: EmbedSpec },
): Promise<Rebuilt> {
  const replayed = await replay({ ...options, from: 'beginning', cold: true });
  return { ...replayed, resumed: false, inPlace: true };
}

/** Twice the read lag of an operation. */
const SETTLE_S = 10;

function planInPlace(
  spec: EmbedSpec,
  { documents, ru }: Awaited<ReturnType<typeof estimate>>,
  ruPerSecond: number | undefined,
): Plan {
  return {
    steps: [
      `read the parents among ${plural(documents, 'document')} of ${spec.from.container}/${spec.from.type} and ${spec.into.container}/${spec.into.type}`,
      `write the fields of ${projectionId(spec)} into their children in ${spec.into.container}, where they differ`,
    ],
    ru,
    // Children born meanwhile are looked for once more after twice the read lag.
    seconds: SETTLE_S + secondsToWrite(documents, ru, ruPerSecond),
  };
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
      throw orContainerMissing(error, container);
    },
  );
  if (resources.length === 0) return;
  throw new UsageError('version-exists', `${spec.into.container} already has documents of ${id}`, {
    mend: `Remove them by \`millrace projections drop ${id}\`, or raise the version.`,
  });
}

const input = z.object({
  name: z
    .string()
    .describe(
      'the projection, as name or name@version; of several versions the highest. An embed is filled in in place',
    ),
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
    const spec = chooseRebuilt(pipeline, name);
    refuseHistory(spec, pipeline, 'rebuilt');
    if (spec.kind === 'embed') return planInPlace(spec, await estimate(spec, services, pipeline.sources), ruPerSecond);
    const view = (await new Views(services.state, pipeline.name).read())?.[spec.name];
    if (view) refuseVersion(view, spec);
    const { documents, ru } = await estimate(spec, services, pipeline.sources);
    return {
      steps: [
        `read ${plural(documents, 'document')} of ${sourcesOf(spec)
          .map(({ container, type }) => `${container}/${type}`)
          .join(', ')}`,
        `fill ${spec.into.container} with ${projectionId(spec)}${view?.staged ? ', going on where it stopped' : ''}`,
      ],
      ru,
      seconds: secondsToWrite(documents, ru, ruPerSecond),
    };
  },
  run: async (asked, context): Promise<Rebuilt | Enqueued> => {
    const { workspace, signal, screen } = context;
    const loaded = await workspace.pipeline();
    const spec = chooseRebuilt(loaded.pipeline, asked.name);
    refuseHistory(spec, loaded.pipeline, 'rebuilt');
    if (asked.background) return enqueue('projections rebuild', asked, context);
    const services = await workspace.services();
    return audited(context, 'projections rebuild', asked, async () => {
      const { documents } = await estimate(spec, services, loaded.pipeline.sources);
      const options = {
        settings: workspace.settings(),
        services,
        loaded,
        ruPerSecond: asked.ruPerSecond,
        signal,
        progress: (changes: number) =>
          screen.progress(`${projectionId(spec)}: changes applied`, changes, Math.max(documents, changes)),
      };
      return spec.kind === 'embed' ? rebuildInPlace({ ...options, spec }) : rebuild({ ...options, spec });
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
          result.inPlace
            ? 'It is written in place: there is nothing to promote.'
            : `Make it current by \`millrace projections promote ${result.projection.split('@')[0]}\`.`,
        ].join('\n'),
});

/** In words, for refusals and lists. */
export const sayStaged = ({ version, phase, since }: StagedView): string =>
  `version ${version} ${phase} since ${since}`;
