// What a page passes on its way to the effects: two lists, in the order in which their stages run. A stage that a pipeline
// doesn't declare is left out when the engine is made, and costs nothing.
import type { Database } from '@azure/cosmos';
import { systemClock } from '../base/clock.ts';
import { emit } from '../base/telemetry/diagnostics.ts';
import { type Change, type Page, onlyTenant } from '../feed/reading/change.ts';
import type { Lane } from '../cosmos/budget/limit.ts';
import { spendingOf } from '../cosmos/budget/meter.ts';
import { Meter } from '../cosmos/budget/charge-meter.ts';
import type { Sift } from '../kinds/archive/live-half.ts';
import { Poison, type Refusal, type Runner } from '../kinds/runner.ts';
import { CosmosAccess } from '../access/cosmos-access.ts';
import type { DocumentAccess } from '../access/document-access.ts';
import type { Fence } from '../feed/tenure/fence.ts';
import type { DeadLetters, ParkOptions } from './dead-letters/dead-letters.ts';
import type { ErasureWatch, Erased } from './erasures/watch.ts';
import type { Fingerprints } from './guard-fingerprints.ts';
import { applyOrdered } from './in-order.ts';
import { applyApart } from './isolate.ts';
import type { Starts } from './views/starts.ts';
import type { ViewControl } from './views/view-control.ts';

/** What the stages of an engine need. */
export interface StageOptions {
  readonly database: Database;
  readonly deadLetters: DeadLetters;
  /** Removes the archive's own changes from a page, before any runner gets it. Absent: there are none. */
  readonly sift?: Sift | undefined;
  /** Decides which versions apply a page, and when the page must wait. Absent: all runners apply every page immediately. */
  readonly control?: ViewControl;
  /** Refuses versions that may not write. Absent: all may. */
  readonly guard?: Pick<Fingerprints, 'refusal'>;
  /** Where projections begin. Absent: all get every change, as a redrive or a rebuild needs it. */
  readonly starts?: Pick<Starts, 'concerns' | 'divide'>;
  /** Leaves out the changes of other tenants. Changes of no tenant, such as those of reference data, stay. */
  readonly tenant?: string | undefined;
  /** Which tenants are erased: no runner gets their changes. Absent: the pipeline declares no tenant. */
  readonly erasures?: Pick<ErasureWatch, 'current'> | undefined;
  /** The lane of the client's budget for pages. Fan-out always uses the bulk lane. Default: live. */
  readonly lane?: Lane;
}

/** What is left of a page, and for whom. */
export interface Admitted {
  readonly changes: readonly Change[];
  /** Versions that don't apply the page. */
  readonly idle: ReadonlySet<string>;
  readonly erased: Erased;
}

export type PageStage = (left: Admitted, page: Page, fence: Fence) => Promise<Admitted>;

/** Before the runners. Each may leave changes out. */
export const PAGE_STAGES = {
  /** First, because it waits while a projection is paused or promoted: what another stage reads would be too old then. */
  versions: ({ control }) =>
    control && (async (left, page, fence) => ({ ...left, idle: await control.admit(page, fence) })),

  /** After all waits: no change of an erased tenant gets further by an old reading, and no letter names one (ERASE-S3). */
  erasures: ({ erasures }) =>
    erasures &&
    (async (left) => {
      const erased = await erasures.current();
      const changes = left.changes.filter(({ tenant }) => erased(tenant) === undefined);
      if (changes.length < left.changes.length)
        emit('engine:erased', { changes: left.changes.length - changes.length });
      return { ...left, changes, erased };
    }),

  /** Last, because it writes: the archive's own changes are taken up only for tenants that aren't erased. */
  sift: ({ database, sift, tenant, lane = 'live' }) => {
    if (!sift && tenant === undefined) return undefined;
    const meter = new Meter();
    return async (left, _page, fence) => {
      const own = left.changes.filter((one) => (one.tenant ?? tenant) === tenant || tenant === undefined);
      const access = new CosmosAccess(database, fence, meter, spendingOf(database, lane, onlyTenant(own)));
      return { ...left, changes: sift ? await sift(own, access) : own };
    };
  },
} satisfies Record<string, (of: StageOptions) => PageStage | undefined>;

