import type { UsageError } from '../../base/errors.ts';
import { feedModeOf } from '../../pipeline/all-versions.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import { type ProjectionSpec, projectionId } from '../../pipeline/specs.ts';
import { isKept } from '../../engine/views/kept.ts';
import { VIEWS_REFRESH_MS } from '../../engine/views/view-control.ts';
import { type Previous, type View, Views } from '../../engine/views/views.ts';
import type { Start } from '../../feed/reading/source.ts';
import { type Parts, openFeed } from '../../runtime/open-feed.ts';
import { StagedHosts } from '../../runtime/hosts/staged-hosts.ts';
import { placesOf } from '../../runtime/places.ts';
import { operationsError } from '../errors.ts';
import { assertStillWritten } from '../projections/still-written.ts';
import { assertHostsDeclare } from './hosts-declare.ts';
import { type FreezeOptions, whileFrozen } from './freeze.ts';
import { type PromoteOptions, type Promoted, asPromoted, assertNothingNewParked, promoted } from './promote.ts';

/**
 * Makes the kept version current again (REB-V25): freeze; when all hosts have seen that, let the kept version alone read
 * what a host that died may have applied to the other one only, and what hosts have deferred; switch with one conditional write. The version that was
 * current is kept from then on. May be stopped at any point and run again: a version that is current stays so.
 * @throws UsageError `no-way-back`, `version-read`, `wrong-state`, `parked-in-new`; `under-way`, `too-slow`
 */
export async function promoteBack(options: PromoteOptions): Promise<Promoted> {
  const { services, loaded, spec, signal, readLagMs = 5_000, viewsRefreshMs = VIEWS_REFRESH_MS } = options;
  const { keepMs } = options;
  const { name, version } = spec;
  const views = new Views(services.global.state, loaded.pipeline.name);
  const all = (await views.read()) ?? {};
  const view = all[name];
  const purpose = `${projectionId(spec)}.back`;
  if (view?.current?.version === version) {
    // An earlier run may have died after the switch.
    await StagedHosts.forget({ ...options, purpose });
    return promoted(view, name, 0);
  }
  assertStillWritten(loaded.pipeline, all, name, keptOf(view, name, version));
  await assertHostsDeclare(services, loaded, spec, signal);
  if (view && !options.evenParked) await assertNothingNewParked(view, spec, await placesOf(options).of(spec));

  const { after, heldMs, staged } = await whileFrozen(
    views,
    { name, part: keptPart(spec), seenAfterMs: viewsRefreshMs + readLagMs, signal },
    async (frozen) => {
      // The live leases stand still now.
      const startsIn = async (place: Parts): Promise<(container: string) => Start> => {
        const positions = await livePositions(place, spec);
        return (container) => positions.get(container) ?? 'beginning';
      };
      const host = await StagedHosts.open({ ...options, purpose, startsIn });
      try {
        // After the positions: what these have passed is applied, or deferred.
        await host.applyDeferred(frozen.signal);
        await host.drained(frozen.signal);
        const switched = await views.change(name, (of, others) => {
          // First: another run may have switched, and then keeps another version.
          frozen.assertOwn(of.previous ?? {});
          // Its grace may have ended since the freeze: hosts have stood still, so it is as exact as before.
          const kept = of.previous ?? keptOf(of, name, version);
          assertStillWritten(loaded.pipeline, others, name, kept);
          const {
            replacedAt: _,
            readableUntil: __,
            keptUntil: ___,
            notKept: ____,
            frozenUntil: _____,
            ...again
          } = kept;
          return asPromoted(of, again, keepMs);
        });
        return { after: switched, heldMs: frozen.heldMs(), staged: host };
      } catch (error) {
        await host.stop();
        throw error;
      }
    },
  );
  await staged.stop();
  await staged.removeLeases();
  return promoted(after, name, heldMs);
}

/** The version that hosts keep, for a freeze. */
const keptPart = ({ name, version }: Pick<ProjectionSpec, 'name' | 'version'>): FreezeOptions<Previous>['part'] => ({
  of: (view) => keptOf(view, name, version),
  frozen: (view, previous, frozenUntil) => ({ ...view, previous: { ...previous, frozenUntil } }),
  thawed: (view, until) => {
    if (!view.previous || view.previous.frozenUntil !== until) return undefined;
    const { frozenUntil: _, ...previous } = view.previous;
    return { ...view, previous };
  },
});

/** The acknowledged positions of the live leases: a host that died after these may have applied a page to one version only. */
async function livePositions(place: Parts, spec: ProjectionSpec): Promise<ReadonlyMap<string, Start>> {
  const found = new Map<string, Start>();
  for (const container of new Set(sourcesOf(spec).map((of) => of.container))) {
    const { leases } = await openFeed(place, container, { host: 'back' });
    const listed = await leases.list();
    const read = listed.flatMap(({ range, position }) => (position === undefined ? [] : [{ range, position }]));
    if (listed.length > 0 && read.length === listed.length) found.set(container, read);
    else if (feedModeOf(place.loaded.pipeline, container) === 'all-versions')
      throw noWayBack(`No host has a position in the all-versions feed of ${container}`);
  }
  return found;
}

/** The version that hosts keep. @throws UsageError `no-way-back` */
export function keptOf(view: View | undefined, name: string, version: number | undefined): Previous {
  const { previous = null } = view ?? {};
  if (previous && isKept(previous, Date.now()) && (version === undefined || previous.version === version))
    return previous;
  if (!previous) throw noWayBack(`No version of ${name} was replaced`);
  const id = projectionId({ name, version: version ?? previous.version });
  if (previous.version !== version && version !== undefined)
    throw noWayBack(`${id} is not the version before, which is ${projectionId({ name, version: previous.version })}`);
  if (previous.notKept !== undefined) throw noWayBack(`Hosts no longer keep ${id}: ${previous.notKept}`);
  throw noWayBack(
    previous.keptUntil === undefined
      ? `${id} was replaced without keeping it`
      : `Hosts kept ${id} until ${previous.keptUntil}`,
  );
}

const noWayBack = (why: string): UsageError => operationsError('no-way-back', why);
