// Verification by the clock: which one is due, and one host alone that does it.
import type { Container } from '@azure/cosmos';
import { Cron } from 'croner';
import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { formatOf } from '../../base/format.ts';
import type { Settings } from '../../base/settings.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { countLetters } from '../../engine/dead-letters/dead-letter-counts.ts';
import { Views } from '../../engine/views/views.ts';
import { bulkWorkspace } from '../../runtime/workspace.ts';
import {
  type ArchiveVerified,
  archiveVerifiedOf,
  faultsOf,
  readArchiveVerified,
  recordArchiveVerified,
  sayArchiveVerified,
} from '../archive/verified.ts';
import { verifyArchives } from '../archive/verify-archives.ts';
import type { Context } from '../context.ts';
import { whileLocked } from '../journal/lock.ts';
import { whileNoted } from '../journal/runs.ts';
import { plural } from '../table.ts';
import { readDiscarded, sayDiscarded } from './discarded.ts';
import { leftMeanwhile } from './moved-meanwhile.ts';
import { comparedHere } from '../projections/over-shards.ts';
import { beyondOf } from './verify-beyond.ts';
import { type Pages, NO_PAGES, verifyPages } from './verify-pages.ts';
import { othersOf } from './verify-others.ts';
import {
  VERIFICATION_KEY,
  VERIFIED_KINDS,
  type Verified,
  type VerifiedKind,
  examplesOfDifferences,
  isAgainstRight,
  movedLeft,
  readLast,
  readVerified,
  recordVerified,
  sayAgainst,
  verifiedName,
  verifiedOf,
} from './verified.ts';
import { countBy, sayNotCompared } from './not-compared.ts';
import { verify } from './verify.ts';

/** Documents of each type in a sample. */
const SAMPLE = '1000';

/** Blobs of each archive in a sample. */
const BLOBS = 50;

type DueKind = VerifiedKind | 'archive';
/** From the last to the first: damage of the archive ends the others with an error, and all documents may take all the time. */
const DUE_KINDS: readonly DueKind[] = [...VERIFIED_KINDS, 'archive'];

type Schedule = NonNullable<Settings['verify']> & { readonly archive?: string };

/** What a look found due and did, or the last result. `result` absent: its time was up; the next look continues. */
export type DueVerification = (
  | { readonly kind: VerifiedKind; readonly result?: Verified }
  | { readonly kind: 'archive'; readonly result: ArchiveVerified }
  /** With a copy that a team keeps by hand. */
  | { readonly kind: 'against'; readonly result: Verified }
) & {
  /** Of the last result: when the next one is due, ISO 8601 UTC; null: never. Absent: it was done now. */
  readonly next?: string | null;
};

/** Stored beside the results. */
interface DueDocument {
  readonly id: string;
  readonly pk: string;
  readonly type: 'millrace.verification-due';
  /** When the schedule was first looked at: nothing is due for a time before. ISO 8601 UTC. */
  readonly since: string;
  /** A verification of all documents that has begun. */
  readonly began?: string;
  /** Milliseconds that it worked. */
  readonly worked?: number;
  readonly pages?: Pages;
}

/** The verifications that are due now; none while a projection is paused. */
export async function dueNow(
  state: Container,
  pipeline: string,
  schedule: Schedule,
  now: number,
  /** Of a shard: the name of its results. */
  own = pipeline,
): Promise<DueKind[]> {
  if (schedule.sample === undefined && schedule.whole === undefined) return [];
  // A paused feed stands still: what waits in it would look like differences.
  const views = await new Views(state, pipeline).read();
  if (Object.values(views ?? {}).some(({ paused }) => paused)) return [];
  const { since, pages } = await scheduleOf(state, own, now);
  const due: DueKind[] = [];
  for (const kind of DUE_KINDS) {
    const pattern = schedule[kind];
    if (pattern === undefined) continue;
    const ended = kind === 'archive' ? readArchiveVerified(state, own) : readVerified(state, own, kind);
    const last = (await ended)?.at ?? since;
    const from = Math.max(Date.parse(last), Date.parse(since));
    const next = nextDue(pattern, from);
    if ((kind === 'whole' && pages) || (next && next.getTime() <= now)) due.push(kind);
  }
  return due;
}

