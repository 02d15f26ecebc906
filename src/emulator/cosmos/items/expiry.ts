import type { StoredAccount } from '../storage/account.ts';
import { forgetOld } from '../feed/record-change.ts';
import { deleteCharge } from '../time-and-charge/charge.ts';
import type { StoredContainer } from '../storage/container.ts';
import { expiry } from '../storage/logical-partition.ts';
import type { StoredItem } from '../storage/logical-partition.ts';
import { left, shareOf, spend } from '../storage/budget.ts';
import { Transaction } from './transaction.ts';

/** Deletes expired items, unless the faults forbid it. Readers hide an expired item immediately; this later purge moves the lsn. */
export function sweepExpired(account: StoredAccount): void {
  if (account.faults.purge !== false) purge(account);
}

/** Deletes expired items, whatever the faults say. With enforced throughput it uses at most half of a partition's RU/s. */
export function purge(account: StoredAccount): void {
  const now = account.now();
  for (const { containers } of account.databases.values()) {
    for (const container of containers.values()) {
      if (container.mayExpire) purgeContainer(account, container, now);
      if (container.allVersions) forgetOld(account, container);
    }
  }
}

function purgeContainer(account: StoredAccount, container: StoredContainer, now: number): void {
  const share = shareOf(account, container);
  for (const { current, home, id } of mayExpire(container)) {
    if (current === undefined || expiry(current, container.defaultTtl) > now) continue;
    if (share !== undefined) {
      const range = container.rangeOf(home.epk);
      if (left(account, share, range) < share / 2) continue;
      spend(account, container, [range], deleteCharge(current.size));
    }
    const tx = new Transaction(account, container, container.logical.get(home.text) ?? home);
    tx.remove(id);
    tx.commit();
  }
}

/** Without a default, only items with a time to live of their own. */
function* mayExpire({ defaultTtl, expiring, logical }: StoredContainer): Generator<StoredItem, void> {
  if (defaultTtl === -1) yield* expiring;
  else for (const { items } of logical.values()) yield* items.values();
}

/** Deletes the items with this id that have a time to live, as if it had passed; returns how many. */
export function expireNow(account: StoredAccount, container: StoredContainer, id: string): number {
  let expired = 0;
  for (const home of container.logical.values()) {
    const { current } = home.items.get(id) ?? {};
    if (current === undefined || expiry(current, container.defaultTtl) === Infinity) continue;
    const tx = new Transaction(account, container, home, account.now(), true);
    tx.remove(id);
    tx.commit();
    expired += 1;
  }
  return expired;
}
