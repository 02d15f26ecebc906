import { setTimeout as delay } from 'node:timers/promises';
import type { Container } from '@azure/cosmos';
import { asked } from './stage.ts';

/** Watches the owners of leases, and counts how often a lease went from a host of one version to a host of the other. */
export class Takeovers {
  readonly counts = { forward: 0, back: 0 };
  readonly #leases: Container;
  readonly #owners = new Map<string, string>();
  readonly #ending = new AbortController();
  readonly #running: Promise<void>;

  constructor(leases: Container) {
    this.#leases = leases;
    this.#running = this.#run();
  }

  /** The hosts that have leases now. */
  async owners(): Promise<(string | null)[]> {
    return (await this.#read()).map(({ owner }) => owner);
  }

  async end(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      for (const { id, owner } of await this.#read()) {
        // Between two owners a lease may be free for a while.
        const version = owner?.replace(/-\d+$/, '');
        if (version === undefined) continue;
        const before = this.#owners.get(id);
        if (before === 'previous' && version === 'next') this.counts.forward += 1;
        if (before === 'next' && version === 'previous') this.counts.back += 1;
        this.#owners.set(id, version);
      }
      await delay(200, undefined, { signal }).catch(() => undefined);
    }
  }

  async #read(): Promise<{ id: string; owner: string | null }[]> {
    const query = 'SELECT c.id, c.Owner AS owner FROM c WHERE IS_DEFINED(c.LeaseToken)';
    const ask = () => this.#leases.items.query<{ id: string; owner: string | null }>(query).fetchAll();
    return (await asked(ask)).resources;
  }
}
