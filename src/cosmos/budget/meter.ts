import { type KeyLevel } from '../../base/key-level.ts';
import type { Container, CosmosClient, Database } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { Budget, type Grant, type Lane, type Share } from './limit.ts';
import { type PartitionKind, effectivePartitionKey } from '../effective-partition-key.ts';
import { failureOf } from '../failure.ts';
import { keyHash } from '../key-definition.ts';
import { physicalRanges } from '../physical-ranges.ts';
import { type FeedRange, rangeId } from '../ranges.ts';
import { withRetry } from '../retry.ts';

type Key = readonly KeyLevel[];

interface Layout {
  readonly kind: PartitionKind;
  readonly version: 1 | 2;
  readonly ranges: readonly FeedRange[];
  readonly readAt: number;
}

/** The longest time until a partition split is noticed. Until then both halves share one bucket. */
const LAYOUT_MS = 60_000;

/** The budgets of clients, by database. */
const limited = new WeakMap<CosmosClient, (database: Database) => Spending>();

/**
 * Limits all reads and writes of documents with this client to `ruPerSecond` for each physical partition. Live hosts and
 * operations of one process share the limit. It belongs to the client, so that no caller can forget it. `shareOf`: the
 * part of it that this process has in a database; default: all of it.
 */
export function limitSpending(
  client: CosmosClient,
  ruPerSecond: number,
  clock: Clock = systemClock,
  shareOf: (database: string) => Share | undefined = () => undefined,
): void {
  const known = new Map<string, Spending>();
  limited.set(client, (database) => {
    const budget = (): Budget => new Budget(ruPerSecond, clock, shareOf(database.id));
    const spending = known.get(database.id) ?? new Spending(database, budget(), 'bulk', clock);
    known.set(database.id, spending);
    return spending;
  });
}

/** Lets another client of the same account spend of a client's budget. */
export function shareSpending(client: CosmosClient, other: CosmosClient): void {
  const budget = limited.get(client);
  if (budget) limited.set(other, budget);
}

/** The budget of a database; undefined if its client has no limit. `tenant`: whose requests they are, if of one alone. */
export const spendingOf = (database: Database, lane: Lane = 'bulk', tenant?: string): Spending | undefined =>
  limited.get(database.client)?.(database).in(lane, tenant);

/** Makes requests to the containers of one database wait for the budget of their physical partition. */
export class Spending {
  readonly #database: Database;
  readonly #budget: Budget;
  readonly #lane: Lane;
  readonly #clock: Clock;
  readonly #layouts: Map<string, Promise<Layout>>;
  readonly #tenant: string | undefined;

  constructor(
    database: Database,
    budget: Budget,
    lane: Lane,
    clock: Clock = systemClock,
    layouts = new Map<string, Promise<Layout>>(),
    tenant?: string,
  ) {
    this.#database = database;
    this.#budget = budget;
    this.#lane = lane;
    this.#clock = clock;
    this.#layouts = layouts;
    this.#tenant = tenant;
  }

  /** The same budget, spent in another lane, by one tenant or by none. */
  in(lane: Lane, tenant?: string): Spending {
    return new Spending(this.#database, this.#budget, lane, this.#clock, this.#layouts, tenant);
  }

  async take(container: string, key: Key, signal?: AbortSignal): Promise<Grant> {
    return this.#budget.take(await this.partitionOf(container, key), this.#lane, signal, this.#tenant);
  }

  /** The same for reading a feed range: one physical partition, or after a merge a part of one. */
  reading(container: string): (range: FeedRange, signal?: AbortSignal) => Promise<Grant> {
    return (range, signal) => this.#budget.take(partitionName(container, range), this.#lane, signal, this.#tenant);
  }

  /**
   * Waits, sends the call, and accounts for the charge that `chargeOf` reads from the answer. A throttled answer lowers the
   * rate. A call without a key goes to all partitions; each pays an equal part.
   */
  async spend<T>(
    container: string,
    key: Key | undefined,
    call: () => Promise<T>,
    chargeOf: (answer: T) => number,
    signal?: AbortSignal,
  ): Promise<T> {
    const grants = key ? [await this.take(container, key, signal)] : await this.#takeOfAll(container, signal);
    const account = (charge: number | undefined, throttled = false): void => {
      for (const grant of grants) grant.account(charge === undefined ? undefined : charge / grants.length, throttled);
    };
    try {
      const answer = await call();
      account(chargeOf(answer));
      return answer;
    } catch (error) {
      account(undefined, failureOf(error).kind === 'throttled');
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
  return {
    ...keyHash(resource?.partitionKey),
    ranges: await physicalRanges(container),
    readAt: clock.monotonic(),
  };
}
