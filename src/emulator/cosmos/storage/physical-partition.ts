import type { FeedRange } from '../../../cosmos/ranges.ts';
import { first } from '../../search.ts';
import type { LogicalPartition, Version } from './logical-partition.ts';
import { Undo } from './undo.ts';

const COMPACT_FROM = 4096;

/** One entry of the all-versions feed. */
export interface Change {
  readonly lsn: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: 'create' | 'replace' | 'delete';
  readonly home: LogicalPartition;
  readonly id: string;
  /** The document's text; absent for a delete. */
  readonly current: string | undefined;
  /** Kept only where previous images were asked for. */
  readonly previous: string | undefined;
  readonly previousLsn: number | undefined;
  /** A delete because its time to live was over. */
  readonly expired: boolean;
}

/**
 * RU/s are shared evenly among physical partitions. Each has a second's worth at most; a request runs while there is
 * any left and may overdraw, and until the debt is earned back all others on that partition are answered 429.
 */
export interface Budget {
  left: number;
  at: number;
}

/**
 * One physical partition: a range of effective keys with its own lsn. `log` holds versions by ascending lsn; a version
 * that is no longer its item's current one is dead, skipped by readers and swept out when the dead outnumber the live.
 */
export class PhysicalPartition {
  readonly id: string;
  readonly range: FeedRange;
  readonly parents: readonly string[];
  lsn: number;
  log: Version[] = [];
  undo = new Undo();
  /** Every change, for the all-versions feed; empty where the container doesn't offer that. */
  changes: Change[] = [];
  /** Changes up to here aren't kept any more. */
  forgottenLsn = 0;
  budget: Budget | undefined;
  /** Set while a split has been ordered and not carried out: how often the range still says so, and then what. */
  completing: { left: number; readonly finish: () => void } | undefined;
  #dead = 0;

  constructor(id: string, range: FeedRange, parents: readonly string[] = [], lsn = 0) {
    this.id = id;
    this.range = range;
    this.parents = parents;
    this.lsn = lsn;
  }

  /** The caller has checked that the lsn isn't below the log's last. */
  append(version: Version): void {
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
