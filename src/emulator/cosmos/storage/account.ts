import { EmulatorClock } from '../time-and-charge/clock.ts';
import type { StoredContainer } from './container.ts';
import type { Faults } from '../time-and-charge/faults.ts';
import type { Holdings, Throughput } from './holdings.ts';
import type { StoredJournal } from './journal.ts';

/** A dropped container, kept for a restore. */
export interface StoredDropped {
  readonly container: StoredContainer;
  readonly throughput: Throughput | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Everything that one server holds. Each handler runs to its end without yielding, so it sees and leaves a complete state. */
export interface StoredAccount extends Holdings {
  /** Dropped containers by `database/container`; empty without `historyMs`. */
  readonly dropped: Map<string, StoredDropped>;
  readonly journal: StoredJournal | undefined;
  readonly random: () => number;
  /** Counts the starts on one data folder. It is part of every etag, so that no etag is used twice. */
  readonly boot: number;
  faults: Faults;
  /** Whether the all-versions feed contains the previous state of a document. */
  previousImages: boolean;
  readonly clock: EmulatorClock;
  /** RU/s by a container's resource id, which override its offer. */
  readonly limits: Map<string, number>;
  /** Milliseconds since 1970. */
  now(): number;
  /** A new quoted etag. */
  etag(): string;
}

export function newAccount(
  journal: StoredJournal | undefined,
  boot: number,
  random: () => number,
  faults: Faults,
  clock = new EmulatorClock(),
): StoredAccount {
  const salt = Math.floor(random() * 0xffff)
    .toString(16)
    .padStart(4, '0');
  const prefix = `"${boot.toString(16).padStart(8, '0')}-0000-${salt}-0000-`;
  let count = 0;
  return {
    databases: new Map(),
    offers: new Map(),
    dropped: new Map(),
    journal,
    random,
    boot,
    faults,
    previousImages: false,
    nextRid: 1,
    clock,
    limits: new Map(),
    now: () => clock.now(),
    etag: () => `${prefix}${(++count).toString(16).padStart(12, '0')}"`,
  };
}
