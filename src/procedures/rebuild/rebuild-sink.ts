// Rebuilds an outside sink: fills another content of it from history, and makes that one current.
import { type OutsideSpec, projectionId } from '../../pipeline/specs.ts';
import { type DeadLetter, DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { letterBodies } from '../../engine/dead-letters/letter-bodies.ts';
import { VIEWS_REFRESH_MS } from '../../engine/views/view-control.ts';
import { type Staged, type View, Views } from '../../engine/views/views.ts';
import { READ_LAG_MS, openEngine } from '../../runtime/open-engine.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { StagedHosts } from '../../runtime/hosts/staged-hosts.ts';
import { nextOf, redriveIn } from '../dead-letters/redrive.ts';
import { operationsError } from '../errors.ts';
import { plural } from '../table.ts';
import { beginOf } from './begins.ts';
import type { SinkSpec } from '../projections/choose.ts';
import type { Dropped } from '../drop/drop.ts';
import { fill, followed } from './fill.ts';
import { inPlaces, placesOf } from '../../runtime/places.ts';
import { lettersIn } from '../projections/in-places.ts';
import { whileFrozen } from '../promote/freeze.ts';
import { type PromoteOptions, type Promoted, stagedOf, stagedPart } from '../promote/promote.ts';
import type { Rebuilt, RebuildOptions } from './rebuild.ts';

export type SinkOptions = Omit<RebuildOptions, 'spec'> & { readonly spec: SinkSpec };
export type SwapOptions = Omit<PromoteOptions, 'spec'> & { readonly spec: SinkSpec };

/**
 * Fills a target of the sink from history, archived documents included, beside the live hosts. May be stopped at any point
 * and run again: then it continues, and redrives the changes that the target refused. Does not make the target current.
 * @throws UsageError `rebuild-under-way`
 */
export const rebuildSink = (options: SinkOptions): Promise<Rebuilt> =>
  followed(
    () => fillTarget(options),
    () => dropTarget(options),
  );

async function fillTarget(options: SinkOptions): Promise<Rebuilt> {
  const { services, loaded, spec } = options;
  const views = new Views(services.global.state, loaded.pipeline.name);
  await views.adopt(loaded.pipeline);
  let begun = (await views.read())?.[spec.name]?.staged;
  if (begun?.phase === 'resetting') {
    await dropTarget(options);
    begun = undefined;
  }
  const since = new Date().toISOString();
  const fresh: Staged = {
    version: spec.version,
    container: `${spec.name}-${spec.version}-${since.replaceAll(/\D/g, '')}`,
    type: '',
    reads: [spec.from],
    phase: 'filling',
    since,
  };
  const { staged } = await views.change(spec.name, (view) =>
    view.staged ? sameVersion(view, spec) : { ...view, staged: fresh },
  );
  const target = staged?.container ?? fresh.container;
  const own = await openTarget(options, target);
  const begins = own.startsAs && (await beginOf(services, loaded, own.startsAs));
  if (begun) await redriveOwn(own);
  await using host = await StagedHosts.open({ ...own, purpose: purposeOf(own.spec, target), resumes: begun != null });
  await fill(host, { ...options, cold: true });
  await views.change(spec.name, (view) => {
    const now = ownStaged(view, spec, target);
    return now.phase === 'filling' ? { ...view, staged: { ...now, phase: 'filled' } } : undefined;
  });
  await host.stop();
  const { changes, charge } = host.progress();
  const parked = (await lettersOf(options, own.spec)).length;
  const done = { projection: projectionId(spec), container: target, resumed: begun != null, changes, charge };
  return { ...done, parked, parkedAs: projectionId(own.spec), ...(begins !== undefined && { begins }) };
}

/**
 * Makes the filled target current (REB-V21): catches up; freezes the source; once all hosts have seen that, reads every
 * range to its end and swaps; then reads to the end once more, in case the swap came too late and hosts had continued. May
 * be stopped at any point and run again.
 * @throws UsageError `not-staged`, `not-caught-up`, `parked-in-new`
 */
export async function swapSink(options: SwapOptions): Promise<Promoted> {
  const { services, loaded, spec, signal, readLagMs = READ_LAG_MS, viewsRefreshMs = VIEWS_REFRESH_MS } = options;
  const views = new Views(services.global.state, loaded.pipeline.name);
  const { container: target, phase } = filledTarget((await views.read())?.[spec.name], spec);
  const own = await openTarget(options, target);
  const done = async (heldMs: number): Promise<Promoted> => {
    await StagedHosts.forget({ ...own, purpose: purposeOf(own.spec, target) });
    await discardOwn(own, () => assertStaged(views, spec, target));
    // Last: a process that dies before leaves nothing behind that another run doesn't find.
    await views.change(spec.name, (view) => {
      ownStaged(view, spec, target);
      return { ...view, staged: null, promotions: view.promotions + 1 };
    });
    return { projection: projectionId(spec), container: target, ...(await previousOf(spec, signal)), heldMs };
  };
  // An earlier run died after the swap, and may have removed the positions.
  if (phase === 'resetting') return done(0);
  if (!options.evenParked) await assertNothingNewRefused(options, own.spec);
  await using host = await StagedHosts.open({ ...own, purpose: purposeOf(own.spec, target), resumes: true });
  do await host.drained(signal);
  while (!(await host.follow()));

  const part = { ...stagedPart(spec), of: (view: View) => ownStaged(view, spec, target) };
  const heldMs = await whileFrozen(
    views,
    // If it fails, the target stays staged, so another run reads what the hosts apply from now on.
    { name: spec.name, part, seenAfterMs: viewsRefreshMs + readLagMs, signal },
    async (frozen) => {
      await host.follow();
      await host.drained(frozen.signal);
      frozen.assertOwn({ frozenUntil: frozen.until });
      await spec.to.rebuild.swap(target, frozen.signal, options.keepMs);
      await host.drained(signal);
      // Rows that only the target refused would be missing, and nothing would name them.
      if (!options.evenParked) await assertNothingNewRefused(options, own.spec);
      await host.stop();
      await views.change(spec.name, (view) => {
        const { frozenUntil: _, ...now } = ownStaged(view, spec, target);
        return { ...view, staged: { ...now, phase: 'resetting' } };
      });
      return frozen.heldMs();
    },
  );
  return done(heldMs);
}

/** The content before is the sink's own affair: it may say that hosts write it too. */
export async function previousOf(
  spec: OutsideSpec,
  signal: AbortSignal,
): Promise<Pick<Promoted, 'previous' | 'readableUntil' | 'keptUntil'>> {
  const kept = spec.kind === 'table' ? await spec.to.kept?.(signal) : undefined;
  return {
    previous: kept ? projectionId({ name: spec.name, version: kept.version }) : null,
    readableUntil: null,
    keptUntil: kept?.until ?? null,
  };
}

/**
 * Gives a rebuild up: removes the target with its leases and dead letters. May be stopped and run again.
 * @throws UsageError `not-staged`
 */
export async function dropTarget(options: Omit<SinkOptions, 'progress'>): Promise<Dropped> {
  const { services, loaded, spec, signal } = options;
  const views = new Views(services.global.state, loaded.pipeline.name);
  const target = stagedTarget((await views.read())?.[spec.name], spec).container;
  // A process that still fills it loses its leases, and so the right to write.
  const own = await openTarget(options, target);
  await using host = await StagedHosts.open({ ...own, purpose: purposeOf(own.spec, target) });
  await host.stop();
  await host.removeLeases();
  await spec.to.rebuild.drop(target, signal);
  const state = await discardOwn(own, () => assertStaged(views, spec, target));
  await views.change(spec.name, (view) => (view.staged?.container === target ? { ...view, staged: null } : undefined));
  return { projection: projectionId(spec), documents: 0, state, target };
}

type Own = Omit<SinkOptions, 'spec'> & { readonly spec: OutsideSpec };

async function openTarget<O extends Omit<SinkOptions, 'progress'>>(
  options: O,
  target: string,
): Promise<Omit<O, 'spec'> & { readonly spec: OutsideSpec; readonly startsAs: string | undefined }> {
  const { spec, signal } = options;
  const own = { ...nextOf(spec), to: await spec.to.rebuild.open(target, signal) };
  return { ...options, spec: own, startsAs: options.wholeHistory ? undefined : projectionId(spec) };
}

const purposeOf = (spec: OutsideSpec, target: string): string => `${projectionId(spec)}.${target}`;

export function sameVersion({ staged }: View, spec: OutsideSpec): undefined {
  if (!staged || staged.version === spec.version) return undefined;
  throw operationsError(
    'rebuild-under-way',
    `${spec.name}@${staged.version} has been in a rebuild since ${staged.since} (${staged.phase})`,
    {
      hint: `Drop it with \`millrace projections drop ${spec.name}\`, then rebuild ${projectionId(spec)}.`,
    },
  );
}

export function stagedTarget(view: View | undefined, spec: OutsideSpec): Staged {
  if (view?.staged) return view.staged;
  throw operationsError('not-staged', `No other content of the sink of ${spec.name} is being filled`, {
    hint: `Fill one first with \`millrace projections rebuild ${spec.name}\`.`,
  });
}

/** @throws UsageError `not-staged`, `not-caught-up` */
export function filledTarget(view: View | undefined, spec: OutsideSpec): Staged {
  const staged = stagedTarget(view, spec);
  if (view) sameVersion(view, spec);
  if (staged.phase !== 'filling') return staged;
  throw operationsError(
    'not-caught-up',
    `${spec.name} can't be promoted: it is filling ${staged.container} since ${staged.since}`,
    {
      hint: `Wait until the rebuild ends, or resume it with \`millrace projections rebuild ${spec.name}\`.`,
    },
  );
}

/** The staged target, if it is still this one. */
function ownStaged(view: View, spec: OutsideSpec, target: string): Staged {
  const staged = stagedOf(view, spec.name, spec.version);
  return staged.container === target ? staged : stagedTarget(undefined, spec);
}

const lettersOf = async (options: Parts, spec: OutsideSpec): Promise<DeadLetter[]> =>
  lettersIn(await placesOf(options).of(spec), projectionId(spec));

/** Rows that the target refuses and the live content has would be missing after the swap. */
async function assertNothingNewRefused(
  options: Parts & { readonly spec: OutsideSpec },
  own: OutsideSpec,
): Promise<void> {
  const { spec } = options;
  const place = ({ container, key, id }: { container: string; key: readonly unknown[]; id: string }): string =>
    JSON.stringify([container, key, id]);
  const known = new Set((await lettersOf(options, spec)).map(place));
  const fresh = (await lettersOf(options, own)).filter((letter) => !known.has(place(letter)));
  if (fresh.length === 0) return;
  throw operationsError(
    'parked-in-new',
    `The new content of ${spec.name} refused ${plural(fresh.length, 'change')} that the current one took: ${fresh[0]?.message ?? ''}`,
    {
      hint: `Fix the cause and run \`millrace projections rebuild ${spec.name}\` again, which redrives them. Or promote it without these rows: --even-parked.`,
    },
  );
}

/** By a write, because a read may be older than what another run has done. @throws UsageError `not-staged` */
const assertStaged = (views: Views, spec: OutsideSpec, target: string): Promise<View> =>
  views.change(spec.name, (view) => {
    if (view.staged?.container !== target) stagedTarget(undefined, spec);
    return { ...view };
  });

/** Removes the dead letters of the target; resolves with their number. Those of the next target have the same names. */
async function discardOwn(options: Own, assertOwn: () => Promise<unknown>): Promise<number> {
  const discarded = await inPlaces(await placesOf(options).of(options.spec), async ({ services }) => {
    const letters = new DeadLetters(services.place.state, letterBodies(services));
    const own = await letters.list(projectionId(options.spec));
    if (own.length > 0) await assertOwn();
    for (const letter of own) await letters.discard(letter);
    return own.length;
  });
  return discarded.reduce((total, of) => total + of, 0);
}

/** Redrives the changes that the target has refused. */
async function redriveOwn(options: Own): Promise<void> {
  const { spec } = options;
  await inPlaces(await placesOf(options).of(spec), async (place) => {
    const letters = await new DeadLetters(place.services.place.state).list(projectionId(spec));
    const own = { ...options, ...place };
    if (letters.length > 0) await redriveIn(letters, openEngine(own, spec), own);
  });
}