/** The first time of a schedule after `from` (milliseconds). Undefined: never. */
export function nextDue(pattern: string | undefined, from: number): Date | undefined {
  if (pattern === undefined) return undefined;
  return new Cron(pattern, { paused: true, timezone: 'Etc/UTC' }).nextRun(new Date(from)) ?? undefined;
}

const placeOf = (pipeline: string): { id: string; pk: string } => ({ id: `${pipeline}~due`, pk: VERIFICATION_KEY });

const dueDocument = (pipeline: string, since: string): DueDocument => ({
  ...placeOf(pipeline),
  type: 'millrace.verification-due',
  ...formatOf('verification'),
  since,
});

/** Stores the time of the first look, so that a new deployment doesn't begin with a verification. */
async function scheduleOf(state: Container, pipeline: string, now: number): Promise<DueDocument> {
  const at = placeOf(pipeline);
  const known = await readItem<DueDocument>(state.item(at.id, at.pk));
  if (known) return known;
  const first = dueDocument(pipeline, new Date(now).toISOString());
  const { after } = await rewrite(state, at, (stored: DueDocument | undefined) => stored ?? first);
  return after;
}

/**
 * Does what the schedule says is due, in this process alone: another host that looks meanwhile does nothing. A sample
 * ends in one go. A verification of all documents goes page by page, stores each, and continues at the next look where
 * this one ended, in whichever host. `withinMs`: after this time it ends.
 */
export async function verifyDue(context: Context, withinMs = Infinity): Promise<DueVerification[]> {
  const { actor, signal, clock = systemClock } = context;
  const workspace = bulkWorkspace(context.workspace);
  const { schedule, state, name, own } = await scheduled(workspace);
  const due = (): Promise<DueKind[]> => dueNow(state, name, schedule, clock.now(), own);
  if ((await due()).length === 0) return [];
  const until = clock.monotonic() + withinMs;
  const lock = { kind: 'verifying', of: own, what: 'A verification', actor, clock, signal } as const;
  const work = async ({ signal: locked }: { readonly signal: AbortSignal }): Promise<DueVerification[]> => {
    const done: DueVerification[] = [];
    const held = { ...context, workspace, signal: locked };
    // Another host may have done it between.
    for (const kind of (await due()).toReversed()) {
      const verb = kind === 'archive' ? 'archive verify' : 'projections verify';
      const of = { verb, arguments: { schedule: kind }, actor };
      done.push(await whileNoted(state, of, async () => works[kind](held, until)));
    }
    return done;
  };
  return whileLocked(state, lock, work, () => new Busy()).catch((error: unknown) => {
    if (error instanceof Busy) return [];
    throw error;
  });
}

async function scheduled(workspace: Context['workspace']) {
  const [{ pipeline }, { global, place }] = await Promise.all([workspace.pipeline(), workspace.services()]);
  const { verify: declared = {} } = workspace.settings();
  const schedule: Schedule = {
    ...declared,
    ...(pipeline.archives.length > 0 && declared.sample !== undefined && { archive: declared.sample }),
  };
  return { schedule, state: global.state, name: pipeline.name, own: verifiedName(pipeline, place) };
}

/** The last results that are not right, apart from those of `done`: who asks has to know until another one is right. */
export async function readStanding(
  { workspace }: Pick<Context, 'workspace'>,
  done: readonly DueVerification[],
): Promise<DueVerification[]> {
  const { schedule, state, name, own } = await scheduled(workspace);
  const [{ differing }, archived] = await Promise.all([readLast(state, name, own), readArchiveVerified(state, own)]);
  const faulty = archived && faultsOf(archived) > 0 ? [{ kind: 'archive', result: archived } as const] : [];
  return [...differing, ...faulty]
    .filter(({ kind }) => !done.some((one) => one.kind === kind && one.result))
    .map((last) => ({ ...last, next: nextOf(schedule[last.kind], last.result) }));
}

