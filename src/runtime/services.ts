import type { Settings } from '../base/settings.ts';
import { checkAccount, connect } from '../cosmos/connect.ts';
import type { ContainerClient } from '@azure/storage-blob';
import type { Services } from './workspace.ts';
import { blobContainer } from './blob-container.ts';
import { eventHubs } from './event-hubs.ts';

export interface OpenServices extends Services {
  /** Gives the clients' connections back. */
  close(): void;
}

/**
 * Connects to the accounts of the settings and asks each once.
 * @throws UsageError `account-unreachable`, `account-denied`, `multi-region-writes`
 */
export async function openServices(settings: Settings): Promise<OpenServices> {
  const { cosmos: account, leases, preferredRegions, database, stateContainer } = settings;
  const cosmos = await connect(account, preferredRegions);
  await checkAccount(cosmos, account.endpoint);
  const apart = leases.account.endpoint !== account.endpoint;
  const leaseClient = apart ? await connect(leases.account, preferredRegions) : cosmos;
  if (apart) await checkAccount(leaseClient, leases.account.endpoint, 'LEASES');
  const main = cosmos.database(database);
  const leaseDatabase = apart || leases.database !== database ? leaseClient.database(leases.database) : main;
  let blobs: Promise<ContainerClient> | undefined;
  const hubs = eventHubs(settings);
  return {
    cosmos,
    database: main,
    leaseDatabase,
    leases: leaseDatabase.container(leases.container),
    state: main.container(stateContainer),
    blobs: () => (blobs ??= blobContainer(settings)),
    hubs,
    close: () => {
      void hubs.close();
      cosmos.dispose();
      if (apart) leaseClient.dispose();
    },
  };
}
