import { systemClock } from '../../base/clock.ts';
import { projectionId, type ProjectionSpec, type StartSpec } from '../../pipeline/specs.ts';
import { recordLostStarts } from '../../engine/views/starts.ts';
import { endKept } from '../../engine/views/kept.ts';
import { Views } from '../../engine/views/views.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { currentEpoch, renumber } from '../../feed/reading/epochs.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { processorName } from '../../runtime/hosts/processor-name.ts';
import { whileLocked } from '../journal/lock.ts';
import { audited } from '../journal/runs.ts';
import { operationsError } from '../errors.ts';
import type { LeaseInventory } from '../leases/groups.ts';
import { type Move, moveLeases, movedRows, whileStopped } from '../rewind/rewind-leases.ts';
import { type RewindTarget, chooseLeases, movesBack, parseTarget } from '../rewind/targets.ts';
import { planState } from '../apply/apply.ts';
import type { ApplyStep } from '../apply/step.ts';
import type { Context } from '../context.ts';
import { type Verification, verify } from '../verify/verify.ts';
import { removeDeferred } from './deferred.ts';
import { makeEntries } from './entries.ts';
import { type Writers, assertWriters, decideGates, parseWriters } from './gates.ts';
import { forget } from './forget.ts';
import { letStay } from './let-stay.ts';
import { type Examined, examine, toCreate } from './examine.ts';
import type { RecoveryFinding } from './finding.ts';
import { assertNoMoves, assertOneShard } from './one-shard.ts';
import { applyParents } from './parents.ts';
import { dropStaged, makeCurrent, removeWorkLeases } from './staged.ts';
import { storedArchives } from './stored-archives.ts';

export interface RecoverInput {
  readonly since?: string | undefined;
  readonly entries?: 'make' | 'leave' | undefined;
  readonly current?: string | undefined;
  /** Where writers write, by gated container. */
  readonly writers?: string | undefined;
  readonly leaseExpiration: number;
}

export interface Recovered {
  /** What did not fit together before. */
  readonly findings: readonly RecoveryFinding[];
  readonly created: readonly string[];
  /** The new epoch of each source. */
  readonly epochs: Readonly<Record<string, number>>;
  readonly moved: ReturnType<typeof movedRows>;
  /** The versions that were being built. */
  readonly dropped: readonly string[];
  /** Where the writers of gated containers write, as the operator decided. */
  readonly writers: Readonly<Record<string, string>>;
  readonly entries: number;
  /** Documents that were leaving for the archive by expiry. */
  readonly stayed: number;
  /** State documents that were removed, because their documents are not as they say. */
  readonly forgotten: number;
  /** Parents of embeds that were applied again, because their states were absent or had another version. */
  readonly parents: number;
  /** Null: the history can't be read, because an archive is damaged. */
  readonly verification: Verification | null;
  /** What a person must still do. */
  readonly left: readonly RecoveryFinding[];
  /** `shard`: of one shard of a pipeline over shards; the global place is not corrected yet. */
  readonly place: 'all' | 'shard';
}

/** Creates what is missing, since the rest can't be examined before, and examines. */
async function examineAll(context: Context): Promise<{ before: Examined; now: Examined; created: string[] }> {
  const before = await examine(context);
  const created = await create(before.missing, context);
  const now = before.missing.length > 0 ? await examine(context) : before;
  return { before, now, created };
}

/** Two operators may create the same container at the same time: the second one finds it. */
async function create(missing: readonly ApplyStep[], { screen, signal }: Context): Promise<string[]> {
  for (const { say, apply } of missing) {
    screen.line(say);
    await withRetry(apply, { reads: true, signal }).catch((error: unknown) => {
      if (failureOf(error).kind !== 'conflict') throw error;
    });
  }
  return missing.map(({ say }) => say);
}

/**
 * Puts together again what a disaster tore apart. Every step may be repeated, so a recovery that died is run again (REC-S4).
 * The order matters: the lock before everything that another operator may do too, views and entries before any host may
 * start, epochs before leases move, all of them before the comparison.
 */