/** When another one than the last is due, for `DueVerification`. */
export const nextOf = (pattern: string | undefined, { at }: Pick<Verified, 'at'>): string | null =>
  nextDue(pattern, Date.parse(at))?.toISOString() ?? null;

/** Another process has the lock. */
class Busy extends Error {}

async function sample({ workspace, actor, signal, screen, clock = systemClock }: Context): Promise<DueVerification> {
  const [loaded, services] = await Promise.all([workspace.pipeline(), workspace.services()]);
  const began = clock.monotonic();
  const settings = workspace.settings();
  const gone = await leftMeanwhile({ loaded, services, settings }, undefined, { signal });
  const found = await verify(loaded, services, { signal, screen, sample: SAMPLE, settings });
  const seconds = Math.round((clock.monotonic() - began) / 1_000);
  const large = found.sampled?.largeGroups ?? 0;
  const differing = found.differences.flatMap(({ projections }) => projections);
  const result = {
    ...verifiedOf(found, { at: new Date(clock.now()).toISOString(), actor, seconds }),
    ...(await readDiscarded(services.global.state, differing, signal)),
    left: [
      ...found.beyond.map((of) => `${projectionId(of)}: ${of.why}`),
      ...largeLeft(large),
      ...movingLeft(found.moving + (found.deferred ?? 0)),
      ...(found.notCompared ? [sayNotCompared(found.notCompared)] : []),
      ...movedLeft(await gone()),
    ],
  };
  await recordVerified(services.global.state, verifiedName(loaded.pipeline, services.place), 'sample', result);
  return { kind: 'sample', result };
}

/** A failure is a finding: tried again each minute, it would hide what else is due. */
async function archive({ workspace, actor, signal, screen, clock = systemClock }: Context): Promise<DueVerification> {
  const [loaded, services] = await Promise.all([workspace.pipeline(), workspace.services()]);
  const began = clock.monotonic();
  const ended = () => ({
    at: new Date(clock.now()).toISOString(),
    actor,
    seconds: Math.round((clock.monotonic() - began) / 1_000),
    sample: BLOBS,
  });
  const result = await verifyArchives(loaded, services, { sample: BLOBS, signal, screen }).then(
    (found) => archiveVerifiedOf(found, ended()),
    (error: unknown) => {
      signal.throwIfAborted();
      return { ...archiveVerifiedOf([], ended()), failed: messageOf(error) };
    },
  );
  await recordArchiveVerified(services.global.state, verifiedName(loaded.pipeline, services.place), result);
  return { kind: 'archive', result };
}

