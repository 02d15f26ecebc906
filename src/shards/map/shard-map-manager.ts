import { randomUUID } from 'node:crypto';
import type { Container, ContainerDefinition, Database } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { MillraceError, UsageError } from '../../base/errors.ts';
import { formatOf } from '../../base/format.ts';
import { isObject } from '../../base/json.ts';
import { isDatabaseMissing, missingError } from '../../cosmos/container-missing.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';
import { LIST_MAPS, shardsError } from '../errors.ts';
import { ROUTERS_CONTAINER, shardGateStore } from '../gate/shard-gate-store.ts';
import { type Closed, ShardGates } from '../gate/shard-gates.ts';
import { KEY_TYPES, type KeyTypeName } from '../keys/key-type.ts';
import { allOf, cosmosSheet } from './cosmos-sheet.ts';
import { noStore, throwDenied } from './access-denied.ts';
import {
  HEADER_ID,
  LOCAL_CONTAINER,
  MAP_CONTAINER,
  type LocalHeader,
  type MapHeader,
  type MapKind,
  type ShardLocation,
  type ShardSchema,
  isSameLocation,
  localPartition,
  mapPartition,
  shownLocation,
} from './documents.ts';
import { fenceSetter } from './fences.ts';
import { isSameFacts } from './forms.ts';
import { operationsOf } from './operations.ts';
import { shardsOf } from './plans.ts';
import { EMPTY_DIGEST, Sheet } from './header-guarded-partition.ts';
import { ShardMap } from './shard-map.ts';

export interface ShardMapManagerOptions {
  /** The database of the maps. It is no shard. Its container `shardmaps` has the key `/pk` and the default time to live -1. */
  readonly database: Database;
  /** Opens the database of a shard, with a client of its account. */
  readonly connect: (location: ShardLocation) => Database;
  readonly clock?: Clock;
  /** A shard that gives no answer for this long counts as one that can't be reached, milliseconds. Default 10,000. */
  readonly shardWithinMs?: number;
  /**
   * True: `create` creates the database of the maps with `shardmaps` and `routers`, and `createShard` and repairs create
   * `shardmap` in the database of a shard, where they are missing. That needs the key of the account. Default: false.
   */
  readonly createContainers?: boolean;
  /** True: it is opened for one call, beside the manager of the process, and doesn't count for `shard-map-manager-opened`. */
  readonly brief?: boolean;
}

export interface NewShardMap {
  readonly keyType: KeyTypeName;
  readonly schema: ShardSchema;
}

interface StoreDocument {
  readonly id: 'store';
  readonly pk: 'store';
  readonly type: 'millrace.mapstore';
  readonly created: string;
}

const MOST_NAME = 50;
const MAP_WITHIN_MS = 60_000;

/** How many managers this process has opened, by what each store was created with: databases of two accounts may have one name. */
const opened = new Map<string, number>();

/** Shard maps of one database, by their names. A process opens one manager for it. */
export class ShardMapManager {
  readonly #options: ShardMapManagerOptions;
  readonly #clock: Clock;
  readonly #container: Container;
  readonly #shardWithinMs: number;
  readonly #maps = new Map<string, { readonly created: string; readonly map: ShardMap }>();

