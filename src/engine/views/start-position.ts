import type { Container } from '@azure/cosmos';
import { failureOf } from '../../cosmos/failure.ts';
import { effectivePartitionKey } from '../../cosmos/epk.ts';
import { keyHash } from '../../cosmos/key-hash.ts';
import { physicalRanges } from '../../cosmos/physical-ranges.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { type Change, feedLsnOf } from '../../feed/reading/change.ts';
import { currentEpoch } from '../../feed/reading/epochs.ts';
import { openSource } from '../../feed/reading/open-source.ts';
import { lsnOf } from '../../feed/reading/position.ts';
import { type FeedMode, RangeGone } from '../../feed/reading/source.ts';

/** The end of a container's feed at one moment. */
export interface StartPosition {
  /** The container, and the epoch in which the lsns were read. */
  readonly rid: string;
  readonly epoch: number;
  /** The container's key, which never changes: the place of a document in `ranges` follows from it. */
  readonly key: { readonly paths: readonly string[]; readonly kind: 'Hash' | 'MultiHash'; readonly version: 1 | 2 };
  /** For each physical partition of that moment. A change at `lsn` is below the start. */
  readonly ranges: readonly (FeedRange & { readonly lsn: number })[];
}

const NEVER = new AbortController().signal;
/** Partitions that split while their ends are looked up. */
const TRIES = 10;

/** The end of a container's feed. Undefined if there is no such container. */
export async function positionNow(
  container: Container,
  state: Container,
  mode: FeedMode,
): Promise<StartPosition | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      return await readEnds(container, state, mode);
    } catch (error) {
      if (failureOf(error).kind === 'not-found') return undefined;
      if (!(error instanceof RangeGone) || tries === TRIES) throw error;
    }
  }
}

async function readEnds(container: Container, state: Container, mode: FeedMode): Promise<StartPosition> {
  const { resource } = await withRetry(() => container.read(), { reads: true });
  const { source, rid } = await openSource(container, { mode, state });
  // Before the ends: a feed that is numbered again in between is then compared by time.
  const epoch = await currentEpoch(state, container.id, rid);
  const ranges = await Promise.all(
    (await physicalRanges(container)).map(async (range) => ({
      ...range,
      lsn: lsnOf(await source.resolve(range, 'now', NEVER)),
    })),
  );
  const key = resource?.partitionKey;
  return {
    rid,
    epoch,
    key: { paths: key?.paths ?? [], ...keyHash(key) },
    ranges,
  };
}

/** Whether a change of the same numbering is at the position or before it, whatever partitions the container has now. */
export function isBelow({ key, ranges }: StartPosition, change: Change): boolean {
  const [first, ...others] = ranges;
  const epk = others.length === 0 ? '' : effectivePartitionKey(change.key, key.kind, key.version);
  const range = others.length === 0 ? first : ranges.find(({ min, max }) => min <= epk && epk < max);
  return range !== undefined && feedLsnOf(change) <= range.lsn;
}
