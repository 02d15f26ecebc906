import { CLOCK_SKEW_MS } from '../../base/bounds.ts';
import { messageOf } from '../../base/errors.ts';
import { digest } from '../../base/json.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { type Staged, Views } from '../../engine/views/views.ts';
import { StagedHosts } from '../../runtime/hosts/staged-hosts.ts';
import { operationsError } from '../errors.ts';
import { beginOf } from './begins.ts';
import { type ResetSpec, projectionTargetOf } from '../projections/choose.ts';
import { fill, followed } from './fill.ts';
import type { Rebuilt, RebuildOptions } from './rebuild.ts';

/** The longest that a reset may take. After it another process may begin another one. */
const RESET_MS = 600_000;

/**
 * Lets a custom projection forget what it derived, and gives it its whole history again, in place. The live hosts continue:
 * what they apply before the reset has ended is in the feed that is read afterwards. May be stopped and run again; a reset
 * that has ended isn't repeated.
 * @throws UsageError `rebuild-under-way`; MillraceError `reset-failed`
 */
export function rebuildCustom(options: CustomOptions): Promise<Rebuilt> {
  let since = '';
  return followed(
    () => fillAgain(options, (begun) => (since = begun)),
    () => forget(options, since),
  );
}

type CustomOptions = Omit<RebuildOptions, 'spec'> & { readonly spec: ResetSpec };

async function fillAgain(options: CustomOptions, name: (since: string) => void): Promise<Rebuilt> {
  const { services, loaded, spec, signal } = options;
  const views = new Views(services.global.state, loaded.pipeline.name);
  const other = (await views.adopt(loaded.pipeline))[spec.name]?.staged;
  // Only what is staged names its positions.
  if (other && other.version !== spec.version && other.phase !== 'resetting')
    await forget({ ...options, spec: { ...spec, version: other.version } }, other.since);
  const begun: Staged = {
    version: spec.version,
    container: '',
    type: '',
    reads: spec.sources,
    phase: 'resetting',
    since: new Date().toISOString(),
  };
  let resumed = false;
  const { staged } = await views.change(spec.name, (view) => {
    if (view.staged?.phase === 'resetting') refuseSecond(spec, view.staged);
    resumed = view.staged?.version === spec.version && view.staged.phase !== 'resetting';
    return resumed ? undefined : { ...view, staged: begun };
  });
  const since = staged?.since ?? begun.since;
  name(since);
  if (!resumed) await reset(spec, views, since, signal);
  const startsAs = options.wholeHistory ? undefined : projectionId(spec);
  const begins = startsAs && (await beginOf(services, loaded, startsAs));
  const filled = { ...options, purpose: purposeOf(spec, since), resumes: resumed, startsAs };
  let counts = { changes: 0, parked: 0, charge: 0 };
  if (staged?.phase !== 'filled') {
    await using host = await StagedHosts.open(filled);
    await fill(host, { ...options, cold: true });
    await host.stop();
    await views.change(spec.name, (view) =>
      view.staged?.since === since ? { ...view, staged: { ...view.staged, phase: 'filled' } } : undefined,
    );
    counts = host.progress();
  }
  // The positions go first: only what is staged names them, and a process that dies leaves it to the next one.
  await forget(options, since);
  const done = { projection: projectionId(spec), container: projectionTargetOf(spec), resumed, ...counts };
  return { ...done, inPlace: true, ...(begins !== undefined && { begins }) };
}

const purposeOf = (spec: ResetSpec, since: string): string =>
  `${projectionId(spec)}.rebuild-${digest(since).slice(0, 8)}`;

/** Removes the positions of what was filled, and the record of it: the next run begins with a reset. */
async function forget(options: CustomOptions, since: string): Promise<void> {
  const { services, loaded, spec } = options;
  const views = new Views(services.global.state, loaded.pipeline.name);
  await StagedHosts.forget({ ...options, purpose: purposeOf(spec, since) });
  await views.change(spec.name, (view) => (view.staged?.since === since ? { ...view, staged: null } : undefined));
}

async function reset(spec: ResetSpec, views: Views, since: string, signal: AbortSignal): Promise<void> {
  const late = AbortSignal.timeout(RESET_MS);
  const projection = projectionId(spec);
  try {
    await spec.reset({ projection, sources: spec.sources, signal: AbortSignal.any([signal, late]) });
    late.throwIfAborted();
  } catch (cause) {
    await views.change(spec.name, (view) => (view.staged?.since === since ? { ...view, staged: null } : undefined));
    signal.throwIfAborted();
    const why = late.aborted ? `it took longer than ${RESET_MS / 60_000} minutes` : messageOf(cause);
    throw operationsError('reset-failed', `The reset of ${projection} failed: ${why}`, { cause });
  }
  await views.change(spec.name, (view) => {
    if (view.staged?.since !== since) refuseSecond(spec, view.staged ?? undefined);
    return view.staged ? { ...view, staged: { ...view.staged, phase: 'filling' } } : undefined;
  });
}

/** Two resets at the same time could remove what one of them has already filled in again. */
function refuseSecond(spec: ResetSpec, other: Staged | undefined): void {
  const until = Date.parse(other?.since ?? '') + RESET_MS + CLOCK_SKEW_MS;
  if (other && Date.now() >= until) return;
  const when = other ? ` since ${other.since}` : '';
  throw operationsError('rebuild-under-way', `Another process resets ${projectionId(spec)}${when}`, {
    hint: other
      ? `Wait for it. If it has died, rebuild after ${new Date(until).toISOString()}.`
      : `Run \`millrace projections rebuild ${spec.name}\` again.`,
  });
}