export async function recover(given: RecoverInput, context: Context): Promise<Recovered> {
  const { workspace, actor, clock = systemClock, signal } = context;
  const loaded = await workspace.pipeline();
  const services = await workspace.services();
  const target = parseTarget(given.since ?? 'beginning');
  await assertOneShard(given, context);
  assertDecided(given, loaded);
  await assertWriters(parseWriters(given.writers), services, signal);
  // The lock and the audit record need it.
  const first = await create(await planState(services), context);
  const what = 'A recovery of this pipeline';
  const lock = { kind: 'recovery', of: loaded.pipeline.name, what, actor, clock, signal } as const;
  return audited(context, 'recover', { ...given }, () =>
    whileLocked(services.global.state, lock, (locked) =>
      correct(given, target, first, { ...context, signal: locked.signal }),
    ),
  );
}

/** The part that only one recovery of the pipeline does at a time (REC-S2). `first`: what was created before. */
async function correct(
  given: RecoverInput,
  target: RewindTarget,
  first: readonly string[],
  held: Context,
): Promise<Recovered> {
  const { workspace } = held;
  const loaded = await workspace.pipeline();
  const services = await workspace.services();
  await assertNoMoves({ loaded, services, settings: workspace.settings() }, held.signal);
  const { before, now, created } = await examineAll(held);
  assertUnderstood(given, now, loaded);
  const { inventory } = now;
  if (!inventory) throw operationsError('account-unprepared', 'Containers are still missing');
  const procedure = { prefixes: prefixesOf(inventory, loaded), expirationMs: given.leaseExpiration };
  const writers = parseWriters(given.writers);
  const done = await whileStopped(inventory.leases, procedure, held, () => tie(given, target, writers, held));
  const readable = now.damaged.length === 0;
  const parents = readable ? await applyParents({ loaded, services, settings: workspace.settings() }, held.signal) : 0;
  const verification = readable
    ? await verify(loaded, services, { ...held, settings: workspace.settings(), repair: true })
    : null;
  return {
    findings: [...first.map(toCreate), ...before.findings, ...(now === before ? [] : now.findings)],
    created: [...first, ...created],
    ...done,
    writers: Object.fromEntries(writers),
    parents,
    verification,
    place: loaded.pipeline.part ? 'shard' : 'all',
    left: [
      ...now.findings.filter(({ remedy, gates = [] }) => remedy === 'you' && !gates.some((name) => writers.has(name))),
      ...leftOver(verification, loaded),
    ],
  };
}

/** The part that needs all hosts stopped. */
async function tie(
  given: RecoverInput,
  target: RewindTarget,
  writers: Writers,
  context: Context,
): Promise<Pick<Recovered, 'epochs' | 'moved' | 'dropped' | 'entries' | 'stayed' | 'forgotten'>> {
  const loaded = await context.workspace.pipeline();
  const services = await context.workspace.services();
  // Again: what was seen before the wait may be old.
  const { inventory, hasViews, versions } = await examine(context);
  if (!inventory) throw operationsError('account-unprepared', 'A container was deleted meanwhile');
  // One that began before the lock may have shown only now: replicas lag for less than the wait.
  await assertNoMoves({ loaded, services, settings: context.workspace.settings() }, context.signal);
  await decideGates(writers, services, (context.clock ?? systemClock).now());
  const since = target.kind === 'time' ? (target.at.toISOString() as StartSpec) : 'beginning';
  await recordLostStarts(services.place.state, loaded.pipeline, since, (context.clock ?? systemClock).now());
  const views = new Views(services.global.state, loaded.pipeline.name);
  if (!hasViews) await views.adopt({ ...loaded.pipeline, projections: chosen(given, versions, loaded) });
  else await makeCurrent(views, loaded.pipeline, named(given, loaded));
  await removeWorkLeases(inventory, loaded);
  const dropped = await dropStaged(loaded, services, context.signal);
  await endGraces(views);
  let entries = 0;
  if (given.entries === 'make')
    for (const archive of await storedArchives(loaded, services, context))
      entries += await makeEntries(archive, context.signal);
  const stayed = await letStay(loaded, services, context.signal);
  const forgotten = await forget(loaded.pipeline, services, context.signal);
  const moves = await movesOf(inventory, target, services, context.signal);
  let epochs: Record<string, number> = {};
  await moveLeases(inventory.leases, moves, async () => {
    epochs = await raiseAll(inventory, services, (context.clock ?? systemClock).now());
  });
  await removeDeferred(loaded, services, inventory, context.signal);
  return { epochs, moved: movedRows(moves), dropped, entries, stayed, forgotten };
}

