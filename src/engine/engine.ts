import type { Database } from '@azure/cosmos';
import { systemClock } from '../base/clock.ts';
import { emit } from '../base/diagnostics.ts';
import { inChildSpan } from '../base/spans.ts';
import type { MillraceError } from '../base/errors.ts';
import { Meter } from '../cosmos/budget/charge-meter.ts';
import { type Change, type Page, onlyTenant } from '../feed/reading/change.ts';
import type { Fence } from '../feed/tenure/fence.ts';
import type { Handle } from '../feed/tenure/page-handler.ts';
import { whileFresh } from '../feed/tenure/fences.ts';
import type { Refusal, Runner } from '../kinds/runner.ts';
import type { Lane } from '../cosmos/budget/limit.ts';
import type { Sift } from '../kinds/archive/live-half.ts';
import { spendingOf } from '../cosmos/budget/meter.ts';
import { CosmosAccess } from '../access/cosmos-access.ts';
import type { DeadLetters, ParkOptions } from './dead-letters/dead-letters.ts';
import type { ErasureWatch, Erased } from './erasures/watch.ts';
import { applyOrdered } from './in-order.ts';
import { applyApart } from './isolate.ts';
import { type TenantReport, TenantWorks } from './tenant-work.ts';
import type { Starts } from './views/starts.ts';
import type { ViewControl } from './views/view-control.ts';
import { engineError } from './errors.ts';

export interface Outcome {
  /** Changes applied. A change that two projections applied counts twice. */
  readonly applied: number;
  readonly parked: number;
}

/** What a projection has done since this host started. */
export interface ProjectionStats {
  readonly id: string;
  changes: number;
  parked: number;
  readonly meter: Meter;
  /** True: at the last page this version was not current, so it gets no changes. */
  idle: boolean;
}

export interface EngineOptions {
  readonly database: Database;
  /** The database of one projection. Default: `database` for all. */
  readonly databaseOf?: ((projection: string) => Database) | undefined;
  readonly runners: readonly Runner[];
  readonly deadLetters: DeadLetters;
  /** Removes the archive's own changes from a page, before any runner gets it. Absent: there are none. */
  readonly sift?: Sift | undefined;
  /** Decides which versions apply a page, and when the page must wait. Absent: all runners apply every page immediately. */
  readonly control?: ViewControl;
  /** Where projections begin. Absent: all get every change, as a redrive or a rebuild needs it. */
  readonly starts?: Pick<Starts, 'concerns' | 'divide'>;
  /** Leaves out the changes of other tenants. Changes of no tenant, such as those of reference data, stay. */
  readonly tenant?: string | undefined;
  /** Which tenants are erased: no runner gets their changes. Absent: the pipeline declares no tenant. */
  readonly erasures?: Pick<ErasureWatch, 'current'> | undefined;
  /** The lane of the client's budget for pages. Deferred work always uses the bulk lane. Default: live. */
  readonly lane?: Lane;
}

export interface ConsumeOptions {
  /** For a redrive: only the runner with this id, even if it is not current, or is paused. */
  readonly only?: string;
  /** Called when dead letters of this page are durable. A repetition of the page finds them (PROC-L8). */
  readonly progress?: () => void;
}

/** What the work on one page has in common. */
interface Work {
  readonly fence: Fence;
  readonly parking: ParkOptions;
  readonly erased: Erased;
}

