import type { Account } from './account.ts';
import { forgetOld } from './changes.ts';
import { deleteCharge } from './charge.ts';
import type { Container } from './container.ts';
import { expiry } from './item.ts';
import { left, rateOf, spend } from './throughput.ts';
import { Transaction } from './transaction.ts';

/** Deletes what has expired, unless told not to. Readers hide it at once; this is the later purge, which moves the lsn. */
export function sweep(account: Account): void {
  if (account.faults.purge !== false) purge(account);
}

/** The same on command. Where throughput is enforced it takes no more than half of what a partition has. */
export function purge(account: Account): void {
  const now = account.now();
  for (const { containers } of account.databases.values()) {
    for (const container of containers.values()) {
      if (mayExpire(container)) purgeContainer(account, container, now);
      if (container.allVersions) forgetOld(account, container);
    }
  }
}

/** Whether anything in it can expire. */
export function mayExpire({ defaultTtl, expiring }: Container): boolean {
  return defaultTtl !== undefined && (defaultTtl !== -1 || expiring > 0);
}

function purgeContainer(account: Account, container: Container, now: number): void {
  const rate = rateOf(account, container);
  for (const home of container.logical.values()) {
    for (const [id, { current }] of home.items) {
      if (current === undefined || expiry(current, container.defaultTtl) > now) continue;
      if (rate !== undefined) {
        if (left(account, rate / container.ranges.length, home.range) < rate / container.ranges.length / 2) break;
        spend(account, container, [home.range], deleteCharge(current.size));
      }
      const tx = new Transaction(account, container, home);
      tx.remove(id);
      tx.commit();
    }
  }
}
