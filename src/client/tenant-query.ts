import type { Container, FeedOptions, FeedResponse, SqlQuerySpec } from '@azure/cosmos';
import { digest, isObject } from '../base/json.ts';
import { sharedError } from '../base/shared-errors.ts';
import { throwMissing } from '../cosmos/container-missing.ts';
import { withRetry } from '../cosmos/retry.ts';
import { clientError } from './errors.ts';

/** What is sent. */
export interface BoundQuery {
  readonly container: Container;
  readonly spec: SqlQuerySpec;
  readonly options: FeedOptions;
  /** Called for each result before it is passed on. */
  readonly check: (row: unknown) => void;
}

export interface TenantPage<T> {
  readonly items: readonly T[];
  /** Absent: this was the last page. */
  readonly continuation?: string;
}

/** A query that can be read as a whole, result by result, or page by page. Each reading sends it again. */
export class TenantQuery<T> implements AsyncIterable<T> {
  readonly #bind: () => Promise<BoundQuery>;

  /** @internal */
  constructor(bind: () => Promise<BoundQuery>) {
    this.#bind = bind;
  }

  /** Every result. @throws UsageError `tenant-key-wrong`, `tenant-field-wrong`, `container-missing` */
  async all(): Promise<T[]> {
    const all: T[] = [];
    for await (const one of this) all.push(one);
    return all;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const bound = await this.#bind();
    const pages = bound.container.items.query<T>(bound.spec, bound.options);
    let idle = 0;
    while (pages.hasMoreResults()) {
      const page = await next(bound, () => pages.fetchNext());
      idle = page.cost > 0 || page.items.length > 0 ? 0 : idle + 1;
      if (idle === MOST_IDLE)
        throw clientError('tenant-query-lost', `The client no longer finds the partitions of ${bound.container.id}`);
      yield* page.items;
    }
  }

  /**
   * One page, of `maxItemCount` results at most. `continuation` is the one of the page before, of the same query and
   * tenant; it is opaque. If the query names a part of the key only and the service can't sort or combine its results
   * without the client, there is no continuation.
   * @throws UsageError `continuation-invalid`, `tenant-page-unsupported`, and as `all`
   */
  async page(continuation?: string): Promise<TenantPage<T>> {
    const bound = await this.#bind();
    const asked = digest([bound.container.url, bound.spec, bound.options.partitionKey]);
    let token = continuation === undefined ? undefined : tokenIn(continuation, asked);
    for (;;) {
      const options = { ...bound.options, ...(token !== undefined && { continuationToken: token }) };
      const pages = bound.container.items.query<T>(bound.spec, options);
      const { items, continuation: after } = await next(bound, () => pages.fetchNext());
      token = after;
      if (token === undefined && pages.hasMoreResults())
        throw clientError('tenant-page-unsupported', `This query has no continuation: ${bound.spec.query}`);
      if (token === undefined) return { items };
      // An empty page is not always the last.
      if (items.length > 0)
        return { items, continuation: Buffer.from(JSON.stringify({ asked, token })).toString('base64url') };
    }
  }
}

/** Pages in a row that read nothing, not even to find no result: the client is in a circle (ASM-E81). */
const MOST_IDLE = 10;

interface Answer<T> {
  readonly items: readonly T[];
  readonly continuation: string | undefined;
  /** In RU. */
  readonly cost: number;
}

async function next<T>({ container, check }: BoundQuery, fetch: () => Promise<FeedResponse<T>>): Promise<Answer<T>> {
  const answer = await withRetry(fetch, { reads: true }).catch(throwMissing(container));
  const items = answer.resources ?? [];
  // All are checked before the first is passed on.
  for (const row of items) check(row);
  return { items, continuation: answer.continuationToken || undefined, cost: answer.requestCharge || 0 };
}

function tokenIn(continuation: string, asked: string): string {
  let state: unknown;
  try {
    state = JSON.parse(Buffer.from(continuation, 'base64url').toString('utf8'));
  } catch {
    // Refused below.
  }
  if (isObject(state) && state['asked'] === asked && typeof state['token'] === 'string') return state['token'];
  throw sharedError('continuation-invalid', 'The continuation does not belong to this query of this tenant', {
    hint: 'Pass the continuation as it was returned, with the same tenant, query, parameters and `within`.',
  });
}
