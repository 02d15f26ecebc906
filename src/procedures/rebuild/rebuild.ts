import { withRetry } from '../../cosmos/retry.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { MillraceError } from '../../base/errors.ts';
import { type EmbedSpec, type ProjectionSpec, projectionId } from '../../pipeline/specs.ts';
import { type Staged as StagedView, type View, Views, versionOf } from '../../engine/views/views.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import type { Services } from '../../runtime/workspace.ts';
import { drop } from '../drop/drop.ts';
import { fill } from './fill.ts';
import { replay } from '../replay/replay.ts';
import type { StagedOptions } from '../../runtime/hosts/staged-host.ts';
import { StagedHosts } from '../../runtime/hosts/staged-hosts.ts';
import { allPlaces, holding } from '../projections/in-places.ts';
import { operationsError } from '../errors.ts';

export interface Rebuilt {
  readonly projection: string;
  readonly container: string;
  readonly changes: number;
  /** The number of changes that this version can't apply: `dead-letters list --only name@version` lists them. */
  readonly parked: number;
  /** Request units. */
  readonly charge: number;
  /** It resumed an earlier rebuild. */
  readonly resumed: boolean;
  /** Why it began again: an all-versions feed no longer has the changes since its position. */
  readonly startedOver?: string;
  /** An embed: readers see the fields while they are filled, and there is nothing to promote. */
  readonly inPlace?: true;
  /** Where it begins: documents that were last written before are left out. Absent: nothing is left out. */
  readonly begins?: string;
}

export type RebuildOptions = Omit<StagedOptions, 'purpose' | 'startOf' | 'startsAs' | 'spec'> & {
  readonly spec: ProjectionSpec;
  /** For a send and a custom projection with a start: also what lies below it. */
  readonly wholeHistory?: boolean | undefined;
  readonly signal: AbortSignal;
  readonly progress?: (changes: number) => void;
};

export const rebuildPurpose = (spec: ProjectionSpec): string => projectionId(spec);

/**
 * Fills a version that isn't current from history, archived documents included, into its own sink, beside the live hosts
 * and without side effects. May be stopped at any point and run again. It does not promote the version.
 * @throws UsageError `version-current`, `rebuild-under-way`, `sink-shared`, `exists`,
 * `container-missing`
 */
export async function rebuild(options: RebuildOptions): Promise<Rebuilt> {
  try {
    return await fillVersion(options);
  } catch (error) {
    if (!(error instanceof MillraceError) || !UNFOLLOWED.has(error.code)) throw error;
    const { name, version } = options.spec;
    await drop({ ...options, name, version, progress: () => undefined });
    return { ...(await fillVersion(options)), startedOver: error.message };
  }
}

/** What the version has missed of an all-versions feed can't be known. */
const UNFOLLOWED = new Set(['retention-passed', 'position-lost']);

async function fillVersion(options: RebuildOptions): Promise<Rebuilt> {
  const { services, loaded, spec, signal, progress } = options;
  const views = new Views(services.global.state, loaded.pipeline.name);
  await views.adopt(loaded.pipeline.projections);
  const known = (await views.read())?.[spec.name];
  if (known) refuseVersion(known, spec);
  const resumed = known?.staged?.version === spec.version;
  if (!resumed)
    for (const { services: at } of holding(await allPlaces(options), spec.into.container))
      await assertEmptySink(spec, at);
  const since = new Date().toISOString();
  await views.change(spec.name, (view) => stage(view, spec, since));
  await using staged = await StagedHosts.open({ ...options, purpose: rebuildPurpose(spec), resumes: resumed });
  await fill(staged, { cold: true, signal, progress });
  await views.change(spec.name, (view) =>
    view.staged?.version === spec.version && view.staged.phase === 'filling'
      ? { ...view, staged: { ...view.staged, phase: 'filled' } }
      : undefined,
  );
  await staged.stop();
  return { projection: projectionId(spec), container: spec.into.container, resumed, ...staged.progress() };
}

/**
 * Fills an embed from its parents' history: one that was added to a running pipeline, or whose new version has other
 * fields. Versions decide what takes effect, so live hosts may continue, and it may be stopped and run again.
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
    throw operationsError('version-current', `${id} is current, so readers would see it while it is rebuilt`, {
      hint: `Declare version ${spec.version + 1} of ${spec.name} beside it with its own container, deploy, and rebuild that one. Or repair this one with \`millrace projections verify ${spec.name} --repair\`.`,
    });
  }
  if (staged && staged.version !== spec.version) {
    throw operationsError(
      'rebuild-under-way',
      `${spec.name}@${staged.version} has been in a rebuild since ${staged.since} (${staged.phase})`,
      {
        hint: `Finish it with \`millrace projections promote ${spec.name}\`, or drop it with \`millrace projections drop ${spec.name}@${staged.version}\`.`,
      },
    );
  }
  const shared = [current, previous].find(
    (other) => other?.container === spec.into.container && other.type === spec.into.type,
  );
  if (shared) {
    throw operationsError(
      'sink-shared',
      `${id} writes ${spec.into.type} in ${spec.into.container}, but version ${shared.version} already writes there`,
    );
  }
}

/** Documents of an earlier attempt would count as correct, so a new rebuild needs an empty sink. */
async function assertEmptySink(spec: ProjectionSpec, { place: { database } }: Services): Promise<void> {
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
  throw sharedError('exists', `${spec.into.container} already has documents of ${id}`, {
    hint: `Remove them with \`millrace projections drop ${id}\`, or raise the version.`,
  });
}

/** For messages: `version 2 filling since …`. */
export const sayStaged = ({ version, phase, since }: StagedView): string =>
  `version ${version} ${phase} since ${since}`;
