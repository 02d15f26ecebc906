import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../base/clock.ts';
import type { UsageError } from '../../base/errors.ts';
import { feedModeOf } from '../../definition/all-versions.ts';
import { sourcesOf } from '../../definition/pipeline.ts';
import { projectionId } from '../../definition/specs.ts';
import { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { isKept } from '../../engine/views/kept.ts';
import { VIEWS_REFRESH_MS } from '../../engine/views/view-control.ts';
import { type Previous, type View, Views } from '../../engine/views/views.ts';
import type { Start } from '../../feed/reading/source.ts';
import { openFeed } from '../../runtime/open-feed.ts';
import { StagedHost } from '../../runtime/staged-host.ts';
import { operationsError } from '../errors.ts';
import {
  DECIDE_MS,
  LONGEST_READ_S,
  type PromoteOptions,
  type Promoted,
  assertNothingNewParked,
  flip,
  freezeOf,
  otherPromotes,
  promoted,
  tooSlow,
} from './promote.ts';

/**
 * Makes the kept version current again (REB-V25): freeze; when all hosts have seen that, let the kept version alone read
 * what a host that died may have applied to the other one only; switch with one conditional write. The version that was
 * current is kept from then on. May be stopped at any point and run again: a version that is current stays so.
 * @throws UsageError `no-way-back`, `parked-in-new`; `promotes-already`, `promote-too-slow`
 */
export async function promoteBack(options: PromoteOptions): Promise<Promoted> {
  const { services, loaded, spec, signal, readLagMs = 5_000, viewsRefreshMs = VIEWS_REFRESH_MS } = options;
  const { longestReadS = LONGEST_READ_S, keepMs } = options;
  const { name, version } = spec;
  const views = new Views(services.state, loaded.pipeline.name);
  const view = (await views.read())?.[name];
  const purpose = `${projectionId(spec)}.back`;
  if (view?.current?.version === version) {
    // An earlier run may have died after the switch.
    await using done = await StagedHost.open({ ...options, purpose });
    await done.stop();
    await done.removeLeases();
    return promoted(view, name, 0);
  }
  keptOf(view, name, version);
  if (view && !options.evenParked) await assertNothingNewParked(view, spec, new DeadLetters(services.state));

  const frozenAt = systemClock.monotonic();
  let frozenUntil = '';
  await views.change(name, (of) => {
    const previous = keptOf(of, name, version);
    frozenUntil = freezeOf(previous);
    return { ...of, previous: { ...previous, frozenUntil } };
  });
  let flipped = false;
  const late = AbortSignal.timeout(DECIDE_MS);
  const decide = AbortSignal.any([signal, late]);
  try {
    // After this delay no host applies a change of the two versions, and the live leases stand still.
    await delay(viewsRefreshMs + readLagMs, undefined, { signal: decide });
    const positions = await livePositions(options);
    const startOf = (container: string): Start => positions.get(container) ?? 'beginning';
    await using staged = await StagedHost.open({ ...options, purpose, startOf });
    await staged.drained(decide);
    const after = await views.change(name, (of) => {
      if (of.previous?.frozenUntil !== frozenUntil) throw otherPromotes(name);
      if (systemClock.monotonic() - frozenAt > DECIDE_MS) throw tooSlow(name);
      const { container, type, reads } = of.previous;
      return flip(of, { version, container, type, reads }, { longestReadS, keepMs });
    });
    flipped = true;
    const heldMs = Math.round(systemClock.monotonic() - frozenAt);
    await staged.stop();
    await staged.removeLeases();
    return promoted(after, name, heldMs);
  } catch (error) {
    if (signal.aborted || !late.aborted || flipped) throw error;
    throw tooSlow(name, error);
  } finally {
    if (!flipped) await views.change(name, (of) => thaw(of, frozenUntil)).catch(() => undefined);
  }
}

function thaw(view: View, own: string): View | undefined {
  if (!view.previous || view.previous.frozenUntil !== own) return undefined;
  const { frozenUntil: _, ...previous } = view.previous;
  return { ...view, previous };
}

/** The acknowledged positions of the live leases: a host that died after these may have applied a page to one version only. */
async function livePositions(options: PromoteOptions): Promise<ReadonlyMap<string, Start>> {
  const { loaded, spec } = options;
  const found = new Map<string, Start>();
  for (const container of new Set(sourcesOf(spec).map((of) => of.container))) {
    const { leases } = await openFeed(options, container, { host: 'back' });
    const listed = await leases.list();
    const read = listed.flatMap(({ range, position }) => (position === undefined ? [] : [{ range, position }]));
    if (listed.length > 0 && read.length === listed.length) found.set(container, read);
    else if (feedModeOf(loaded.pipeline, container) === 'all-versions')
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
