import type { Database } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { Unavailable } from '../../cosmos/retry.ts';
import { shardsError } from '../errors.ts';
import type { KeySpan } from '../keys/spans.ts';
import {
  type LocalHeader,
  type MappingDocument,
  type MappingStatus,
  type ShardDocument,
  shownLocation,
} from '../map/documents.ts';
import { lost } from '../map/local-maps.ts';
import { BackOff } from './back-off.ts';
import type { LocalReader, LocalReading } from './local-reader.ts';
import type { RouterOptions } from './values.ts';

/** The shard has no answer that counts: the map may name another location by now. `error` is for the application. */
export class Silence extends Error {
  readonly shard: KnownShard;
  readonly error: Error;

  constructor(shard: KnownShard, error: Error) {
    super(error.message, { cause: error });
    this.shard = shard;
    this.error = error;
  }
}

export interface KnownShardOptions extends Required<Pick<RouterOptions, 'validForMs'>> {
  readonly clock: Clock;
}

/** A mapping that the map showed. What the shard says of it is in `digest` and `isVoid`. */
export class CachedMapping implements KeySpan {
  readonly status: MappingStatus;
  readonly shard: KnownShard;
  /** The digest of a local map that has this mapping. */
  digest?: string;
  readonly low: string;
  readonly high?: string;
  readonly id: string;
  /** A reading of the local map didn't have this mapping. */
  isVoid = false;

  constructor({ id, status, low, high }: MappingDocument, shard: KnownShard) {
    this.status = status;
    this.shard = shard;
    this.low = low;
    if (high !== undefined) this.high = high;
    this.id = id;
  }
}

export type Local = Pick<LocalReader, 'validations' | 'header' | 'find' | 'whole'>;

/** Readings of a local map until it shows what this process did, and the pause between them. */
const LAG_READINGS = 20;
const LAG_MS = 50;

/** The most mappings that one query asks for. Its page must have them all. */
const AT_ONCE = 50;

/**
 * What a router knows of one shard at one location. The digest of a local map's header names its mappings exactly: as
 * long as a reading of the header shows the digest with which a mapping was found, the shard has that mapping.
 */
export class KnownShard {
  readonly id: string;
  readonly version: string;
  readonly location: ShardDocument['location'];
  readonly database: Database;
  /** Of the last reading of the local map's header. */
  generation = -1;
  readonly detached: boolean;
  readonly #options: KnownShardOptions;
  readonly #local: Local;
  /** Of look-ups in the map because the shard doesn't answer. */
  readonly silence = new BackOff();
  /** Of look-ups because the local map is older than the shard's gate allows. */
  readonly behind = new BackOff();
  #digest: string | undefined;
  /** This process changed the local map: readings of a lower generation are from before. */
  #changedAt = 0;
  /** When the shard's document in the map was read, monotonic. */
  locatedAt: number;
  /** When the last reading was sent, monotonic. */
  #readAt = -Infinity;
  readonly #asked = new Set<CachedMapping>();
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #lookUp: Promise<void> | undefined;

  constructor(document: ShardDocument, database: Database, local: Local, options: KnownShardOptions) {
    this.id = document.shard;
    this.version = document.version;
    this.location = document.location;
    this.detached = document.detached === true;
    this.database = database;
    this.#options = options;
    this.locatedAt = options.clock.monotonic();
    this.#local = local;
  }

  /** Requests to the local map so far. */
  get validations(): number {
    return this.#local.validations;
  }

  /** This process has ended an operation of this generation on the shard. What was read before doesn't count. */
  changed(generation: number): void {
    if (generation <= this.generation) return;
    this.#changedAt = Math.max(this.#changedAt, generation);
    this.#readAt = -Infinity;
  }

  /** Whether the last reading of the local map had the mapping, and is not too old. In memory only. */
  has({ digest, status }: CachedMapping, now = this.#options.clock.monotonic()): boolean {
    return digest !== undefined && digest === this.#digest && now - this.#readAt <= this.#validForMs(status);
  }

