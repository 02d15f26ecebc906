import { withRetry } from '../../cosmos/retry.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { type EmbedSpec, type ProjectionSpec, projectionId } from '../../pipeline/specs.ts';
import { Fingerprints } from '../../engine/guard-fingerprints.ts';
import { type Previous, type Staged as StagedView, type View, Views, versionOf } from '../../engine/views/views.ts';
import { isKept } from '../../engine/views/kept.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import type { Services } from '../../runtime/workspace.ts';
import { ownReset, removeBuilt, resetting } from '../drop/drop.ts';
import { type FillOptions, fill, followed } from './fill.ts';
import { replay } from '../replay/replay.ts';
import type { StagedOptions } from '../../runtime/hosts/staged-host.ts';
import { StagedHosts } from '../../runtime/hosts/staged-hosts.ts';
import { inPlaces, placesOf } from '../../runtime/places.ts';
import { mayHold } from '../projections/in-places.ts';
import { wholeOf } from '../../pipeline/places.ts';
import { operationsError } from '../errors.ts';

export interface Rebuilt {
  readonly projection: string;
  readonly container: string;
  readonly changes: number;
  /** The number of changes that this version can't apply: `dead-letters list --only name@version` lists them. */
  readonly parked: number;
  /** `name@version` of their dead letters. Absent: the projection's. */
  readonly parkedAs?: string;
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

export type RebuildOptions = Omit<StagedOptions, 'purpose' | 'startOf' | 'startsAs' | 'spec'> &
  Omit<FillOptions, 'cold'> & {
    readonly spec: ProjectionSpec;
    /** For a send and a custom projection with a start: also what lies below it. */
    readonly wholeHistory?: boolean | undefined;
  };

export const rebuildPurpose = (spec: ProjectionSpec): string => projectionId(spec);

/**
 * Fills a version that isn't current from history, archived documents included, into its own sink, beside the live hosts
 * and without side effects. May be stopped at any point and run again. It does not promote the version.
 * @throws UsageError `version-current`, `rebuild-under-way`, `wrong-state`, `sink-shared`, `exists`,
 * `container-missing`
 */
export const rebuild = (options: RebuildOptions): Promise<Rebuilt> =>
  followed(
    () => fillVersion(options),
    () => resetting(viewsOf(options), options.spec),
  );

const viewsOf = ({ services, loaded }: Pick<RebuildOptions, 'services' | 'loaded'>): Views =>
  new Views(services.global.state, loaded.pipeline.name);

async function fillVersion(options: RebuildOptions): Promise<Rebuilt> {
  const { loaded, spec } = options;
  const { name, version } = spec;
  const views = viewsOf(options);
  await views.adopt(loaded.pipeline);
  const known = (await views.read())?.[name];
  if (known) refuseVersion(known, spec);
  const begun = known?.staged?.version === version ? known.staged : undefined;
  const reset = begun?.phase === 'resetting' ? await resetting(views, spec) : undefined;
  const own = (view: View): unknown => ownReset(view, spec, reset);
  if (begun && reset) await removeBuilt({ ...options, name, version, own, progress: undefined }, begun.container, true);
  if (!begun)
    await inPlaces((await placesOf(options).list()).filter(mayHold(spec.into.container)), ({ services: at }) =>
      assertEmptySink(spec, at),
    );
  const since = new Date().toISOString();
  await views.change(name, (view) => {
    refuseVersion(view, spec);
    if (reset !== undefined || view.staged?.phase === 'resetting') ownReset(view, spec, reset);
    else if (view.staged) return undefined;
    return { ...view, staged: { ...versionOf(spec, loaded.pipeline), phase: 'filling', since } };
  });
  // No live host may have stored it yet, and later ones must find what the documents were made by.
  const fingerprints = new Fingerprints(options.services.global.state, {
    pipeline: wholeOf(loaded.pipeline),
    model: loaded.model,
  });
  const refused = await fingerprints.check(spec);
  if (refused) throw refused;
  const resumed = begun !== undefined && !reset;
  await using staged = await StagedHosts.open({ ...options, purpose: rebuildPurpose(spec), resumes: resumed });
  await fill(staged, { ...options, cold: true });
  await views.change(name, (view) =>
    view.staged?.version === version && view.staged.phase === 'filling'
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

export function refuseVersion({ current, staged, previous }: View, spec: ProjectionSpec): void {
  const id = projectionId(spec);
  if (current?.version === spec.version) {
    throw operationsError('version-current', `${id} is current, so readers would see it while it is rebuilt`, {
      hint: `Declare version ${spec.version + 1} of ${spec.name} beside it with its own ${spec.kind === 'aggregate' ? 'type' : 'container'}, deploy, and rebuild that one. Or repair this one with \`millrace projections verify ${spec.name} --repair\`.`,
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
  if (previous?.version === spec.version) {
    const { why, hint } = sayReplaced(previous, spec.name);
    throw sharedError('wrong-state', `${id} is built already: ${why}`, { hint });
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

/** Where a version stands that another one replaced, and what can be done with it. */
export function sayReplaced(previous: Previous, name: string): { readonly why: string; readonly hint: string } {
  if (isKept(previous, Date.now()))
    return {
      why: `hosts keep it until ${previous.keptUntil}`,
      hint: `\`millrace projections promote ${name} --back\` makes it current again until then.`,
    };
  return {
    why: `it was replaced at ${previous.replacedAt}, and hosts no longer keep it`,
    hint: `Declare a higher version and rebuild that. Or remove this one with \`millrace projections drop ${projectionId({ name, version: previous.version })}\`, and rebuild it.`,
  };
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