/** The comparison corrects current versions alone, so a kept one would be wrong if it became current again (REB-V25). */
async function endGraces(views: Views): Promise<void> {
  const why = 'a recovery has corrected the current version alone';
  for (const [name, { previous }] of Object.entries((await views.read()) ?? {}))
    if (previous) await views.change(name, (of) => endKept(of, previous.version, why, Date.now()));
}

/**
 * Raises the epoch of every source above all that were ever stored, here or in a container or an event hub that Millrace
 * can't search (REC-E1). The stored counter may be lost, so it becomes the time in seconds, which no counter reaches.
 */
async function raiseAll(
  { sources }: LeaseInventory,
  { place: { state } }: Services,
  now: number,
): Promise<Record<string, number>> {
  const raised: Record<string, number> = {};
  for (const [name, { monitored }] of sources) {
    const stored = await currentEpoch(state, name, monitored.rid);
    // A restored container may use lsns again, also those of a recorded start.
    raised[name] = await renumber(state, name, monitored.rid, Math.max(stored, Math.floor(now / 1000) - 1));
  }
  return raised;
}

/** Leases of the all-versions feed stay: that feed can't be read again from a time. */
async function movesOf(
  { groups }: LeaseInventory,
  target: RewindTarget,
  services: Services,
  signal: AbortSignal,
): Promise<Move[]> {
  const own = groups.filter((group) => group.own && group.leases.length > 0);
  if (own.length === 0) return [];
  const movable = chooseLeases(own, undefined).filter(({ lease }) => lease.mode !== 'all-versions');
  return movesBack(movable, target, services, signal);
}

/** The pipeline's leases for its present containers, and those for containers that were there before. */
const prefixesOf = ({ sources, groups }: LeaseInventory, { pipeline }: LoadedPipeline): string[] => [
  ...new Set([
    ...[...sources.values()].map(({ prefix }) => prefix),
    ...groups.map(({ prefix }) => prefix).filter((prefix) => prefix.startsWith(processorName(pipeline))),
  ]),
];

/** The versions that the operator named. */
function named(
  { current = '' }: Pick<RecoverInput, 'current'>,
  { pipeline }: Pick<LoadedPipeline, 'pipeline'>,
): ProjectionSpec[] {
  const ids = new Set(current.split(',').map((id) => id.trim()));
  return pipeline.projections.filter((spec) => ids.has(projectionId(spec)));
}

/** The versions that become current without views: the named ones, those with documents, else the lowest. */
function chosen(
  given: RecoverInput,
  filled: Examined['versions'],
  loaded: Pick<LoadedPipeline, 'pipeline'>,
): ProjectionSpec[] {
  const wanted = named(given, loaded);
  return [...Map.groupBy(loaded.pipeline.projections, ({ name }) => name)].map(([name, specs]) => {
    const [lowest] = (filled.get(name) ?? specs).toSorted((a, b) => a.version - b.version);
    return wanted.find((spec) => spec.name === name) ?? lowest ?? specs[0]!;
  });
}