  /** An offline mapping is asked for again soon, because it may be online again. */
  #validForMs(status: CachedMapping['status']): number {
    const { validForMs } = this.#options;
    return status === 'online' ? validForMs : Math.min(OFFLINE_MS, validForMs);
  }

  /**
   * Resolves after a reading of the local map that began after this call. One reading runs at a time, and all who ask
   * meanwhile share the next one. @throws Silence
   */
  check(mapping: CachedMapping): Promise<void> {
    this.#asked.add(mapping);
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        const asked = [...this.#asked];
        this.#asked.clear();
        return (this.#running = this.ask(() => this.#read(asked)));
      });
    return this.#next;
  }

  /** Sends a request to the shard. @throws Silence: the shard didn't answer */
  async ask<T>(request: () => Promise<T>): Promise<T> {
    const name = shownLocation(this.location);
    if (this.detached)
      throw new Silence(
        this,
        shardsError('shard-detached', `The shard ${name} is detached, so its keys can't be used`),
      );
    try {
      const answer = await request();
      this.silence.reset();
      return answer;
    } catch (error) {
      if (!(error instanceof Unavailable) || failureOf(error.cause).kind === 'throttled') throw error;
      throw new Silence(this, shardsError('shard-silent', `The shard ${name} doesn't answer`, { cause: error }));
    }
  }

  /** Runs a look-up in the map because of this shard, one at a time. False: none ran, because one ran not long ago. */
  async lookUp(backOff: BackOff, run: () => Promise<void>): Promise<boolean> {
    const now = this.#options.clock.monotonic();
    if (!this.#lookUp) {
      if (!backOff.isDue(now)) return false;
      backOff.grow(now);
      this.#lookUp = run().finally(() => (this.#lookUp = undefined));
    }
    await this.#lookUp;
    return true;
  }

  /** The same for all mappings of the shard that are known, by one reading of the whole local map. @throws Silence */
  async checkAll(mappings: readonly CachedMapping[]): Promise<void> {
    await this.ask(async () => {
      const sentAt = this.#options.clock.monotonic();
      const whole = await this.#local.whole();
      this.#take(whole?.header, sentAt);
      mark(mappings, { header: whole?.header, found: whole?.entries ?? new Map() });
    });
  }

  async #read(asked: readonly CachedMapping[]): Promise<void> {
    const { clock } = this.#options;
    let sentAt = clock.monotonic();
    let header = await this.#local.header();
    // A lagging replica may show the local map from before. Only a shard that was restored meanwhile stays so.
    for (let again = 0; header && header.generation < this.#changedAt && again < LAG_READINGS; again++) {
      await clock.sleep(LAG_MS);
      sentAt = clock.monotonic();
      header = await this.#local.header();
    }
    this.#take(header, sentAt);
    const unsure = asked.filter(({ digest }) => digest !== header?.digest);
    for (let at = 0; at < unsure.length; at += AT_ONCE) await this.#find(unsure.slice(at, at + AT_ONCE));
  }

  async #find(mappings: readonly CachedMapping[]): Promise<void> {
    const sentAt = this.#options.clock.monotonic();
    const reading = await this.#local.find(mappings.map(({ id }) => id));
    if (!reading) return;
    this.#take(reading.header, sentAt);
    mark(mappings, reading);
  }

  #take(header: LocalHeader | undefined, sentAt: number): void {
    if (!header || header.removed) throw new Silence(this, lost(this.location));
    this.generation = header.generation;
    this.#digest = header.digest;
    this.#readAt = sentAt;
  }
}

function mark(mappings: readonly CachedMapping[], { header, found }: LocalReading): void {
  for (const mapping of mappings)
    if (header && found.has(mapping.id)) mapping.digest = header.digest;
    else mapping.isVoid = true;
}

/** How long an offline mapping is refused without asking again, milliseconds. */
const OFFLINE_MS = 500;
