import type { Container } from '@azure/cosmos';
import { mapSettled } from '../../base/map-settled.ts';
import { assertReadable } from '../../base/format.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { type RetryOptions, withRetry } from '../../cosmos/retry.ts';
import { type Change, type Identity, type Version, compareVersions } from '../../feed/reading/change.ts';
import type { Fence } from '../../feed/tenure/fence.ts';
import type { Refusal } from '../../kinds/runner.ts';
import { scrub } from './scrub.ts';
import { type Kept, KeptChanges } from './kept-changes.ts';
import { type LetterBodies, LetterBodyDamaged } from './letter-bodies.ts';
import {
  type DeadLetter,
  type LetterDocument,
  type Parked,
  type Reason,
  STORED_FIELDS,
  type StoredLetter,
  letterDocument,
  letterId,
  letterPartition,
  orderOf,
  parked,
} from './letter-document.ts';
import { listLetters } from './letter-queries.ts';
import { bySize, inBatches, isOfOne, removal, writeLetter } from './letter-operations.ts';
import { transact } from '../../cosmos/transact.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';

export type { DeadLetter, Parked } from './letter-document.ts';

export interface ParkOptions extends LetterWork {
  /** True: stores the change itself, because no source can deliver it again. */
  readonly whole?: boolean;
  /** True for a redrive: a letter of the same version gets one more attempt. Repetitions of the feed don't count. */
  readonly redriven?: boolean;
}

export interface LetterWork {
  /** Whether the projection takes changes for events. */
  readonly events?: boolean;
  /** Checked before each request: a host without the lease writes no more letters. */
  readonly fence?: Fence;
  /** Called when more letters are durable. */
  readonly progress?: () => void;
}

interface Entry {
  readonly id: string;
  readonly change: Change;
  readonly reason: Reason;
}

/** Letters that are written at the same time, one by one, after their batch failed. */
const LETTERS_AT_ONCE = 16;

/** Dead letters in the state container. A letter holds no document if the source still has it. */
export class DeadLetters {
  readonly #state: Container;
  readonly #kept: KeptChanges;
  /** Parked documents by projection, as last read. The cache saves a read for each page. */
  readonly #parked = new Map<string, Promise<Map<string, Parked>>>();

  /** `bodies`: blobs for the largest changes. Without it they are stored in documents. */
  constructor(state: Container, bodies?: LetterBodies) {
    this.#state = state;
    this.#kept = new KeptChanges(state, bodies);
  }

  /** Stores refused changes as dead letters. Resolves when they are durable, so that a checkpoint may pass them (PROC-L2). */
  async park(projection: string, refusals: readonly Refusal[], now: Date, options: ParkOptions = {}): Promise<void> {
    const entries = refusals.map(({ change, error }) => {
      const hint = error.hint ? { hint: scrub(error.hint) } : {};
      return { id: letterId(change), change, reason: { code: error.code, message: scrub(error.message), ...hint } };
    });
    await this.#store(projection, entries, now, options);
  }

  /** Stores changes that wait behind a parked change of their key. Resolves when they are durable. */
  async parkWaiting(projection: string, changes: readonly Change[], now: Date, work: LetterWork = {}): Promise<void> {
    const entries = changes.map((change) => {
      const message = `An earlier change under the key ${JSON.stringify(change.key)} is parked`;
      return { id: letterId(change), change, reason: { code: 'waits-behind-parked', message, waits: true } };
    });
    await this.#store(projection, entries, now, { ...work, whole: true });
  }

  /** The parked documents of a projection, as last read: by key (in the order of `orderOf`), then by letter id. */
  async blocked(projection: string): Promise<Map<string, Map<string, Parked>>> {
    const keys = new Map<string, Map<string, Parked>>();
    for (const [id, one] of await this.#known(projection)) {
      const documents = keys.get(one.order) ?? new Map<string, Parked>();
      keys.set(one.order, documents.set(id, one));
    }
    return keys;
  }

