import type { StoredAccount } from './account.ts';
import type { StoredContainer } from './container.ts';
import type { StoredItem, StoredVersion } from './logical-partition.ts';
import type { PhysicalPartition } from './physical-partition.ts';

/**
 * A failover to a region that had not received the writes of the last `lossMs`: they are undone, and later writes get the
 * same lsns. `Faults.historyMs` limits `lossMs`.
 * @returns the number of changed items
 */
export function failover(account: StoredAccount, container: StoredContainer, lossMs: number): number {
  let changed = 0;
  container.indexes.clear();
  for (const range of container.ranges) {
    const lsn = range.undo.lsnAt(account.now() - lossMs, 0, range.lsn);
    const past = range.undo.since(lsn);
    changed += past.size;
    for (const [item, before] of past) restore(account, container, item, before);
    range.undo = range.undo.until(lsn);
    rewind(range, lsn, past);
    account.journal?.moved(container, range);
  }
  if (container.allVersions) account.journal?.rewriteChanges(container);
  return changed;
}

function restore(
  account: StoredAccount,
  container: StoredContainer,
  item: StoredItem,
  before: StoredVersion | undefined,
): void {
  const home = container.logical.get(item.home.text) ?? item.home;
  const standing = home.items.get(item.id);
  home.tallies.clear();
  home.log = undefined;
  if (standing?.current && (standing === item || !before)) {
    for (const value of container.uniqueValues(standing.current.doc)) home.unique.delete(value);
  }
  item.current = before;
  if (before) {
    home.items.set(item.id, item);
    container.items.add(item);
    if (before.ttl !== undefined && before.ttl > 0) container.expiring.add(item);
    container.logical.set(home.text, home);
    for (const value of container.uniqueValues(before.doc)) home.unique.set(value, item.id);
    account.journal?.put(container, before);
  } else {
    container.items.retire();
    if (standing === item) home.items.delete(item.id);
    if (home.items.size === 0) container.logical.delete(home.text);
    account.journal?.remove(container, item);
  }
}

function rewind(range: PhysicalPartition, lsn: number, past: ReadonlyMap<StoredItem, StoredVersion | undefined>): void {
  const kept = range.log.filter((version) => version.lsn <= lsn && version.item.current === version);
  const known = new Set(kept);
  for (const before of past.values()) if (before && !known.has(before)) kept.push(before);
  range.log = kept.toSorted((a, b) => a.lsn - b.lsn);
  range.changes = range.changes.filter((change) => change.lsn <= lsn);
  range.lsn = lsn;
}
