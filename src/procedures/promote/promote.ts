import { type ProjectionSpec, projectionId } from '../../pipeline/specs.ts';
import { VIEWS_REFRESH_MS } from '../../engine/views/view-control.ts';
import { endKept } from '../../engine/views/kept.ts';
import { type Staged, type View, type ViewVersion, Views } from '../../engine/views/views.ts';
import { plural } from '../table.ts';
import { assertHostsDeclare } from './hosts-declare.ts';
import { type FreezeOptions, whileFrozen } from './freeze.ts';
import { type RebuildOptions, rebuildPurpose, sayReplaced, sayStaged } from '../rebuild/rebuild.ts';
import { StagedHosts } from '../../runtime/hosts/staged-hosts.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { type PipelinePlace, placesOf } from '../../runtime/places.ts';
import { assertEndable, assertStillWritten } from '../projections/still-written.ts';
import { lettersIn } from '../projections/in-places.ts';
import { operationsError } from '../errors.ts';

/** How long readers may still read the version before. */
const LONGEST_READ_S = 600;

export interface Promoted {
  readonly projection: string;
  readonly container: string;
  readonly previous: string | null;
  /** The previous version can't be dropped before this time. ISO 8601 UTC. */
  readonly readableUntil: string | null;
  /** Until then the previous version can become current again; null: hosts don't keep it. ISO 8601 UTC. */
  readonly keptUntil: string | null;
  /** How long the hosts applied no changes of the two versions' sources, milliseconds. */
  readonly heldMs: number;
}

export interface PromoteOptions extends RebuildOptions {
  /** Hosts see a freeze after this time and the read lag. Default VIEWS_REFRESH_MS. */
  readonly viewsRefreshMs?: number;
  /** Promote although only the new version has parked some changes. */
  readonly evenParked?: boolean;
  /** How long hosts keep the version before, milliseconds: until then it can become current again. Default: not at all. */
  readonly keepMs?: number;
}

/**
 * Makes a filled version current (REB-V2, REB-V3): catch up; freeze; when all hosts have seen the freeze, read every range
 * of the new version to an empty page; switch with one conditional write. The live hosts' leases don't move meanwhile, and
 * serve the new version from then on. May be stopped at any point and run again.
 * @throws UsageError `not-staged`, `not-caught-up`, `version-read`, `wrong-state`, `parked-in-new`; `position-lost`, `retention-passed`
 */
export async function promote(options: PromoteOptions): Promise<Promoted> {
  const { services, loaded, spec, signal, readLagMs = 5_000, viewsRefreshMs = VIEWS_REFRESH_MS } = options;
  const views = new Views(services.global.state, loaded.pipeline.name);
  const all = (await views.read()) ?? {};
  const view = all[spec.name];
  const done = view?.current?.version === spec.version && !view.staged;
  assertFilled(view, spec.name, spec.version);
  const purpose = rebuildPurpose(spec);
  if (done) {
    // An earlier run may have died after the switch.
    await StagedHosts.forget({ ...options, purpose });
    return promoted(options.keepMs === 0 ? await keepNoLonger(views, loaded, spec.name) : view, spec.name, 0);
  }
  assertStillWritten(loaded.pipeline, all, spec.name, stagedOf(view, spec.name, spec.version));
  await assertHostsDeclare(services, loaded, spec, signal);
  if (!options.evenParked) await assertNothingNewParked(view, spec, await placesOf(options).of(spec));
  await using staged = await StagedHosts.open({ ...options, purpose, resumes: true });
  do await staged.drained(signal);
  while (!(await staged.follow()));

  const { after, heldMs } = await whileFrozen(
    views,
    { name: spec.name, part: stagedPart(spec), seenAfterMs: viewsRefreshMs + readLagMs, signal },
    async (frozen) => {
      // A shard that hosts read before the freeze is in the map now. One that comes later they read from its beginning.
      await staged.follow();
      await staged.drained(frozen.signal);
      const switched = await views.change(spec.name, (of, others) => {
        const now = stagedOf(of, spec.name, spec.version);
        frozen.assertOwn(now);
        // A reader may have been built meanwhile, or have gone back.
        assertStillWritten(loaded.pipeline, others, spec.name, now);
        const { phase: _, since: __, frozenUntil: ___, ...version } = now;
        return asPromoted({ ...of, staged: null }, version, options.keepMs);
      });
      return { after: switched, heldMs: frozen.heldMs() };
    },
  );
  await staged.stop();
  await staged.removeLeases();
  return promoted(after, spec.name, heldMs);
}

