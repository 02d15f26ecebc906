import { exactParse } from '../wire/exact-json.ts';
import type { StoredAccount } from '../storage/account.ts';
import type { StoredDatabase, Throughput } from '../storage/holdings.ts';
import { beginChanges } from '../feed/record-change.ts';
import type { StoredContainer } from '../storage/container.ts';
import type { StoredVersion } from '../storage/logical-partition.ts';
import { addContainer } from './resources.ts';
import { Transaction } from '../items/transaction.ts';
import type { WireDoc } from '../wire/wire.ts';

/**
 * Restores a container's state of `time` into a new container of the same name: it has a new resource id, lsns that begin
 * again, new etags and the old times of writing. `Faults.historyMs` limits how far back `time` may be.
 * @returns the number of items
 */
export function restore(
  account: StoredAccount,
  database: StoredDatabase,
  before: StoredContainer,
  throughput: Throughput | undefined,
  time: number,
): number {
  const versions = stateAt(before, time);
  const after = addContainer(account, database, before.definition, throughput);
  for (const { item, at, text } of versions) {
    const tx = new Transaction(account, after, after.open(item.home.key), at);
    tx.put(item.id, exactParse(text) as WireDoc);
    tx.commit();
  }
  for (const range of after.ranges) range.undo.forget(range.lsn);
  if (after.allVersions) {
    beginChanges(after.ranges);
    account.journal?.rewriteChanges(after);
  }
  return versions.length;
}

/** The versions of `time`, in the order of their writes. */
function stateAt({ ranges }: StoredContainer, time: number): StoredVersion[] {
  const found: StoredVersion[] = [];
  for (const { undo, lsn, log } of ranges) {
    const past = undo.since(undo.lsnAt(time, 0, lsn));
    for (const version of log) if (version.item.current === version && !past.has(version.item)) found.push(version);
    for (const version of past.values()) if (version) found.push(version);
  }
  return found.toSorted((a, b) => a.at - b.at || a.lsn - b.lsn);
}
