import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { openPrivate, privateFolder } from '../private-files.ts';
import type { Namespace } from './namespace.ts';
import type { NewEvent, PartitionLog } from './partition-log.ts';
import { AmqpRefusal } from './refusal.ts';
import { damagedFolder, unusableFolder } from '../../base/data-folder.ts';

const FILE = 'events.db';
/** A hub is as old as its folder says: consumers take another time for another hub. */
const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS hubs (name TEXT PRIMARY KEY, created INTEGER) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS events (row INTEGER PRIMARY KEY, hub TEXT, partition TEXT, at INTEGER, key TEXT,
    message BLOB);
`;
/** SQLite's codes of a file that isn't a database of its, or is damaged. */
const DAMAGED: ReadonlySet<unknown> = new Set([11, 26]);

/** Stores the published events. A batch is one transaction, so a kill leaves all of it or nothing. */
export class Journal {
  readonly #db: DatabaseSync;

  /** @throws UsageError if the folder can't be used */
  constructor(folder: string) {
    const file = join(folder, FILE);
    try {
      privateFolder(folder);
      closeSync(openPrivate(file));
      this.#db = new DatabaseSync(file);
      this.#db.exec(SCHEMA);
    } catch (cause) {
      throw isObject(cause) && DAMAGED.has(cause['errcode'])
        ? damagedFolder(folder, FILE, `can't be read: ${messageOf(cause)}`, cause)
        : unusableFolder(folder, cause);
    }
  }

  load({ hubs }: Namespace): void {
    const events = this.#db.prepare('SELECT at, key, message FROM events WHERE hub = ? AND partition = ? ORDER BY row');
    for (const [name, hub] of hubs) {
      this.#db.prepare('INSERT INTO hubs VALUES (?, ?) ON CONFLICT DO NOTHING').run(name, hub.createdAt);
      hub.createdAt = Number(this.#db.prepare('SELECT created FROM hubs WHERE name = ?').get(name)?.['created']);
      for (const log of hub.partitions)
        for (const { at, key, message } of events.iterate(name, log.id))
          log.append(
            [{ message: Buffer.from(message as Uint8Array), partitionKey: (key as string | null) ?? undefined }],
            Number(at),
          );
    }
  }

  /** @throws AmqpRefusal if the disk can't be written; then nothing of the batch is stored */
  write(hub: string, log: PartitionLog, batch: readonly NewEvent[], at: number): void {
    try {
      this.#db.exec('BEGIN');
      const put = this.#db.prepare('INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?)');
      for (const { message, partitionKey = null } of batch)
        put.run(hub.toLowerCase(), log.id, at, partitionKey, message);
      this.#db.exec('COMMIT');
    } catch (cause) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw new AmqpRefusal(
        'amqp:resource-limit-exceeded',
        `The events can't be written to the data folder: ${messageOf(cause)}. Free space on its disk and send them again.`,
      );
    }
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }
}