  /** The changes that wait under some keys. */
  async waiting(projection: string, orders: ReadonlySet<string>): Promise<Change[]> {
    const known = await this.#known(projection);
    if (![...known.values()].some(({ waits, order }) => waits && orders.has(order))) return [];
    const query = { query: `SELECT * FROM c WHERE c.kind = 'dead-letter' AND c.waits = true` };
    const own = (await this.#query<LetterDocument>(projection, query)).filter((letter) => orders.has(orderOf(letter)));
    // A change that can't be read stays with its letter, and doesn't stop the others.
    const changeOf = (letter: LetterDocument): Promise<Change | undefined> =>
      this.#keptOf(letter).catch((error: unknown) => {
        if (error instanceof LetterBodyDamaged) return undefined;
        throw error;
      });
    const changes = await mapSettled(own, changeOf, { concurrency: LETTERS_AT_ONCE });
    return changes.filter((change) => change !== undefined);
  }

  /** Removes the letters that the applied changes have replaced by newer versions. */
  async resolve(projection: string, applied: readonly Change[], progress?: () => void): Promise<void> {
    const known = await this.#known(projection);
    if (known.size === 0) return;
    const newest = new Map<string, Version>();
    for (const change of applied) {
      const id = letterId(change);
      if (!known.has(id)) continue;
      const before = newest.get(id);
      if (!before || compareVersions(change.version, before) !== 'older') newest.set(id, change.version);
    }
    await inBatches([...newest], async (some) => {
      await this.#resolveTogether(projection, some, known);
      progress?.();
    });
  }

  /** Removes a letter in the version that was listed. False: it is gone, or its document is now parked in another version. */
  async discard(letter: Pick<DeadLetter, 'projection' | 'version'> & Identity): Promise<boolean> {
    const id = letterId(letter);
    const { before, after } = await this.#remove(
      letter.projection,
      id,
      ({ version }) => compareVersions(letter.version, version) === 'same',
    );
    if (!before || after) return false;
    (await this.#parked.get(letter.projection))?.delete(id);
    return true;
  }

  /** The messages of those letters that still exist, by letter id. */
  async reasons(projection: string, letters: readonly Identity[]): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    await inBatches(letters.map(letterId), async (ids) => {
      for (const [id, { message }] of await this.#readSome(projection, ids)) found.set(id, message);
    });
    return found;
  }

  /** The change that is stored with a letter, if there is one. @throws LetterBodyDamaged */
  async kept(letter: Pick<DeadLetter, 'projection'> & Identity): Promise<Change | undefined> {
    const stored = await this.#read(letter.projection, letterId(letter));
    return stored && this.#keptOf(stored);
  }

  async #keptOf(letter: LetterDocument): Promise<Change | undefined> {
    const change = await this.#kept.get(letter.pk, letter);
    return change && letter.carried ? { ...change, owed: true } : change;
  }

  /** Oldest first. `projection`: `name@version`. */
  async list(projection?: string): Promise<DeadLetter[]> {
    return listLetters(this.#state, { projection });
  }

  /** Makes the next use read the index again. To be called at the first page of a tenure, and for each Functions batch. */
  refresh(): void {
    this.#parked.clear();
  }

  /** There is one read at a time. Letters that are parked in the meantime are added to its result. */
  #known(projection: string): Promise<Map<string, Parked>> {
    const known = this.#parked.get(projection);
    if (known) return known;
    const reading = this.#readIndex(projection);
    this.#parked.set(projection, reading);
    reading.catch(() => this.#parked.delete(projection));
    return reading;
  }

  async #readIndex(projection: string): Promise<Map<string, Parked>> {
    const query = {
      query: `SELECT c.id, c.pk, c.kind, c.format, c.container, c.key, c.version, c.waits FROM c WHERE c.kind = 'dead-letter'`,
    };
    const letters = await this.#query<LetterDocument>(projection, query);
    return new Map(letters.map((stored) => [stored.id, parked(stored, stored.waits === true)]));
  }

  async #store(projection: string, entries: readonly Entry[], now: Date, options: ParkOptions): Promise<void> {
    if (entries.length === 0) return;
    const known = await this.#known(projection);
    // A change that was once stored needs no letter again, even if that was resolved, redriven or discarded since.
    const due = newestOf(entries).filter((entry) => !isStored(known.get(entry.id), entry, options));
    await inBatches(due, async (some) => {
      await this.#storeTogether(projection, some, now, known, options);
      for (const { id, change, reason } of some) known.set(id, parked(change, reason.waits === true));
    });
  }

  async #storeTogether(
    projection: string,
    entries: readonly Entry[],
    now: Date,
    known: ReadonlyMap<string, Parked>,
    options: ParkOptions,
  ): Promise<void> {
    const retry = retried(options);
    const pk = letterPartition(projection);
    const ids = entries.map(({ id }) => id).filter((id) => known.has(id));
    const before = await this.#readSome(projection, ids, retry);
    const due = entries.filter((entry) => !isStored(before.get(entry.id), entry, options));
    const kept = new Map<string, Kept>();
    const put = async ({ id, change }: Entry): Promise<void> =>
      void kept.set(id, options.whole ? await this.#kept.put(pk, change) : {});
    await mapSettled(due, put, { concurrency: LETTERS_AT_ONCE });
    const writes = due.map(({ id, change, reason }) =>
      writeLetter(
        letterDocument(projection, change, reason, kept.get(id) ?? {}, now, { ...options, before: before.get(id) }),
        before.get(id),
      ),
    );
    try {
      for (const some of bySize(writes)) {
        await transact(this.#state, pk, () => some, { ...retry, reads: false });
        options.progress?.();
      }
    } catch (error) {
      if (!isOfOne(error)) throw error;
      // Another host was faster with one of them, or the outcome is unknown: write them one by one.
      const one = (entry: Entry): Promise<void> => this.#storeOne(projection, entry, now, kept.get(entry.id), options);
      return void (await mapSettled(entries, one, { concurrency: LETTERS_AT_ONCE }));
    }
    for (const [id, by] of kept) {
      const old = before.get(id);
      if (old) await this.#forget(old, by);
    }
  }

  async #storeOne(
    projection: string,
    entry: Entry,
    now: Date,
    put: Kept | undefined,
    options: ParkOptions,
  ): Promise<void> {
    const { id, change, reason } = entry;
    const pk = letterPartition(projection);
    let kept = put;
    const decide = async (stored?: LetterDocument): Promise<Omit<LetterDocument, '_etag'> | undefined> => {
      // Another host has stored it, or a batch whose answer was lost.
      if (isStored(stored, entry, options)) return stored;
      kept ??= options.whole ? await this.#kept.put(pk, change) : {};
      return letterDocument(projection, change, reason, kept, now, { ...options, before: stored });
    };
    const { before, after } = await rewrite(this.#state, { id, pk }, decide, retried(options));
    if (after !== before) options.progress?.();
    if (!before) return;
    // If another host's letter stays, the parts that this call has stored are removed.
    await (after === before ? this.#forget({ ...kept, pk }, before) : this.#forget(before, kept ?? {}));
  }

  async #resolveTogether(
    projection: string,
    applied: readonly (readonly [id: string, version: Version])[],
    known: Map<string, Parked>,
  ): Promise<void> {
    const ids = applied.map(([id]) => id);
    const stored = await this.#readSome(projection, ids);
    const replaced = applied.filter(([id, version]) => isReplaced(stored.get(id), version)).map(([id]) => id);
    const letters = replaced.map((id) => stored.get(id)).filter((letter) => letter !== undefined);
    try {
      if (letters.length > 0)
        await transact(this.#state, letterPartition(projection), () => letters.map(removal), { reads: false });
    } catch (error) {
      if (!isOfOne(error)) throw error;
      const one = async ([id, version]: readonly [string, Version]): Promise<void> => {
        const { after } = await this.#remove(projection, id, (letter) => isReplaced(letter, version));
        if (!after) known.delete(id);
      };
      return void (await mapSettled(applied, one, { concurrency: LETTERS_AT_ONCE }));
    }
    for (const letter of letters) await this.#kept.remove(letter.pk, letter);
    for (const id of replaced) known.delete(id);
  }

  /** Removes a letter and its stored change, if `due` returns true for it. */
  async #remove(projection: string, id: string, due: (stored: LetterDocument) => boolean) {
    const at = { id, pk: letterPartition(projection) };
    const { before, after } = await rewrite(this.#state, at, (stored?: LetterDocument) =>
      stored && due(stored) ? undefined : stored,
    );
    if (before && !after) await this.#kept.remove(at.pk, before);
    return { before, after };
  }

  /** Removes the parts of a change that a newer letter no longer refers to. */
  async #forget({ pk, parts, blob }: Kept & { readonly pk: string }, by: Kept): Promise<void> {
    if (parts && parts.name !== by.parts?.name) await this.#kept.remove(pk, { parts });
    if (blob !== undefined && blob !== by.blob) await this.#kept.remove(pk, { blob });
  }

  async #read(
    projection: string,
    id: string,
    retry: RetryOptions = { reads: true },
  ): Promise<LetterDocument | undefined> {
    const item = this.#state.item(id, letterPartition(projection));
    return readItem<LetterDocument>(item, retry);
  }

  async #readSome(
    projection: string,
    ids: readonly string[],
    retry?: RetryOptions,
  ): Promise<Map<string, StoredLetter>> {
    if (ids.length === 0) return new Map();
    const fields = STORED_FIELDS.map((field) => `c.${field}`).join(', ');
    const query = {
      query: `SELECT ${fields} FROM c WHERE c.id IN (${ids.map((_, at) => `@${at}`).join(', ')})`,
      parameters: ids.map((value, at) => ({ name: `@${at}`, value })),
    };
    const letters = await this.#query<StoredLetter>(projection, query, retry);
    return new Map(letters.map((letter) => [letter.id, letter]));
  }

  async #query<T>(
    projection: string,
    query: Parameters<Container['items']['query']>[0],
    retry: RetryOptions = { reads: true },
  ): Promise<T[]> {
    const options = { partitionKey: letterPartition(projection) };
    const { resources } = await withRetry(() => this.#state.items.query<T>(query, options).fetchAll(), retry);
    for (const letter of resources) assertReadable(letter);
    return resources;
  }
}

