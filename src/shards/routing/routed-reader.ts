import type { Resource, SqlQuerySpec } from '@azure/cosmos';
import type { TenantPage } from '../../client/tenant-query.ts';
import {
  type TenantOptions,
  type TenantQueryOptions,
  type TenantReader,
  forTenant,
} from '../../client/tenant-reader.ts';
import type { KeyJson } from '../keys/codec.ts';
import { throwDenied } from '../map/access-denied.ts';
import type { RoutedQuery, RoutedReader } from './values.ts';
import type { CachedMapping } from './known-shard.ts';

export interface ReaderOf {
  /** `reach` of `Routes`, for the code of the key. */
  readonly reach: <T>(
    ask: (mapping: CachedMapping) => Promise<T>,
    isNothing: ((answer: T) => boolean) | undefined,
  ) => Promise<T>;
  readonly key: KeyJson;
  readonly container: string;
  readonly options: Pick<TenantOptions, 'field' | 'withOwn' | 'withinMs'>;
}

/** Reads the documents of a key as `forTenant` reads those of a tenant, on the shard that has the key. */
export function routedReader<D extends object>({
  reach: reachShard,
  key,
  container,
  options: as,
}: ReaderOf): RoutedReader<D> {
  const reach = <T>(ask: (reader: TenantReader<D>) => Promise<T>, isNothing?: (answer: T) => boolean): Promise<T> =>
    reachShard(({ shard }) => {
      const there = shard.database.container(container);
      return shard.ask(() => ask(forTenant<D>(there, key, as)).catch(throwDenied(there)));
    }, isNothing);
  return {
    key,
    read: (id, ...rest) =>
      reach<(D & Resource) | undefined>(
        (reader) => reader.read(id, ...rest),
        (found) => found === undefined,
      ),
    query: <T>(query: string | SqlQuerySpec, options?: TenantQueryOptions): RoutedQuery<T> => ({
      all: () => reach((reader) => reader.query<T>(query, options).all()),
      page: (continuation) => reach<TenantPage<T>>((reader) => reader.query<T>(query, options).page(continuation)),
      async *[Symbol.asyncIterator]() {
        // Until the first result nothing was given that another shard could give again.
        const { first, rows } = await reach(async (reader) => {
          const reading = reader.query<T>(query, options)[Symbol.asyncIterator]();
          return { first: await reading.next(), rows: { [Symbol.asyncIterator]: () => reading } };
        });
        if (first.done) return;
        yield first.value;
        yield* rows;
      },
    }),
  };
}
