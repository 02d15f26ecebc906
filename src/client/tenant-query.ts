import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Container, FeedOptions, SqlQuerySpec } from '@azure/cosmos';
import { MillraceError } from '../base/errors.ts';
import { sharedError } from '../base/shared-errors.ts';
import { QueryPages } from '../cosmos/query-pages.ts';

/** What is sent. */
export interface BoundQuery {
  readonly container: Container;
  readonly spec: SqlQuerySpec;
  readonly options: FeedOptions;
  readonly withinMs?: number | undefined;
  /** Seals continuations. */
  readonly sealWith: string | Uint8Array;
  /** Called for each result before it is passed on. */
  readonly check: (row: unknown) => void;
}

export interface TenantPage<T> {
  readonly items: readonly T[];
  /** Absent: this was the last page. */
  readonly continuation?: string;
}

/** How often `all` reads a query that can't be resumed. */
const ATTEMPTS = 5;

/** A query that can be read as a whole, result by result, or page by page. Each reading sends it again. */
export class TenantQuery<T> implements AsyncIterable<T> {
  readonly #bind: () => Promise<BoundQuery>;

  /** @internal */
  constructor(bind: () => Promise<BoundQuery>) {
    this.#bind = bind;
  }

  /**
   * Every result.
   * @throws UsageError `option-invalid`, `tenant-field-wrong`, `container-missing`;
   * MillraceError `query-interrupted`, `query-lost`
   */
  async all(): Promise<T[]> {
    for (let attempt = 1; ; attempt++) {
      const all: T[] = [];
      try {
        for await (const one of this) all.push(one);
        return all;
      } catch (error) {
        const again = error instanceof MillraceError && error.code === 'query-interrupted';
        if (!again || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** Result by result. @throws as `all` */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const bound = await this.#bind();
    const pages = pagesOf<T>(bound);
    while (!pages.done) yield* checked(bound, await pages.next());
  }

  /**
   * One page, of `maxItemCount` results at most. `continuation` is the one of the page before, of the same query and
   * tenant; it is opaque, and sealed by `sealWith`. If the query names a part of the key only and the service can't sort or combine its results
   * without the client, there is no continuation.
   * @throws UsageError `continuation-invalid`, `query-unsupported`, and as `all`
   */
  async page(continuation?: string): Promise<TenantPage<T>> {
    const bound = await this.#bind();
    const from = continuation === undefined ? undefined : tokenIn(continuation, bound);
    const pages = pagesOf<T>(bound, from);
    for (;;) {
      const items = checked(bound, await pages.next());
      const { token } = pages;
      if (pages.done) return { items };
      if (token === undefined)
        throw sharedError('query-unsupported', `This query has no continuation: ${bound.spec.query}`, {
          hint: 'Name the other levels of the key in `within`, or read the query to its end by `for await` or `all()`.',
        });
      // An empty page is not always the last.
      if (items.length > 0)
        return { items, continuation: `${sealOf(token, bound)}.${Buffer.from(token).toString('base64url')}` };
    }
  }
}

const pagesOf = <T>({ container, spec, options, withinMs }: BoundQuery, token?: string): QueryPages<T> =>
  new QueryPages<T>(container, spec, options, { token, signal: options.abortSignal, withinMs });

/** All are checked before the first is passed on. */
function checked<T>({ check }: BoundQuery, items: readonly T[]): readonly T[] {
  for (const item of items) check(item);
  return items;
}

/** Without the secret no continuation can be made, and each belongs to one query of one tenant. */
function sealOf(token: string, { container, spec, options, sealWith }: BoundQuery): string {
  const asked = JSON.stringify([container.url, spec, options.partitionKey, token]);
  return createHmac('sha256', sealWith).update(asked).digest('base64url');
}

function tokenIn(continuation: string, bound: BoundQuery): string {
  const [seal = '', sealed = ''] = continuation.split('.', 2);
  const token = Buffer.from(sealed, 'base64url').toString('utf8');
  const [given, right] = [Buffer.from(seal), Buffer.from(sealOf(token, bound))];
  if (given.length === right.length && timingSafeEqual(given, right)) return token;
  throw sharedError('continuation-invalid', 'The continuation was not made for this query of this tenant', {
    hint: 'Pass the continuation as it was returned, with the same tenant, query, parameters and `within`. If another process made it, give `forTenant` the same `sealWith` in both.',
  });
}
