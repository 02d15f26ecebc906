import type { Container, FeedOptions, SqlQuerySpec } from '@azure/cosmos';
import { orContainerMissing } from './container-missing.ts';
import { withRetry } from './retry.ts';
import { spendingOf } from './spending.ts';

/**
 * Every answer of a query, page by page; where the client has a budget, as bulk work.
 * @throws UsageError `container-missing` where the container isn't there yet
 */
export async function* fetchAll<T>(
  container: Container,
  query: string | SqlQuerySpec,
  signal: AbortSignal,
  options: FeedOptions = {},
): AsyncGenerator<T> {
  const iterator = container.items.query<T>(query, { maxItemCount: 1_000, ...options });
  const spending = spendingOf(container.database);
  const next = () => iterator.fetchNext();
  const read = () =>
    spending ? spending.spend(container.id, undefined, next, ({ requestCharge }) => requestCharge, signal) : next();
  while (iterator.hasMoreResults()) {
    signal.throwIfAborted();
    const page = await withRetry(read, { reads: true, signal }).catch((error: unknown) => {
      throw orContainerMissing(error, container);
    });
    yield* page.resources ?? [];
  }
}
