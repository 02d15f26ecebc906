import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { canonical } from '../../base/json.ts';
import { shardsError } from '../errors.ts';
import type { SheetDocument, Header } from './documents.ts';

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

const bits = (entry: SheetDocument): bigint =>
  BigInt(`0x${createHash('sha256').update(canonical(entry)).digest('hex').slice(0, 32)}`);

/** The digest after some documents were added, or taken away, which is the same. */
function toggled(digest: string, entries: readonly SheetDocument[]): string {
  let sum = BigInt(`0x${digest}`);
  for (const entry of entries) if (entry.ttl === undefined) sum ^= bits(entry);
  return sum.toString(16);
}

export const EMPTY_DIGEST = '0';

export const digestOf = (entries: readonly SheetDocument[]): string => toggled(EMPTY_DIGEST, entries);

export class Sheet<H extends Header> {
  readonly #store: SheetStore<H>;
  readonly #clock: Clock;
  #known: Whole<H> | undefined;

  constructor(store: SheetStore<H>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  header(): Promise<StoredHeader<H> | undefined> {
    return this.#store.header();
  }

  /** The header with the other documents; undefined: there is no sheet. @throws MillraceError `shard-map-damaged` */
  whole(): Promise<Whole<H> | undefined> {
    return this.wholeFrom(0);
  }

  /** The same, not older than a generation that the sheet is known to have had. */
  async wholeFrom(generation: number): Promise<Whole<H> | undefined> {
    for (let readings = 1; ; readings++) {
      const stored = await this.#store.header();
      if (!stored) return (this.#known = undefined);
      // A lagging replica may show an older header.
      if (this.#known && isSuccessor(this.#known.header, stored.header)) return this.#known;
      const entries = await this.#store.entries();
      if (digestOf(entries) === stored.header.digest && stored.header.generation >= generation)
        return (this.#known = { ...stored, entries: new Map(entries.map((entry) => [entry.id, entry])) });
      if (readings === READINGS)
        throw shardsError('shard-map-damaged', `The documents of ${stored.header.pk} don't fit its header`);
      await this.#clock.sleep(STALE_MS);
    }
  }

  /** Deletes the sheet as it was read. False: decide again from another reading. */
  async drop(whole: Whole<H>): Promise<boolean> {
    this.#known = undefined;
    return this.#store.drop(whole);
  }

  /** True: committed. False: decide again from another reading, also where the outcome is unknown. */
  async commit(
    stored: StoredHeader<H> | undefined,
    next: Omit<H, 'digest'>,
    { before, after }: Edit,
  ): Promise<boolean> {
    const digest = toggled(toggled(stored?.header.digest ?? EMPTY_DIGEST, before), after);
    const header = { ...next, digest } as H;
    const kept = new Set(after.map(({ id }) => id));
    const drop = before.map(({ id }) => id).filter((id) => !kept.has(id));
    const etag = await this.#store.commit({ header, ifMatch: stored?.etag, put: after, drop });
    const known = this.#known;
    if (etag === undefined || known?.etag !== stored?.etag) {
      this.#known = undefined;
      if (etag === undefined) await this.#clock.sleep(STALE_MS);
      return etag !== undefined;
    }
    const entries = new Map(known?.entries);
    for (const id of drop) entries.delete(id);
    for (const entry of after) entries.set(entry.id, entry);
    this.#known = { header, etag, entries };
    return true;
  }
}

/** Whether the known header is the stored one or a later one of the same sheet. */
const isSuccessor = (known: Header, stored: Header): boolean =>
  known.created === stored.created && known.generation >= stored.generation;
