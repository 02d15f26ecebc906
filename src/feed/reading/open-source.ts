import type { Container } from '@azure/cosmos';
import { throwMissing } from '../../cosmos/container-missing.ts';
import { effectivePartitionKey } from '../../cosmos/effective-partition-key.ts';
import { keyHash } from '../../cosmos/key-definition.ts';
import { type KeyPath, splitPath } from '../../cosmos/paths.ts';
import { assertPlain } from '../../cosmos/plain-container.ts';
import { once } from '../../base/once.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Key } from './change.ts';
import { confirmedEpoch, currentEpoch, renumber } from './epochs.ts';
import type { SourceContainer } from './mapper.ts';
import { CosmosChangeSource, type CosmosSourceOptions, type FeedMode } from './source.ts';

export interface OpenSourceOptions extends Omit<CosmosSourceOptions, 'epoch' | 'latestEpoch' | 'onBehind'> {
  /** The types to read, with their rules. Default: every document, as it is stored. */
  readonly map?: SourceContainer;
  /**
   * The state container, which stores the epoch. It is read when the feed is opened and when a tenure begins, and raised
   * when the feed is behind a position.
   */
  readonly state?: Container;
  /** The epoch without `state`. Default 1. */
  readonly epoch?: number;
}

/** A container whose feed is read, with the properties that it had when it was opened. */
export interface OpenSource {
  readonly container: Container;
  readonly rid: string;
  readonly keyPaths: readonly KeyPath[];
  readonly mode: FeedMode;
  readonly source: CosmosChangeSource;
  /** The effective partition key of a full key, as in the ends of its range. */
  readonly hashOf: (key: Key) => string;
}

/**
 * Opens the feed of a container. Every reader uses it.
 * @throws UsageError `container-missing`, `container-unfit`
 */
export async function openSource(container: Container, options: OpenSourceOptions = {}): Promise<OpenSource> {
  const { map, state, epoch = 1, mode = 'latest-version', ...others } = options;
  const read = withRetry(() => container.read(), { reads: true });
  const { resource } = await read.catch(throwMissing(container));
  assertPlain(resource);
  const rid = resource?._rid ?? '';
  const keyPaths = (resource?.partitionKey?.paths ?? []).map(splitPath);
  const of = [container.id, rid] as const;
  const source = new CosmosChangeSource(readOnce(container), rid, map ?? { name: container.id, keyPaths }, {
    ...others,
    mode,
    ...(state
      ? {
          epoch: await currentEpoch(state, ...of),
          latestEpoch: (known: number) => confirmedEpoch(state, ...of, known),
          onBehind: async (known: number) => void (await renumber(state, ...of, known)),
        }
      : { epoch }),
  });
  const { kind, version } = keyHash(resource?.partitionKey);
  const hashOf = (key: Key): string => effectivePartitionKey(key, kind, version);
  return { container, rid, keyPaths, mode, source, hashOf };
}

/**
 * The same container, which the SDK's iterators read once between them. Else each new iterator would read it first: a page
 * of another size and each key of a sweep would cost one more request, of those for metadata (ASM-E169). Pages name their
 * container, so that another one under the name is seen all the same.
 */
function readOnce(container: Container): Container {
  const own = container.database.container(container.id);
  // The SDK's type hides it.
  const hidden = own as unknown as { readInternal?: (...given: unknown[]) => Promise<unknown> };
  if (hidden.readInternal) hidden.readInternal = once(hidden.readInternal.bind(own));
  return own;
}
