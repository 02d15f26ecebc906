// Archived documents of keys that move. Blobs stay where they are, because all shards share them; the target gets entries of
// its own. Its hosts derive from what their feed shows, so each document passes that feed as a copy, and leaves again.
import { mapSettled } from '../../base/map-settled.ts';
import { assertLineOf } from '../../archive/read/archived-line.ts';
import { KeptBlobs } from '../../archive/blobs/kept-blobs.ts';
import type { ArchivedDocument } from '../../archive/types.ts';
import { canonical } from '../../base/json.ts';
import type { Change, Identity } from '../../feed/reading/change.ts';
import { RESTORING } from '../../feed/reading/mapper.ts';
import { type RangePosition, lsnOf } from '../../feed/reading/position.ts';
import { Entries, type StoredEntry } from '../../kinds/archive/entries.ts';
import type { MovedMark } from '../../kinds/moved.ts';
import { Copier } from '../migrate/copy.ts';
import { positionsNow } from '../positions-now.ts';
import { plural } from '../table.ts';
import { operationsError } from '../errors.ts';
import { MovedDocuments, markOf } from './documents.ts';
import { type MovedEntryKeys, asDocument, entriesOf } from './entries-of.ts';
import { type Moving, accessTo, hostsOf, isBefore, progressOf } from './moving.ts';
import type { MovePlace, MovedContainer } from './side.ts';

/** So many documents stand in the target at a time. */
const CHUNK = 5_000;
const AT_ONCE = { concurrency: 64 };

export const keysOf = ({ map, record }: Moving): MovedEntryKeys => ({ map, span: record.now });

/** Takes the archived documents of the keys along. May be run again. @throws ArchiveDamaged */
export async function takeCold(moving: Moving): Promise<void> {
  for (const of of moving.containers) await new ColdMove(moving, of).take();
}

/** What a mover does with the archived documents of one container. */
class ColdMove {
  readonly #moving: Moving;
  readonly #of: MovedContainer;
  readonly #blobs: Pick<KeptBlobs, 'document'>;
  readonly #taken = new Map<string, StoredEntry>();
  readonly #sources: MovedDocuments;
  readonly #targets: MovedDocuments;

  constructor(moving: Moving, of: MovedContainer) {
    this.#moving = moving;
    this.#of = of;
    this.#blobs = blobsOf(moving);
    this.#sources = new MovedDocuments(of.left, accessTo(moving, moving.from));
    this.#targets = new MovedDocuments(of.right, accessTo(moving, moving.to));
  }