/** Whether a stored letter already covers this entry: it has the same version or a newer one. */
function isStored(
  before: (Pick<Parked, 'version'> & { readonly waits?: boolean }) | undefined,
  { change, reason }: Entry,
  { redriven = false }: ParkOptions,
): boolean {
  if (!before) return false;
  const order = compareVersions(change.version, before.version);
  if (order === 'older') return true;
  // The reason why a version was refused stays: "it waits" doesn't replace it.
  return order === 'same' && (reason.waits === true || (before.waits !== true && !redriven));
}

/**
 * Whether the applied version replaces the parked one. With the same lsn the parked one may be the later version, because an
 * expired document is deleted and created in one step.
 */
const isReplaced = (stored: Pick<StoredLetter, 'version'> | undefined, applied: Version): boolean =>
  !stored || !['older', 'undecided'].includes(compareVersions(applied, stored.version));

const retried = ({ fence }: LetterWork): RetryOptions => ({
  reads: true,
  ...(fence && { signal: fence.signal, before: () => fence.assert() }),
});

/** One entry for each document, with its newest version. */
function newestOf(entries: readonly Entry[]): Entry[] {
  const newest = new Map<string, Entry>();
  for (const entry of entries) {
    const before = newest.get(entry.id);
    const order = before ? compareVersions(entry.change.version, before.change.version) : 'newer';
    if (order === 'newer' || order === 'undecided') newest.set(entry.id, entry);
  }
  return [...newest.values()];
}