/** The version that is being built, for a freeze. */
export const stagedPart = ({
  name,
  version,
}: Pick<ProjectionSpec, 'name' | 'version'>): FreezeOptions<Staged>['part'] => ({
  of: (view) => stagedOf(view, name, version),
  frozen: (view, staged, frozenUntil) => ({ ...view, staged: { ...staged, phase: 'frozen', frozenUntil } }),
  thawed: (view, until) => {
    if (view.staged?.phase !== 'frozen' || view.staged.frozenUntil !== until) return undefined;
    const { frozenUntil: _, ...staged } = view.staged;
    return { ...view, staged: { ...staged, phase: 'filled' } };
  },
});

/** Makes a version current, and the one that was current the previous one. */
export function asPromoted(view: View, version: ViewVersion, keepMs = 0): View {
  const now = Date.now();
  const at = (ms: number): string => new Date(now + ms).toISOString();
  const before = { replacedAt: at(0), readableUntil: at(LONGEST_READ_S * 1_000) };
  const keptUntil = keepMs > 0 ? { keptUntil: at(keepMs) } : {};
  return {
    ...view,
    current: version,
    previous: view.current && { ...view.current, ...before, ...keptUntil },
    promotions: view.promotions + 1,
  };
}

/** The grace ends now, so that the version can be dropped. */
const keepNoLonger = (views: Views, { pipeline }: Pick<LoadedPipeline, 'pipeline'>, name: string): Promise<View> =>
  views.change(name, (of, all) => {
    assertEndable(pipeline, all, name);
    return endKept(of, of.previous?.version ?? 0, 'its grace was ended', Date.now());
  });

export const promoted = ({ current, previous }: View, name: string, heldMs: number): Promoted => ({
  projection: current ? projectionId({ name, version: current.version }) : name,
  container: current?.container ?? '',
  previous: previous && projectionId({ name, version: previous.version }),
  readableUntil: previous?.readableUntil ?? null,
  keptUntil: (previous?.notKept === undefined ? previous?.keptUntil : undefined) ?? null,
  heldMs,
});

export function stagedOf({ staged }: View, name: string, version: number): Staged {
  if (staged?.version === version) return staged;
  throw operationsError('not-staged', `${name}@${version} is no longer being built`, {
    hint: `Run \`millrace projections show ${name}\` to see its versions.`,
  });
}

export function assertFilled(view: View | undefined, name: string, version: number): asserts view is View {
  if (view?.current?.version === version && !view.staged) return;
  if (!view?.staged) {
    if (view?.previous?.version === version) {
      const { why, hint } = sayReplaced(view.previous, name);
      throw operationsError('not-staged', `${projectionId({ name, version })} is not being built: ${why}`, { hint });
    }
    const current = view?.current ? `version ${view.current.version} is current, and` : 'it was never built, and';
    throw operationsError('not-staged', `${name} has no version to promote: ${current} no other is being built`, {
      hint: `Build one first with \`millrace projections rebuild ${name}\`.`,
    });
  }
  stagedOf(view, name, version);
  if (view.staged.phase === 'filling' || view.staged.phase === 'resetting') {
    throw operationsError('not-caught-up', `${name} can't be promoted: ${sayStaged(view.staged)}`, {
      hint: `Wait until the rebuild ends, or resume it with \`millrace projections rebuild ${name}@${version}\`.`,
    });
  }
}

/** Changes that only the new version can't apply would be missing as soon as it is current. */
export async function assertNothingNewParked(
  { current }: View,
  { name, version: next }: Pick<ProjectionSpec, 'name' | 'version'>,
  places: readonly PipelinePlace[],
): Promise<void> {
  const of = async (version: number | undefined) =>
    version === undefined ? [] : lettersIn(places, projectionId({ name, version }));
  const [before, after] = [await of(current?.version), await of(next)];
  const known = new Set(before.map(({ container, key, id }) => JSON.stringify([container, key, id])));
  const fresh = after.filter(({ container, key, id }) => !known.has(JSON.stringify([container, key, id])));
  if (fresh.length === 0) return;
  throw operationsError(
    'parked-in-new',
    `${name}@${next} has parked ${plural(fresh.length, 'change')} that the current version has not: ${fresh[0]?.message ?? ''}`,
    {
      hint: `Fix the cause and run \`millrace dead-letters redrive --only ${name}@${next}\`. Or promote the version without these changes: --even-parked.`,
    },
  );
}
