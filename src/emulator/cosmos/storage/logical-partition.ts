import type { Doc } from '../wire/wire.ts';
import type { WireKey } from './keys.ts';

/** All items with one full partition key. Which physical partition it lies in follows from its epk. */
export class LogicalPartition {
  readonly key: WireKey;
  readonly text: string;
  readonly epk: string;
  readonly items = new Map<string, Item>();
  /** Unique keys' values, by constraint, to the id that holds them. */
  readonly unique = new Map<string, string>();

  constructor(key: WireKey, text: string, epk: string) {
    this.key = key;
    this.text = text;
    this.epk = epk;
  }
}

/** One document identity; keeps its resource id while it lives. */
export class Item {
  readonly id: string;
  readonly home: LogicalPartition;
  /** Ascending in order of creation, for good: queries read in this order, and their continuations count on it. */
  readonly seq: number;
  current: Version | undefined;

  constructor(id: string, home: LogicalPartition, seq: number) {
    this.id = id;
    this.home = home;
    this.seq = seq;
  }
}

/**
 * One stored state of an item. The text is kept serialised, without its closing brace, so that reads, query pages and
 * feed pages are made by joining strings; the parsed form is made when a query first asks for it.
 */
export class Version {
  readonly item: Item;
  readonly open: string;
  readonly etag: string;
  readonly lsn: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The item's own time to live in seconds; -1 is never. */
  readonly ttl: number | undefined;
  #doc: Doc | undefined;

  constructor(item: Item, open: string, etag: string, lsn: number, at: number, ttl: number | undefined, doc?: Doc) {
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

  /** Characters, near enough to bytes for charges and page sizes. */
  get size(): number {
    return this.open.length + 1;
  }

  get seq(): number {
    return this.item.seq;
  }

  /** Shared: nobody may change it. */
  get doc(): Doc {
    return (this.#doc ??= JSON.parse(this.text) as Doc);
  }
}

/** When a version expires under the container's default, in milliseconds; infinite if never. */
export function expiry(version: Version, defaultTtl: number | undefined): number {
  if (defaultTtl === undefined) return Infinity;
  const seconds = version.ttl ?? defaultTtl;
  return seconds === -1 ? Infinity : version.at + seconds * 1000;
}
