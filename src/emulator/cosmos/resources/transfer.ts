import { open } from 'node:fs/promises';
import { z } from 'zod';
import type { UsageError } from '../../../base/errors.ts';
import { messageOf, MillraceError } from '../../../base/errors.ts';
import type { Account } from '../storage/account.ts';
import type { Container } from '../storage/container.ts';
import { throughputFor } from '../storage/throughput.ts';
import { perform } from '../items/operations.ts';
import { resources } from './resources.ts';
import { Transaction } from '../items/transaction.ts';
import { parseJson, WireError } from '../wire/wire.ts';
import type { Doc } from '../wire/wire.ts';
import { sharedError } from '../../../base/shared-errors.ts';
import { EMULATOR_ERRORS } from '../../errors.ts';

// One JSON value a line: a database, then its containers, each followed by its items. Values that the server makes
// (resource ids, etags, times) are left out; the import makes new ones.

const SYSTEM = /^_(?:rid|self|etag|ts|attachments|colls|users|docs|sprocs|triggers|udfs|conflicts|lsn)$/;

const line = z.union([
  z.strictObject({ database: z.looseObject({ id: z.string() }) }),
  z.strictObject({
    container: z.looseObject({ id: z.string() }),
    throughput: z.number().optional(),
    autoscale: z.boolean().optional(),
  }),
  z.strictObject({ item: z.looseObject({ id: z.string() }) }),
]);

/** Writes everything to a file as JSON lines; returns the number of items. */
export async function exportTo(account: Account, path: string): Promise<number> {
  const file = await open(path, 'w').catch((cause: unknown) => {
    throw unusable(path, messageOf(cause), cause);
  });
  try {
    const stream = file.createWriteStream();
    let items = 0;
    for (const text of lines(account)) {
      if (text.startsWith('{"item"')) items++;
      if (!stream.write(`${text}\n`)) await new Promise<void>((resolve) => stream.once('drain', () => resolve()));
    }
    await new Promise<void>((resolve, reject) => {
      stream.once('error', reject);
      stream.end(resolve);
    });
    return items;
  } finally {
    await file.close();
  }
}

/** The account's content, one value at a time. A write during the export may or may not be included. */
export function* lines(account: Account): Generator<string, void> {
  const now = account.now();
  for (const { definition, containers } of account.databases.values()) {
    yield JSON.stringify({ database: plain(definition) });
    for (const container of containers.values()) {
      yield JSON.stringify({ container: plain(container.definition), ...throughputOf(account, container) });
      for (const { items } of container.logical.values()) {
        for (const { current } of items.values()) {
          if (container.isLive(current, now)) yield JSON.stringify({ item: plain(current.doc) });
        }
      }
    }
  }
}

const plain = (doc: Doc): Doc => Object.fromEntries(Object.entries(doc).filter(([name]) => !SYSTEM.test(name)));

function throughputOf(account: Account, { rid }: Container): Doc {
  const throughput = throughputFor(account, rid);
  if (!throughput) return {};
  const { maximum, autoscale } = throughput;
  return { throughput: maximum, ...(autoscale ? { autoscale } : {}) };
}

/**
 * Adds the content of a file of `exportTo` to the account; returns the number of items. The lines before an invalid one
 * stay imported.
 * @throws UsageError with the number of the line that is invalid or names something that exists already
 */
export async function importFrom(account: Account, path: string): Promise<number> {
  const file = await open(path).catch((cause: unknown) => {
    throw unusable(path, messageOf(cause), cause);
  });
  const importer = new Importer(account);
  try {
    for await (const text of file.readLines()) importer.take(text);
    return importer.items;
  } catch (cause) {
    throw cause instanceof ImportError ? unusable(path, cause.message, cause) : cause;
  } finally {
    await file.close();
  }
}

/** A line that can't be imported, with its number. */
export class ImportError extends MillraceError<'import-invalid'> {
  constructor(message: string, cause?: unknown) {
    super('import-invalid', message, { ...EMULATOR_ERRORS['import-invalid'], cause });
  }
}

/** Takes lines in their order, and applies each immediately. */
export class Importer {
  readonly #account: Account;
  #database: string | undefined;
  #container: Container | undefined;
  #number: number;
  items = 0;

  /**
   * @param into the container, as `database/container`, of the items before the first line of a container
   * @param first the number of the first line
   */
  constructor(account: Account, into?: string, first = 1) {
    this.#account = account;
    this.#number = first - 1;
    const [database, container] = into?.split('/') ?? [];
    this.#database = database;
    if (database !== undefined && container !== undefined) {
      this.#container = account.databases.get(database)?.containers.get(container);
    }
  }

  /** The container of the next item, or its database; undefined before the first database. */
  get into(): string | undefined {
    return this.#container ? `${this.#database}/${this.#container.id}` : this.#database;
  }

  /** Throws ImportError. */
  take(text: string): void {
    this.#number++;
    if (text.trim() === '') return;
    try {
      this.#do(lineOf(text));
    } catch (cause) {
      const why = cause instanceof z.ZodError ? 'it has an unknown form' : messageOf(cause);
      throw new ImportError(`line ${this.#number}: ${why}`, cause);
    }
  }

  #do(next: z.output<typeof line>): void {
    const account = this.#account;
    if ('database' in next) {
      create(account, ['dbs'], next.database, {});
      this.#database = next.database.id;
      this.#container = undefined;
    } else if ('container' in next) {
      if (this.#database === undefined) throw new ImportError('A container comes before the first database.');
      const { throughput, autoscale = false } = next;
      create(account, ['dbs', this.#database, 'colls'], next.container, headersOf(throughput, autoscale));
      this.#container = account.databases.get(this.#database)?.containers.get(next.container.id);
    } else {
      if (!this.#container) throw new ImportError('An item comes before the first container.');
      const home = this.#container.open(this.#container.keys.of(next.item));
      const tx = new Transaction(account, this.#container, home);
      perform(tx, { type: 'Create', body: next.item });
      tx.commit();
      this.items++;
    }
  }
}

/** Checks a line, and returns the parsed value itself: zod's copy would lose members with the name `__proto__`. */
function lineOf(text: string): z.output<typeof line> {
  const value: unknown = parseJson(text);
  line.parse(value);
  return value as z.output<typeof line>;
}

function create(account: Account, segments: string[], body: Doc, headers: Record<string, string>): void {
  const { status, text } = resources(account, {
    method: 'POST',
    segments,
    headers,
    body: Buffer.from(JSON.stringify(body)),
  });
  if (status !== 201) throw new WireError(status, text ?? '');
}

function headersOf(throughput: number | undefined, autoscale: boolean): Record<string, string> {
  const version = { 'x-ms-version': '2020-07-15' };
  if (throughput === undefined) return version;
  return autoscale
    ? { ...version, 'x-ms-cosmos-offer-autopilot-settings': JSON.stringify({ maxThroughput: throughput }) }
    : { ...version, 'x-ms-offer-throughput': String(throughput) };
}

const unusable = (path: string, why: string, cause: unknown): UsageError =>
  sharedError('emulator-file-unusable', `The file ${path} can't be used: ${why}`, {
    cause,
    hint: 'Name a file that an embedded server has exported, or a folder that this user may write to.',
  });
