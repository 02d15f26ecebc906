import type { CosmosClient, CosmosClientOptions, Database } from '@azure/cosmos';
import type { AccountSettings, SettingsSource } from '../../base/accounts.ts';
import { checkAccount, connect } from '../../cosmos/connect.ts';
import { type ShardLocation, addressOf } from '../map/documents.ts';

/**
 * What a client is for: `administration` changes maps, `routing` reads them and writes the routers' container,
 * `connection` reads and writes the documents of the application.
 */
export type ShardPurpose = 'administration' | 'routing' | 'connection';

/** How to sign in: an account key, or an identity as the identity library has them. */
export type ShardCredential = { readonly key: string } | ShardIdentity;
export type ShardIdentity = NonNullable<CosmosClientOptions['aadCredentials']>;

export interface PlacesOptions {
  /** The account of locations that name none. */
  readonly cosmos: AccountSettings;
  /** Other accounts that are signed in to by key. */
  readonly accounts?: readonly AccountSettings[];
  /** By purpose. Absent: the account's key, or the identity of the environment. */
  readonly identities?: Readonly<Partial<Record<ShardPurpose, ShardIdentity>>>;
  /** Azure region names, nearest first. Empty: each account's own order. */
  readonly preferredRegions?: readonly string[];
  /** For each client: its transport, or the marks of bulk work. */
  readonly client?: Pick<CosmosClientOptions, 'httpClient' | 'defaultHeaders' | 'throughputBucket'>;
  /** Called with each new client, before its first request. */
  readonly opened?: (client: CosmosClient) => void;
}

export interface ConnectOptions {
  /** Default: `connection`. */
  readonly purpose?: ShardPurpose;
  /** For this call, in place of the one of the purpose and of the account. */
  readonly credential?: ShardCredential;
}

/**
 * The places that a process works on: databases, and the accounts that they are in. Connections are dear, so it has one
 * client for each account and credential, whatever the number of databases. A process opens it once and closes it once.
 */
export class Places {
  readonly #options: PlacesOptions;
  /** By credential, then by the address of the account. `undefined`: as the account is signed in to. */
  readonly #clients = new Map<ShardCredential | undefined, Map<string, CosmosClient>>();
  readonly #checked = new WeakMap<CosmosClient, Promise<void>>();

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  /**
   * By the settings of the process: COSMOS or COSMOS__accountEndpoint, COSMOS_ACCOUNTS, COSMOS_PREFERRED_REGIONS.
   * @throws UsageError `setting-missing`, `setting-invalid`
   */
  static async ofSettings(
    options: Omit<PlacesOptions, 'cosmos' | 'accounts'> = {},
    source: SettingsSource = {},
  ): Promise<Places> {
    const { loadAccounts } = await import('../../base/settings.ts');
    return new Places({ ...loadAccounts(source), ...options });
  }

  /** The database of a location. Sends nothing, and needs no `this`, so it fits `ShardMapManagerOptions.connect`. */
  readonly connect = (location: ShardLocation, options: ConnectOptions = {}): Database =>
    this.#client(location, options).database(location.database);

  /**
   * The same, after one request to the account the first time.
   * @throws UsageError `unreachable`, `denied`, `multi-region-writes`
   */
  readonly open = async (location: ShardLocation, options: ConnectOptions = {}): Promise<Database> => {
    const client = this.#client(location, options);
    const { endpoint } = this.#account(location);
    const other = addressOf({ endpoint }) !== addressOf(this.#options.cosmos);
    const checked = this.#checked.get(client) ?? checkAccount(client, endpoint, other ? 'COSMOS_ACCOUNTS' : 'COSMOS');
    this.#checked.set(client, checked);
    // A failure is not cached: the next call may find the account back.
    checked.catch(() => this.#checked.delete(client));
    await checked;
    return client.database(location.database);
  };

  /** Closes the connections of all clients. */
  readonly close = (): void => {
    for (const clients of this.#clients.values()) for (const client of clients.values()) client.dispose();
    this.#clients.clear();
  };

  #client(location: ShardLocation, { purpose = 'connection', credential }: ConnectOptions): CosmosClient {
    const { identities, preferredRegions, client: more, opened } = this.#options;
    const account = this.#account(location);
    const signedIn = credential ?? identities?.[purpose];
    const clients = this.#clients.get(signedIn) ?? new Map<string, CosmosClient>();
    this.#clients.set(signedIn, clients);
    const address = addressOf(account);
    const known = clients.get(address);
    if (known) return known;
    const client = signIn(account, signedIn, preferredRegions, more);
    clients.set(address, client);
    opened?.(client);
    return client;
  }

  #account({ endpoint }: ShardLocation): AccountSettings {
    const { cosmos, accounts = [] } = this.#options;
    if (endpoint === undefined) return cosmos;
    const known = [cosmos, ...accounts].find((account) => addressOf(account) === addressOf({ endpoint }));
    return known ?? { kind: 'identity', endpoint };
  }
}

function signIn(
  account: AccountSettings,
  by: ShardCredential | undefined,
  regions: readonly string[] | undefined,
  more: PlacesOptions['client'],
): CosmosClient {
  const { endpoint } = account;
  if (by === undefined) return connect(account, regions, more);
  if ('key' in by) return connect({ kind: 'key', endpoint, key: by.key }, regions, more);
  return connect({ kind: 'identity', endpoint }, regions, { ...more, aadCredentials: by });
}
