import { UsageError } from '../../base/errors.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { refuseHistory } from '../../definition/all-versions.ts';
import { type EmbedSpec, type ProjectionSpec, projectionId } from '../../definition/specs.ts';
import { type Staged as StagedView, type View, Views, versionOf } from '../../engine/views/views.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import type { Services } from '../../runtime/workspace.ts';
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

function stage(view: View, spec: ProjectionSpec, since: string): View | undefined {
  refuseVersion(view, spec);
  if (view.staged) return undefined;
  return { ...view, staged: { ...versionOf(spec), phase: 'filling', since } };
}

export function refuseVersion({ current, staged, previous }: View, spec: ProjectionSpec): void {
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
    throwMissing(container),
  );
  if (resources.length === 0) return;
  throw new UsageError('version-exists', `${spec.into.container} already has documents of ${id}`, {
    mend: `Remove them by \`millrace projections drop ${id}\`, or raise the version.`,
  });
}

/** In words, for refusals and lists. */
export const sayStaged = ({ version, phase, since }: StagedView): string =>
  `version ${version} ${phase} since ${since}`;
