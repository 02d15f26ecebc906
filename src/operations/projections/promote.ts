import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { CLOCK_SKEW_MS } from '../../base/bounds.ts';
import { systemClock } from '../../base/clock.ts';
import { MillraceError, UsageError } from '../../base/errors.ts';
import { refuseHistory } from '../../definition/all-versions.ts';
import { projectionId } from '../../definition/specs.ts';
import { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { VIEWS_REFRESH_MS } from '../../engine/views/view-control.ts';
import { type Staged, type View, Views } from '../../engine/views/views.ts';
import { audited } from '../audit/record.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { chooseProjection, splitId } from './choose.ts';
import { type RebuildOptions, rebuildPurpose, sayStaged } from './rebuild.ts';
import { StagedHost } from '../../runtime/staged-host.ts';

/** How long hosts hold the pages back, by their clocks, should nobody finish a promotion. */
const FREEZE_MS = 300_000;
/** Within it the promotion has to be decided, whatever the clocks of hosts and promoter differ by. */
const DECIDE_MS = FREEZE_MS - 2 * CLOCK_SKEW_MS;
/** How long readers may still read the version before. */
const LONGEST_READ_S = 600;

export interface Promoted {
  readonly projection: string;
  readonly container: string;
  readonly previous: string | null;
  /** Until then the previous version can't be dropped. ISO 8601 UTC. */
  readonly readableUntil: string | null;
  /** How long the hosts held back what the two versions read, milliseconds. */
  readonly heldMs: number;
}

export interface PromoteOptions extends RebuildOptions {
  /** Hosts know of a freeze after this long and the read lag. Default VIEWS_REFRESH_MS. */
  readonly viewsRefreshMs?: number;
  /** Seconds that readers may still read the version before. Default 600. */
  readonly longestReadS?: number;
  /** Even though changes are parked in the new version alone. */
  readonly evenParked?: boolean;
}

/**
 * Makes a filled version current (R12): catch up, freeze, read every range of the new version to an empty page once all
 * hosts have seen the freeze, flip by one conditional write. The live hosts' leases stand still meanwhile and carry the new
 * version from there on. May be stopped at any point and run again.
 * @throws UsageError `not-staged`, `not-caught-up`, `parked-in-new`, `history-all-versions`
 */
export async function promote(options: PromoteOptions): Promise<Promoted> {
  const { services, loaded, spec, signal, readLagMs = 5_000, viewsRefreshMs = VIEWS_REFRESH_MS } = options;
  const { longestReadS = LONGEST_READ_S } = options;
  const views = new Views(services.state, loaded.pipeline.name);
  const view = (await views.read())?.[spec.name];
  const done = view?.current?.version === spec.version && !view.staged;
  assertFilled(view, spec.name, spec.version);
  if (done) return promoted(view, spec.name, 0);
  refuseHistory(spec, loaded.pipeline, 'caught up');
  if (!options.evenParked) await assertNothingNewParked(view, spec.name, new DeadLetters(services.state));
  await using staged = await StagedHost.open({ ...options, purpose: rebuildPurpose(spec) });
  await staged.drained(signal);

  const frozenAt = systemClock.monotonic();
  await views.change(spec.name, (of) => {
    const now = stagedOf(of, spec.name, spec.version);
    return { ...of, staged: { ...now, phase: 'frozen', frozenUntil: new Date(Date.now() + FREEZE_MS).toISOString() } };
  });
  let flipped = false;
  const late = AbortSignal.timeout(DECIDE_MS);
  const decide = AbortSignal.any([signal, late]);
  try {
    // From then on no host begins to apply what the two versions read: what any of them has begun with was in the feed
    // before, and the reads that follow see it.
    await delay(viewsRefreshMs + readLagMs, undefined, { signal: decide });
    await staged.drained(decide);
    const readableUntil = new Date(Date.now() + longestReadS * 1_000).toISOString();
    const after = await views.change(spec.name, (of) => {
      const { phase: _, since: __, frozenUntil: ___, ...version } = stagedOf(of, spec.name, spec.version);
      if (systemClock.monotonic() - frozenAt > DECIDE_MS) throw tooSlow(spec.name);
      return {
        ...of,
        current: version,
        staged: null,
        previous: of.current && { ...of.current, replacedAt: new Date().toISOString(), readableUntil },
        flips: of.flips + 1,
      };
    });
    flipped = true;
    const heldMs = Math.round(systemClock.monotonic() - frozenAt);
    await staged.stop();
    await staged.removeLeases();
    return promoted(after, spec.name, heldMs);
  } catch (error) {
    if (signal.aborted || !late.aborted || flipped) throw error;
    throw tooSlow(spec.name, error);
  } finally {
    // Its readers go on with what they have.
    if (!flipped) await views.change(spec.name, thaw).catch(() => undefined);
  }
}

const thaw = (view: View): View | undefined => {
  if (view.staged?.phase !== 'frozen') return undefined;
  const { frozenUntil: _, ...staged } = view.staged;
  return { ...view, staged: { ...staged, phase: 'filled' } };
};

const promoted = ({ current, previous }: View, name: string, heldMs: number): Promoted => ({
  projection: current ? projectionId({ name, version: current.version }) : name,
  container: current?.container ?? '',
  previous: previous && projectionId({ name, version: previous.version }),
  readableUntil: previous?.readableUntil ?? null,
  heldMs,
});

const tooSlow = (name: string, cause?: unknown): MillraceError =>
  new MillraceError(
    'promote-too-slow',
    `The new version of ${name} did not reach the end of its feeds within ${DECIDE_MS / 1_000} s`,
    {
      cause,
      retryable: true,
      mend: 'The version before is current as it was. Promote again when less is written, or give the sink more throughput.',
    },
  );

function stagedOf({ staged }: View, name: string, version: number): Staged {
  if (staged?.version === version) return staged;
  throw new UsageError('not-staged', `${name}@${version} is not being built any more`, {
    mend: `\`millrace projections show ${name}\` says what is.`,
  });
}

function assertFilled(view: View | undefined, name: string, version: number): asserts view is View {
  if (view?.current?.version === version && !view.staged) return;
  if (!view?.staged) {
    const current = view?.current ? `version ${view.current.version} is current, and` : 'it was never built, and';
    throw new UsageError('not-staged', `There is nothing to promote of ${name}: ${current} no other is being built`, {
      mend: `Build one first: \`millrace projections rebuild ${name}\`.`,
    });
  }
  stagedOf(view, name, version);
  if (view.staged.phase === 'filling') {
    throw new UsageError('not-caught-up', `${name} can't be promoted: ${sayStaged(view.staged)}`, {
      mend: `Let it end, or go on with it: \`millrace projections rebuild ${name}@${version}\`.`,
    });
  }
}

/** What only the new version can't apply would be missing as soon as it is current. */
async function assertNothingNewParked({ current, staged }: View, name: string, letters: DeadLetters): Promise<void> {
  const of = async (version: number | undefined) =>
    version === undefined ? [] : letters.list(projectionId({ name, version }));
  const [before, after] = [await of(current?.version), await of(staged?.version)];
  const known = new Set(before.map(({ container, key, id }) => JSON.stringify([container, key, id])));
  const fresh = after.filter(({ container, key, id }) => !known.has(JSON.stringify([container, key, id])));
  if (fresh.length === 0) return;
  throw new UsageError(
    'parked-in-new',
    `${name}@${staged?.version ?? ''} can't apply ${plural(fresh.length, 'change')}: ${fresh[0]?.message ?? ''}`,
    {
      mend: `See \`millrace dead-letters list --only ${name}@${staged?.version ?? ''}\`; --even-parked promotes without them.`,
    },
  );
}

export const projectionsPromote = defineOperation({
  noun: 'projections',
  verb: 'promote',
  summary: 'Make a filled version current: readers see the one before, then this one, and nothing between',
  examples: [
    'millrace projections promote summaries --dry-run',
    'millrace projections promote summaries --env production',
  ],
  effect: 'changes',
  argument: 'name',
  input: z.object({
    name: z.string().describe('the projection, as name or name@version'),
    longestRead: z
      .int()
      .min(0)
      .default(LONGEST_READ_S)
      .describe('seconds that somebody may still be reading the version before'),
    evenParked: z
      .boolean()
      .default(false)
      .describe('though the new version has parked changes that the old one applied'),
  }),
  plan: async ({ name }, { workspace }) => {
    const { pipeline } = await workspace.pipeline();
    const { state } = await workspace.services();
    const told = splitId(name);
    const view = (await new Views(state, pipeline.name).read())?.[told.name];
    const version = told.version ?? view?.staged?.version ?? chooseProjection(pipeline, name).version;
    assertFilled(view, told.name, version);
    const spec = pipeline.projections.find((of) => of.name === told.name && of.version === version);
    if (spec) refuseHistory(spec, pipeline, 'caught up');
    const reads = [
      ...new Set([...(view.current?.reads ?? []), ...(view.staged?.reads ?? [])].map(({ container }) => container)),
    ];
    return {
      steps: [
        `catch up ${told.name}@${version}`,
        `hold back changes of ${reads.join(', ')} for about ${Math.ceil((VIEWS_REFRESH_MS + 5_000) / 1000)} s`,
        `make ${told.name}@${version} current; readers find it in ${view.staged?.container ?? ''}`,
      ],
      ru: 0,
      seconds: Math.ceil((VIEWS_REFRESH_MS + 5_000) / 1000),
    };
  },
  run: async ({ name, longestRead, evenParked }, context) => {
    const { workspace, signal, screen } = context;
    const loaded = await workspace.pipeline();
    const services = await workspace.services();
    const told = splitId(name);
    const view = (await new Views(services.state, loaded.pipeline.name).read())?.[told.name];
    const staged = told.version ?? view?.staged?.version;
    const spec = chooseProjection(loaded.pipeline, staged === undefined ? name : `${told.name}@${staged}`);
    return audited(context, 'projections promote', { name, longestRead, evenParked }, () =>
      promote({
        settings: workspace.settings(),
        services,
        loaded,
        spec,
        signal,
        longestReadS: longestRead,
        evenParked,
        progress: (changes) => screen.progress('caught up', changes),
      }),
    );
  },
  format: ({ projection, container, previous, readableUntil, heldMs }) =>
    [
      `${projection} is current, in ${container}. Changes were held back for ${(heldMs / 1000).toFixed(1)} s.`,
      ...(previous
        ? [
            `${previous} is no longer kept up; \`millrace projections drop ${previous}\` removes it, from ${readableUntil ?? ''} on.`,
          ]
        : []),
    ].join('\n'),
});
