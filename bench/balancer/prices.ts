import { randomUUID } from 'node:crypto';
import { CosmosClient } from '@azure/cosmos';
import { startEmulator } from '../../src/emulator/index.ts';
import { CosmosLeaseStore } from '../../src/feed/leases/cosmos-lease-store.ts';
import { newLeaseDocument } from '../../src/feed/leases/lease-document.ts';
import type { Lease } from '../../src/feed/leases/lease.ts';
import type { FeedRange } from '../../src/cosmos/ranges.ts';

/** The calls of a lease store that cost something while leases move. */
export type Call = 'list' | 'acquire' | 'renew' | 'takeOver' | 'handOver' | 'read';
export type Prices = Readonly<Record<Call, number>>;

/** What each call of the real store costs where there are so many leases, by the embedded server's measure. */
export async function prices(ranges: readonly FeedRange[]): Promise<Prices> {
  const server = await startEmulator({ seed: 1, faults: { indexFrom: 0 } });
  const client = new CosmosClient(server.clientOptions);
  try {
    const { database } = await client.databases.create({ id: 'leases' });
    const { container: monitored } = await database.containers.create({ id: 'Source', partitionKey: '/key' });
    const { container: leases } = await database.containers.create({
      id: 'leases',
      partitionKey: '/id',
      defaultTtl: -1,
    });
    const prefix = randomUUID();
    for (const range of ranges) await leases.items.create(newLeaseDocument(prefix, undefined, range, '"1000000"'));
    const [one, other] = ['one', 'other'].map((host) => new CosmosLeaseStore({ monitored, leases, host, prefix }));
    if (!one || !other) throw new Error('There are no stores');
    const { signal } = new AbortController();
    await one.prepare(signal);
    await other.prepare(signal);
    // The first list of each is what `prepare` has found.
    await Promise.all([one.list(), other.list()]);
    const priced = async <T>(call: () => Promise<T>): Promise<[T, number]> => {
      const before = server.stats().charge;
      const value = await call();
      return [value, server.stats().charge - before];
    };
    const [[first, second], list] = await priced(() => one.list());
    if (!first || !second) throw new Error('The store lists too few leases');
    const [mine, acquire] = await priced(() => taken(one.acquire(first)));
    const [, read] = await priced(() => one.read(mine));
    const [renewed, renew] = await priced(() => one.renew(mine, '"1000001"'));
    await taken(one.acquire(second));
    const stolen = async ({ id }: Lease): Promise<Lease> => {
      const lease = (await other.list()).find((each) => each.id === id);
      return taken(lease && other.acquire(lease, 'owner'));
    };
    await stolen(first);
    const [, handOver] = await priced(() => one.handOver(renewed, '"1000001"'));
    const theirs = await stolen(second);
    const [, takeOver] = await priced(() => other.takeOver(theirs));
    return { list, acquire, renew, takeOver, handOver, read };
  } finally {
    client.dispose();
    await server.close();
  }
}

async function taken(lease: Promise<Lease | undefined> | Lease | undefined): Promise<Lease> {
  const found = await lease;
  if (!found) throw new Error('A lease was not to be had');
  return found;
}
