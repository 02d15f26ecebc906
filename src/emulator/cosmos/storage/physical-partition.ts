import type { FeedRange } from '../../../cosmos/ranges.ts';
import { first } from '../../search.ts';
import type { LogicalPartition, StoredVersion } from './logical-partition.ts';
import { Undo } from './undo.ts';

const COMPACT_FROM = 4096;

/** One entry of the all-versions feed. */
export interface StoredChange {
  readonly lsn: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: 'create' | 'replace' | 'delete';
  readonly home: LogicalPartition;
  readonly id: string;
  /** The document's text; absent for a delete. */
  readonly current: string | undefined;
  /** Kept only with the option `previousImages`. */
  readonly previous: string | undefined;
  readonly previousLsn: number | undefined;
  /** Whether it is a delete because the time to live was over. */
  readonly expired: boolean;
}

/**
 * The RUs that a physical partition has left. RU/s are divided evenly among physical partitions, and each can save those
 * of one second at most. A request runs if any are left, and may use more than that. Until the debt is paid, all requests
 * on that partition are answered 429.
 */
export interface Saved {
  left: number;
  at: number;
}

/**
 * One physical partition: a range of effective keys with its own lsn. `log` has versions by ascending lsn. A version that
 * is no longer its item's current one is dead: readers skip it, and `compact` removes it when most versions are dead.
 */
export class PhysicalPartition {
  readonly id: string;
  readonly range: FeedRange;
  readonly parents: readonly string[];
  lsn: number;
  log: StoredVersion[] = [];
  undo = new Undo();
  /** Every change, for the all-versions feed; empty if the container has no such feed. */
  changes: StoredChange[] = [];
  /** Changes up to this lsn are no longer kept. */
  forgottenLsn = 0;
  saved: Saved | undefined;
  /** What each throughput bucket has left, by its id. */
  readonly buckets = new Map<number, Saved>();
  /** Set while a split is requested but not done: how many requests are still answered 410/1007, and what does the split. */
  completing: { left: number; readonly finish: () => void } | undefined;
  #dead = 0;

  constructor(id: string, range: FeedRange, parents: readonly string[] = [], lsn = 0) {
    this.id = id;
    this.range = range;
    this.parents = parents;
    this.lsn = lsn;
  }

  /** The caller has checked that the lsn isn't below the log's last. */
  append(version: StoredVersion): void {
    this.log.push(version);
  }

  retire(): void {
    if (++this.#dead > COMPACT_FROM && this.#dead * 2 > this.log.length) this.compact();
  }

  compact(): void {
    this.log = this.log.filter((version) => version.item.current === version);
    this.#dead = 0;
  }

  /** Index of the first log entry above `lsn`. */
  after(lsn: number): number {
    return first(this.log.length, (at) => this.log[at]!.lsn > lsn);
  }
}
