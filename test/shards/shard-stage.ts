import { CosmosClient, type CosmosClientOptions, type Database } from '@azure/cosmos';
import { afterAll } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { systemClock } from '../../src/base/clock.ts';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import { ShardMapManager, type ShardMapManagerOptions, type ShardSchema } from '../../src/shards/index.ts';

type Transport = Required<CosmosClientOptions>['httpClient'];
type Sent = Parameters<Transport['sendRequest']>[0];
type Answer = Awaited<ReturnType<Transport['sendRequest']>>;
export type Around = (request: Sent, send: () => Promise<Answer>) => Promise<Answer>;

export const bodyOf = ({ body }: Sent): string => (typeof body === 'string' ? body : '');

export const SCHEMA: ShardSchema = { sharded: { Orders: '/tenantId' }, reference: ['Currencies'] };

export interface Stored {
  readonly id: string;
  readonly pk: string;
  readonly [field: string]: unknown;
}

/** Pauses take no time, because on one server no reading is stale. */
const clock: Clock = { ...systemClock, sleep: () => Promise.resolve() };

const FIRST_MAPS = 'm1';

/** An embedded server with databases for maps and shards. */
export class ShardStage implements AsyncDisposable {
  readonly emulator: Emulator;
  readonly #clients: CosmosClient[] = [];
  #databases = 0;

  private constructor(emulator: Emulator) {
    this.emulator = emulator;
  }

  static async open(): Promise<ShardStage> {
    // A router writes `routers` alone, in the first database of maps.
    const router = [{ role: 'reader' }, { role: 'contributor', scope: `${FIRST_MAPS}/routers` }] as const;
    const principals = { router, administrator: 'contributor', looker: 'reader', stranger: [] } as const;
    return new ShardStage(await startEmulator({ seed: 1, principals, tls: true }));
  }

  /** A client of a process of its own. */
  client(around: Around = (_, send) => send(), credential: Partial<CosmosClientOptions> = {}): CosmosClient {
    const { httpClient, endpoint, key } = this.emulator.clientOptions as Required<CosmosClientOptions>;
    const sendRequest: Transport['sendRequest'] = (request) => around(request, () => httpClient.sendRequest(request));
    const signIn = credential.aadCredentials ? credential : { key };
    const retryOptions = { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 };
    const made = new CosmosClient({
      endpoint,
      httpClient: { sendRequest },
      connectionPolicy: { retryOptions },
      ...signIn,
    });
    this.#clients.push(made);
    return made;
  }

  /** The name of a new database with the containers that a shard must have. */
  async shardDatabase(containers: Readonly<Record<string, string>> = {}, id = this.#name('s')): Promise<string> {
    const all = { shardmap: '/pk', Orders: '/tenantId', Currencies: '/code', ...containers };
    return this.#database(id, all);
  }

  /** Options of a manager whose database has no store yet. */
  async options(around?: Around): Promise<ShardMapManagerOptions> {
    return this.optionsOf(await this.#database(this.#name('m'), { shardmaps: '/pk', routers: '/pk' }), around);
  }

  /** The same with pauses that take their time. */
  async pausingOptions(): Promise<ShardMapManagerOptions> {
    return { ...(await this.options()), clock: systemClock };
  }

  /** As another process would open them. */
  optionsOf(database: string, around?: Around): ShardMapManagerOptions {
    const client = this.client(around);
    return {
      database: client.database(database),
      connect: (to) => client.database(to.database),
      clock,
      shardWithinMs: 0,
    };
  }

  async manager(): Promise<ShardMapManager> {
    return ShardMapManager.create(await this.options());
  }

  database(name: string): Database {
    return this.client().database(name);
  }

  async copyOf(database: string, container = 'shardmap'): Promise<Stored[]> {
    const { items } = this.database(database).container(container);
    return (await items.query<Stored>('SELECT * FROM c').fetchAll()).resources;
  }

  /** The container is as it was at the time of the copy. */
  async restore(database: string, old: readonly Stored[], name = 'shardmap'): Promise<void> {
    await this.remove(database, name);
    for (const document of old) await this.database(database).container(name).items.upsert(document);
  }

  async remove(database: string, name: string, partition?: string): Promise<void> {
    const container = this.database(database).container(name);
    for (const { id, pk } of await this.copyOf(database, name))
      if (partition === undefined || pk === partition) await container.item(id, pk).delete();
  }

  #name(prefix: string): string {
    return `${prefix}${(this.#databases += 1)}`;
  }

  async #database(id: string, containers: Readonly<Record<string, string>>): Promise<string> {
    const { database } = await this.client().databases.create({ id });
    for (const [name, partitionKey] of Object.entries(containers))
      if (partitionKey !== '') await database.containers.create({ id: name, partitionKey, defaultTtl: -1 });
    return id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.dispose();
    await this.emulator.close();
  }
}

/** A server for the tests of one file, with a manager of its own. */
export async function useShardMaps(): Promise<{
  readonly stage: ShardStage;
  readonly options: ShardMapManagerOptions;
  readonly manager: ShardMapManager;
}> {
  const stage = await ShardStage.open();
  afterAll(() => stage[Symbol.asyncDispose]());
  const options = await stage.options();
  return { stage, options, manager: await ShardMapManager.create(options) };
}
