import type { Container } from '@azure/cosmos';
import type { FeedRange } from './ranges.ts';
import { withRetry } from './retry.ts';

/** The ranges of a container's physical partitions, as they are now. */
export async function physicalRanges(container: Container, signal?: AbortSignal): Promise<FeedRange[]> {
  const read = () => container.readPartitionKeyRanges().fetchAll();
  const { resources } = await withRetry(read, { reads: true, ...(signal && { signal }) });
  return resources.map(({ minInclusive: min, maxExclusive: max }) => ({ min, max }));
}
