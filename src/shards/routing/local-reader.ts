import type { Container, Database } from '@azure/cosmos';
import { assertReadable } from '../../base/format.ts';
import { QueryPages } from '../../cosmos/query-pages.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { type CosmosSheetOptions, cosmosSheet } from '../map/cosmos-sheet.ts';
import { HEADER_ID, LOCAL_CONTAINER, type LocalHeader, type SheetDocument, localPartition } from '../map/documents.ts';
import { Sheet, type Whole } from '../map/header-guarded-partition.ts';
import { throwDenied } from '../map/access-denied.ts';

/** A local map's header, and which of the wanted mappings it had at that moment. */
export interface LocalReading {
  readonly header: LocalHeader | undefined;
  readonly found: { has(id: string): boolean };
}

/** Reads the local map of one shard. */
export class LocalReader {
  /** Requests so far. */
  validations = 0;
  readonly #container: Container;
  readonly #pk: string;
  readonly #options: CosmosSheetOptions;

  constructor(map: string, shard: string, database: Database, options: CosmosSheetOptions) {
    this.#container = database.container(LOCAL_CONTAINER);
    this.#pk = localPartition(map, shard);
    this.#options = options;
  }

  header(): Promise<LocalHeader | undefined> {
    this.validations += 1;
    const item = this.#container.item(HEADER_ID, this.#pk);
    return readItem<LocalHeader>(item, this.#options).catch(throwDenied(this.#container));
  }

  /**
   * The header together with some mappings. A page shows one state of a logical partition (ASM-E85), so the mappings are those
   * of the header. Undefined: they didn't fit into one page.
   */
  async find(wanted: readonly string[]): Promise<LocalReading | undefined> {
    this.validations += 1;
    const ids = [HEADER_ID, ...wanted];
    const query = {
      query: `SELECT * FROM c WHERE c.id IN (${ids.map((_, at) => `@id${at}`).join(', ')})`,
      parameters: ids.map((value, at) => ({ name: `@id${at}`, value })),
    };
    const feed = { partitionKey: this.#pk, maxItemCount: 1_000 };
    const pages = new QueryPages<SheetDocument>(this.#container, query, feed, { withinMs: this.#options.withinMs });
    const page = await pages.next().catch(throwDenied(this.#container));
    if (!pages.done) return undefined;
    for (const document of page) assertReadable(document);
    const found = new Map(page.map((document) => [document.id, document]));
    return { header: found.get(HEADER_ID) as LocalHeader | undefined, found };
  }

  /** The whole local map. */
  whole(): Promise<Whole<LocalHeader> | undefined> {
    this.validations += 2;
    return new Sheet(cosmosSheet<LocalHeader>(this.#container, this.#pk, this.#options), this.#options.clock).whole();
  }
}
