import type { Database } from '@azure/cosmos';
import { systemClock } from '../base/clock.ts';
import { emit } from '../base/diagnostics.ts';
import { MillraceError } from '../base/errors.ts';
import { Meter } from '../cosmos/meter.ts';
import type { Change, Page } from '../feed/reading/change.ts';
import type { Fence } from '../feed/tenure/fence.ts';
import type { Handle } from '../feed/tenure/handle.ts';
import { whileFresh } from '../feed/tenure/fences.ts';
import type { Refusal, Runner } from '../projections/runner.ts';
import type { Lane } from '../cosmos/budget.ts';
import { spendingOf } from '../cosmos/spending.ts';
import { CosmosSession } from '../sinks/cosmos-session.ts';
import type { DeadLetters, ParkOptions } from './dead-letters/dead-letters.ts';
import { applyOrdered } from './in-order.ts';
import { applyApart } from './isolate.ts';
import type { ViewControl } from './views/view-control.ts';

export interface Outcome {
  /** Changes applied, counted once a projection. */
  readonly applied: number;
  readonly parked: number;
}

/** What a projection has done since this host started. */
export interface ProjectionStats {
  readonly id: string;
  changes: number;
  parked: number;
  readonly meter: Meter;
  /** A version that isn't current, as of the last page: it is given no changes. */
  idle: boolean;
}

export interface EngineOptions {
  readonly database: Database;
  readonly runners: readonly Runner[];
  readonly deadLetters: DeadLetters;
  /** Which versions apply a page, and when it has to wait; without it all runners apply every page at once. */
  readonly control?: ViewControl;
  /** In which lane of the client's budget a page is applied; what it left to do is bulk work. Default: live. */
  readonly lane?: Lane;
}

export interface ConsumeOptions {
  /** Only the runner with this id, whatever is current, staged or paused: for redriving. */
  readonly only?: string;
  /** Called whenever dead letters of this page are durable, which a repetition of it will find (L8). */
  readonly progress?: () => void;
}

/** The only entrance to the projections: a page in, durable effects out. */
export class Engine {
  readonly #options: EngineOptions;
  readonly #stats: ReadonlyMap<string, ProjectionStats>;
  /** The tenures (under Functions, batches) whose first page has come. */
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

  /** Resolves when every change of the page is durable or parked in every projection; rejects for infrastructure alone. */
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
    const outcomes = await Promise.allSettled(runners.map((runner) => this.#run(runner, page, fence, parking)));
    let applied = 0;
    let parked = 0;
    for (const outcome of outcomes) {
      // All have ended by now: nothing of this page is still being written when it is read again.
      if (outcome.status === 'rejected') throw outcome.reason;
      applied += outcome.value.applied;
      parked += outcome.value.parked;
    }
    return { applied, parked };
  }

  /** As the handler of a feed. */
  readonly handle: Handle = async (page, fence, tenure) => {
    await this.consume(page, fence, { progress: () => tenure.progress() });
  };

  /**
   * Lets the runners go on with what changes have left to be done after their page, also when no page comes. True: as far
   * as this host knows nothing is left. Rejects for infrastructure alone.
   */
  async resume(signal: AbortSignal): Promise<boolean> {
    let idle = true;
    for (const runner of this.#options.runners) {
      const stats = this.#stats.get(runner.id);
      if (!runner.resume || !stats) continue;
      const fence = whileFresh(systemClock.monotonic(), signal, { stale: resumeTooLong });
      const outcome = await runner.resume(new CosmosSession(this.#options.database, fence, stats.meter));
      await this.#park(runner, outcome.refusals, { fence });
      stats.parked += outcome.refusals.length;
      idle &&= outcome.idle;
    }
    return idle;
  }

  async #run(runner: Runner, page: Page, fence: Fence, parking: ParkOptions): Promise<Outcome> {
    const changes = wanted(runner, page.changes);
    const stats = this.#stats.get(runner.id);
    if (changes.length === 0 || !stats) return { applied: 0, parked: 0 };
    const { database, deadLetters, lane = 'live' } = this.#options;
    const session = new CosmosSession(database, fence, stats.meter, spendingOf(database, lane));
    const { applied, refusals, held } =
      runner.order === 'partitionKey'
        ? await applyOrdered(runner, changes, session, deadLetters)
        : await applyApart(runner, changes, session);
    await this.#park(runner, refusals, parking);
    await deadLetters.hold(runner.id, held, new Date(systemClock.now()), parking);
    await deadLetters.settle(runner.id, applied, parking.progress);
    stats.changes += changes.length;
    stats.parked += refusals.length + held.length;
    return { applied: applied.length, parked: refusals.length + held.length };
  }

  async #park({ id: projection }: Runner, refusals: readonly Refusal[], parking: ParkOptions): Promise<void> {
    await this.#options.deadLetters.park(projection, refusals, new Date(systemClock.now()), parking);
    for (const { change, error } of refusals)
      emit('engine:parked', { projection, container: change.container, id: change.id, error });
  }
}

const resumeTooLong = (): MillraceError =>
  new MillraceError('resume-too-long', 'What changes left to be done took too long', { retryable: true });

/** The changes of types that the runner reads; a deletion that doesn't say of what as one of each type it reads there. */
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
