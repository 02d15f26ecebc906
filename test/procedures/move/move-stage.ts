import { setTimeout as delay } from 'node:timers/promises';
import {
  type Container,
  CosmosClient,
  type CosmosClientOptions,
  type Database,
  type PluginConfig,
  PluginOn,
  type RequestContext,
} from '@azure/cosmos';
import { type Emulator, startEmulator } from '../../../src/emulator/index.ts';
import type { MoveOptions } from '../../../src/procedures/move/options.ts';
import { moveMapping } from '../../../src/procedures/move/move.ts';
import { type Router, openRouter } from '../../../src/shards/routing/router.ts';
import { type Mapping, type Shard, type ShardMap, ShardMapManager } from '../../../src/shards/index.ts';

/** The pause of a writer between two writes. */
const EVERY_MS = 20;
const { signal: NEVER } = new AbortController();

export interface Order {
  readonly id: string;
  readonly type: 'order';
  readonly tenantId: number;
  readonly n: number;
}

/** The list map `tenants` over the databases `west` and `east`; tenants 1 to 4 are in `west`, 5 in `east`. */
export class MoveStage implements AsyncDisposable {
  readonly emulator: Emulator;
  readonly client: CosmosClient;
  readonly map: ShardMap;
  readonly west: Shard;
  readonly east: Shard;
  readonly #clients: CosmosClient[] = [];

  private constructor(
    emulator: Emulator,
    { client, map, west, east }: Pick<MoveStage, 'client' | 'map' | 'west' | 'east'>,
  ) {
    this.emulator = emulator;
    this.client = client;
    this.map = map;
    this.west = west;
    this.east = east;
  }

  static async open(seed = 1, { state = true }: { readonly state?: boolean } = {}): Promise<MoveStage> {
    const emulator = await startEmulator({ seed });
    const client = new CosmosClient({ endpoint: emulator.endpoint, key: emulator.key });
    const create = async (id: string, containers: Readonly<Record<string, string>>): Promise<void> => {
      const { database } = await client.databases.create({ id });
      for (const [name, partitionKey] of Object.entries(containers))
        await database.containers.create({ id: name, partitionKey, defaultTtl: -1 });
    };
    await create('maps', { shardmaps: '/pk', routers: '/pk' });
    const own: Record<string, string> = state ? { millrace: '/pk' } : {};
    for (const id of ['west', 'east']) await create(id, { shardmap: '/pk', Orders: '/tenantId', ...own });
    await create('hosts', { leases: '/id' });
    const manager = await ShardMapManager.create(optionsOf(client));
    const map = await manager.createListMap('tenants', {
      keyType: 'int32',
      schema: { sharded: { Orders: '/tenantId' } },
    });
    const [west, east] = [await map.createShard({ database: 'west' }), await map.createShard({ database: 'east' })];
    for (const key of [1, 2, 3, 4, 5]) await map.createMapping({ shard: key === 5 ? east : west, key });
    return new MoveStage(emulator, { client, map, west, east });
  }

  orders({ location }: Shard): Container {
    return this.database(location.database).container('Orders');
  }

  database(id: string): Database {
    return this.client.database(id);
  }

  /** As another process would open it. `around` may hold up or cut its requests. */
  async optionsOfProcess(client = this.client, more: Partial<MoveOptions> = {}): Promise<MoveOptions> {
    const map = (await (await ShardMapManager.get(optionsOf(client))).tryGetMap('tenants'))!;
    return {
      map,
      maps: client.database('maps').container('shardmaps'),
      connect: ({ database }) => client.database(database),
      endpointOf: () => this.emulator.endpoint,
      stateContainer: 'millrace',
      leases: client.database('hosts').container('leases'),
      signal: NEVER,
      readLagMs: 0,
      graceMs: 300,
      ...more,
    };
  }

  /** A client whose requests go to another port of the same machine. */
  clientAt(port: number): CosmosClient {
    const made = new CosmosClient({
      endpoint: `http://127.0.0.1:${port}/`,
      key: this.emulator.key,
      connectionPolicy: {
        retryOptions: { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 },
      },
    });
    this.#clients.push(made);
    return made;
  }

