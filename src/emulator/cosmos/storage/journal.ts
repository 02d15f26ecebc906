import { closeSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { damagedFolder, folderInUse, unusableFolder } from '../../../base/data-folder.ts';
import { isObject } from '../../../base/json.ts';
import { sharedError } from '../../../base/shared-errors.ts';
import { UsageError } from '../../../base/errors.ts';
import { messageOf } from '../../../base/errors.ts';
import { openPrivate, privateFolder } from '../../private-files.ts';
import { StoredContainer } from './container.ts';
import { StoredItem, StoredVersion } from './logical-partition.ts';
import type { StoredDatabase, Holdings, Offer } from './holdings.ts';
import type { WireKey } from './keys.ts';
import { LogicalPartition } from './logical-partition.ts';
import { PhysicalPartition } from './physical-partition.ts';
import type { StoredChange } from './physical-partition.ts';
import { ridNumber } from './rids.ts';
import type { WireDoc } from '../wire/wire.ts';

/** Of the tables. Folders of before it was written have 0. */
const VERSION = 1;

// The lock is exclusive: two servers on one folder would each serve their own memory.
const SCHEMA = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA user_version = ${VERSION};
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS databases (rid TEXT PRIMARY KEY, definition TEXT) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS offers (id TEXT PRIMARY KEY, definition TEXT) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS containers (rid TEXT PRIMARY KEY, database TEXT, definition TEXT) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS ranges (container TEXT, id TEXT, low TEXT, high TEXT, parents TEXT, lsn INTEGER,
    PRIMARY KEY (container, id)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS items (row INTEGER PRIMARY KEY, key TEXT, id TEXT, seq INTEGER, lsn INTEGER, at INTEGER,
    ttl INTEGER, etag TEXT, open TEXT);
  CREATE TABLE IF NOT EXISTS changes (row INTEGER PRIMARY KEY, container TEXT, lsn INTEGER, at INTEGER, kind TEXT,
    key TEXT, id TEXT, current TEXT, previous TEXT, previous_lsn INTEGER, expired INTEGER);
  CREATE INDEX IF NOT EXISTS changes_by_age ON changes (container, at);
`;

const FILE = 'cosmos.db';

/** The number of an item's row: the container's number in the upper bits, so that one container's rows are adjacent. */
const ROWS = 2 ** 36;
const rowOf = ({ rid }: StoredContainer, seq: number): number => ridNumber(rid) * ROWS + seq;

/**
 * Stores the account on disk. Requests are answered from memory, and every change is also written here. All changes of
 * one turn of the event loop share a SQLite transaction. No answer is sent before the commit, so a killed process loses
 * nothing that it has answered.
 */
export class StoredJournal {
  readonly #db: DatabaseSync;
  readonly #put: StatementSync;
  readonly #remove: StatementSync;
  readonly #lsn: StatementSync;
  readonly #moved = new Map<PhysicalPartition, string>();
  #waiting: Answer[] = [];
  #open = false;
  readonly #folder: string;
  #failure: UsageError | undefined;
  #nextRid = 0;
  #holdings: Holdings | undefined;

  readonly #failed: (failure: UsageError) => void;

  /** `failed`: called once the disk can't be written. @throws UsageError if the folder can't be used */
  constructor(folder: string, failed: (failure: UsageError) => void = () => undefined) {
    this.#failed = failed;
    this.#folder = folder;
    const file = join(folder, FILE);
    const owner = join(folder, 'cosmos.pid');
    if (existsSync(owner) && !hasData(file)) throw damagedFolder(folder, FILE, 'is missing or empty');
    try {
      privateFolder(folder);
      closeSync(openPrivate(file));
      // SQLite creates the file beside it with the same mode, but doesn't change the mode of an existing one.
      if (existsSync(`${file}-wal`)) closeSync(openPrivate(`${file}-wal`));
      this.#db = new DatabaseSync(file);
      const version = Number(this.#db.prepare('PRAGMA user_version').get()?.['user_version']);
      if (version > VERSION)
        throw sharedError('unreadable', `The data folder ${folder} is of a later version of Millrace`, {
          hint: 'Start the version that wrote it, or name another folder.',
        });
      this.#db.exec(SCHEMA);
      this.#db.exec(
        "INSERT INTO meta VALUES ('boot', 0) ON CONFLICT DO NOTHING; UPDATE meta SET value = value + 1 WHERE name = 'boot'",
      );
      // From now on the file has data, and a process that finds it locked names this one.
      writeFileSync(owner, String(process.pid), { mode: 0o600 });
    } catch (error) {
      if (codeOf(error) === LOCKED)
        throw folderInUse(folder, existsSync(owner) ? readFileSync(owner, 'utf8') : '?', error);
      if (error instanceof UsageError) throw error;
      throw FOREIGN.has(codeOf(error)) ? this.#damaged(error) : unusableFolder(folder, error);
    }
    this.#put = this.#db.prepare('INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');
    this.#remove = this.#db.prepare('DELETE FROM items WHERE row = ?');
    this.#lsn = this.#db.prepare('UPDATE ranges SET lsn = ? WHERE container = ? AND id = ?');
  }

  get boot(): number {
    return Number(this.#db.prepare("SELECT value FROM meta WHERE name = 'boot'").get()!.value);
  }

  /**
   * The error of a failed write to disk. After it, memory has writes that the disk lacks, so no request may be answered
   * from memory. All answered writes are on disk, and a restart continues from there.
   */
  get failure(): UsageError | undefined {
    return this.#failure;
  }

  /** Calls `send` when everything written before this call is on disk, or `fail` if it can't be written. */
  release(send: () => void, fail: (failure: UsageError) => void): void {
    if (this.#failure) fail(this.#failure);
    else if (this.#open) this.#waiting.push({ send, fail });
    else send();
  }

  put(container: StoredContainer, { item, lsn, at, ttl, etag, open }: StoredVersion): void {
    const row = [rowOf(container, item.seq), item.home.text, item.id, item.seq, lsn, at, ttl ?? null, etag, open];
    this.#change(() => this.#put.run(...row));
  }

  remove(container: StoredContainer, item: StoredItem): void {
    this.#change(() => this.#remove.run(rowOf(container, item.seq)));
  }

  change(
    { rid }: StoredContainer,
    { lsn, at, kind, home, id, current, previous, previousLsn, expired }: StoredChange,
  ): void {
    const row = [rid, lsn, at, kind, home.text, id, current ?? null, previous ?? null, previousLsn ?? null];
    this.#write('INSERT INTO changes VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)', ...row, Number(expired));
  }

  /** Writes a container's changes again, because a failover has undone some. */
  rewriteChanges(container: StoredContainer): void {
    this.#write('DELETE FROM changes WHERE container = ?', container.rid);
    for (const range of container.ranges) for (const change of range.changes) this.change(container, change);
  }

  /** Discards the writes that are not yet answered, like a killed process. */
  crash(): void {
    this.#rollBack();
    this.#waiting = [];
    if (this.#db.isOpen) this.#db.close();
  }

  forgetChanges({ rid }: StoredContainer, before: number): void {
    this.#write('DELETE FROM changes WHERE container = ? AND at < ?', rid, before);
  }

  moved(container: StoredContainer, range: PhysicalPartition): void {
    this.#change(() => this.#moved.set(range, container.rid));
  }

  database({ rid, definition }: StoredDatabase): void {
    this.#write('INSERT OR REPLACE INTO databases VALUES (?, ?)', rid, JSON.stringify(definition));
  }

  dropDatabase({ rid }: StoredDatabase): void {
    this.#write('DELETE FROM databases WHERE rid = ?', rid);
  }

  container(database: StoredDatabase, { rid, definition, ranges }: StoredContainer): void {
    this.#write('INSERT OR REPLACE INTO containers VALUES (?, ?, ?)', rid, database.id, JSON.stringify(definition));
    this.#ranges(rid, ranges);
  }

  /** Stores the new physical partitions of a container. */
  reshaped({ rid, ranges, merged }: StoredContainer): void {
    this.#write('DELETE FROM ranges WHERE container = ?', rid);
    this.#ranges(rid, ranges);
    if (merged) this.#write('INSERT OR REPLACE INTO meta VALUES (?, 1)', `merged ${rid}`);
  }

  #ranges(container: string, ranges: readonly PhysicalPartition[]): void {
    for (const { id, range, parents, lsn } of ranges) {
      const values = [container, id, range.min, range.max, JSON.stringify(parents), lsn];
      this.#write('INSERT OR REPLACE INTO ranges VALUES (?, ?, ?, ?, ?, ?)', ...values);
    }
  }

  dropContainer(container: StoredContainer): void {
    const { rid } = container;
    this.#write('DELETE FROM containers WHERE rid = ?', rid);
    this.#write('DELETE FROM ranges WHERE container = ?', rid);
    this.#write('DELETE FROM changes WHERE container = ?', rid);
    this.#write('DELETE FROM items WHERE row BETWEEN ? AND ?', rowOf(container, 0), rowOf(container, ROWS - 1));
  }

  offer({ id, definition }: Offer): void {
    this.#write('INSERT OR REPLACE INTO offers VALUES (?, ?)', id, JSON.stringify(definition));
  }

  dropOffer({ id }: Offer): void {
    this.#write('DELETE FROM offers WHERE id = ?', id);
  }

  /** Loads everything, as of the last commit. @throws UsageError if the folder is damaged */
  load(holdings: Holdings): void {
    try {
      this.#load(holdings);
    } catch (error) {
      this.crash();
      throw this.#damaged(error);
    }
  }

  #damaged(cause: unknown): UsageError {
    return damagedFolder(this.#folder, FILE, `can't be read: ${messageOf(cause)}`, cause);
  }

  #load(holdings: Holdings): void {
    this.#holdings = holdings;
    holdings.nextRid = Number(this.#db.prepare("SELECT value FROM meta WHERE name = 'nextRid'").get()?.value ?? 1);
    for (const row of this.#db.prepare('SELECT definition FROM databases ORDER BY rid').all()) {
      const definition = JSON.parse(row.definition as string) as WireDoc & { id: string; _rid: string };
      holdings.databases.set(definition.id, {
        id: definition.id,
        rid: definition._rid,
        definition,
        containers: new Map(),
      });
    }
    for (const row of this.#db.prepare('SELECT definition FROM offers ORDER BY id').all()) {
      const definition = JSON.parse(row.definition as string) as WireDoc & { id: string };
      holdings.offers.set(definition.id, { id: definition.id, definition });
    }
    for (const row of this.#db.prepare('SELECT database, definition FROM containers ORDER BY rid').all()) {
      const database = holdings.databases.get(row.database as string);
      if (database) this.#loadContainer(database, JSON.parse(row.definition as string) as WireDoc);
    }
  }

  #loadContainer(database: StoredDatabase, definition: WireDoc): void {
    const { id, _rid: rid, _self: self } = definition as { id: string; _rid: string; _self: string };
    const ranges = this.#db
      .prepare('SELECT * FROM ranges WHERE container = ? ORDER BY low')
      .all(rid)
      .map(({ id: name, low, high, parents, lsn }) => {
        const range = { min: low as string, max: high as string };
        return new PhysicalPartition(name as string, range, JSON.parse(parents as string) as string[], Number(lsn));
      });
    const container = new StoredContainer(id, rid, `dbs/${database.id}/colls/${id}`, self, definition, ranges, 1);
    container.merged = this.#db.prepare('SELECT 1 FROM meta WHERE name = ?').get(`merged ${rid}`) !== undefined;
    database.containers.set(id, container);
    const items = this.#db.prepare(
      'SELECT key, id, seq, lsn, at, ttl, etag, open FROM items WHERE row BETWEEN ? AND ? ORDER BY row',
    );
    // There may be a million rows, and arrays cost less than objects with names.
    items.setReturnArrays(true);
    for (const row of items.iterate(rowOf(container, 0), rowOf(container, ROWS - 1))) {
      loadItem(container, row as unknown as ItemRow);
    }
    for (const { log } of ranges) log.sort((a, b) => a.lsn - b.lsn);
    for (const row of this.#db.prepare('SELECT * FROM changes WHERE container = ? ORDER BY row').iterate(rid)) {
      const change = changeOf(container, row);
      container.rangeOf(change.home.epk).changes.push(change);
    }
    for (const range of ranges) range.forgottenLsn = (range.changes[0]?.lsn ?? range.lsn + 1) - 1;
  }

  /** Runs `work` in the open transaction, or in a new one that ends with this turn of the event loop. */
  #change(work: () => void): void {
    this.#attempt(() => {
      if (!this.#open) {
        this.#db.exec('BEGIN');
        this.#open = true;
        setImmediate(() => this.flush());
      }
      work();
    });
  }

  #attempt(work: () => void): void {
    if (this.#failure) return;
    try {
      work();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Records that the disk can't be written: no waiting or later request is answered as done. */
  fail(cause: unknown): UsageError {
    const message = `The data folder ${this.#folder} can't be written any more: ${messageOf(cause)}.`;
    this.#failure = DAMAGE.has(codeOf(cause))
      ? this.#damaged(cause)
      : sharedError('unwritable', message, {
          hint: 'Free space on its disk, then restart the server. It keeps every write that it has answered.',
          cause,
        });
    this.#rollBack();
    process.emitWarning(`${this.#failure.message} ${this.#failure.hint ?? ''}`);
    this.#failed(this.#failure);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { fail } of waiting) fail(this.#failure);
    return this.#failure;
  }

  /** Ends the transaction, unless SQLite has done so with the error. */
  #rollBack(): void {
    this.#open = false;
    if (this.#db.isOpen && this.#db.isTransaction) this.#db.exec('ROLLBACK');
  }

  /** Commits the open transaction, and sends the answers that wait for it. */
  flush(): void {
    if (!this.#open) return;
    this.#attempt(() => {
      for (const [range, rid] of this.#moved) this.#lsn.run(range.lsn, rid, range.id);
      this.#moved.clear();
      if (this.#holdings && this.#holdings.nextRid !== this.#nextRid) {
        this.#nextRid = this.#holdings.nextRid;
        this.#db.prepare("INSERT OR REPLACE INTO meta VALUES ('nextRid', ?)").run(this.#nextRid);
      }
      this.#db.exec('COMMIT');
      this.#open = false;
    });
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { send } of waiting) send();
  }

  close(): void {
    this.flush();
    if (this.#db.isOpen) this.#db.close();
  }

  #write(sql: string, ...values: (string | number | null)[]): void {
    this.#change(() => this.#db.prepare(sql).run(...values));
  }
}

