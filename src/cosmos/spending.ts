import { type Container, type Database, PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Budget, Grant, Lane } from './budget.ts';
import { type PartitionKind, effectivePartitionKey } from './epk.ts';
import { failureOf } from './failure.ts';
import { type FeedRange, rangeId } from './ranges.ts';
import { withRetry } from './retry.ts';

type Key = readonly (string | number | boolean | null)[];

interface Layout {
  readonly kind: PartitionKind;
  readonly version: 1 | 2;
  readonly ranges: readonly FeedRange[];
  readonly readAt: number;
}

/** A split is noticed after this at the latest; until then its halves share one bucket. */
const LAYOUT_MS = 60_000;

/** Lets requests on the containers of one database wait for their part of a budget, by the partition they go to. */
export class Spending {
  readonly #database: Database;
  readonly #budget: Budget;
  readonly #lane: Lane;
  readonly #clock: Clock;
  readonly #layouts = new Map<string, Promise<Layout>>();

  constructor(database: Database, budget: Budget, lane: Lane, clock: Clock = systemClock) {
    this.#database = database;
    this.#budget = budget;
    this.#lane = lane;
    this.#clock = clock;
  }

  /** The same budget, spent in another lane. */
  in(lane: Lane): Spending {
    return new Spending(this.#database, this.#budget, lane, this.#clock);
  }

  async take(container: string, key: Key, signal?: AbortSignal): Promise<Grant> {
    return this.#budget.take(await this.partitionOf(container, key), this.#lane, signal);
  }

  /** Waits, calls, and settles by what `chargeOf` the answer says; a throttled answer makes the others slower. */
  async spend<T>(
    container: string,
    key: Key,
    call: () => Promise<T>,
    chargeOf: (answer: T) => number,
    signal?: AbortSignal,
  ): Promise<T> {
    const grant = await this.take(container, key, signal);
    try {
      const answer = await call();
      grant.settle(chargeOf(answer));
      return answer;
    } catch (error) {
      grant.settle(0, failureOf(error).kind === 'throttled');
      throw error;
    }
  }

  /** The name of the physical partition that holds a key. */
  async partitionOf(container: string, key: Key): Promise<string> {
    const { kind, version, ranges } = await this.#layoutOf(container);
    const hash = effectivePartitionKey(key, kind, version);
    const range = ranges.find(({ min, max }) => hash >= min && hash < max);
    return partitionName(container, range ?? { min: '', max: 'FF' });
  }

  async #layoutOf(container: string): Promise<Layout> {
    const known = await this.#layouts.get(container);
    if (known && this.#clock.monotonic() - known.readAt < LAYOUT_MS) return known;
    const reading = readLayout(this.#database.container(container), this.#clock);
    this.#layouts.set(container, reading);
    reading.catch(() => this.#layouts.delete(container));
    return reading;
  }
}

/** The same for reading a feed range, which is one physical partition, or after a merge a part of one. */
export const readsFrom =
  (budget: Budget, container: string) =>
  (range: FeedRange, signal: AbortSignal): Promise<Grant> =>
    budget.take(partitionName(container, range), 'live', signal);

const partitionName = (container: string, range: FeedRange): string => `${container} ${rangeId(range)}`;

async function readLayout(container: Container, clock: Clock): Promise<Layout> {
  const { resource } = await withRetry(() => container.read(), { reads: true });
  const key = resource?.partitionKey;
  const { resources } = await withRetry(() => container.readPartitionKeyRanges().fetchAll(), { reads: true });
  return {
    kind: key?.kind === PartitionKeyKind.MultiHash ? 'MultiHash' : 'Hash',
    version: key?.version === PartitionKeyDefinitionVersion.V2 ? 2 : 1,
    ranges: resources.map(({ minInclusive: min, maxExclusive: max }) => ({ min, max })),
    readAt: clock.monotonic(),
  };
}
