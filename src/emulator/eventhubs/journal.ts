import { closeSync, existsSync, fstatSync, ftruncateSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import { openPrivate, privateFolder } from '../private-files.ts';
import type { Namespace } from './namespace.ts';
import type { NewEvent, PartitionLog } from './partition-log.ts';
import { AmqpRefusal } from './refusal.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** Bytes of a record's two lengths. */
const LENGTHS = 8;

/**
 * Stores the published events, one file a partition. A record has a header (JSON: the time and the partition keys) and the
 * events' bytes. A batch is one record; a record that a kill cut off is removed.
 */
export class Journal {
  readonly #folder: string;
  readonly #files = new Map<string, number>();

  /** @throws UsageError if the folder can't be used */
  constructor(folder: string) {
    this.#folder = folder;
    try {
      privateFolder(folder);
    } catch (cause) {
      const hint = 'Give --data a folder that you may write to.';
      throw sharedError('unwritable', `The folder ${folder} can't be used: ${messageOf(cause)}`, {
        cause,
        hint,
      });
    }
  }

  load({ hubs }: Namespace): void {
    for (const { name, partitions } of hubs.values()) {
      for (const log of partitions) {
        const file = this.#path(name, log);
        if (existsSync(file)) replay(file, log);
      }
    }
  }

  /** @throws AmqpRefusal if the disk can't be written; then nothing of the batch is stored */
  write(hub: string, log: PartitionLog, batch: readonly NewEvent[], at: number): void {
    const path = this.#path(hub, log);
    const file = this.#files.get(path) ?? openPrivate(path);
    this.#files.set(path, file);
    const header = { at, events: batch.map(({ message, partitionKey }) => [message.length, partitionKey ?? null]) };
    const head = Buffer.from(JSON.stringify(header));
    const lengths = Buffer.alloc(LENGTHS);
    const bodies = batch.map(({ message }) => message);
    lengths.writeUInt32LE(head.length, 0);
    lengths.writeUInt32LE(
      bodies.reduce((sum, body) => sum + body.length, 0),
      4,
    );
    appendWhole(file, Buffer.concat([lengths, head, ...bodies]));
  }

  close(): void {
    for (const file of this.#files.values()) closeSync(file);
    this.#files.clear();
  }

  #path(hub: string, log: PartitionLog): string {
    return join(this.#folder, `${encodeURIComponent(hub.toLowerCase())}-${log.id}.events`);
  }
}

/** Writes a whole record or nothing: records after an incomplete one would be lost with it. */
function appendWhole(file: number, record: Buffer): void {
  const { size } = fstatSync(file);
  try {
    for (let at = 0; at < record.length;) at += writeSync(file, record, at);
  } catch (cause) {
    ftruncateSync(file, size);
    throw new AmqpRefusal(
      'amqp:resource-limit-exceeded',
      `The events can't be written to the data folder: ${messageOf(cause)}. Free space on its disk and send them again.`,
    );
  }
}

function replay(file: string, log: PartitionLog): void {
  const bytes = readFileSync(file);
  let at = 0;
  while (at + LENGTHS <= bytes.length) {
    const head = at + LENGTHS;
    const body = head + bytes.readUInt32LE(at);
    const end = body + bytes.readUInt32LE(at + 4);
    if (end > bytes.length) break;
    const header = JSON.parse(bytes.toString('utf8', head, body)) as { at: number; events: [number, string | null][] };
    let from = body;
    const batch = header.events.map(([length, key]): NewEvent => {
      const message = bytes.subarray(from, (from += length));
      return { message, partitionKey: key ?? undefined };
    });
    log.append(batch, header.at);
    at = end;
  }
  if (at < bytes.length) truncateSync(file, at);
}
