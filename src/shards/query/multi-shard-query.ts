import { MillraceError, messageOf } from '../../base/errors.ts';
import { systemClock } from '../../base/clock.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { property } from '../../client/query-text.ts';
import { hiding } from '../../cosmos/own-documents.ts';
import { splitPath } from '../../cosmos/paths.ts';
import { shardsError } from '../errors.ts';
import { shownLocation } from '../map/documents.ts';
import { type ReadingState, queryAskedOf, continuationOf, stateIn } from './continuation.ts';
import { exclusionOf } from './exclusion.ts';
import { Merge } from './merge.ts';
import { type QueryPlan, shardPlanOf } from './plan.ts';
import { ShardAccess, ShardReading } from './shard-reading.ts';
import { type ShardState, snapshotOf } from './snapshot.ts';
import type { MultiShardQueryInput, QueryShard, ShardFailure, QueryShardPage } from './types.ts';

/** How often a query of which nothing was given begins again because keys began to move. */
const ROUNDS = 5;

/**
 * One query over several shards of a map, whose answers become one. Each reading asks the shards again, and is of the map
 * as it was when the reading began. It counts a document once, also while keys move.
 */
export class MultiShardQuery<T> implements AsyncIterable<T> {
  readonly #input: MultiShardQueryInput;
  readonly #plan: QueryPlan;
  readonly #key: string;
  readonly #asked: string;

  /** @throws UsageError `query-unsupported`, `container-unsharded` */
  constructor(input: MultiShardQueryInput) {
    const { map, container, sql } = input;
    this.#input = input;
    this.#plan = shardPlanOf(typeof sql === 'string' ? { query: sql } : sql);
    const path = Object.hasOwn(map.schema.sharded, container) ? map.schema.sharded[container] : undefined;
    if (path === undefined)
      throw shardsError('container-unsharded', `The map ${map.name} has no sharded container ${container}`);
    this.#key = property(this.#plan.alias, splitPath(path));
    this.#asked = queryAskedOf(input);
  }

