import type { Database } from '@azure/cosmos';
import type { KeyTypeName, KeyValue, Mapping, Shard, ShardMap, StrayKeys } from '../../src/shards/index.ts';
import { keyForm } from '../../src/shards/index.ts';
import { encodeKey } from '../../src/shards/keys/key-type.ts';
import { type MultiShardQuery, multiShardQuery } from '../../src/shards/query/multi-shard-query.ts';
import type { MultiShardQueryOptions, QueryShard } from '../../src/shards/query/types.ts';
import { type Doc, type Pick, randomDoc } from '../emulator/naive-sql.ts';
import type { Around, ShardStage } from './shard-stage.ts';

const KEYS = 14;
const TICK = 10_000_000n;

const [UP, DOWN] = ['ascending', 'descending'] as const;
/** What queries sort by beside single paths. */
const ORDERS = [
  [
    ['/s', UP],
    ['/n', DOWN],
    ['/id', UP],
  ],
  [
    ['/n', DOWN],
    ['/id', UP],
  ],
] as const;

/** Keys of one type whose forms have several lengths and signs, in no order. */
const VALUES: Partial<Record<KeyTypeName, (n: number) => KeyValue>> = {
  int32: (n) => (n - 6) * 7 ** (n % 4),
  int64: (n) => BigInt(n - 6) * 10n ** BigInt((n * 5) % 17),
  duration: (n) => BigInt(n - 6) * 9n ** BigInt((n * 7) % 11) * TICK + BigInt(n - 6),
  guid: (n) => `${n}${n}0f6a0e-3b1c-4e0a-9d53-0c9a4b1a7f1${n % 7}`.slice(-36).padStart(36, 'a'),
  text: (n) => `k"${n}\\'`,
};

export interface WorldOptions {
  readonly keyType: KeyTypeName;
  readonly shards: number;
  readonly documents: number;
  /** Physical partitions of each shard's container, at most. */
  readonly partitions: number;
  /** Around each request of a query. */
  readonly around?: Around;
}

/** A move of a mapping that is under way: what comes next. */
interface Move {
  readonly from: Shard;
  readonly to: Shard;
  readonly keys: StrayKeys;
  step: 'copy' | 'switch' | 'delete' | 'clear';
  mapping: Mapping;
}
/** A map with shards and documents. All documents are also in a plain list. Moves change the shards, and never the list. */
export class QueryWorld {
  readonly map: ShardMap;
  readonly docs: Doc[] = [];
  readonly shards: Shard[] = [];
  readonly #stage: ShardStage;
  readonly #pick: Pick;
  readonly #keyType: KeyTypeName;
  readonly #around: Around;
  #database: (name: string) => Database;
  #move: Move | undefined;

  private constructor(stage: ShardStage, map: ShardMap, { keyType, around }: WorldOptions, pick: Pick) {
    this.#stage = stage;
    this.map = map;
    this.#keyType = keyType;
    this.#pick = pick;
    this.#around = around ?? ((_, send) => send());
    this.#database = this.#client();
  }

  static async open(stage: ShardStage, map: ShardMap, options: WorldOptions, pick: Pick): Promise<QueryWorld> {
    const world = new QueryWorld(stage, map, options, pick);
    await world.#fill(options);
    return world;
  }

