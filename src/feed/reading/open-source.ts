import type { Container } from '@azure/cosmos';
import { orContainerMissing } from '../../cosmos/container-missing.ts';
import { type KeyPath, splitPath } from '../../cosmos/paths.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { ridOf } from '../../cosmos/rid.ts';
import { confirmedEpoch, currentEpoch, raiseEpoch } from './epochs.ts';
import type { SourceContainer } from './mapper.ts';
import { CosmosChangeSource, type CosmosSourceOptions, type FeedMode } from './source.ts';

export interface OpenSourceOptions extends Omit<CosmosSourceOptions, 'epoch' | 'latestEpoch' | 'onBehind'> {
  /** The types that are read, by their rules. Default: every document, as it is stored. */
  readonly map?: SourceContainer;
  /** The state container, which keeps the epoch: it is looked up, again when a tenure begins, and raised where the feed fell behind. */
  readonly state?: Container;
  /** Without `state`. Default 1. */
  readonly epoch?: number;
}

/** A container whose feed is read, as it was when it was opened. */
export interface OpenSource {
  readonly container: Container;
  readonly rid: string;
  readonly databaseRid: string;
  readonly keyPaths: readonly KeyPath[];
  readonly mode: FeedMode;
  readonly source: CosmosChangeSource;
}

/**
 * The only way to a container's feed: whoever reads it asks the same first.
 * @throws UsageError `container-missing`
 */
export async function openSource(container: Container, options: OpenSourceOptions = {}): Promise<OpenSource> {
  const { map, state, epoch = 1, mode = 'latest-version', ...others } = options;
  const [{ resource }, databaseRid] = await Promise.all([
    withRetry(() => container.read(), { reads: true }),
    ridOf(container.database),
  ]).catch((error: unknown) => {
    throw orContainerMissing(error, container);
  });
  const rid = resource?._rid ?? '';
  const keyPaths = (resource?.partitionKey?.paths ?? []).map(splitPath);
  const of = [container.id, rid] as const;
  const source = new CosmosChangeSource(container, rid, map ?? { name: container.id, keyPaths }, {
    ...others,
    mode,
    ...(state
      ? {
          epoch: await currentEpoch(state, ...of),
          latestEpoch: (known: number) => confirmedEpoch(state, ...of, known),
          onBehind: async (known: number) => void (await raiseEpoch(state, ...of, known)),
        }
      : { epoch }),
  });
  return { container, rid, databaseRid, keyPaths, mode, source };
}
