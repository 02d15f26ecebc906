import type { Container, FeedOptions, SqlQuerySpec } from '@azure/cosmos';
import { assertReadable } from '../base/format.ts';
import type { Meter } from './budget/charge-meter.ts';
import { QueryPages, type QueryPagesOptions } from './query-pages.ts';
import { spendingOf } from './budget/meter.ts';

/**
 * Yields every result of a query, page by page. A client with a budget spends it in the bulk lane. With `anyFormat` the
 * caller checks the formats of stored documents.
 * @throws UsageError `container-missing`; MillraceError `query-interrupted`, `query-lost`; FormatUnreadable
 */
export async function* fetchAll<T>(
  container: Container,
  query: string | SqlQuerySpec,
  signal: AbortSignal,
  { anyFormat = false, meter, ...options }: FeedOptions & { readonly anyFormat?: boolean; readonly meter?: Meter } = {},
): AsyncGenerator<T> {
  const spending = spendingOf(container.database);
  const around: QueryPagesOptions<T>['around'] = async (ask) => {
    const request = async () => {
      const page = await ask();
      meter?.count(page.requestCharge);
      return page;
    };
    if (!spending) return request();
    return spending.spend(container.id, undefined, request, ({ requestCharge }) => requestCharge, signal);
  };
  const pages = new QueryPages<T>(container, query, { maxItemCount: 1_000, ...options }, { signal, around });
  while (!pages.done) {
    signal.throwIfAborted();
    for (const document of await pages.next()) {
      if (!anyFormat) assertReadable(document);
      yield document;
    }
  }
}

/** The same as a list, where there are few. */
export const fetchList = <T>(...of: Parameters<typeof fetchAll>): Promise<T[]> => Array.fromAsync(fetchAll<T>(...of));
