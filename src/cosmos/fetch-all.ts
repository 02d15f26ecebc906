import type { Container, FeedOptions, SqlQuerySpec } from '@azure/cosmos';
import { throwMissing } from './container-missing.ts';
import { withRetry } from './retry.ts';

/**
 * Every answer of a query, page by page.
 * @throws UsageError `container-missing` where the container isn't there yet
 */
export async function* fetchAll<T>(
  container: Container,
  query: string | SqlQuerySpec,
  signal: AbortSignal,
  options: FeedOptions = {},
): AsyncGenerator<T> {
  const iterator = container.items.query<T>(query, { maxItemCount: 1_000, ...options });
  while (iterator.hasMoreResults()) {
    signal.throwIfAborted();
    const page = await withRetry(() => iterator.fetchNext(), { reads: true, signal }).catch(throwMissing(container));
    yield* page.resources ?? [];
  }
}
