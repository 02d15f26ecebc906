import type { Container, FeedOptions, SqlQuerySpec } from '@azure/cosmos';
import { assertReadable } from '../base/format.ts';
import { throwMissing } from './container-missing.ts';
import { withRetry } from './retry.ts';
import { spendingOf } from './spending.ts';

/**
 * Yields every result of a query, page by page. A client with a budget spends it in the bulk lane. With `anyFormat` the
 * caller checks the formats of stored documents.
 * @throws UsageError `container-missing`; FormatUnreadable
 */
export async function* fetchAll<T>(
  container: Container,
  query: string | SqlQuerySpec,
  signal: AbortSignal,
  { anyFormat = false, ...options }: FeedOptions & { readonly anyFormat?: boolean } = {},
): AsyncGenerator<T> {
  const iterator = container.items.query<T>(query, { maxItemCount: 1_000, ...options });
  const spending = spendingOf(container.database);
  const next = () => iterator.fetchNext();
  const read = () =>
    spending ? spending.spend(container.id, undefined, next, ({ requestCharge }) => requestCharge, signal) : next();
  while (iterator.hasMoreResults()) {
    signal.throwIfAborted();
    const page = await withRetry(read, { reads: true, signal }).catch(throwMissing(container));
    for (const document of page.resources ?? []) {
      if (!anyFormat) assertReadable(document);
      yield document;
    }
  }
}
