import { Clock } from '../physics/clock.ts';
import type { Container } from './container.ts';
import type { Faults } from '../physics/faults.ts';
import type { Holdings, Throughput } from './holdings.ts';
import type { Journal } from './journal.ts';

/** A container that was dropped a while ago. */
export interface Dropped {
  readonly container: Container;
  readonly throughput: Throughput | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Everything one server holds. All handlers run to their end without yielding, so each sees and leaves a whole state. */
export interface Account extends Holdings {
  /** By `database/container`; empty unless a past is kept. */
  readonly dropped: Map<string, Dropped>;
  readonly journal: Journal | undefined;
  readonly random: () => number;
  /** Counts the starts on one data folder: part of every etag, so that none comes twice. */
  readonly boot: number;
  faults: Faults;
  /** Whether the all-versions feed brings what a document was before. */
  previousImages: boolean;
  readonly clock: Clock;
  /** RU/s by a container's resource id, whatever its offer says. */
  readonly limits: Map<string, number>;
  /** Milliseconds since 1970. */
  now(): number;
  /** A new quoted etag. */
  etag(): string;
}

export function newAccount(
  journal: Journal | undefined,
  boot: number,
  random: () => number,
  faults: Faults,
  clock = new Clock(),
): Account {
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
