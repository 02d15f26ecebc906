import type { Container } from '@azure/cosmos';
import { failureOf } from '../../cosmos/failure.ts';
import { ridOf } from '../../cosmos/rid.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { CosmosLeaseStore } from './cosmos-lease-store.ts';
import { type Lease, LeaseLost, type LeaseStore } from './lease.ts';

export interface ReadersOptions {
  /** The container whose readers are asked for, and the address of its account. */
  readonly monitored: Container;
  readonly endpoint: string;
  /** The lease container. If it doesn't exist, nothing is read. */
  readonly leases: Container;
  /** The owner that takes leases for a moment. */
  readonly host: string;
}

/** The leases of all processors that read a container, whatever their names. */
export async function leaseReadersOf({ monitored, endpoint, leases, host }: ReadersOptions): Promise<LeaseStore[]> {
  const { hostname } = new URL(endpoint);
  const part = `${hostname}_${await ridOf(monitored.database)}_${await ridOf(monitored)}`;
  const query = {
    query: 'SELECT VALUE c.id FROM c WHERE CONTAINS(c.id, @part)',
    parameters: [{ name: '@part', value: `${part}..` }],
  };
  const read = (): Promise<{ readonly resources: string[] }> => leases.items.query<string>(query).fetchAll();
  const { resources } = await withRetry(read, { reads: true }).catch((error: unknown) => {
    if (failureOf(error).kind !== 'not-found') throw error;
    return { resources: [] };
  });
  const prefixes = new Set(resources.map((id) => id.slice(0, id.indexOf(part) + part.length)));
  return [...prefixes].map((prefix) => new CosmosLeaseStore({ monitored, leases, host, prefix }));
}

/**
 * Ends every tenure of a processor that runs now: each lease is taken, and given back. A tenure that begins later reads
 * the epoch first (`confirmedEpoch`). The former owner stores what it has done, as when another host takes the lease; until
 * it has, the next one waits.
 */
export async function renewTenures(store: LeaseStore): Promise<void> {
  await Promise.all((await store.list()).map((lease) => renewTenure(store, lease)));
}

async function renewTenure(store: LeaseStore, listed: Lease): Promise<void> {
  let lease = listed;
  let taken: Lease | undefined;
  while (!taken) {
    taken = await store.acquire(lease, lease.owner === null ? 'nobody' : 'owner');
    if (taken) break;
    const now = await store.read(lease);
    // It was split, or a tenure has begun since it was listed.
    if (!now || (now.tenure !== undefined && now.tenure !== listed.tenure)) return;
    lease = now;
  }
  for (;;) {
    try {
      return await store.release(taken);
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      // The former owner has answered, which changed the ETag. Otherwise another host has it, in a tenure of its own.
      const now = await store.read(taken);
      if (!now || now.tenure !== taken.tenure) return;
      taken = now;
    }
  }
}