  async take(): Promise<void> {
    const { from, to, signal } = this.#moving;
    for await (const entry of entriesOf(to, this.#of, keysOf(this.#moving), signal))
      this.#taken.set(nameOf(entry), entry);
    const doubtful: Identity[] = [...this.#taken.values()];
    let chunk: StoredEntry[] = [];
    const flush = async (): Promise<void> => {
      doubtful.push(...(await this.#takeChunk(chunk)));
      chunk = [];
    };
    for await (const entry of entriesOf(from, this.#of, keysOf(this.#moving), signal))
      if (chunk.push(entry) >= CHUNK) await flush();
    if (chunk.length > 0) await flush();
    await mapSettled(doubtful, (one) => this.#annulOvertaken(one), AT_ONCE);
  }

  /** Resolves with documents that had changed before they left the target. */
  async #takeChunk(chunk: readonly StoredEntry[]): Promise<Identity[]> {
    const { record, say, total, to } = this.#moving;
    const due = await mapSettled(chunk, async (entry) => ((await this.#isDue(entry)) ? entry : undefined), AT_ONCE);
    const cold = due.filter((entry) => entry !== undefined);
    if (cold.length === 0) return [];
    await this.#copy(cold);
    await hostsOf(this.#moving, to, this.#of.target)?.haveAcknowledged(this.#of);
    const left = await mapSettled(cold, async (entry) => ((await this.#enter(entry)) ? undefined : entry), AT_ONCE);
    total.cold += cold.length;
    await record.save();
    await say(`${plural(total.cold, 'archived document')} taken along`);
    return left.filter((one) => one !== undefined);
  }

  /** One that is in the source's container, perhaps because it came back, is copied from there. */
  async #isDue(entry: StoredEntry): Promise<boolean> {
    const hot = await this.#sources.read(entry.key, entry.id);
    if (hot && hot['type'] !== RESTORING) return false;
    const known = this.#taken.get(nameOf(entry));
    if (!known || lineEtagOf(known) !== lineEtagOf(entry)) return true;
    return (await this.#targets.read(entry.key, entry.id)) !== undefined;
  }

  /** As versions that are newer than all that either shard has had of them, and older than what is written next. */
  async #copy(entries: readonly StoredEntry[]): Promise<void> {
    const { to } = this.#moving;
    const epoch = progressOf(this.#moving, this.#of).epoch ?? 0;
    const ends = await this.#ends(entries);
    const changes = await mapSettled(
      entries,
      async (entry): Promise<Change> => {
        const { container, key, id, type, at, doc, version } = await lineOf(this.#blobs, entry);
        const lsn = lsnOf(endOf(ends, this.#of.hashOf(key)).position);
        return { container, key, id, type, at, version: { epoch, lsn, etag: version.etag }, op: 'upsert', doc };
      },
      AT_ONCE,
    );
    // What is archived doesn't expire.
    const from = { ...this.#of.left, defaultTtl: undefined };
    const access = accessTo(this.#moving, to);
    await new Copier(from, this.#of.right, access, () => Promise.resolve(true), {
      epoch,
      cold: true,
    }).copy(changes);
  }

  /** Where the source's feed ends, above what a cancelled move may have left in the target. */
  async #ends(entries: readonly StoredEntry[]): Promise<readonly RangePosition[]> {
    const { renews } = progressOf(this.#moving, this.#of);
    for (;;) {
      const ends = await positionsNow(this.#of.source, this.#moving.signal);
      const endAt = ({ key }: StoredEntry): RangePosition => endOf(ends, this.#of.hashOf(key));
      const low = entries.filter((one) => isBefore(renews, this.#of.hashOf(one.key), lsnOf(endAt(one).position)));
      if (low.length === 0) return ends;
      for (const [one] of Map.groupBy(low, (entry) => endAt(entry).range.min).values())
        await this.#sources.advance(asDocument(this.#of, one!.key));
    }
  }

  /** The entry first, then the copy goes. False: the document is not as it was copied. */
  async #enter(entry: StoredEntry): Promise<boolean> {
    const { to } = this.#moving;
    const access = accessTo(this.#moving, to);
    for (;;) {
      const copy = await this.#targets.read(entry.key, entry.id);
      if (!copy) return true;
      const mark = markOf(copy);
      if (!mark?.cold || mark.lsn === undefined || mark.etag !== lineEtagOf(entry)) return false;
      const { container, key, id, type, projection, blob } = entry;
      const version = { epoch: mark.epoch ?? 0, lsn: mark.lsn, etag: String(copy['_etag']) };
      const change: Change = { container, key, id, type, version, at: 0, op: 'upsert' };
      const line = { name: blob!.name, line: blob!.line, etag: lineEtagOf(entry) };
      await new Entries(to.state!.id).archive(projection, change, line, access);
      if (await this.#targets.remove(copy)) return true;
    }
  }

  /** It came back in the source, and hosts may have had the copy of that before the entry was written. */
  async #annulOvertaken(one: Identity): Promise<void> {
    const { to } = this.#moving;
    const access = accessTo(this.#moving, to);
    const entries = new Entries(to.state!.id);
    const document = await this.#targets.read(one.key, one.id);
    if (!document || markOf(document)?.cold) return;
    for (;;) {
      const [entry] = await entries.read([one], access);
      if (entry?.state !== 'archived') return;
      if (await entries.replace(entry, entry, { projection: entry.projection, state: 'void', blob: null }, access))
        return;
    }
  }
}

/**
 * Marks the archived documents of the keys as gone in a shard, so that what is derived there takes them back. `of`: the
 * version as which.
 */
export async function markCold(
  moving: Moving,
  place: MovePlace,
  of: MovedContainer,
  {
    as,
    named,
  }: { readonly as: (entry: StoredEntry) => Pick<MovedMark, 'epoch' | 'lsn'>; readonly named: ReadonlySet<string> },
): Promise<void> {
  const documents = new MovedDocuments(of.left, accessTo(moving, place));
  let blobs: Pick<KeptBlobs, 'document'> | undefined;
  let chunk: StoredEntry[] = [];
  const flush = async (): Promise<void> => {
    const made = await mapSettled(
      chunk,
      async (entry) => documents.createGone((await lineOf((blobs ??= blobsOf(moving)), entry)).doc, as(entry)),
      AT_ONCE,
    );
    moving.total.removed += made.filter(Boolean).length;
    chunk = [];
  };
  for await (const entry of entriesOf(place, of, keysOf(moving), moving.signal))
    if (!named.has(nameOf(entry)) && chunk.push(entry) >= CHUNK) await flush();
  await flush();
}

/** Removes the entries of the keys from a shard, when its hosts have acknowledged the markers. */
export async function dropEntries(
  moving: Moving,
  place: MovePlace,
  of: MovedContainer,
  named: ReadonlySet<string>,
): Promise<void> {
  if (!place.state) return;
  const access = accessTo(moving, place);
  const entries = new Entries(place.state.id);
  const all: StoredEntry[] = [];
  for await (const entry of entriesOf(place, of, keysOf(moving), moving.signal))
    if (!named.has(nameOf(entry))) all.push(entry);
  await mapSettled(all, (entry) => entries.remove(entry, access), AT_ONCE);
}

const nameOf = ({ container, key, id }: Identity): string => canonical({ container, key, id });

/** The ETag of the line that an entry names. */
const lineEtagOf = ({ blob, version }: StoredEntry): string => blob?.etag ?? version.etag;

function blobsOf({ store, record }: Moving): KeptBlobs {
  let opened: ReturnType<NonNullable<Moving['store']>> | undefined;
  return new KeptBlobs(async (name) => {
    if (!store)
      throw operationsError('move-archived', `Documents of ${record.now.keys} are archived, and no storage is set`);
    return (await (opened ??= store())).read(name);
  });
}

/** The line of an entry that says archived. @throws ArchiveDamaged */
const lineOf = async (blobs: Pick<KeptBlobs, 'document'>, entry: StoredEntry): Promise<ArchivedDocument> =>
  assertLineOf(entry, entry.blob ? await blobs.document(entry.blob.name, entry.blob.line) : undefined);

const endOf = (ends: readonly RangePosition[], hash: string): RangePosition =>
  ends.find(({ range }) => range.min <= hash && hash < range.max)!;
