import { mapSettled } from '../../base/map-settled.ts';
import { compareValues } from '../../patterns/order.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { ORDER_FIELD, type QueryPlan } from './plan.ts';
import type { ShardReading } from './shard-reading.ts';

type Reading = ShardReading<unknown>;

export interface MergeOptions {
  /** Called with the failure of a shard. Throws unless the query goes on without the shard. */
  readonly fail: (reading: Reading, error: unknown) => void;
  readonly concurrency: number;
  readonly skip: number;
  readonly left: number;
}

interface Result {
  readonly value: unknown;
  /** The id of the shard. */
  readonly shard: string;
}

/** Makes one answer of the shards' answers. */
export class Merge {
  readonly readings: Reading[];
  readonly #options: MergeOptions;
  readonly #results: AsyncGenerator<Result, void, undefined>;
  /** Results that are still to be passed over, and those that may still be given. */
  skip: number;
  left: number;

  constructor(plan: QueryPlan, readings: readonly Reading[], options: MergeOptions) {
    this.readings = [...readings];
    this.#options = options;
    this.skip = options.skip;
    this.left = options.left;
    this.#results = this.#rows(plan);
  }

  /** At most `size` results. */
  async page(size: number): Promise<{ items: unknown[]; shards: string[]; done: boolean }> {
    const items: unknown[] = [];
    const shards: string[] = [];
    while (this.left > 0) {
      if (items.length >= size) return { items, shards, done: false };
      const { value: result } = await this.#results.next();
      if (!result) break;
      if (this.skip > 0) {
        this.skip -= 1;
        continue;
      }
      this.left -= 1;
      items.push(result.value);
      shards.push(result.shard);
    }
    return { items, shards, done: true };
  }

  async *#rows({ order, wrapped }: QueryPlan): AsyncGenerator<Result, void, undefined> {
    if (order.length === 0) {
      yield* this.#concatenated();
      return;
    }
    await this.#fillAll();
    for (;;) {
      const first = this.#firstOf(order);
      if (!first) return;
      const row = first.take();
      yield { value: payloadOf(row, wrapped), shard: first.access.shard.id };
      await this.#fill(first);
    }
  }

  /** Shard by shard. The next ones are asked for their first page meanwhile. */
  async *#concatenated(): AsyncGenerator<Result, void, undefined> {
    const all = [...this.readings];
    for (const [at, reading] of all.entries()) {
      const next = all.slice(at + 1, at + this.#options.concurrency);
      for (const one of next) void one.fill().catch(() => undefined);
      while (await this.#fill(reading)) {
        yield { value: reading.take(), shard: reading.access.shard.id };
      }
    }
  }

  #fillAll(): Promise<boolean[]> {
    return mapSettled([...this.readings], (reading) => this.#fill(reading), { concurrency: this.#options.concurrency });
  }

  /** True: the reading has a row at hand. */
  async #fill(reading: Reading): Promise<boolean> {
    try {
      return await reading.fill();
    } catch (error) {
      this.#options.fail(reading, error);
      this.readings.splice(this.readings.indexOf(reading), 1);
      return false;
    }
  }

  /** The reading whose row is the next. Of equal rows the first shard's comes first. */
  #firstOf(order: readonly boolean[]): Reading | undefined {
    let first: Reading | undefined;
    for (const reading of this.readings)
      if (reading.hasRow && (!first || compareRows(reading.row, first.row, order) < 0)) first = reading;
    return first;
  }
}

type Keys = readonly { readonly v?: unknown }[];

const keysOf = (row: unknown): Keys => {
  const { k, [ORDER_FIELD]: keys = k } = row as { readonly k?: Keys; readonly [ORDER_FIELD]?: Keys };
  return keys ?? [];
};

function compareRows(one: unknown, other: unknown, order: readonly boolean[]): number {
  const [a, b] = [keysOf(one), keysOf(other)];
  for (const [at, descending] of order.entries()) {
    const compared = compareValues(sortable(a[at]?.v), sortable(b[at]?.v));
    if (compared !== 0) return descending ? -compared : compared;
  }
  return 0;
}

function sortable(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  throw sharedError('query-unsupported', `The query sorts by ${Array.isArray(value) ? 'an array' : 'an object'}`, {
    hint: 'Sort by a path that has texts, numbers, booleans or null, or exclude the other documents in WHERE.',
  });
}

function payloadOf(row: unknown, wrapped: boolean): unknown {
  if (wrapped) return (row as { readonly p: unknown }).p;
  const { [ORDER_FIELD]: _, ...columns } = row as Record<string, unknown>;
  return columns;
}
