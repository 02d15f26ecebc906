import type { Container } from '@azure/cosmos';
import { physicalRanges } from '../cosmos/physical-ranges.ts';
import { openSource } from '../feed/reading/open-source.ts';
import type { RangePosition } from '../feed/reading/position.ts';

/** Where the feed of each range of a container ends now. */
export async function positionsNow(container: Container, signal: AbortSignal): Promise<RangePosition[]> {
  const { source } = await openSource(container);
  return Promise.all(
    (await physicalRanges(container, signal)).map(async (range) => ({
      range,
      position: await source.resolve(range, 'now', signal),
    })),
  );
}