/** What the runner's part of a page came to. `due`: applied or parked. */
export type Outcomes = Readonly<Record<'due' | 'applied' | 'parked', readonly Change[]>>;

/** What the work of a runner on one page has in common. */
export interface RunnerWork {
  readonly access: DocumentAccess;
  readonly parking: ParkOptions;
  readonly erased: Erased;
}

type Next = (changes: readonly Change[], work: RunnerWork) => Promise<Outcomes>;
type RunnerStage = (changes: readonly Change[], work: RunnerWork, next: Next) => Promise<Outcomes>;

/** Around each runner, the outermost first. */
export const RUNNER_STAGES = {
  /** Before all: a change below the start is neither applied nor parked, and resolves no dead letter (START-S8). */
  starts: (runner, { starts }) =>
    starts?.concerns(runner.id)
      ? async (changes, work, next) => {
          const { due, below } = await starts.divide(runner.id, changes);
          if (below.length > 0) await runner.passOver?.(below, work.access);
          return next(due, work);
        }
      : undefined,

  /** Then: nor does a change by a move, a restore or a backfill, where effects are events. But it counts as applied. */
  events: (runner) =>
    runner.isEvent &&
    (async (changes, work, next) => {
      const { true: own = [], false: silent = [] } = Object.groupBy(changes, (one) =>
        runner.isEvent?.(one) === false ? 'false' : 'true',
      );
      if (silent.length === 0) return next(changes, work);
      await runner.passOver?.(silent, work.access);
      const { applied, parked } = await next(own, work);
      return { due: changes, applied: [...silent, ...applied], parked };
    }),

  /** Around what may fail: what is refused is durable before the page ends (DL-D4), and what is applied resolves its letter. */
  isolate: (runner, { deadLetters }) => {
    const { id, order, isEvent } = runner;
    return async (changes, work, next) => {
      if (changes.length === 0) return { due: [], applied: [], parked: [] };
      const inner = { id, apply: async (some: readonly Change[]) => void (await next(some, work)) };
      const { applied, refusals, waiting } =
        order === 'partitionKey'
          ? await applyOrdered(inner, changes, work.access, { deadLetters, erased: work.erased })
          : await applyApart(inner, changes, work.access);
      const parking = { ...work.parking, events: isEvent !== undefined };
      await park(deadLetters, id, refusals, parking);
      await deadLetters.parkWaiting(id, waiting, new Date(systemClock.now()), parking);
      // What an embed wrote after a move has not done what the letter stands for.
      const resolving = isEvent ? applied.filter(({ echo }) => !echo) : applied;
      await deadLetters.resolve(id, resolving, parking.progress);
      return { due: changes, applied, parked: [...refusals.map(({ change }) => change), ...waiting] };
    };
  },

  /** Inside, because a version that may not write parks its changes: once its declaration is taken back, a redrive applies them. */
  guard: ({ id }, { guard }) =>
    guard &&
    (async (changes, work, next) => {
      const error = await guard.refusal(id);
      if (error) throw new Poison(changes.map((change) => ({ change, error })));
      return next(changes, work);
    }),

  run: (runner) => async (changes, work) => {
    await runner.apply(changes, work.access);
    return { due: changes, applied: changes, parked: [] };
  },
} satisfies Record<string, (runner: Runner, of: StageOptions) => RunnerStage | undefined>;

/** The page's stages that these options need. */
export const pageStages = (options: StageOptions): readonly PageStage[] =>
  Object.values(PAGE_STAGES).flatMap((stage) => stage(options) ?? []);

/** A runner with the stages around it that it needs. */
export const staged = (runner: Runner, options: StageOptions): Next =>
  Object.values(RUNNER_STAGES)
    .map((stage): RunnerStage | undefined => stage(runner, options))
    .reduceRight<Next>(
      (next, stage) => (stage ? (changes, work) => stage(changes, work, next) : next),
      () => Promise.reject(new Error('The last stage has no next one')),
    );

export async function park(
  deadLetters: DeadLetters,
  projection: string,
  refusals: readonly Refusal[],
  parking: ParkOptions,
): Promise<void> {
  await deadLetters.park(projection, refusals, new Date(systemClock.now()), parking);
  for (const { change, error } of refusals)
    emit('engine:parked', { projection, container: change.container, id: change.id, error });
}
