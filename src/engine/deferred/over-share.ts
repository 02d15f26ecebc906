/** No tenant is over its share with less than this part of the window. So few are at the same time. */
const LEAST_PART = 1 / 16;

/**
 * The tenants whose further changes are deferred: the window is full, and they have at least twice as many unacknowledged
 * changes in it as each tenant would get, if one more came that isn't there yet. Where all have about as many, none has:
 * then reading waits.
 * @param held the number of unacknowledged changes by tenant, of tenants that have any
 * @param most with this many the window is full
 */
export function overShare(held: ReadonlyMap<string, number>, most: number): string[] {
  const all = [...held.values()].reduce((sum, count) => sum + count, 0);
  if (all < most) return [];
  const share = Math.max((2 * most) / (held.size + 1), LEAST_PART * most);
  return [...held].filter(([, count]) => count >= share).map(([tenant]) => tenant);
}
