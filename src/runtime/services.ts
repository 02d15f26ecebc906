import type { CosmosClient, CosmosClientOptions, Database } from '@azure/cosmos';
import type { AccountSettings } from '../base/accounts.ts';
import type { Settings } from '../base/settings.ts';
import { once } from '../base/once.ts';
import { bulkMarks, checkAccount, connect } from '../cosmos/connect.ts';
import { limitSpending, shareSpending } from '../cosmos/budget/meter.ts';
import type { ShardLocation } from '../shards/map/documents.ts';
import { Places } from '../shards/places/places.ts';
import { blobContainer } from './blob-container.ts';
import { Budgets } from './hosts/budgets.ts';
import { eventHubs } from './event-hubs.ts';
import type { Global, Place, Services } from './workspace.ts';

export interface OpenServices extends Services {
  /** Closes the clients' connections. */
  close(): void;
}

/** How requests get to an account; empty: by HTTP. */
export type Transport = Pick<CosmosClientOptions, 'httpClient'>;

/**
 * Connects to the accounts of the settings, and sends each one request. `transport`: that of an embedded server in this
 * process, which all these accounts are then on.
 * @throws UsageError `unreachable`, `denied`, `multi-region-writes`
 */
export async function openServices(settings: Settings, transport: Transport = {}): Promise<OpenServices> {
  const { cosmos: account, leases, stateContainer, ruBudget, bulkBucket } = settings;
  const budgets = ruBudget === undefined ? undefined : new Budgets(ruBudget);
  const live = new Places({ ...settings, client: transport, opened: (client) => budgets?.limit(client) });
  const bulk = new Places({ ...settings, client: { ...transport, ...bulkMarks(bulkBucket) } });
  const home = await live.open({ database: settings.database });
  const apart = leases.account.endpoint !== account.endpoint;
  const leaseClient = apart ? await openAccount(leases.account, settings, { setting: 'LEASES' }) : home.client;
  const leaseDatabase = apart || leases.database !== home.id ? leaseClient.database(leases.database) : home;
  const state = home.container(stateContainer);
  const global: Global = {
    home: { endpoint: account.endpoint, database: home, state },
    state,
    leaseDatabase,
    leases: leaseDatabase.container(leases.container),
  };
  const hubs = eventHubs(settings);
  const shared = { global, places: live, hubs, blobs: once(() => blobContainer(settings)) };

  const on = (location: ShardLocation, database: Database): Services => {
    const { endpoint = account.endpoint } = location;
    const place: Place = {
      endpoint,
      database,
      state: database === home ? state : database.container(stateContainer),
    };
    budgets?.share(place);
    const at = async (other: ShardLocation): Promise<Services> => on(other, await live.open(other));
    const inBulk = once(async (): Promise<Services> => {
      const marked = bulk.connect(location);
      shareSpending(database.client, marked.client);
      const inBulkHome = database === home ? marked : bulk.connect({ database: home.id });
      return {
        ...shared,
        place: { ...place, database: marked },
        global: {
          ...global,
          home: { ...global.home, database: inBulkHome },
          ...(leaseDatabase === database && { leaseDatabase: marked }),
        },
        inBulk,
        at: async (other) => (await at(other)).inBulk(),
      };
    });
    return { ...shared, place, inBulk, at };
  };

  return {
    ...on({ database: home.id }, home),
    close: () => {
      void hubs.close();
      bulk.close();
      // The shares are given back with the clients that are closed.
      void (budgets?.close() ?? Promise.resolve()).finally(live.close);
      if (apart) leaseClient.dispose();
    },
  };
}

/**
 * Connects to one account, and sends one request. Reads and writes there respect the budget of this process. `setting`:
 * the one that names the account, for messages.
 * @throws UsageError `unreachable`, `denied`, `multi-region-writes`
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
