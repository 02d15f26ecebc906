import type { Container, CosmosClient } from '@azure/cosmos';
import { CosmosLeaseStore, type CosmosLeaseStoreOptions } from '../../src/feed/leases/cosmos-lease-store.ts';
import type { Emulator, EmulatorOptions } from '../../src/emulator/index.ts';
import { clientOf, emulate } from '../emulator/emulate.ts';

export type Stored = { readonly id: string } & Record<string, unknown>;

export interface StoreOptions extends Partial<Pick<CosmosLeaseStoreOptions, 'prefix' | 'mode' | 'clock'>> {
  readonly session?: boolean;
  /** Another lease container of the same database. */
  readonly leases?: string;
  /** One of another account. */
  readonly container?: Container;
}

/** A server with a container `c` of `partitions` physical partitions and a lease container. */
export interface LeaseStage {
  readonly emulator: Emulator;
  readonly monitored: Container;
  readonly leases: Container;
  /** A host of its own: its own client, so its own session. Without a session its reads lag as the server makes them. */
  readonly store: (host: string, of?: StoreOptions) => CosmosLeaseStore;
  /** All documents of the lease container as they are now. */
  readonly documents: () => Promise<Stored[]>;
}

export async function leaseStage(partitions = 1, options: EmulatorOptions = {}): Promise<LeaseStage> {
  const { emulator, database, container } = await emulate({ throughput: 6_000 * partitions }, options);
  const { container: leases } = await database.containers.create({
    id: 'leases',
    partitionKey: { paths: ['/id'] },
    defaultTtl: -1,
  });
  return {
    emulator,
    monitored: container,
    leases,
    store: (host, { prefix = 'P', session = true, leases: other, container: elsewhere, ...of } = {}) => {
      const client: CosmosClient = clientOf(emulator, session);
      const own = client.database(database.id);
      return new CosmosLeaseStore({
        monitored: own.container(container.id),
        leases: elsewhere ?? own.container(other ?? leases.id),
        host,
        prefix,
        ...of,
      });
    },
    documents: async () => (await leases.items.readAll<Stored>().fetchAll()).resources,
  };
}
