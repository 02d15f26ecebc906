// What takes the rows of documents outside of the account.

/** One document for a sink outside of Cosmos DB. */
export interface Entry<R = unknown> {
  /** Made of the source document's key and id: `A-Z a-z 0-9 _ . : @ - ~ |`, at most 255 characters. */
  readonly id: string;
  /** Sorts as text: of two entries with one id the greater is the newer. Same length for all. */
  readonly version: string;
  /** null: remove the row. */
  readonly row: R | null;
}

/**
 * A store outside of Cosmos DB with one row for each id, such as a search index or a cache. Rows come repeatedly, late and
 * in any order (another host may still be writing). So it must keep the newest `version` of each id (of a removed row for
 * at least an hour), and must ignore an older write without an error.
 */
export interface Sink<R = unknown> {
  /**
   * Resolves when all entries are durable or superseded. Throws `SinkRefusal` for entries that it will never accept. Any
   * other error means that the sink can't be reached: Millrace reads the page again.
   */
  write(entries: readonly Entry<R>[], signal: AbortSignal): Promise<void>;
  /**
   * All stored rows, for `projections verify`; without it Millrace can't verify this sink. With the `version` that the sink
   * holds, `--repair` can correct it too.
   */
  rows?(signal: AbortSignal): AsyncIterable<{ readonly id: string; readonly row: R; readonly version?: string }>;
  /** How it is filled again from history beside its content; without it Millrace can't rebuild this sink. */
  readonly rebuild?: SinkRebuild<R>;
}

/**
 * A store with several contents, one of which is current: an index behind an alias, a table behind a view. A target is a
 * name of a-z, 0-9 and -. Each function may be called again after it has taken effect, and by another process.
 */
export interface SinkRebuild<R = unknown> {
  /** The content of this name, with the same promise as the sink itself. Creates it if it doesn't exist. */
  open(target: string, signal: AbortSignal): Promise<Pick<Sink<R>, 'write'>>;
  /**
   * Makes the target current, at one moment: when it resolves, readers read it, and `write` of every host writes it. If it
   * is current, does nothing. What becomes of the content before is for the sink to decide. `keepMs`: for so long it may
   * be asked to make that one current again.
   */
  swap(target: string, signal: AbortSignal, keepMs?: number): Promise<void>;
  /** Removes the target. If it is current or doesn't exist, does nothing. */
  drop(target: string, signal: AbortSignal): Promise<void>;
}

/** Whose a table's entry is. */
export interface EntryPlace {
  /** The partition key of the document, and its id. */
  readonly key: readonly unknown[];
  readonly id: string;
  /** The value of its tenant; undefined: it has none, or it isn't known. */
  readonly tenant?: unknown;
}

/** What a table's sink gets: an entry with its version's ETag and its place. */
export interface TableEntry extends Entry {
  readonly etag: string;
  readonly place: EntryPlace;
  /** Tenants that may have rows of the document beside its own, where it may move. A repair removes those rows. */
  readonly strayed?: readonly unknown[];
  /** Whether the source has this version now. Asked where the stored version has the same lsn and another ETag. */
  isCurrent?(): Promise<boolean>;
}

/**
 * Some documents of a table:
 * - `tenant`: those of a tenant, as `Change.tenant` has it
 * - `places`: these, under whichever tenant they are
 * - `drawn`: so many by chance
 * - `after`: so many behind a place in the order of the primary key, or the first ones
 */
export type TablePart =
  | { readonly tenant: string }
  | { readonly places: readonly EntryPlace[] }
  | { readonly drawn: number }
  | { readonly most: number; readonly after?: readonly unknown[] | undefined };

/** The rows of a document. `at`: the values of its primary key. */
export interface TableRow extends Pick<Entry, 'id' | 'version'> {
  readonly row: unknown;
  readonly place: EntryPlace;
  readonly at: readonly unknown[];
}

/** Something in the database that stops a projection, or may lose its rows. */
export interface TableFault {
  readonly what: string;
  readonly hint: string;
}

/** The content that readers had before, while hosts write it. */
export interface KeptContent {
  readonly version: number;
  readonly content: string;
  /** ISO 8601 UTC. */
  readonly until: string;
}

export interface TableStore extends Sink {
  kept?(signal: AbortSignal): Promise<KeptContent | undefined>;
  /** Gives readers the kept content of this version again; keeps what they had. Resolves with its name. */
  back?(signal: AbortSignal, keepMs: number): Promise<string>;
  part?(part: TablePart, signal: AbortSignal): AsyncIterable<TableRow>;
  faults?(signal: AbortSignal): Promise<TableFault[]>;
}
