import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { canonical } from '../../base/json.ts';
import { shardsError } from '../errors.ts';
import { changedAfter, changesBy } from './catch-up.ts';
import type { Header, OperationDocument, SheetDocument } from './documents.ts';

// A sheet is a logical partition with a header document and other documents. Every commit is one transactional batch that
// replaces the header under its ETag. So commits to a sheet come one after the other, and each was decided from what the
// one before left. The header has a digest of the others: a reader knows whether the documents it was given are those of
// its header, whatever the consistency of its reads.

export interface StoredHeader<H extends Header> {
  readonly header: H;
  readonly etag: string;
}

export interface Commit {
  readonly header: Header;
  /** The ETag of the header that it replaces; absent: there is no header yet. */
  readonly ifMatch: string | undefined;
  readonly put: readonly SheetDocument[];
  readonly drop: readonly string[];
}

/** Where a sheet is stored. */
export interface SheetStore<H extends Header> {
  header(): Promise<StoredHeader<H> | undefined>;
  entries(): Promise<readonly SheetDocument[]>;
  /** The operations that began after a generation. Absent: the sheet's changes are not logged in it. */
  readonly operationsAfter?: (generation: number) => Promise<readonly OperationDocument[]>;
  /** Deletes all of a sheet in one transaction, if the header is still this one. False: it is another one, or unknown. */
  drop(whole: Whole<H>): Promise<boolean>;
  /** Resolves with the new ETag; undefined: the header is another one, or it is unknown whether the commit took effect. */
  commit(commit: Commit): Promise<string | undefined>;
}

/** A header with all documents of its sheet, by id. */
export interface Whole<H extends Header> extends StoredHeader<H> {
  readonly entries: ReadonlyMap<string, SheetDocument>;
}

/** What a commit takes away and brings; a document in both is replaced. Contents are as they are stored. */
export interface Edit {
  readonly before: readonly SheetDocument[];
  readonly after: readonly SheetDocument[];
}

/** Pause before reading again, after a read that may be older than a write. */
const STALE_MS = 50;
/** A sheet whose digest doesn't fit after this many readings is damaged. */
const READINGS = 40;
/** Readings of what changed since, before all is read again. */
const CATCH_UPS = 3;
/**
 * How long a process goes on without reading all. So it forgets what has expired, and finds what was written without a
 * commit.
 */
const WHOLE_MS = 3_600_000;
/** For how long an operation is decided from what this process knows, without asking. Its commit finds out what is older. */
const RECENT_MS = 1_000;

const bits = (entry: SheetDocument): bigint =>
  BigInt(`0x${createHash('sha256').update(canonical(entry)).digest('hex').slice(0, 32)}`);

/** The digest after some documents were added, or taken away, which is the same. */
function toggled(digest: string, entries: readonly SheetDocument[]): string {
  let sum = BigInt(`0x${digest}`);
  for (const entry of entries) if (entry.ttl === undefined) sum ^= bits(entry);
  return sum.toString(16);
}

export const EMPTY_DIGEST = '0';

const digestAfter = (digest: string, { before, after }: Edit): string => toggled(toggled(digest, before), after);

function entriesAfter(
  entries: ReadonlyMap<string, SheetDocument>,
  { before, after }: Edit,
): ReadonlyMap<string, SheetDocument> {
  const next = new Map(entries);
  for (const { id } of before) next.delete(id);
  for (const entry of after) next.set(entry.id, entry);
  return next;
}

export const mapDigestOf = (entries: readonly SheetDocument[]): string => toggled(EMPTY_DIGEST, entries);

export class Sheet<H extends Header> {
  readonly #store: SheetStore<H>;
  readonly #clock: Clock;
  #known: Whole<H> | undefined;
  /**
   * A commit on it has failed. Until then a stored header that is older than the known one is of a lagging replica. From
   * then on the map may have been restored to an older state.
   */
  #isDoubtful = false;
  /** When the sheet was seen to be the newest last, by the monotonic clock. */
  #knownAt = -Infinity;
  /** When all was read last, by the monotonic clock. */
  #readAt = 0;

