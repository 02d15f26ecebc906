import type { Database } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { type KeySpan, covers } from '../keys/spans.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { LIST_MAPS } from '../errors.ts';
import { allOf } from '../map/cosmos-sheet.ts';
import {
  HEADER_ID,
  MAP_CONTAINER,
  type MapHeader,
  type MappingDocument,
  type ShardDocument,
  mapPartition,
  shardId,
} from '../map/documents.ts';
import { noStore, throwDenied } from '../map/access-denied.ts';

const IS_MAPPING = "c.type = 'millrace.mapping'";

/**
 * Reads one map by key, as routers do: a few documents at a time and not the whole map. So no reading can be compared with
 * the header's digest, and a reading may be old. ROUTE-C says what makes that harmless.
 */
export class MapReader {
  readonly header: MapHeader;
  /** Requests so far. */
  lookups = 0;
  readonly #database: Database;
  readonly #clock: Clock;

  private constructor(header: MapHeader, database: Database, clock: Clock) {
    this.header = header;
    this.#database = database;
    this.#clock = clock;
  }

  /** @throws MillraceError `not-found`; FormatUnreadable */
  static async open(name: string, database: Database, clock: Clock): Promise<MapReader> {
    const container = database.container(MAP_CONTAINER);
    const read = <T extends object>(id: string, pk: string) =>
      readItem<T>(container.item(id, pk), { clock }).catch(throwDenied(container));
    if (!(await read('store', 'store'))) throw await noStore(database);
    const header = await read<MapHeader>(HEADER_ID, mapPartition(name));
    if (!header) throw sharedError('not-found', `There is no shard map ${name}`, LIST_MAPS);
    return new MapReader(header, database, clock);
  }

  /** The mapping that the map shows for a key; undefined: none has it. @throws MillraceError `not-found` */
  async mapping(code: string): Promise<MappingDocument | undefined> {
    const query =
      this.header.kind === 'list'
        ? `SELECT * FROM c WHERE ${IS_MAPPING} AND c.low = @code`
        : `SELECT TOP 1 * FROM c WHERE ${IS_MAPPING} AND c.low <= @code ORDER BY c.low DESC`;
    const [last] = await this.#all<MappingDocument>(query, [{ name: '@code', value: code }]);
    if (last && covers(last, code)) return last;
    await this.#assertThere();
    return undefined;
  }

  /** Every mapping, in the order of the keys. */
  mappings(): Promise<MappingDocument[]> {
    return this.#all(`SELECT * FROM c WHERE ${IS_MAPPING} ORDER BY c.low`);
  }

  /** The ids of the mappings that a shard has. */
  async mappingIds(shard: string): Promise<ReadonlySet<string>> {
    const query = `SELECT VALUE c.id FROM c WHERE ${IS_MAPPING} AND c.shard = @shard`;
    return new Set(await this.#all<string>(query, [{ name: '@shard', value: shard }]));
  }

  /** The ids of the shards that have some of the keys. */
  async shardIds({ low, high }: KeySpan): Promise<ReadonlySet<string>> {
    const before = high === undefined ? '' : ' AND c.low < @high';
    const query = `SELECT DISTINCT VALUE c.shard FROM c WHERE ${IS_MAPPING} AND (NOT IS_DEFINED(c.high) OR c.high > @low OR c.low = @low)${before}`;
    const parameters = [{ name: '@low', value: low }, ...(high === undefined ? [] : [{ name: '@high', value: high }])];
    return new Set(await this.#all<string>(query, parameters));
  }

  async shard(id: string): Promise<ShardDocument | undefined> {
    this.lookups += 1;
    const item = this.#database.container(MAP_CONTAINER).item(shardId(id), this.header.pk);
    return readItem<ShardDocument>(item, { clock: this.#clock });
  }

  shards(): Promise<ShardDocument[]> {
    return this.#all("SELECT * FROM c WHERE c.type = 'millrace.shard'");
  }

  #all<T>(query: string, parameters: { name: string; value: string }[] = []): Promise<T[]> {
    this.lookups += 1;
    return allOf(this.#database.container(MAP_CONTAINER), { query, parameters }, { partitionKey: this.header.pk });
  }

  /** A map that was deleted, or created again under its name, is another one. */
  async #assertThere(): Promise<void> {
    this.lookups += 1;
    const { name, pk, created } = this.header;
    const item = this.#database.container(MAP_CONTAINER).item(HEADER_ID, pk);
    const header = await readItem<MapHeader>(item, { clock: this.#clock });
    if (header?.created === created) return;
    const what = header ? 'was deleted and created again' : 'does not exist any more';
    throw sharedError('not-found', `The shard map ${name} ${what}`, {
      hint: 'Open a router of the map that applies now.',
    });
  }
}
