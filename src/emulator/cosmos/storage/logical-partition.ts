import type { WireDoc } from '../wire/wire.ts';
import type { KeyLog } from './key-log.ts';
import type { WireKey } from './keys.ts';
import type { Tally } from './tally.ts';

/** All items with one full partition key. Its epk decides in which physical partition it is. */
export class LogicalPartition {
  readonly key: WireKey;
  readonly text: string;
  readonly epk: string;
  readonly items = new Map<string, StoredItem>();
  /** Values of unique keys, by constraint, and the id of the item that has them. */
  readonly unique = new Map<string, string>();
  /** Kept counts, by query. Code that changes an item's current version must call `changed`. */
  readonly tallies = new Map<string, Tally<StoredVersion>>();
  /** What a feed of the key reads, once one has asked for it; `changed` forgets it. */
  log: KeyLog<StoredVersion> | undefined;

  constructor(key: WireKey, text: string, epk: string) {
    this.key = key;
    this.text = text;
    this.epk = epk;
  }

  /** An item has another current version, or none. */
  changed(item: StoredItem): void {
    this.log = undefined;
    for (const [query, tally] of this.tallies) {
      if (tally.isIdle) this.tallies.delete(query);
      else tally.update(item);
    }
  }
}

/** One document identity; keeps its resource id while it lives. */
export class StoredItem {
  readonly id: string;
  readonly home: LogicalPartition;
  /** Ascending in the order of creation, and never changed: queries and their continuations use this order. */
  readonly seq: number;
  current: StoredVersion | undefined;

  constructor(id: string, home: LogicalPartition, seq: number) {
    this.id = id;
    this.home = home;
    this.seq = seq;
  }
}

/**
 * One stored state of an item. Its JSON text is kept without the closing brace, so that reads, query pages and feed pages
 * can be made by joining strings. It is parsed when a query first needs it.
 */
export class StoredVersion {
  readonly item: StoredItem;
  readonly open: string;
  readonly etag: string;
  readonly lsn: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The item's own time to live in seconds; -1 is never. */
  readonly ttl: number | undefined;
  #doc: WireDoc | undefined;

  constructor(
    item: StoredItem,
    open: string,
    etag: string,
    lsn: number,
    at: number,
    ttl: number | undefined,
    doc?: WireDoc,
  ) {
    this.item = item;
    this.open = open;
    this.etag = etag;
    this.lsn = lsn;
    this.at = at;
    this.ttl = ttl;
    this.#doc = doc;
  }

  get text(): string {
    return `${this.open}}`;
  }

  /** Characters, close enough to bytes for charges and page sizes. */
  get size(): number {
    return this.open.length + 1;
  }

  get seq(): number {
    return this.item.seq;
  }

  /** Shared and therefore read-only. */
  get doc(): WireDoc {
    return (this.#doc ??= this.parsed());
  }

  /** As `doc`, for one look: a container that is indexed would keep all its documents parsed. */
  parsed(): WireDoc {
    return this.#doc ?? (JSON.parse(this.text) as WireDoc);
  }
}

/** When a version expires under the container's default, in milliseconds; infinite if never. */
export function expiry(version: StoredVersion, defaultTtl: number | undefined): number {
  if (defaultTtl === undefined) return Infinity;
  const seconds = version.ttl ?? defaultTtl;
  return seconds === -1 ? Infinity : version.at + seconds * 1000;
}
