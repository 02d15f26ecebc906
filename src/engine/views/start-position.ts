import type { Container } from '@azure/cosmos';
import { failureOf } from '../../cosmos/failure.ts';
import { keyHash } from '../../cosmos/key-definition.ts';
import { physicalRanges } from '../../cosmos/physical-ranges.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { FeedEnds } from '../../feed/reading/ends.ts';
import { currentEpoch } from '../../feed/reading/epochs.ts';
import { openSource } from '../../feed/reading/open-source.ts';
import { lsnOf } from '../../feed/reading/position.ts';
import { type FeedMode, RangeGone } from '../../feed/reading/source.ts';

/** The end of a container's feed at one moment, for each physical partition of that moment. */
export interface StartPosition extends FeedEnds {
  /** The container, and the epoch in which the lsns were read. */
  readonly rid: string;
  readonly epoch: number;
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
