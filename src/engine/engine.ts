import type { Database } from '@azure/cosmos';
import { systemClock } from '../base/clock.ts';
import { type Span, inChildSpan } from '../base/telemetry/spans.ts';
import type { MillraceError } from '../base/errors.ts';
import { Meter } from '../cosmos/budget/charge-meter.ts';
import { type Change, type Page, onlyTenant } from '../feed/reading/change.ts';
import type { Fence } from '../feed/tenure/fence.ts';
import type { Handle } from '../feed/tenure/page-handler.ts';
import { whileFresh } from '../feed/tenure/fences.ts';
import type { Runner } from '../kinds/runner.ts';
import { spendingOf } from '../cosmos/budget/meter.ts';
import { CosmosAccess } from '../access/cosmos-access.ts';
import type { ParkOptions } from './dead-letters/dead-letters.ts';
import type { Erased } from './erasures/watch.ts';
import { type Admitted, PAGE_STAGES, type PageStage, type StageOptions, pageStages, park, staged } from './stages.ts';
import { type TenantReport, TenantWorks } from './tenant-work.ts';
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

export interface EngineOptions extends StageOptions {
  /** The database of one projection. Default: `database` for all. */
  readonly databaseOf?: ((projection: string) => Database) | undefined;
  readonly runners: readonly Runner[];
}

export interface ConsumeOptions {
  /** For a redrive: only the runner with this id, even if it is not current, or is paused. */
  readonly only?: string;
  /** Called when dead letters of this page are durable. A repetition of the page finds them (PROC-L8). */
  readonly progress?: () => void;
}

/** A runner with the stages around it, and what it has done. */
interface Staged {
  readonly runner: Runner;
  readonly apply: ReturnType<typeof staged>;
  readonly stats: ProjectionStats;
}

/** The only entry to the projections. It takes a page and makes its effects durable. */
export class Engine {
  readonly #options: EngineOptions;
  readonly #runners: readonly Staged[];
  readonly #stages: readonly PageStage[];
  /** A redriven change was sifted before it was parked, and is applied also where its version isn't current. */
  readonly #redriving: readonly PageStage[];
  readonly #tenantWorks = new TenantWorks();
  /** As last read. */
  #erased: Erased = none;
  /** The tenures (under Functions: batches) whose first page has come. */
  readonly #tenures = new WeakSet<object>();

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#stages = pageStages(options);
    this.#redriving = [PAGE_STAGES.erasures(options)].filter((stage) => stage !== undefined);
    this.#runners = options.runners.map((runner) => {
      const stats = { id: runner.id, changes: 0, parked: 0, meter: new Meter(), idle: false };
      return { runner, apply: staged(runner, options), stats };
    });
  }

  get stats(): readonly ProjectionStats[] {
    return this.#runners.map(({ stats }) => stats);
  }

  /** What the costliest tenants took on this host, without fan-out and without the archive's own changes. */
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
   * dropped. Rejects only for infrastructure.
   */
  async consume(page: Page, fence: Fence, { only, progress }: ConsumeOptions = {}): Promise<Outcome> {
    let left: Admitted = { changes: page.changes, idle: new Set(), erased: none };
    const stages = only === undefined ? this.#stages : this.#redriving;
    for (const stage of stages) left = await stage(left, page, fence);
    const { changes, idle, erased } = left;
    this.#erased = erased;
    if (only === undefined) for (const { stats } of this.#runners) stats.idle = idle.has(stats.id);
    if (!this.#tenures.has(fence.tenure)) {
      this.#tenures.add(fence.tenure);
      // Another host may have parked or resolved changes of this range since.
      this.#options.deadLetters.refresh();
    }
    const parking = { fence, redriven: only !== undefined, ...(progress && { progress }) };
    const due = this.#runners.filter(({ runner: { id } }) => (only === undefined ? !idle.has(id) : id === only));
    const outcomes = await Promise.allSettled(due.map((one) => this.#run(one, changes, parking, erased)));
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
    return this.#runners.find(({ runner }) => runner.id === projection)?.runner.isEvent;
  }

  /** The engine as the handler of a feed. */
  readonly handle: Handle = async (page, fence, tenure) => {
    await this.consume(page, fence, { progress: () => tenure.progress() });
  };

  /**
   * Lets the runners continue the fan-out of earlier changes. Needs no page. True: this host knows of no
   * work that is left. Rejects only for infrastructure.
   */
  async resume(signal: AbortSignal): Promise<boolean> {
    let idle = true;
    for (const { runner, stats } of this.#runners) {
      if (!runner.resume || (await this.#options.guard?.refusal(runner.id))) continue;
      const erased = await this.erased();
      const fence = whileFresh(systemClock.monotonic(), signal, { stale: resumeTooLong });
      const access = new CosmosAccess(this.#databaseOf(runner), fence, stats.meter);
      const outcome = await runner.resume(access, (tenant) => erased(tenant) !== undefined);
      await park(this.#options.deadLetters, runner.id, outcome.refusals, { fence });
      stats.parked += outcome.refusals.length;
      idle &&= outcome.idle;
    }
    return idle;
  }

  #databaseOf({ id }: Runner): Database {
    const { database, databaseOf = () => database } = this.#options;
    return databaseOf(id);
  }

  /** In a span of the page's, if it has one. */
  async #run(
    { runner, apply, stats }: Staged,
    page: readonly Change[],
    parking: ParkOptions & { readonly fence: Fence },
    erased: Erased,
  ): Promise<Outcome> {
    const all = wanted(runner, page);
    if (all.length === 0) return { applied: 0, parked: 0 };
    const { lane = 'live' } = this.#options;
    const { id } = runner;
    const work = async (span: Span): Promise<Outcome> => {
      const meter = new Meter();
      const database = this.#databaseOf(runner);
      const access = new CosmosAccess(database, parking.fence, meter, spendingOf(database, lane, onlyTenant(all)));
      try {
        const { due, applied, parked } = await apply(all, { access, parking, erased });
        if (due.some(({ tenant }) => tenant !== undefined))
          this.#tenantWorks.add(due, meter.charge, new Set(parked), systemClock.now());
        stats.changes += due.length;
        stats.parked += parked.length;
        span.set({ 'millrace.parked': parked.length });
        return { applied: applied.length, parked: parked.length };
      } finally {
        stats.meter.add(meter);
        span.set({ 'millrace.charge': meter.charge, 'millrace.requests': meter.requests });
      }
    };
    const attributes = { 'millrace.projection': id, 'millrace.changes': all.length };
    return inChildSpan(() => ({ name: 'millrace.projection', attributes }), work);
  }
}

const none: Erased = () => undefined;

const resumeTooLong = (): MillraceError => engineError('resume-too-long', 'Fan-out took too long; it will be retried');

/** The changes of the types that the runner reads. A deletion of unknown type becomes one change for each type it reads. */
function wanted({ sources }: Runner, changes: readonly Change[]): readonly Change[] {
  const reads = ({ container, type }: Change): boolean =>
    sources.some((of) => of.container === container && of.type === type);
  if (changes.every(reads)) return changes;
  return changes.flatMap((change) => {
    if (change.type !== '' || change.op !== 'delete') return reads(change) ? change : [];
    const there = sources.filter(({ container }) => container === change.container);
    return there.map(({ type }) => ({ ...change, type, typeUnknown: true }) as const);
  });
}
