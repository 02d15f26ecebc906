import type { Container, FeedOptions, FeedResponse, QueryIterator, SqlQuerySpec } from '@azure/cosmos';
import { throwMissing } from './container-missing.ts';
import { cosmosError } from './errors.ts';
import { failureOf } from './failure.ts';
import { withRetry } from './retry.ts';

/** Pages in a row that read nothing, not even to find no result: the client is in a circle (ASM-E81). */
const MOST_IDLE = 10;

export interface QueryPagesOptions<T> {
  /** Where to begin; absent: at the beginning. */
  readonly token?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Gives a request of a page up after this long. Default 60 s. */
  readonly withinMs?: number | undefined;
  /** Called for each request of a page, to spend of a budget. */
  readonly around?: ((request: () => Promise<FeedResponse<T>>) => Promise<FeedResponse<T>>) | undefined;
}

/**
 * The pages of one reading of a query, with retries. After a failure the client's iterator of a query with a plan ends as
 * if there were no more results (ASM-E82), so no iterator is used again after one: the next begins at the last
 * continuation.
 */
export class QueryPages<T> {
  readonly #container: Container;
  readonly #open: (token: string | undefined) => QueryIterator<T>;
  readonly #options: QueryPagesOptions<T>;
  #iterator: QueryIterator<T> | undefined;
  /** The place of the next page is known: the beginning of the reading, or `token`. */
  #resumable = true;
  #idle = 0;
  /** The continuation of the client; undefined where it has none. */
  token: string | undefined;
  /** True: the last page was returned. */
  done = false;

  constructor(
    container: Container,
    query: string | SqlQuerySpec,
    feed: FeedOptions,
    options: QueryPagesOptions<T> = {},
  ) {
    this.#container = container;
    this.#open = (from) =>
      container.items.query<T>(query, { ...feed, ...(from !== undefined && { continuationToken: from }) });
    this.#options = options;
    this.token = options.token;
  }

  /** @throws MillraceError `query-interrupted`, `query-lost`, `unavailable`; UsageError `container-missing` */
  async next(): Promise<readonly T[]> {
    const { signal, around, withinMs } = this.#options;
    const request = (): Promise<FeedResponse<T>> => this.#fetch();
    const page = await withRetry(() => (around ? around(request) : request()), {
      reads: true,
      ...(signal && { signal }),
      ...(withinMs !== undefined && { withinMs }),
    }).catch(throwMissing(this.#container));
    const items = page.resources ?? [];
    this.#idle = items.length > 0 || page.requestCharge > 0 ? 0 : this.#idle + 1;
    if (this.#idle === MOST_IDLE)
      throw cosmosError('query-lost', `The client no longer finds the partitions of ${this.#container.id}`);
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
      if (this.#resumable || !isPassing || this.#options.signal?.aborted) throw error;
      throw cosmosError('query-interrupted', `The query of ${this.#container.id} can't go on: ${message}`, {
        cause: error,
      });
    }
  }
}
