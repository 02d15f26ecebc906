import type { Container } from '@azure/cosmos';
import { isObject } from '../../base/json.ts';
import { withRetry } from '../../cosmos/retry.ts';

/** The most starts of ids that one query asks for. */
const MOST_STARTS = 64;

interface AskedStart {
  readonly start: string;
  readonly answer: PromiseWithResolvers<Record<string, unknown>[]>;
}

const known = new WeakMap<Container, LeaseQueries>();

/**
 * Asks a lease container for documents by the start of their ids. What is asked while a query is under way goes together in
 * the next one: the feeds of many shards begin together, and each lists its leases. A query is sent after it was asked for,
 * so no caller gets what was read before its call.
 */
export class LeaseQueries {
  readonly #container: Container;
  #asked: AskedStart[] = [];
  #isBusy = false;

  private constructor(container: Container) {
    this.#container = container;
  }

  /** The same for all stores of a process that share the container. */
  static of(container: Container): LeaseQueries {
    const queries = known.get(container) ?? new LeaseQueries(container);
    known.set(container, queries);
    return queries;
  }

  /** The documents of all partition keys whose id begins with `start`, as they are stored. @throws the SDK's error */
  async ask(start: string): Promise<Record<string, unknown>[]> {
    const answer = Promise.withResolvers<Record<string, unknown>[]>();
    this.#asked.push({ start, answer });
    if (!this.#isBusy) void this.#work();
    return answer.promise;
  }

  /** Never rejects. */
  async #work(): Promise<void> {
    this.#isBusy = true;
    while (this.#asked.length > 0) {
      // What is asked in the same turn goes together.
      await Promise.resolve();
      const now = this.#asked.splice(0, MOST_STARTS);
      try {
        const documents = await this.#query(now.map(({ start }) => start));
        for (const { start, answer } of now) answer.resolve(documents.filter(({ id }) => String(id).startsWith(start)));
      } catch (error) {
        // Nor did the container answer those that waited meanwhile: each query in turn may take half a minute to fail.
        for (const { answer } of [...now, ...this.#asked.splice(0)]) answer.reject(error);
      }
    }
    this.#isBusy = false;
  }

  async #query(starts: readonly string[]): Promise<Record<string, unknown>[]> {
    const parameters = [...new Set(starts)].map((value, n) => ({ name: `@start${n}`, value }));
    const begins = parameters.map(({ name }) => `STARTSWITH(c.id, ${name})`).join(' OR ');
    const query = { query: `SELECT * FROM c WHERE ${begins}`, parameters };
    const ask = () => this.#container.items.query<unknown>(query).fetchAll();
    const { resources } = await withRetry(ask, { reads: true });
    return resources.filter(isObject);
  }
}