/** The only entry to the projections. It takes a page and makes its effects durable. */
export class Engine {
  readonly #options: EngineOptions;
  readonly #stats: ReadonlyMap<string, ProjectionStats>;
  readonly #sifting = new Meter();
  readonly #tenantWorks = new TenantWorks();
  /** As last read. */
  #erased: Erased = none;
  /** The tenures (under Functions: batches) whose first page has come. */
  readonly #tenures = new WeakSet<object>();

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#stats = new Map(
      options.runners.map(({ id }) => [id, { id, changes: 0, parked: 0, meter: new Meter(), idle: false }]),
    );
  }

  get stats(): readonly ProjectionStats[] {
    return [...this.#stats.values()];
  }

  /** What the costliest tenants took on this host, without deferred work and without the archive's own changes. */
  tenants(most?: number): TenantReport {
    // A host whose feeds are quiet reads no records: the next report is without a tenant that is erased since.
    void this.erased().catch(() => undefined);
    return this.#tenantWorks.report(most, (tenant) => this.#erased(tenant) !== undefined);
  }

  /** Which tenants are erased, by a reading that this process may still act on. */
  async erased(): Promise<Erased> {
    const { erasures } = this.#options;
    if (erasures) this.#erased = await erasures.current();
    return this.#erased;
  }

  /**
   * Resolves when every change of the page is applied or parked in every projection. Changes of a tenant that is erased are
   * dropped: a letter would name the tenant again (ERASE-S3). Rejects only for infrastructure.
   */
  async consume(page: Page, fence: Fence, { only, progress }: ConsumeOptions = {}): Promise<Outcome> {
    const idle = only === undefined ? await this.#options.control?.admit(page, fence) : undefined;
    if (only === undefined) for (const stats of this.#stats.values()) stats.idle = idle?.has(stats.id) ?? false;
    if (!this.#tenures.has(fence.tenure)) {
      this.#tenures.add(fence.tenure);
      // Another host may have parked or settled changes of this range since.
      this.#options.deadLetters.refresh();
    }
    const runners = this.#options.runners.filter(({ id }) => (only === undefined ? !idle?.has(id) : id === only));
    const parking: ParkOptions = { fence, redriven: only !== undefined, ...(progress && { progress }) };
    // Last before the work: the wait of `admit` can take longer than a reading is good for.
    const erased = await this.erased();
    const left = kept(page.changes, erased);
    // A redriven change was sifted before it was parked.
    const changes = only === undefined ? await this.#sifted(left, fence) : left;
    const work = { fence, parking, erased };
    const outcomes = await Promise.allSettled(runners.map((runner) => this.#traced(runner, changes, work)));
    let applied = 0;
    let parked = 0;
    for (const outcome of outcomes) {
      // All runners have ended here, so none still writes for this page when it is read again.
      if (outcome.status === 'rejected') throw outcome.reason;
      applied += outcome.value.applied;
      parked += outcome.value.parked;
    }
    return { applied, parked };
  }

  /** Which changes are events for a projection. Undefined: its effects are none. */
  eventsOf(projection: string): Runner['isEvent'] {
    return this.#options.runners.find(({ id }) => id === projection)?.isEvent;
  }

  /** The engine as the handler of a feed. */
  readonly handle: Handle = async (page, fence, tenure) => {
    await this.consume(page, fence, { progress: () => tenure.progress() });
  };

  /**
   * Lets the runners continue the deferred work (fan-out) of earlier changes. Needs no page. True: this host knows of no
   * work that is left. Rejects only for infrastructure.
   */
  async resume(signal: AbortSignal): Promise<boolean> {
    let idle = true;
    for (const runner of this.#options.runners) {
      const stats = this.#stats.get(runner.id);
      if (!runner.resume || !stats) continue;
      const erased = await this.erased();
      const fence = whileFresh(systemClock.monotonic(), signal, { stale: resumeTooLong });
      const access = new CosmosAccess(this.#databaseOf(runner), fence, stats.meter);
      const outcome = await runner.resume(access, (tenant) => erased(tenant) !== undefined);
      await this.#park(runner, outcome.refusals, { fence });
      stats.parked += outcome.refusals.length;
      idle &&= outcome.idle;
    }
    return idle;
  }

  #databaseOf({ id }: Runner): Database {
    const { database, databaseOf = () => database } = this.#options;
    return databaseOf(id);
  }

  async #sifted(changes: readonly Change[], fence: Fence): Promise<readonly Change[]> {
    const { database, sift, tenant, lane = 'live' } = this.#options;
    const own = tenant === undefined ? changes : changes.filter((one) => (one.tenant ?? tenant) === tenant);
    if (!sift) return own;
    return sift(own, new CosmosAccess(database, fence, this.#sifting, spendingOf(database, lane, onlyTenant(own))));
  }

  /** In a span of the page's, if it has one. */
  async #traced(runner: Runner, page: readonly Change[], work: Work): Promise<Outcome> {
    const all = wanted(runner, page);
    const stats = this.#stats.get(runner.id);
    if (all.length === 0 || !stats) return { applied: 0, parked: 0 };
    return inChildSpan(
      () => ({
        name: 'millrace.projection',
        attributes: { 'millrace.projection': runner.id, 'millrace.changes': all.length },
      }),
      async (span) => {
        const meter = new Meter();
        try {
          const outcome = await this.#run(runner, all, { ...work, stats, meter });
          span.set({ 'millrace.parked': outcome.parked });
          return outcome;
        } finally {
          stats.meter.add(meter);
          span.set({ 'millrace.charge': meter.charge, 'millrace.requests': meter.requests });
        }
      },
    );
  }

  async #run(
    runner: Runner,
    all: readonly Change[],
    { stats, meter, ...work }: Work & { readonly stats: ProjectionStats; readonly meter: Meter },
  ): Promise<Outcome> {
    const { lane = 'live' } = this.#options;
    const database = this.#databaseOf(runner);
    const access = new CosmosAccess(database, work.fence, meter, spendingOf(database, lane, onlyTenant(all)));
    const { due, applied, parked } = await this.#apply(runner, all, access, work);
    this.#tenantWorks.add(due, meter.charge, new Set(parked), systemClock.now());
    stats.changes += due.length;
    stats.parked += parked.length;
    return { applied: applied.length, parked: parked.length };
  }

  async #apply(
    runner: Runner,
    all: readonly Change[],
    access: CosmosAccess,
    { parking, erased }: Work,
  ): Promise<Record<'due' | 'applied' | 'parked', readonly Change[]>> {
    const { deadLetters, starts } = this.#options;
    // Before anything else: a change below the start is neither applied nor parked, and settles no dead letter.
    const divided = starts?.concerns(runner.id) === true ? await starts.divide(runner.id, all) : undefined;
    const { due, below } = divided ?? { due: all, below: [] };
    // Nor does a change by a move, a restore or a backfill, where effects are events.
    const { silent = [], own: changes = [] } = Object.groupBy(due, (change) =>
      runner.isEvent?.(change) === false ? 'silent' : 'own',
    );
    const passed = [...below, ...silent];
    if (passed.length > 0) await runner.passOver?.(passed, access);
    if (changes.length === 0) return { due: silent, applied: silent, parked: [] };
    const { applied, refusals, waiting } =
      runner.order === 'partitionKey'
        ? await applyOrdered(runner, changes, access, { deadLetters, erased })
        : await applyApart(runner, changes, access);
    const options = { ...parking, events: runner.isEvent !== undefined };
    await this.#park(runner, refusals, options);
    await deadLetters.parkWaiting(runner.id, waiting, new Date(systemClock.now()), options);
    // What an embed wrote after a move has not done what the letter stands for.
    const settling = runner.isEvent ? applied.filter(({ echo }) => !echo) : applied;
    await deadLetters.settle(runner.id, settling, parking.progress);
    return { due, applied: [...silent, ...applied], parked: [...refusals.map(({ change }) => change), ...waiting] };
  }

  async #park({ id: projection }: Runner, refusals: readonly Refusal[], parking: ParkOptions): Promise<void> {
    await this.#options.deadLetters.park(projection, refusals, new Date(systemClock.now()), parking);
    for (const { change, error } of refusals)
      emit('engine:parked', { projection, container: change.container, id: change.id, error });
  }
}

const none: Erased = () => undefined;

/** The changes of tenants that aren't erased. */
function kept(changes: readonly Change[], erased: Erased): readonly Change[] {
  const left = changes.filter(({ tenant }) => erased(tenant) === undefined);
  if (left.length < changes.length) emit('engine:erased', { changes: changes.length - left.length });
  return left;
}

const resumeTooLong = (): MillraceError =>
  engineError('resume-too-long', 'Deferred fan-out took too long; it will be retried');

/** The changes of the types that the runner reads. A deletion of unknown type becomes one change for each type it reads. */
function wanted({ sources }: Runner, changes: readonly Change[]): Change[] {
  const found: Change[] = [];
  for (const change of changes) {
    if (change.type === '' && change.op === 'delete') {
      const there = sources.filter(({ container }) => container === change.container);
      found.push(...there.map(({ type }) => ({ ...change, type, typeUnknown: true }) as const));
    } else if (sources.some(({ container, type }) => container === change.container && type === change.type))
      found.push(change);
  }
  return found;
}
