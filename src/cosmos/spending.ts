import {
  type Container,
  type CosmosClient,
  type Database,
  PartitionKeyDefinitionVersion,
  PartitionKeyKind,
} from '@azure/cosmos';
import { type Clock, systemClock } from '../base/clock.ts';
import { Budget, type Grant, type Lane } from './budget.ts';
import { type PartitionKind, effectivePartitionKey } from './epk.ts';
import { failureOf } from './failure.ts';
import { physicalRanges } from './physical-ranges.ts';
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

/** What whoever works by a client may spend, by database. */
const limited = new WeakMap<CosmosClient, (database: Database) => Spending>();

/**
 * From now on whatever reads or writes documents by this client keeps to so many RU/s of each physical partition: live
 * hosts and operations of one process together. Kept with the client, so that nobody can leave it out.
 */
export function limitSpending(client: CosmosClient, ruPerSecond: number, clock: Clock = systemClock): void {
  const known = new Map<string, Spending>();
  limited.set(client, (database) => {
    const spending = known.get(database.id) ?? new Spending(database, new Budget(ruPerSecond, clock), 'bulk', clock);
    known.set(database.id, spending);
    return spending;
  });
}

/** What may be spent in a database, undefined where its client isn't limited: in bulk, unless it is for live changes. */
export const spendingOf = (database: Database, lane: Lane = 'bulk'): Spending | undefined =>
  limited.get(database.client)?.(database).in(lane);

/** Lets requests on the containers of one database wait for their part of a budget, by the partition they go to. */
export class Spending {
  readonly #database: Database;
  readonly #budget: Budget;
  readonly #lane: Lane;
  readonly #clock: Clock;
  readonly #layouts: Map<string, Promise<Layout>>;

  constructor(
    database: Database,
    budget: Budget,
    lane: Lane,
    clock: Clock = systemClock,
    layouts = new Map<string, Promise<Layout>>(),
  ) {
    this.#database = database;
    this.#budget = budget;
    this.#lane = lane;
    this.#clock = clock;
    this.#layouts = layouts;
  }

  /** The same budget, spent in another lane. */
  in(lane: Lane): Spending {
    return new Spending(this.#database, this.#budget, lane, this.#clock, this.#layouts);
  }

  async take(container: string, key: Key, signal?: AbortSignal): Promise<Grant> {
    return this.#budget.take(await this.partitionOf(container, key), this.#lane, signal);
  }

  /** The same for reading a feed range, which is one physical partition, or after a merge a part of one. */
  reading(container: string): (range: FeedRange, signal?: AbortSignal) => Promise<Grant> {
    return (range, signal) => this.#budget.take(partitionName(container, range), this.#lane, signal);
  }

  /**
   * Waits, calls, and settles by what `chargeOf` the answer says; a throttled answer makes the others slower. Without a
   * key it goes to all partitions, which bear it in equal parts.
   */
  async spend<T>(
    container: string,
    key: Key | undefined,
    call: () => Promise<T>,
    chargeOf: (answer: T) => number,
    signal?: AbortSignal,
  ): Promise<T> {
    const grants = key ? [await this.take(container, key, signal)] : await this.#takeOfAll(container, signal);
    const settle = (charge: number, throttled = false): void => {
      for (const grant of grants) grant.settle(charge / grants.length, throttled);
    };
    try {
      const answer = await call();
      settle(chargeOf(answer));
      return answer;
    } catch (error) {
      settle(0, failureOf(error).kind === 'throttled');
      throw error;
    }
  }

  async #takeOfAll(container: string, signal?: AbortSignal): Promise<Grant[]> {
    const { ranges } = await this.#layoutOf(container);
    return Promise.all(ranges.map((range) => this.reading(container)(range, signal)));
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

const partitionName = (container: string, range: FeedRange): string => `${container} ${rangeId(range)}`;

async function readLayout(container: Container, clock: Clock): Promise<Layout> {
  const { resource } = await withRetry(() => container.read(), { reads: true });
  const key = resource?.partitionKey;
  return {
    kind: key?.kind === PartitionKeyKind.MultiHash ? 'MultiHash' : 'Hash',
    version: key?.version === PartitionKeyDefinitionVersion.V2 ? 2 : 1,
    ranges: await physicalRanges(container),
    readAt: clock.monotonic(),
  };
}
