import type { StoredAccount } from '../storage/account.ts';
import type { StoredContainer } from '../storage/container.ts';
import type { StoredVersion } from '../storage/logical-partition.ts';
import type { StoredChange, PhysicalPartition } from '../storage/physical-partition.ts';

/** Records the entries of the all-versions feed for one commit to an item: none, one or two. */
export function recordChange(
  account: StoredAccount,
  container: StoredContainer,
  before: StoredVersion | undefined,
  after: StoredVersion | undefined,
  lsn: number,
  at: number,
  live = container.isLive(before, at),
): void {
  const item = (after ?? before)?.item;
  if (!item) return;
  const note = (
    kind: StoredChange['kind'],
    current: StoredVersion | undefined,
    previous: StoredVersion | undefined,
  ): void => {
    const change: StoredChange = {
      lsn,
      at,
      kind,
      home: item.home,
      id: item.id,
      current: current?.text,
      previous: account.previousImages ? previous?.text : undefined,
      previousLsn: previous?.lsn,
      expired: kind === 'delete' && !live,
    };
    container.rangeOf(item.home.epk).changes.push(change);
    account.journal?.change(container, change);
  };
  // An item that had expired without being purged is deleted first, as an entry of its own.
  if (before && (!live || !after)) note('delete', undefined, before);
  if (after) note(live ? 'replace' : 'create', after, live ? before : undefined);
}

/** Forgets the changes that are older than the retention. */
export function forgetOld(account: StoredAccount, container: StoredContainer): void {
  const oldest = account.now() - container.retentionMs;
  for (const range of container.ranges) {
    const kept = range.changes.findIndex(({ at }) => at >= oldest);
    const count = kept === -1 ? range.changes.length : kept;
    if (count === 0) continue;
    range.forgottenLsn = Math.max(range.forgottenLsn, range.changes[count - 1]!.lsn);
    range.changes = range.changes.slice(count);
  }
  account.journal?.forgetChanges(container, oldest);
}

/** Begins to keep changes: all earlier ones count as forgotten. */
export function beginChanges(ranges: readonly PhysicalPartition[]): void {
  for (const range of ranges) {
    range.changes = [];
    range.forgottenLsn = range.lsn;
  }
}
