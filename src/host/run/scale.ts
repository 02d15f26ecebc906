import { operationPlaces } from '../../verbs/at-places.ts';
import { openLeases, ownGroups } from '../../procedures/leases/groups.ts';
import { leaseRows } from '../../procedures/leases/lease-rows.ts';
import type { Context } from '../../procedures/context.ts';

/**
 * `ranges` of all feeds of the pipeline over all places, and those `withWork`: changes that no host has acknowledged, or a
 * lag that isn't known. Each range costs one read of one document.
 */
export async function readScale(
  context: Context,
  expirationMs: number,
): Promise<{ readonly ranges: number; readonly withWork: number }> {
  const { workspace } = context;
  const places = (await operationPlaces(workspace, 'run', 'every', undefined)) ?? [{ workspace }];
  const rows = await Promise.all(
    places.map(async (place) => {
      const own = ownGroups(await openLeases({ ...context, workspace: place.workspace }));
      return leaseRows(own, { expirationMs });
    }),
  );
  const all = rows.flat();
  return { ranges: all.length, withWork: all.filter(({ lag }) => !lag.known || lag.changes > 0).length };
}