const hasData = (file: string): boolean => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;

/** SQLite's primary result code; 0 of another error. */
const codeOf = (error: unknown): number => (isObject(error) ? Number(error['errcode'] ?? 0) & 0xff : 0);
/** SQLITE_BUSY. */
const LOCKED = 5;
/** SQLITE_CORRUPT, SQLITE_NOTADB. */
const DAMAGE = new Set([11, 26]);
/** The same, and SQLITE_ERROR: tables of another form. */
const FOREIGN = new Set([...DAMAGE, 1]);

/** An answer that waits for the disk. */
interface Answer {
  readonly send: () => void;
  readonly fail: (failure: UsageError) => void;
}

function changeOf(container: StoredContainer, row: Record<string, unknown>): StoredChange {
  return {
    lsn: Number(row.lsn),
    at: Number(row.at),
    kind: row.kind as StoredChange['kind'],
    home: container.open(JSON.parse(row.key as string) as WireKey),
    id: row.id as string,
    current: (row.current as string | null) ?? undefined,
    previous: (row.previous as string | null) ?? undefined,
    previousLsn: (row.previous_lsn as number | null) ?? undefined,
    expired: row.expired === 1,
  };
}

/** A row of `items` without its number. */
type ItemRow = readonly [
  key: string,
  id: string,
  seq: number,
  lsn: number,
  at: number,
  ttl: number | null,
  etag: string,
  open: string,
];

function loadItem(container: StoredContainer, [text, id, seq, lsn, at, ownTtl, etag, open]: ItemRow): void {
  let home = container.logical.get(text);
  if (!home) {
    const key = JSON.parse(text) as WireKey;
    home = new LogicalPartition(key, text, container.keys.epk(key));
    container.logical.set(text, home);
  }
  const item = new StoredItem(id, home, seq);
  const ttl = ownTtl ?? undefined;
  item.current = new StoredVersion(item, open, etag, lsn, at, ttl);
  home.items.set(item.id, item);
  container.items.add(item);
  container.rangeOf(home.epk).append(item.current);
  if (ttl !== undefined && ttl > 0) container.expiring.add(item);
  if (container.unique.length > 0) {
    for (const value of container.uniqueValues(item.current.doc)) home.unique.set(value, item.id);
  }
  container.nextSeq = Math.max(container.nextSeq, item.seq + 1);
}
