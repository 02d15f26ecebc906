import { evenBoundaries } from '../../../cosmos/effective-partition-key.ts';
import { first } from '../../search.ts';
import { isPathIndexed } from './indexing.ts';
import { expiry } from './logical-partition.ts';
import { ItemList } from './item-list.ts';
import type { StoredItem, StoredVersion } from './logical-partition.ts';
import { KeyReader, keyText, pathSteps, storedValueAt } from './keys.ts';
import type { KeyDefinition, WireKey } from './keys.ts';
import { LogicalPartition } from './logical-partition.ts';
import { PhysicalPartition } from './physical-partition.ts';
import { ValueIndex } from './value-index.ts';
import type { WireDoc } from '../wire/wire.ts';

/** RU/s above which the service starts a container on another physical partition (Microsoft's SDK tests expect this). */
export const RU_PER_NEW_PARTITION = 6000;

const MAX_INDEXES = 32;

export interface UniqueKey {
  readonly paths: readonly (readonly string[])[];
}

/** A container: its definition, its physical partitions in key order, and its logical partitions by key. */
export class StoredContainer {
  readonly id: string;
  readonly rid: string;
  /** `dbs/d/colls/c`, by name. */
  readonly link: string;
  /** `dbs/<rid>/colls/<rid>/`. */
  readonly self: string;
  definition: WireDoc;
  readonly keys: KeyReader;
  readonly unique: readonly UniqueKey[];
  ranges: PhysicalPartition[];
  readonly logical = new Map<string, LogicalPartition>();
  /** In the order of their creation. */
  readonly items = new ItemList();
  /** Indexes by path. Code that changes an item's current version must update them. */
  readonly indexes = new Map<string, ValueIndex>();
  /** Next number for a new item. */
  nextSeq: number;
  /** A merge sets it permanently: the feed then refuses to start from a time. */
  merged = false;
  /** Items that were written with their own time to live. */
  readonly expiring = new Set<StoredItem>();

  constructor(
    id: string,
    rid: string,
    link: string,
    self: string,
    definition: WireDoc,
    ranges: PhysicalPartition[],
    seq: number,
  ) {
    this.id = id;
    this.rid = rid;
    this.link = link;
    this.self = self;
    this.definition = definition;
    this.keys = new KeyReader(definition.partitionKey as KeyDefinition);
    const policy = definition.uniqueKeyPolicy as { uniqueKeys?: { paths: string[] }[] } | undefined;
    this.unique = (policy?.uniqueKeys ?? []).map(({ paths }) => ({ paths: paths.map(pathSteps) }));
    this.ranges = ranges;
    this.nextSeq = seq;
  }

  get defaultTtl(): number | undefined {
    const ttl = this.definition.defaultTtl;
    return typeof ttl === 'number' ? ttl : undefined;
  }

  /** Whether every change is kept, because the container has a retention. */
  get allVersions(): boolean {
    return this.retentionMs > 0;
  }

  /** How far back the all-versions feed reaches, in milliseconds. */
  get retentionMs(): number {
    const policy = this.definition.changeFeedPolicy as { retentionDuration?: unknown } | undefined;
    return typeof policy?.retentionDuration === 'number' ? policy.retentionDuration * 60_000 : 0;
  }

  /** The index on a path, built at the first call; undefined if the policy has none or the container has had less than `from` versions. */
  indexOn(path: readonly string[], from: number): ValueIndex | undefined {
    const name = JSON.stringify(path);
    let index = this.indexes.get(name);
    if (index) return index;
    const size = this.ranges.reduce((sum, { log }) => sum + log.length, 0);
    if (size < from || path.length === 0 || !isPathIndexed(this.definition.indexingPolicy as WireDoc, path)) {
      return undefined;
    }
    if (this.indexes.size >= MAX_INDEXES) this.indexes.delete(this.indexes.keys().next().value!);
    index = new ValueIndex(path, this.#versions());
    this.indexes.set(name, index);
    return index;
  }

  *#versions(): Generator<StoredVersion, void> {
    for (const { current } of this.items.from(0)) if (current) yield current;
  }

  rangeOf(epk: string): PhysicalPartition {
    const { ranges } = this;
    return ranges[first(ranges.length, (at) => ranges[at]!.range.min > epk) - 1]!;
  }

  find(key: WireKey): LogicalPartition | undefined {
    return this.logical.get(keyText(key));
  }

  /** The logical partition of a full key. A new one is stored only with the first commit to it. */
  open(key: WireKey): LogicalPartition {
    const text = keyText(key);
    const known = this.logical.get(text);
    if (known) return known;
    return new LogicalPartition(key, text, this.keys.epk(key));
  }

  /** Whether anything in it can expire. */
  get mayExpire(): boolean {
    return this.defaultTtl !== undefined && (this.defaultTtl !== -1 || this.expiring.size > 0);
  }

  /** The values of a document's unique keys. A missing value counts as null. */
  uniqueValues(doc: WireDoc): string[] {
    return this.unique.map(({ paths }, i) =>
      JSON.stringify([i, ...paths.map((steps) => storedValueAt(doc, steps) ?? null)]),
    );
  }

  isLive(version: StoredVersion | undefined, now: number): version is StoredVersion {
    return version !== undefined && expiry(version, this.defaultTtl) > now;
  }
}

/** The physical partitions of a new container, which together cover the whole range. */
export function newRanges(throughput: number, version: 1 | 2): PhysicalPartition[] {
  const count = Math.max(1, Math.ceil(throughput / RU_PER_NEW_PARTITION));
  const cuts = ['', ...evenBoundaries(count, version), 'FF'];
  return Array.from(
    { length: count },
    (_, i) => new PhysicalPartition(String(i), { min: cuts[i]!, max: cuts[i + 1]! }),
  );
}