  constructor(store: SheetStore<H>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  header(): Promise<StoredHeader<H> | undefined> {
    return this.#store.header();
  }

  /** The other documents, whether they fit the header or not. */
  entries(): Promise<readonly SheetDocument[]> {
    return this.#store.entries();
  }

  /**
   * The sheet as this process read it last, or left it by its last commit, without asking. What is decided from it is
   * committed only if it is the newest. Undefined: this process doesn't know one, or a commit on it has failed.
   */
  get known(): Whole<H> | undefined {
    return this.#isDoubtful ? undefined : this.#known;
  }

  /** The same, if it was read or left within the last second: a step of several begins with it. */
  get recent(): Whole<H> | undefined {
    return this.#clock.monotonic() - this.#knownAt < RECENT_MS ? this.known : undefined;
  }

  /** The header with the other documents; undefined: there is no sheet. @throws MillraceError `shard-map-damaged` */
  whole(): Promise<Whole<H> | undefined> {
    return this.wholeFrom(0);
  }

  /** The same, not older than a generation that the sheet is known to have had. */
  async wholeFrom(generation: number): Promise<Whole<H> | undefined> {
    if (this.#clock.monotonic() - this.#readAt > WHOLE_MS) this.#known = undefined;
    for (let readings = 1; ; readings++) {
      const began = this.#clock.monotonic();
      const stored = await this.#store.header();
      if (!stored) return (this.#known = undefined);
      const known = this.#known;
      if (known && (known.etag === stored.etag || (!this.#isDoubtful && isSuccessor(known.header, stored.header)))) {
        this.#knownAt = began;
        return known;
      }
      const found = await (readings <= CATCH_UPS ? this.#catchUp(known, stored) : this.#read(stored));
      if (found && stored.header.generation >= generation) return this.#know(found, began);
      if (readings === READINGS)
        throw shardsError('shard-map-damaged', `The documents of ${stored.header.pk} don't fit its header`);
      await this.#clock.sleep(STALE_MS);
    }
  }

  #know(whole: Whole<H>, at: number): Whole<H> {
    this.#isDoubtful = false;
    this.#knownAt = at;
    return (this.#known = whole);
  }

  async #read(stored: StoredHeader<H>): Promise<Whole<H> | undefined> {
    const began = this.#clock.monotonic();
    const entries = await this.#store.entries();
    if (mapDigestOf(entries) !== stored.header.digest) return undefined;
    this.#readAt = began;
    return { ...stored, entries: new Map(entries.map((entry) => [entry.id, entry])) };
  }

  async #catchUp(known: Whole<H> | undefined, stored: StoredHeader<H>): Promise<Whole<H> | undefined> {
    const { operationsAfter } = this.#store;
    if (!operationsAfter || !known || !isSuccessor(stored.header, known.header)) return this.#read(stored);
    const after = changedAfter(known.header.generation, known.entries);
    const edit = changesBy(known.entries, await operationsAfter(after));
    if (digestAfter(known.header.digest, edit) !== stored.header.digest) return undefined;
    return { ...stored, entries: entriesAfter(known.entries, edit) };
  }

  /** Deletes the sheet as it was read. False: decide again from another reading. */
  async drop(whole: Whole<H>): Promise<boolean> {
    this.#known = undefined;
    return this.#store.drop(whole);
  }

  /**
   * True: committed. False: decide again from another reading, also where the outcome is unknown. `from` is the digest of the
   * documents that are there.
   */
  async commit(
    stored: StoredHeader<H> | undefined,
    next: Omit<H, 'digest'>,
    { before, after }: Edit,
    from = stored?.header.digest ?? EMPTY_DIGEST,
  ): Promise<boolean> {
    const digest = digestAfter(from, { before, after });
    const header = { ...next, digest } as H;
    const kept = new Set(after.map(({ id }) => id));
    const drop = before.map(({ id }) => id).filter((id) => !kept.has(id));
    const began = this.#clock.monotonic();
    const etag = await this.#store.commit({ header, ifMatch: stored?.etag, put: after, drop });
    const known = this.#known;
    if (etag === undefined || known?.etag !== stored?.etag) {
      if (etag !== undefined) this.#known = undefined;
      else await this.#clock.sleep(STALE_MS);
      this.#isDoubtful = true;
      return etag !== undefined;
    }
    this.#know({ header, etag, entries: entriesAfter(known?.entries ?? new Map(), { before, after }) }, began);
    return true;
  }
}

/** Whether the first header is the other one, or a later one of the same sheet. */
const isSuccessor = (one: Header, other: Header): boolean =>
  one.created === other.created && one.generation >= other.generation;