  /** Row by row. @throws as `pages` */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { items } of this.pages()) yield* items;
  }

  /** All in one page. @throws as `pages` */
  async all(): Promise<QueryShardPage<T>> {
    const items: T[] = [];
    const shards: string[] = [];
    let last: QueryShardPage<T> | undefined;
    for await (const page of this.pages()) {
      last = page;
      for (const item of page.items) items.push(item);
      for (const shard of page.shards) shards.push(shard);
    }
    return { ...last!, items, shards };
  }

  /**
   * Page by page, from the beginning or from the continuation of a page of the same query, in this or another process.
   * The last page may be empty.
   * @throws MillraceError `shard-query-failed`, `shard-query-limit`, `shard-query-moved`, `query-unsupported`, `shard-map-changing`, `strays-unknown`; UsageError `continuation-invalid`
   */
  async *pages(continuation?: string): AsyncGenerator<QueryShardPage<T>, void, undefined> {
    const from = continuation === undefined ? undefined : stateIn(continuation, this.#asked);
    let isBegun = from !== undefined;
    for (let round = 1; ; round++) {
      const reading = new Reading<T>(this.#input, this.#plan, this.#key);
      try {
        await reading.open(from);
        for (let isLast = false; !isLast;) {
          const page = await reading.page(this.#asked);
          isBegun = true;
          isLast = page.done;
          yield page;
        }
        return;
      } catch (error) {
        const again = error instanceof MillraceError && error.code === 'shard-query-moved';
        if (isBegun || !again || round === ROUNDS) throw reading.reasonOf(error);
      } finally {
        reading.close();
      }
    }
  }
}

/** @throws UsageError `query-unsupported`, `container-unsharded` */
export const multiShardQuery = <T>(input: MultiShardQueryInput): MultiShardQuery<T> => new MultiShardQuery<T>(input);

/** One reading of a query. */
class Reading<T> {
  readonly #input: MultiShardQueryInput;
  readonly #plan: QueryPlan;
  readonly #key: string;
  readonly #stop = new AbortController();
  readonly #late: AbortSignal;
  readonly #signal: AbortSignal;
  readonly #accesses = new Map<string, ShardAccess>();
  readonly #failed: ShardFailure[] = [];
  readonly #states = new Map<string, ShardState>();
  #merge!: Merge;

  constructor(input: MultiShardQueryInput, plan: QueryPlan, key: string) {
    this.#input = input;
    this.#plan = plan;
    this.#key = key;
    this.#late = AbortSignal.timeout(input.withinMs ?? 300_000);
    this.#signal = AbortSignal.any([this.#stop.signal, this.#late, ...(input.signal ? [input.signal] : [])]);
  }

  async open(from: ReadingState | undefined): Promise<void> {
    const { map, concurrency = 16, shardWithinMs = 30_000, shards: list } = this.#input;
    const access = (shard: QueryShard): ShardAccess => {
      const known = this.#accesses.get(shard.id) ?? new ShardAccess(shard, map.name, shardWithinMs, this.#signal);
      this.#accesses.set(shard.id, known);
      return known;
    };
    let count = 0;
    const listed = async (): Promise<readonly QueryShard[]> => {
      const found = await list();
      count = found.length;
      if (count > 0) return found;
      throw sharedError('not-found', `The query of ${map.name} has no shards`);
    };
    const readings: ShardReading<unknown>[] = [];
    if (from) {
      const shards = await listed();
      for (const { id, place, ...state } of from.shards) {
        const shard = shards.find((one) => one.id === id);
        if (!shard)
          throw sharedError('continuation-invalid', `The shard ${id} of the continuation is no shard of ${map.name}`);
        this.#states.set(id, state);
        readings.push(this.#readingOf(access(shard), state, place));
      }
      for (const { id, reason } of from.failed)
        this.#failed.push({
          shard: id,
          location: shards.find((one) => one.id === id)?.location ?? { database: '' },
          reason,
          error: undefined,
        });
    } else {
      const header = async (shard: QueryShard) => {
        if (this.#failed.some((one) => one.shard === shard.id)) return undefined;
        try {
          return await access(shard).header();
        } catch (error) {
          this.#fail(access(shard), error, false, count);
          return undefined;
        }
      };
      const clock = this.#input.clock ?? systemClock;
      const { shards, states } = await snapshotOf(listed, header, { clock, signal: this.#signal, concurrency });
      for (const shard of shards) {
        const state = states.get(shard.id);
        if (!state) continue;
        this.#states.set(shard.id, state);
        readings.push(this.#readingOf(access(shard), state));
      }
    }
    const all = readings.length + this.#failed.length;
    const fail = (reading: ShardReading<unknown>, error: unknown): void =>
      this.#fail(reading.access, error, reading.given, all);
    const { skip = this.#plan.skip, left = this.#plan.limit } = from ?? {};
    this.#merge = new Merge(this.#plan, readings, { fail, concurrency, skip, left });
  }

  async page(asked: string): Promise<QueryShardPage<T>> {
    const { pageSize = 100 } = this.#input;
    const merge = this.#merge;
    const { items, shards, done } = await merge.page(pageSize);
    const places = merge.readings.map(({ access, place }) => ({ id: access.shard.id, place }));
    const canResume = !done && places.every(({ place }) => place !== undefined);
    const state = (): ReadingState => ({
      shards: places.map(({ id, place }) => ({ id, place: place!, ...this.#states.get(id)! })),
      failed: this.#failed.map(({ shard, reason }) => ({ id: shard, reason })),
      skip: merge.skip,
      ...(Number.isFinite(merge.left) && { left: merge.left }),
    });
    return {
      items: items as T[],
      shards,
      failed: [...this.#failed],
      diagnostics: [...this.#accesses.values()].map(({ diagnostics }) => diagnostics),
      done,
      ...(canResume && { continuation: continuationOf(asked, state()) }),
    };
  }

  /** The error of a caller, in place of an abort that the reading's own time caused. */
  reasonOf(error: unknown): unknown {
    const { withinMs = 300_000, signal } = this.#input;
    if (!this.#late.aborted || signal?.aborted || error instanceof MillraceError) return error;
    return shardsError('shard-query-limit', `The query was not read to its end within ${withinMs} ms`, {
      retryable: true,
      cause: error,
    });
  }

  close(): void {
    this.#stop.abort();
  }

  #readingOf(access: ShardAccess, state: ShardState, from?: ShardReading<unknown>['place']): ShardReading<unknown> {
    const { map, container, withOwn = false, pageSize = 100 } = this.#input;
    const { conditions, parameters } = exclusionOf(map, state.strays, this.#key);
    const all = [...(withOwn ? [] : hiding(this.#plan.alias)), ...conditions];
    return new ShardReading(access, {
      container,
      spec: { query: this.#plan.text(all), parameters: [...this.#plan.parameters, ...parameters] },
      pageSize,
      generation: state.generation,
      ...(from && { from }),
    });
  }

  /** Returns if the query goes on without the shard. */
  #fail({ shard }: ShardAccess, error: unknown, given: boolean, count: number): void {
    if (this.#signal.aborted || (error instanceof MillraceError && error.code === 'shard-query-moved')) throw error;
    const { id, location } = shard;
    const reason = messageOf(error);
    this.#failed.push({ shard: id, location, reason, error });
    const isPartial = this.#input.onFailure === 'partial' && !given;
    if (isPartial && this.#failed.length < count) return;
    this.#stop.abort();
    const [first] = this.#failed;
    const name = `${shownLocation(location)} (${id})`;
    throw shardsError(
      'shard-query-failed',
      isPartial
        ? `All ${count} shards failed, the first with: ${first!.reason}`
        : `The shard ${name} failed${given ? ' after rows of it were given' : ''}: ${reason}`,
      { cause: error },
    );
  }
}
