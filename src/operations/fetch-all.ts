import type { Container, FeedOptions, SqlQuerySpec } from '@azure/cosmos';
import { UsageError } from '../base/errors.ts';
import { failureOf } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';

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
    const page = await withRetry(() => iterator.fetchNext(), { reads: true, signal }).catch((error: unknown) => {
      throw explain(error, container);
    });
    yield* page.resources ?? [];
  }
}

/** A missing container is the operator's to mend; everything else is passed on. */
export function explain(error: unknown, container: Container): unknown {
  if (failureOf(error).kind !== 'not-found') return error;
  return new UsageError(
    'container-missing',
    `There is no container ${container.id} in database ${container.database.id}`,
    {
      cause: error,
      mend: 'Create what the model needs by `millrace model apply`.',
    },
  );
}