  /** A client that does something before the first request of which the body and the path have these texts. */
  clientBefore(
    { path, body }: { readonly path: string; readonly body: string },
    work: () => Promise<void>,
  ): CosmosClient {
    let isDone = false;
    return this.clientAround(async (request, send) => {
      if (!isDone && request.path?.includes(path) && String(request.body).includes(body)) {
        isDone = true;
        await work();
      }
      return send();
    });
  }

  /** A client whose requests, without their retries, are sent by this. */
  clientAround(around: (request: RequestContext, send: () => Promise<unknown>) => Promise<unknown>): CosmosClient {
    const plugin: PluginConfig = {
      on: PluginOn.request,
      plugin: (request, _, next) => around(request, () => next(request)) as never,
    };
    const { endpoint, key } = this.emulator;
    const options: CosmosClientOptions & { readonly plugins: PluginConfig[] } = { endpoint, key, plugins: [plugin] };
    const made = new CosmosClient(options);
    this.#clients.push(made);
    return made;
  }

  router(): Promise<Router> {
    return openRouter('tenants', optionsOf(this.client));
  }

  async mapping(key: number): Promise<Mapping> {
    return this.map.mapping(key);
  }

  /** Moves a tenant, as one process does it. */
  async move(key: number, to: Shard, more: Partial<MoveOptions> = {}) {
    return moveMapping(await this.optionsOfProcess(this.client, more), await this.mapping(key), to);
  }

  /** The orders of a tenant in a shard, by their ids. */
  async stored(shard: Shard, tenantId: number): Promise<Order[]> {
    const query = 'SELECT c.id, c.type, c.tenantId, c.n FROM c WHERE NOT IS_DEFINED(c._mr.moved.gone)';
    const { resources } = await this.orders(shard).items.query<Order>(query, { partitionKey: tenantId }).fetchAll();
    return resources.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Whatever a shard has of a tenant. */
  async everything(shard: Shard, tenantId: number): Promise<unknown[]> {
    return (await this.orders(shard).items.readAll({ partitionKey: tenantId }).fetchAll()).resources;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of [...this.#clients, this.client]) client.dispose();
    await this.emulator.close();
  }
}

const optionsOf = (client: CosmosClient) => ({
  database: client.database('maps'),
  connect: ({ database }: { readonly database: string }) => client.database(database),
});

/** Writes orders of some tenants through routers, wherever the map has them, and knows what each must be. */
export class TenantWriters {
  readonly truth = new Map<string, Order>();
  count = 0;
  longestMs = 0;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #routers: Router[] = [];
  readonly #stage: MoveStage;

  constructor(stage: MoveStage) {
    this.#stage = stage;
  }

  async start({ tenants, routers = 2, each = 4 }: { tenants: readonly number[]; routers?: number; each?: number }) {
    for (let at = 0; at < routers; at++) {
      const router = await this.#stage.router();
      this.#routers.push(router);
      for (const tenant of tenants)
        for (let n = 0; n < each; n++) this.#running.push(this.#write(router, tenant, `${at}-${n}`));
    }
  }

  async #write(router: Router, tenantId: number, name: string): Promise<void> {
    for (let n = 0; !this.#stopping.signal.aborted; n++) {
      const order: Order = { id: `${name}-${n % 15}`, type: 'order', tenantId, n };
      const before = performance.now();
      using pass = await router.enter(tenantId);
      this.longestMs = Math.max(this.longestMs, performance.now() - before);
      await pass.container('Orders').items.upsert(order, { abortSignal: pass.signal });
      this.truth.set(`${tenantId}/${order.id}`, order);
      this.count += 1;
      await delay(EVERY_MS);
    }
  }

  /** Resolves when so many writes more were answered. */
  async more(count: number): Promise<void> {
    const until = this.count + count;
    const failed = Promise.all(this.#running);
    while (this.count < until) await Promise.race([delay(EVERY_MS), failed]);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
    for (const router of this.#routers) await router[Symbol.asyncDispose]();
  }

  expected(tenantId: number): Order[] {
    return [...this.truth.values()]
      .filter((order) => order.tenantId === tenantId)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }
}
