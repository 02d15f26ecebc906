import { Clock } from './clock.ts';
import type { Container } from './container.ts';
import type { Throughput } from './definition.ts';
import type { Journal } from './journal.ts';
import type { Rule } from './rules.ts';
import type { Doc } from './wire.ts';

/** What may go wrong, by choice. Probabilities are 0 to 1 per request on items. */
export interface Faults {
  /** Reads and queries may see state up to this old, unless their session token covers what they would miss. */
  readonly replicaLagMs?: number;
  /** A write happens and its answer is lost: 408, 503 or a connection reset. */
  readonly failAfterEffect?: number;
  /** A request fails without effect: 408, 449, 503 or a connection reset. */
  readonly failBefore?: number;
  /** 429 with a retry-after, without effect. */
  readonly throttle?: number;
  /** Failures by rule, looked at before the probabilities above. */
  readonly rules?: readonly Rule[];
  /** How long each request on items takes at least, half of it before its effect, and up to how much longer. */
  readonly latencyMs?: number;
  readonly jitterMs?: number;
  /** Whether each physical partition answers 429 beyond its share of the provisioned RU/s. */
  readonly enforceThroughput?: boolean;
  /** Whether what has expired is purged (default true); `purge()` does it on command. */
  readonly purge?: boolean;
  /** COUNT includes what has expired and isn't purged yet. */
  readonly countExpired?: boolean;
  /** How far back a failover may lose writes, and a restore may reach. */
  readonly historyMs?: number;
  /** Entries of one lsn come in a random order (default true), as the service promises none. */
  readonly shuffleInLsn?: boolean;
}

export interface Database {
  readonly id: string;
  readonly rid: string;
  readonly definition: Doc;
  readonly containers: Map<string, Container>;
}

/** The throughput of a container or a database. */
export interface Offer {
  readonly id: string;
  readonly definition: Doc;
}

/** A container that was dropped a while ago. */
export interface Dropped {
  readonly container: Container;
  readonly throughput: Throughput | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Everything one server holds. All handlers run to their end without yielding, so each sees and leaves a whole state. */
export interface Account {
  readonly databases: Map<string, Database>;
  readonly offers: Map<string, Offer>;
  /** By `database/container`; empty unless a past is kept. */
  readonly dropped: Map<string, Dropped>;
  readonly journal: Journal | undefined;
  readonly random: () => number;
  /** Counts the starts on one data folder: part of every etag, so that none comes twice. */
  readonly boot: number;
  faults: Faults;
  /** Whether the all-versions feed brings what a document was before. */
  previousImages: boolean;
  nextRid: number;
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

const ridText = (bytes: Buffer): string => bytes.toString('base64').replaceAll('/', '-');

/** 4 bytes. */
export function databaseRid(n: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(n);
  return ridText(bytes);
}

/** 8 bytes: the client drops session tokens of a container whose id decodes to anything else. */
export function containerRid(database: string, n: number): string {
  const bytes = Buffer.alloc(8);
  Buffer.from(database.replaceAll('-', '/'), 'base64').copy(bytes);
  bytes.writeUInt32BE((0x80000000 + n) >>> 0, 4);
  return ridText(bytes);
}

/** The number that a container's id was made from. */
export const ridNumber = (rid: string): number =>
  Buffer.from(rid.replaceAll('-', '/'), 'base64').readUInt32BE(4) - 0x80000000;

const item = Buffer.alloc(16);

/** 16 bytes for an item. */
export function itemRid(container: string, n: number): string {
  item.write(container.replaceAll('-', '/'), 0, 8, 'base64');
  item.writeUInt32LE(n >>> 0, 8);
  return ridText(item);
}
