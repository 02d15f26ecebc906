import { hostname } from 'node:os';
import type { Container, CosmosClient } from '@azure/cosmos';
import type { AccountSettings, Settings } from '../base/settings.ts';
import { bulkMarks, checkAccount, connect } from '../cosmos/connect.ts';
import { Shares } from '../cosmos/shares.ts';
import { limitSpending, shareSpending } from '../cosmos/spending.ts';
import type { ContainerClient } from '@azure/storage-blob';
import type { Services } from './workspace.ts';
import { blobContainer } from './blob-container.ts';
import { eventHubs } from './event-hubs.ts';

export interface OpenServices extends Services {
  /** Closes the clients' connections. */
  close(): void;
}

/**
 * Connects to the accounts of the settings, and sends each one request.
 * @throws UsageError `account-unreachable`, `account-denied`, `multi-region-writes`
 */
export async function openServices(settings: Settings): Promise<OpenServices> {
  const { cosmos: account, leases, database, stateContainer } = settings;
  // Its budget is shared, and set below.
  const cosmos = await openAccount(account, { preferredRegions: settings.preferredRegions });
  const apart = leases.account.endpoint !== account.endpoint;
  const leaseClient = apart ? await openAccount(leases.account, settings, { setting: 'LEASES' }) : cosmos;
  const main = cosmos.database(database);
  const leaseDatabase = apart || leases.database !== database ? leaseClient.database(leases.database) : main;
  const state = main.container(stateContainer);
  const shares = settings.ruBudget === undefined ? undefined : shareBudget(cosmos, settings.ruBudget, state, database);
  let blobs: Promise<ContainerClient> | undefined;
  let bulk: Promise<Services> | undefined;
  const hubs = eventHubs(settings);
  const services: OpenServices = {
    cosmos,
    database: main,
    leaseDatabase,
    leases: leaseDatabase.container(leases.container),
    state,
    blobs: () => (blobs ??= blobContainer(settings)),
    hubs,
    inBulk: () => {
      bulk ??= inBulk(services, settings);
      bulk.catch(() => (bulk = undefined));
      return bulk;
    },
    close: () => {
      void hubs.close();
      void bulk?.then(({ cosmos: client }) => client.dispose());
      // The share is given back with the client that is disposed of.
      void (shares?.close() ?? Promise.resolve()).finally(() => cosmos.dispose());
      if (apart) leaseClient.dispose();
    },
  };
  return services;
}

/** All processes with this setting keep to the budget of the database together. */
function shareBudget(cosmos: CosmosClient, ruPerSecond: number, state: Container, database: string): Shares {
  const shares = new Shares({ state, database, ruPerSecond, name: `${hostname()} ${process.pid}` });
  limitSpending(cosmos, ruPerSecond, undefined, (of) => (of === database ? shares : undefined));
  return shares;
}

async function inBulk(services: Services, settings: Settings): Promise<Services> {
  const { cosmos: account, preferredRegions, bulkBucket } = settings;
  const cosmos = connect(account, preferredRegions, bulkMarks(bulkBucket));
  shareSpending(services.cosmos, cosmos);
  const database = cosmos.database(services.database.id);
  const leaseDatabase = services.leaseDatabase === services.database ? database : services.leaseDatabase;
  return { ...services, cosmos, database, leaseDatabase };
}

/**
 * Connects to one account, and sends one request. Reads and writes there respect the budget of this process. `setting`:
 * the one that names the account, for messages.
 * @throws UsageError `account-unreachable`, `account-denied`, `multi-region-writes`
 */
export async function openAccount(
  account: AccountSettings,
  { preferredRegions, ruBudget }: Partial<Pick<Settings, 'preferredRegions' | 'ruBudget'>> = {},
  { setting, ...marks }: { readonly setting?: string } & Partial<ReturnType<typeof bulkMarks>> = {},
): Promise<CosmosClient> {
  const client = connect(account, preferredRegions, marks);
  if (ruBudget !== undefined) limitSpending(client, ruBudget);
  await checkAccount(client, account.endpoint, setting).catch((error: unknown) => {
    client.dispose();
    throw error;
  });
  return client;
}
