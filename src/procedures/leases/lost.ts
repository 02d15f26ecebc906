import type { Container } from '@azure/cosmos';
import { readLeasesRid } from '../../engine/views/starts.ts';
import type { LeaseInventory } from './groups.ts';

export const LOST = 'its hosts have run, but the pipeline has no lease any more: they were deleted';
export const LOST_HINT =
  'Running hosts make them again where they were, within a minute: leave them running. Without one, import exported positions with `millrace leases import`, or start a host, which says how it begins.';

/** Whether a pipeline that has no lease has run before. */
export const leasesWereLost = async (
  { groups }: Pick<LeaseInventory, 'groups'>,
  state: Container,
  pipeline: string,
): Promise<boolean> =>
  !groups.some(({ own, leases }) => own && leases.length > 0) && (await readLeasesRid(state, pipeline)) !== undefined;