/** Whether something outside of the database is told of changes. */
const hasEffects = ({ pipeline }: Pick<LoadedPipeline, 'pipeline'>): boolean =>
  pipeline.publishes.length + pipeline.effects.length > 0;

const AGAIN = 'Say --since TIME with a time just before the disaster, or --since beginning.';

/** @throws UsageError `input-invalid` */
function assertDecided({ since, current }: RecoverInput, { pipeline }: LoadedPipeline): void {
  const outside = [...pipeline.publishes, ...pipeline.effects].map(projectionId);
  if (since === undefined && hasEffects({ pipeline }))
    throw operationsError(
      'input-invalid',
      `${outside.join(', ')} run again for every change that is read again, unless a record says that it had its effect`,
      {
        hint: AGAIN,
      },
    );
  const known = new Set<string>(pipeline.projections.map(projectionId));
  for (const id of current === undefined ? [] : current.split(',').map((one) => one.trim()))
    if (!known.has(id))
      throw operationsError('input-invalid', `--current ${id} is not a projection of the pipeline`, {
        hint: `Name some of: ${[...known].join(', ')}.`,
      });
  const twice = named({ current }, { pipeline }).find((spec, at, all) =>
    all.some((of, to) => to < at && of.name === spec.name),
  );
  if (twice)
    throw operationsError('input-invalid', `--current names two versions of ${twice.name}`, {
      hint: `Name one version of ${twice.name}.`,
    });
  if (since !== undefined && !['beginning', 'time'].includes(parseTarget(since).kind))
    throw operationsError('input-invalid', `--since ${since} is not a time`, { hint: AGAIN });
}

/** @throws UsageError `recover-undecided` */
function assertUnderstood(
  given: RecoverInput,
  { unentered, asked, findings, oldestDeferred }: Examined,
  loaded: LoadedPipeline,
): void {
  const since = parseTarget(given.since ?? 'beginning');
  // Effects of these changes have not been made, and no comparison makes them.
  if (
    oldestDeferred !== undefined &&
    since.kind === 'time' &&
    since.at.getTime() > oldestDeferred &&
    hasEffects(loaded)
  )
    throw operationsError(
      'recover-undecided',
      `Changes since ${new Date(oldestDeferred).toISOString()} are deferred, and their effects were not made yet`,
      { hint: `Say --since ${new Date(oldestDeferred).toISOString()}, or an earlier time.` },
    );
  const said = named(given, loaded);
  const open = [...asked.values()].filter((specs) => !specs.some((spec) => said.includes(spec)));
  const entries = unentered > 0 && given.entries === undefined;
  if (open.length === 0 && !entries) return;
  const [first] = findings.filter(
    ({ remedy, hint }) => remedy === 'unknown' && hint?.includes(entries ? '--entries' : '--current'),
  );
  throw operationsError('recover-undecided', `${first?.about ?? ''}: ${first?.what ?? ''}`, {
    ...(first?.hint !== undefined && { hint: first.hint }),
  });
}

/** What the comparison left, and what nothing can compare (REC-E2). */
function leftOver(verification: Verification | null, { pipeline }: LoadedPipeline): RecoveryFinding[] {
  const histories = pipeline.sources.filter(({ feed }) => feed === 'all-versions');
  return [
    ...(verification && verification.different > 0
      ? [
          {
            about: 'projections',
            what: `${verification.different} documents still differ`,
            remedy: 'you' as const,
            hint: 'Run `millrace projections verify`: it names them, and why.',
          },
        ]
      : []),
    ...(verification
      ? []
      : [
          {
            about: 'projections',
            what: 'not compared, because an archive is damaged and the history can’t be read',
            remedy: 'you' as const,
            hint: 'Restore the blobs, then run `millrace recover` again.',
          },
        ]),
    ...histories.map(({ container }) => ({
      about: container,
      what: 'its all-versions feed can’t be read again: changes and deletions that were lost with it stay lost',
      remedy: 'you' as const,
      hint: 'Build a new version of each projection that reads it.',
    })),
  ];
}
