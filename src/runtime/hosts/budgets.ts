import { hostname } from 'node:os';
import type { CosmosClient } from '@azure/cosmos';
import { Shares } from '../../cosmos/budget/split.ts';
import { limitSpending } from '../../cosmos/budget/meter.ts';
import type { Place } from '../workspace.ts';

/** The limit of request units a second, for each physical partition. All processes keep to that of a place together. */
export class Budgets {
  readonly #ruPerSecond: number;
  /** The shares of this process by client, then by the id of the place's database. */
  readonly #shares = new Map<CosmosClient, Map<string, Shares>>();

  constructor(ruPerSecond: number) {
    this.#ruPerSecond = ruPerSecond;
  }

  /** Before the client's first request. Databases that are no place have the whole limit. */
  limit(client: CosmosClient): void {
    const shares = new Map<string, Shares>();
    this.#shares.set(client, shares);
    limitSpending(client, this.#ruPerSecond, undefined, (database) => shares.get(database));
  }

  /** Before the place's first request. */
  share({ database, state }: Pick<Place, 'database' | 'state'>): void {
    const shares = this.#shares.get(database.client);
    if (!shares || shares.has(database.id)) return;
    const name = `${hostname()} ${process.pid}`;
    shares.set(database.id, new Shares({ state, database: database.id, ruPerSecond: this.#ruPerSecond, name }));
  }

  /** Gives the shares back. Close the clients after it. */
  async close(): Promise<void> {
    await Promise.all([...this.#shares.values()].flatMap((of) => [...of.values()].map((shares) => shares.close())));
  }
}