async function whole(
  { workspace, actor, signal, screen, clock = systemClock }: Context,
  until: number,
): Promise<DueVerification> {
  const [loaded, services] = await Promise.all([workspace.pipeline(), workspace.services()]);
  const { state } = services.global;
  const own = verifiedName(loaded.pipeline, services.place);
  const pipeline = comparedHere(loaded.pipeline);
  const stored = await scheduleOf(state, own, clock.now());
  const began = clock.monotonic();
  const worked = (): number => (stored.worked ?? 0) + clock.monotonic() - began;
  const note = async (pages: Pages | undefined): Promise<void> => {
    const first = stored.began ?? new Date(clock.now()).toISOString();
    const going = pages && { began: first, worked: worked(), pages };
    await rewrite(state, placeOf(own), () => ({ ...dueDocument(own, stored.since), ...going }));
  };
  const timeUp = new AbortController();
  const save = async (pages: Pages): Promise<void> => {
    await note(pages);
    if (clock.monotonic() >= until) timeUp.abort();
  };
  try {
    const from = stored.pages ?? NO_PAGES;
    const settings = workspace.settings();
    const askedAt = Date.parse(stored.began ?? new Date(clock.now()).toISOString());
    const gone = await leftMeanwhile({ loaded, services, settings }, undefined, { signal, askedAt });
    const options = { signal: AbortSignal.any([signal, timeUp.signal]), screen, settings };
    const pages = await verifyPages(loaded, services, { ...options, from, save });
    const result: Verified = {
      at: new Date(clock.now()).toISOString(),
      actor,
      seconds: Math.round(worked() / 1_000),
      sources: pages.sources,
      compared: pages.compared,
      different: Object.keys(pages.differences).length,
      differences: countBy(Object.values(pages.differences).flat()),
      ...examplesOfDifferences(Object.keys(pages.differences)),
      ...(await readDiscarded(state, Object.values(pages.differences).flat(), signal)),
      left: [
        ...beyondOf(pipeline).map((of) => `${projectionId(of)}: ${of.why}`),
        ...othersOf(pipeline)
          .filter(({ kind }) => kind === 'send')
          .map((of) => `${projectionId(of)}: ${SENDS}`),
        ...largeLeft(pages.largeGroups),
        ...movingLeft(pages.moving),
        ...parkedLeft(await countLetters(services.place.state)),
        ...movedLeft(await gone()),
      ],
    };
    await recordVerified(state, own, 'whole', result);
    await note(undefined);
    return { kind: 'whole', result };
  } catch (error) {
    if (timeUp.signal.aborted && !signal.aborted) return { kind: 'whole' };
    throw error;
  }
}

const works: Readonly<Record<DueKind, (context: Context, until: number) => Promise<DueVerification>>> = {
  sample,
  whole,
  archive,
};

const SENDS = 'not compared by the schedule: its sink lists its whole content or nothing';
const largeLeft = (groups: number): string[] =>
  groups === 0 ? [] : [`${plural(groups, 'group')} with many source documents: only contributions were compared`];
const movingLeft = (documents: number): string[] =>
  documents === 0
    ? []
    : [
        `${plural(documents, 'document')}: not judged, because hosts are behind, have deferred changes, or write all the time`,
      ];

const parkedLeft = (counted: Awaited<ReturnType<typeof countLetters>>): string[] =>
  counted.map(({ projection, count }) => `${projection}: documents of ${plural(count, 'parked change')} not compared`);

/** False: it found differences, or faults of the archive. */
export const isDueRight = (due: DueVerification): boolean =>
  due.kind === 'against'
    ? isAgainstRight(due.result)
    : (due.kind === 'archive' ? faultsOf(due.result) : (due.result?.different ?? 0)) === 0;

export const sayAllDue = (done: readonly DueVerification[]): string =>
  done.length === 0 ? 'No verification is due, or another host does it.' : done.map(sayDue).join('\n');

export function sayDue(due: DueVerification): string {
  const next =
    due.next === undefined
      ? ''
      : ` The next one is ${due.next === null ? 'never due' : `due ${due.next.slice(0, 19)}Z`}.`;
  if (due.kind === 'archive') return `${sayArchiveVerified(due.result)}${next}`;
  const { kind, result } = due;
  if (kind === 'against')
    return [`${sayAgainst(result)}${next}`, ...(result.examples ?? []).map((each) => `  differs: ${each}`)].join('\n');
  const what = kind === 'sample' ? 'a sample' : 'all documents';
  if (!result) return `Verified a part of ${what}; the next look continues.`;
  const { different, differences, compared, examples = [], left = [] } = result;
  const where =
    different === 0 ? 'no difference' : `${plural(different, 'difference')} in ${Object.keys(differences).join(', ')}`;
  const when = due.next === undefined ? '' : ` ${result.at.slice(0, 19)}Z`;
  return [
    `Verified ${what}${when}, ${plural(compared, 'sink document')}: ${where}.${next}`,
    ...examples.map((each) => `  differs: ${each}`),
    ...sayDiscarded(result),
    ...left.map((each) => `  ${each}`),
  ].join('\n');
}