  private constructor(options: ShardMapManagerOptions, store: string) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#shardWithinMs = options.shardWithinMs ?? 10_000;
    this.#container = options.database.container(MAP_CONTAINER);
    if (options.brief) return;
    const before = opened.get(store) ?? 0;
    if (before === 1)
      process.emitWarning(`This process has opened the shard maps of database ${options.database.id} more than once.`, {
        type: 'MillraceWarning',
        code: 'shard-map-manager-opened',
        detail: 'Each manager reads the maps for itself. Open one, and use it everywhere.',
      });
    opened.set(store, before + 1);
  }

  /** Creates the store of shard maps. @throws MillraceError `exists`; UsageError `container-missing` */
  static async create(options: ShardMapManagerOptions): Promise<ShardMapManager> {
    const container = options.database.container(MAP_CONTAINER);
    if (options.createContainers) {
      const { database } = await options.database.client.databases.createIfNotExists({ id: options.database.id });
      for (const id of [MAP_CONTAINER, ROUTERS_CONTAINER]) await createOwn(database, id);
    }
    const hint = 'Create it with `createContainers: true` and the key of the account, or with `millrace shards init`.';
    const missing = async (cause: unknown): Promise<Error> => {
      const { code, message } = await missingError(container, cause);
      return UsageError.from({ code, message, hint }, { cause });
    };
    const definition = await definitionOf(container, missing, options);
    if (firstPath(definition) !== '/pk' || definition.defaultTtl === undefined)
      throw sharedError('container-unfit', `The container ${MAP_CONTAINER} of ${options.database.id} can't have maps`, {
        hint: 'Create the container with the partition key `/pk` and a default time to live of -1.',
      });
    const store: StoreDocument = {
      id: 'store',
      pk: 'store',
      type: 'millrace.mapstore',
      ...formatOf('mapstore'),
      created: randomUUID(),
    };
    await rewrite(container, store, (stored?: StoreDocument) => {
      if (!stored || stored.created === store.created) return stored ?? store;
      throw sharedError('exists', `Database ${options.database.id} has a store of shard maps already`, {
        hint: 'Use `ShardMapManager.get`.',
      });
    });
    return new ShardMapManager(options, store.created);
  }

  /** @throws MillraceError `not-found`; FormatUnreadable */
  static async get(options: ShardMapManagerOptions): Promise<ShardMapManager> {
    const manager = await ShardMapManager.tryGet(options);
    if (manager) return manager;
    throw await noStore(options.database);
  }

  /** Undefined: the database has no store of shard maps. @throws FormatUnreadable */
  static async tryGet(options: ShardMapManagerOptions): Promise<ShardMapManager | undefined> {
    const container = options.database.container(MAP_CONTAINER);
    const stored = await readItem<StoreDocument>(container.item('store', 'store')).catch(throwDenied(container));
    return stored && new ShardMapManager(options, stored.created);
  }

  /** @throws MillraceError `exists`; UsageError `option-invalid` */
  createListMap(name: string, map: NewShardMap): Promise<ShardMap> {
    return this.#create(name, 'list', map);
  }

  /** @throws MillraceError `exists`; UsageError `option-invalid` */
  createRangeMap(name: string, map: NewShardMap): Promise<ShardMap> {
    return this.#create(name, 'range', map);
  }

  /** @throws MillraceError `not-found` */
  async getMap(name: string): Promise<ShardMap> {
    const map = await this.tryGetMap(name);
    if (map) return map;
    throw sharedError('not-found', `There is no shard map ${name}`, LIST_MAPS);
  }

  /** Undefined: there is no map of this name; names that differ in case only are one name. */
  async tryGetMap(name: string): Promise<ShardMap | undefined> {
    const sheet = this.#sheet(name);
    const stored = await sheet.header();
    return stored && this.#open(stored.header, sheet);
  }

  /** Deletes a map without shards. A map that doesn't exist is no error. @throws MillraceError `wrong-state` */
  async deleteMap(name: string): Promise<void> {
    const sheet = this.#sheet(name);
    for (;;) {
      const map = await this.tryGetMap(name);
      if (!map) return void this.#maps.delete(mapPartition(name));
      await map.settle();
      const whole = await sheet.whole();
      if (!whole || operationsOf(whole).some(({ state }) => state === 'pending')) continue;
      if (shardsOf(whole).length > 0)
        throw sharedError('wrong-state', `The shard map ${name} has shards`, {
          hint: 'Delete its mappings and shards first.',
        });
      await sheet.drop(whole);
    }
  }

  /**
   * Creates a map again that was lost, from the local maps of its shards: with the ids that its shards and mappings had,
   * without locks. A map that is there keeps what it has, so that a call which failed can be made again.
   * @throws MillraceError `local-map-missing`, `shard-map-damaged`; `keys-mapped`: two shards have a key
   */
  async rebuildMap(name: string, locations: readonly ShardLocation[]): Promise<ShardMap> {
    const map = (await this.tryGetMap(name)) ?? (await this.#createFromLocal(name, locations));
    for (const location of locations) {
      const known = (await map.shards()).find((shard) => isSameLocation(shard.location, location));
      const shard = known ?? (await map.adoptShard(location));
      await map.repairShard(shard, ({ inMap }) => (inMap ? undefined : 'shard'));
    }
    return map;
  }

  async #createFromLocal(name: string, locations: readonly ShardLocation[]): Promise<ShardMap> {
    const headers = (await Promise.all(locations.map((location) => this.#localHeaders(name, location)))).flat();
    const [first] = headers;
    if (!first) throw shardsError('local-map-missing', `No shard at these locations has a local map of ${name}`);
    const { facts } = first;
    if (!facts || headers.some((header) => !isSameFacts(header.facts, facts)))
      throw shardsError('shard-map-damaged', `The local maps of ${name} have different facts, or none`, {
        hint: 'Give the locations of one map only.',
      });
    return this.#create(first.map, facts.kind, facts);
  }

  async maps(): Promise<ShardMap[]> {
    const query = "SELECT * FROM c WHERE c.type = 'millrace.shardmap'";
    const headers = await allOf<MapHeader>(this.#container, query);
    return headers.map((header) => this.#open(header, this.#sheet(header.name)));
  }

  /** Where the shards of all maps are, each location once. */
  async locations(): Promise<ShardLocation[]> {
    const maps = await this.maps();
    const all = (await Promise.all(maps.map((map) => map.shards()))).flat().map(({ location }) => location);
    return all.filter((location, at) => all.findIndex((other) => isSameLocation(location, other)) === at);
  }

  /** What a shard's database lacks of its map's schema, as where a container was dropped since; undefined: nothing. */
  async unfit({ schema }: ShardMap, { location }: { readonly location: ShardLocation }): Promise<string | undefined> {
    try {
      await this.#assertFit(location, schema);
      return undefined;
    } catch (error) {
      if (error instanceof MillraceError && error.code === 'shard-unfit') return error.message;
      throw error;
    }
  }

  async #create(name: string, kind: MapKind, map: NewShardMap): Promise<ShardMap> {
    assertMap(name, kind, map);
    const { keyType, schema } = map;
    const sheet = this.#sheet(name);
    const header: MapHeader = {
      id: HEADER_ID,
      pk: mapPartition(name),
      type: 'millrace.shardmap',
      ...formatOf('shardmap'),
      generation: 1,
      created: randomUUID(),
      digest: EMPTY_DIGEST,
      name,
      kind,
      keyType,
      schema,
    };
    for (;;) {
      const stored = await sheet.header();
      if (stored?.header.created === header.created) return this.#open(stored.header, sheet);
      if (stored) throw sharedError('exists', `There is a shard map ${stored.header.name} already`);
      await sheet.commit(undefined, header, { before: [], after: [] });
    }
  }

  #sheet(name: string): Sheet<MapHeader> {
    const options = { clock: this.#clock, withinMs: MAP_WITHIN_MS, logged: true };
    return new Sheet(cosmosSheet<MapHeader>(this.#container, mapPartition(name), options), this.#clock);
  }

  /** One object for each map, because it has the cache. */
  #open(header: MapHeader, sheet: Sheet<MapHeader>): ShardMap {
    const known = this.#maps.get(header.pk);
    if (known?.created === header.created) return known.map;
    const routers = this.#options.database.container(ROUTERS_CONTAINER);
    const gates = new ShardGates(
      (shard) => shardGateStore(routers, { map: header.name, shard }, this.#clock),
      this.#clock,
    );
    const map = new ShardMap({
      header,
      sheet,
      openLocal: (location, shard) => this.#local(header.name, location, shard),
      localHeaders: (location) => this.#localHeaders(header.name, location),
      assertFit: (location, schema) => this.#assertFit(location, schema),
      prepare: async (location) => {
        if (this.#options.createContainers) await createOwn(this.#options.connect(location), LOCAL_CONTAINER);
      },
      drain: ({ shard, below }, options) => withoutRouters(gates.drain(shard, below, options), undefined),
      hold: (shard, spans, options) => withoutRouters(gates.close(shard, spans, options), UNHELD),
      letGo: (shard, work) => withoutRouters(gates.letGo(shard, work), undefined),
      setFences: fenceSetter(this.#options.connect, header, { clock: this.#clock, withinMs: this.#shardWithinMs }),
    });
    this.#maps.set(header.pk, { created: header.created, map });
    return map;
  }

  #local(map: string, location: ShardLocation, shard: string): Sheet<LocalHeader> {
    const container = this.#options.connect(location).container(LOCAL_CONTAINER);
    const options = { clock: this.#clock, withinMs: this.#shardWithinMs };
    return new Sheet(cosmosSheet<LocalHeader>(container, localPartition(map, shard), options), this.#clock);
  }

  /** Local maps of shards that were deleted from the map don't count. */
  #localHeaders(name: string, location: ShardLocation): Promise<LocalHeader[]> {
    const query = {
      query: `SELECT * FROM c WHERE c.type = 'millrace.localmap' AND LOWER(c.map) = @map AND NOT IS_DEFINED(c.removed)`,
      parameters: [{ name: '@map', value: name.toLowerCase() }],
    };
    return allOf(this.#options.connect(location).container(LOCAL_CONTAINER), query);
  }

  async #assertFit(location: ShardLocation, { sharded, reference = [], fenced = [] }: ShardSchema): Promise<void> {
    const database = this.#options.connect(location);
    if (await isSameDatabase(database, this.#options.database))
      throw shardsError('shard-unfit', `Database ${database.id} has the maps, so it can't be a shard`);
    const shard = `The shard ${shownLocation(location)}`;
    const unfit =
      (name: string, path = '') =>
      async (cause: unknown) =>
        (await isDatabaseMissing(database))
          ? shardsError('shard-unfit', `${shard} has no database: there is no ${database.id}`, { cause })
          : shardsError('shard-unfit', `${shard} has no container ${name}${path && ` with the key ${path}`}`, {
              cause,
            });
    const retry = { clock: this.#clock, withinMs: this.#shardWithinMs };
    const keys = Object.entries({ [LOCAL_CONTAINER]: '/pk', ...sharded });
    for (const [name, path] of [...keys, ...reference.map((one) => [one, undefined] as const)]) {
      const definition = await definitionOf(database.container(name), unfit(name, path), retry);
      const first = firstPath(definition);
      if (path !== undefined && first !== path)
        throw shardsError(
          'shard-unfit',
          `The key of ${name} in ${shownLocation(location)} begins with ${first}, not with ${path}`,
        );
      if (fenced.includes(name) && definition.partitionKey?.paths.length !== 1)
        throw shardsError(
          'shard-unfit',
          `The key of ${name} in ${shownLocation(location)} has several levels, so the container can't be fenced`,
        );
    }
  }
}

/** A container of Millrace's own. */
const createOwn = (database: Database, id: string): Promise<unknown> =>
  withRetry(() => database.containers.createIfNotExists({ id, partitionKey: '/pk', defaultTtl: -1 }), { reads: true });

/** Without the container of routers, the map has none. */
async function withoutRouters<T>(work: Promise<T>, otherwise: T): Promise<T> {
  return work.catch((error: unknown) => {
    if (!(error instanceof MillraceError && error.code === 'container-missing')) throw error;
    return otherwise;
  });
}

const UNHELD: Closed = {
  open: () => Promise.resolve(true),
  has: () => false,
  stop: () => Promise.resolve(false),
  known: undefined,
};

/** @throws what `missing` makes of the service's 404 */
async function definitionOf(
  container: Container,
  missing: (error: unknown) => Promise<Error>,
  retry: { readonly clock?: Clock; readonly withinMs?: number } = {},
): Promise<ContainerDefinition> {
  const read = withRetry(() => container.read(), { ...retry, reads: true });
  const { resource } = await read.catch(async (error: unknown) => {
    if (failureOf(error).kind === 'not-found') throw await missing(error);
    return throwDenied(container)(error);
  });
  return resource ?? {};
}

/** Whatever client each was opened with. */
const isSameDatabase = async (one: Database, other: Database): Promise<boolean> =>
  one.id === other.id && (await one.client.getWriteEndpoint()) === (await other.client.getWriteEndpoint());

const firstPath = ({ partitionKey }: ContainerDefinition): string => partitionKey?.paths[0] ?? 'nothing';

function assertMap(name: string, kind: MapKind, map: NewShardMap): void {
  const invalid = (message: string): Error => sharedError('option-invalid', message);
  if (!isObject(map) || !isObject(map.schema) || !isObject(map.schema.sharded))
    throw sharedError('option-invalid', `The map ${name} has no schema`, {
      hint: "Give the sharded containers with the path of the key in each: `schema: { sharded: { Orders: '/tenantId' } }`.",
    });
  const { keyType, schema } = map;
  const { sharded, reference = [], fenced = [] } = schema;
  if (!/^[^/\\?#|]+$/.test(name) || name.length > MOST_NAME)
    throw invalid(`A name has 1 to ${MOST_NAME} characters without / \\ ? # |, not ${JSON.stringify(name)}`);
  if (!Object.hasOwn(KEY_TYPES, keyType)) throw invalid(`${keyType} is not a key type`);
  if (kind === 'range' && keyType === 'text')
    throw invalid('A range map can’t have keys of type text: take a list map');
  const names = Object.keys(sharded);
  if (names.length === 0) throw invalid(`The schema of ${name} has no sharded container`);
  const twice = [...names, ...reference].find((one, at, all) => all.indexOf(one) !== at || one === LOCAL_CONTAINER);
  if (twice !== undefined) throw invalid(`The schema of ${name} can't have the container ${twice}`);
  const path = Object.values(sharded).find((one: unknown) => typeof one !== 'string' || !one.startsWith('/'));
  if (path !== undefined) throw invalid(`The path of a key begins with /, not ${JSON.stringify(path)}`);
  if (fenced.length > 0 && kind === 'range') throw invalid('A range map can’t have fences: take a list map');
  const unfit = fenced.find((one) => !Object.hasOwn(sharded, one) || !/^\/[^/"]+$/.test(sharded[one]!));
  if (unfit !== undefined)
    throw invalid(`${unfit} can't be fenced: it is no sharded container, or the path of its key is not one field`);
}
