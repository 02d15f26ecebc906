import type { StoredAccount } from '../storage/account.ts';
import { deleteCharge } from '../time-and-charge/charge.ts';
import type { StoredContainer } from '../storage/container.ts';
import { itemHeaders, reply } from '../wire/reply.ts';
import { storedCovers, demanded, storedTargetOf } from '../storage/target.ts';
import { Transaction } from '../items/transaction.ts';
import { header } from '../wire/wire.ts';
import type { WireCall, Reply } from '../wire/wire.ts';

/** Deletes every item of a key, or of a key prefix. The service does this later; this server does it before it answers. */
export function deleteByKey(account: StoredAccount, call: WireCall, container: StoredContainer): Reply {
  demanded(header(call.headers, 'x-ms-documentdb-partitionkey'));
  const target = storedTargetOf(call, container);
  let charge = 1;
  for (const home of container.logical.values()) {
    if (!storedCovers(target, home)) continue;
    const tx = new Transaction(account, container, home);
    for (const { id, current } of home.items.values()) {
      charge += current ? deleteCharge(current.size) : 0;
      tx.remove(id);
    }
    tx.commit();
  }
  return reply(200, charge, itemHeaders(container, target.partitions), '{}');
}