  async #fill({ shards, documents, partitions }: WorldOptions): Promise<void> {
    for (let n = 0; n < shards; n++) {
      const database = await this.#stage.shardDatabase({ Orders: '' });
      await this.#database(database).containers.create({
        id: 'Orders',
        partitionKey: '/tenantId',
        indexingPolicy: { compositeIndexes: ORDERS.map((paths) => paths.map(([path, order]) => ({ path, order }))) },
      });
      this.shards.push(await this.map.createShard({ database }));
      for (let splits = this.#pick(partitions); splits > 0; splits--) this.#stage.emulator.split(`${database}/Orders`);
    }
    const keys = Array.from({ length: KEYS }, (_, n) => VALUES[this.#keyType]!(n)).toSorted((a, b) =>
      this.#code(a) < this.#code(b) ? -1 : 1,
    );
    if (this.map.kind === 'list') for (const key of keys) await this.map.createMapping({ shard: this.#any(), key });
    else {
      const cuts = keys.filter(() => this.#pick(2) === 0);
      for (let at = 0; at <= cuts.length; at++) {
        const [low, high] = [cuts[at - 1], cuts[at]];
        const keysOf = { ...(low !== undefined && { low }), ...(high !== undefined && { high }) };
        await this.map.createMapping({ shard: this.#any(), ...keysOf });
      }
    }
    for (let n = 0; n < documents; n++) {
      const key = keys[this.#pick(keys.length)]!;
      const doc = { ...randomDoc(n, this.#pick), tenantId: keyForm(this.#keyType, key) };
      this.docs.push(doc);
      await this.#orders(await this.ownerOf(doc)).items.create(doc);
    }
  }

  /** Runs a query over all shards, some of them detached for it. */
  query(sql: string, options: MultiShardQueryOptions = {}, without: readonly Shard[] = []): MultiShardQuery<unknown> {
    const shards = async (): Promise<QueryShard[]> =>
      (await this.map.shards()).map(({ id, location }) => {
        const isOut = without.some((shard) => shard.id === id);
        return { id, location, ...(!isOut && { database: this.#database(location.database) }) };
      });
    return multiShardQuery({ map: this.map, shards, container: 'Orders', sql, ...options });
  }

  async ownerOf({ tenantId }: Doc): Promise<string> {
    const { shard } = await this.map.mapping(tenantId as KeyValue);
    return shard;
  }

  /** The documents of the keys that the map gives to a shard. */
  async documentsOf(shard: Shard): Promise<Doc[]> {
    const mappings = await this.map.mappings({ shard });
    return this.docs.filter(({ tenantId }) => mappings.some((mapping) => this.#has(mapping, tenantId as KeyValue)));
  }

  /**
   * The next step of the move that is under way, or the first of another one. Documents are deleted from a shard only if
   * no query runs.
   */
  async step(isReading = false): Promise<void> {
    const move = this.#move ?? (await this.#next());
    if (!move || (isReading && move.step === 'delete')) return;
    this.#move = move;
    const { from, to, keys, mapping } = move;
    const there = this.docs.filter(({ tenantId }) => this.#has(mapping, tenantId as KeyValue));
    if (move.step === 'copy') {
      await this.map.addStrays(to, keys);
      for (const doc of there) await this.#orders(to.id).items.create(doc);
      move.step = 'switch';
    } else if (move.step === 'switch') {
      const offline = await this.map.markOffline(mapping);
      move.mapping = await this.map.updateMapping(offline, { shard: to, status: 'online' });
      move.step = 'delete';
    } else if (move.step === 'delete') {
      for (const { id, tenantId } of there)
        await this.#orders(from.id)
          .item(id as string, tenantId as string)
          .delete();
      move.step = 'clear';
    } else {
      await this.map.clearStrays(from, keys);
      this.#move = undefined;
    }
  }

  /** Splits a physical partition of a shard, which the next query's client hasn't seen whole. */
  splitPartition(): void {
    this.#stage.emulator.split(`${this.shards[this.#pick(this.shards.length)]!.location.database}/Orders`);
    this.#database = this.#client();
  }

  #client(): (name: string) => Database {
    const client = this.#stage.client(this.#around);
    return (name) => client.database(name);
  }

  async #next(): Promise<Move | undefined> {
    const all = await this.map.mappings();
    let mapping = all[this.#pick(all.length)]!;
    if (this.map.kind === 'range' && this.#pick(3) === 0) {
      const inside = this.docs.find(
        ({ tenantId }) => this.#has(mapping, tenantId as KeyValue) && tenantId !== mapping.low,
      );
      if (inside) [mapping] = await this.map.splitMapping(mapping, inside['tenantId'] as KeyValue);
    }
    const from = this.shards.find(({ id }) => id === mapping.shard)!;
    const to = this.#any();
    const { key, low, high } = mapping;
    const keys = {
      ...(key !== undefined && { key }),
      ...(low !== undefined && { low }),
      ...(high !== undefined && { high }),
    };
    return to.id === from.id ? undefined : { from, to, keys, mapping, step: 'copy' };
  }

  #has({ key, low, high }: Mapping, value: KeyValue): boolean {
    const code = this.#code(value);
    if (key !== undefined) return this.#code(key) === code;
    return (low === undefined || this.#code(low) <= code) && (high === undefined || code < this.#code(high));
  }

  #code(value: KeyValue): string {
    return encodeKey(this.#keyType, value);
  }

  #any(): Shard {
    return this.shards[this.#pick(this.shards.length)]!;
  }

  #orders(shard: string) {
    return this.#database(this.shards.find(({ id }) => id === shard)!.location.database).container('Orders');
  }
}
