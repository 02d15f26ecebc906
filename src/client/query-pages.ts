import type { Container, FeedOptions, FeedResponse, QueryIterator, SqlQuerySpec } from '@azure/cosmos';
import { throwMissing } from '../cosmos/container-missing.ts';
import { failureOf } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';
import { clientError } from './errors.ts';

/** Pages in a row that read nothing, not even to find no result: the client is in a circle (ASM-E81). */
const MOST_IDLE = 10;

/**
 * The pages of one reading of a query, with retries. After a failure the client's iterator of a query with a plan ends as
 * if there were no more results (ASM-E82), so no iterator is used again after one: the next begins at the last
 * continuation.
 */
export class QueryPages<T> {
  readonly #container: Container;
  readonly #open: (token: string | undefined) => QueryIterator<T>;
  readonly #signal: AbortSignal | undefined;
  #iterator: QueryIterator<T> | undefined;
  /** The place of the next page is known: the beginning of the reading, or `token`. */
  #resumable = true;
  #idle = 0;
  /** The continuation of the client; undefined where it has none. */
  token: string | undefined;
  /** True: the last page was returned. */
  done = false;

  constructor(container: Container, spec: SqlQuerySpec, options: FeedOptions, token?: string) {
    this.#container = container;
    this.#open = (from) =>
      container.items.query<T>(spec, { ...options, ...(from !== undefined && { continuationToken: from }) });
    this.#signal = options.abortSignal;
    this.token = token;
  }

  /** @throws MillraceError `tenant-query-interrupted`, `tenant-query-lost`, `unavailable`; UsageError `container-missing` */
  async next(): Promise<readonly T[]> {
    const retry = { reads: true, ...(this.#signal && { signal: this.#signal }) };
    const page = await withRetry(() => this.#fetch(), retry).catch(throwMissing(this.#container));
    const items = page.resources ?? [];
    this.#idle = items.length > 0 || page.requestCharge > 0 ? 0 : this.#idle + 1;
    if (this.#idle === MOST_IDLE)
      throw clientError('tenant-query-lost', `The client no longer finds the partitions of ${this.#container.id}`);
    return items;
  }

  async #fetch(): Promise<FeedResponse<T>> {
    const iterator = (this.#iterator ??= this.#open(this.token));
    try {
      const page = await iterator.fetchNext();
      this.done = !iterator.hasMoreResults();
      this.token = page.continuationToken || undefined;
      this.#resumable = this.token !== undefined;
      return page;
    } catch (error) {
      this.#iterator = undefined;
      const { kind, message } = failureOf(error);
      const isPassing = kind === 'throttled' || kind === 'unreachable' || kind === 'ambiguous';
      if (this.#resumable || !isPassing || this.#signal?.aborted) throw error;
      throw clientError('tenant-query-interrupted', `The query of ${this.#container.id} can't go on: ${message}`, {
        cause: error,
      });
    }
  }
}
