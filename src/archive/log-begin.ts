// The begin of a version log: all documents that there are, hot and cold, in as many runs as it takes (ARC-V3).
import { z } from 'zod';
import { CLOCK_SKEW_MS } from '../base/bounds.ts';
import { systemClock } from '../base/clock.ts';
import type { ArchiveSpec } from '../definition/specs.ts';
import type { Change } from '../feed/reading/change.ts';
import { untilStopped } from '../feed/tenure/fences.ts';
import { Entries } from '../projections/archive/entries.ts';
import { ArchiveDamaged, readBlob } from './blob.ts';
import type { BlobStore } from './blob-store.ts';
import { FeedReader } from './feed-reader.ts';
import { asEntered, isEntryOf } from './find.ts';
import { promised } from './layout.ts';
import { READ_LAG_MS } from './open.ts';
import { storedBlobs } from './stored-blobs.ts';
import type { Archive, ArchivedDocument } from './types.ts';
import { type Line, beganAt, beginName, logBegan, logFolder, loggedLine, writeLines } from './version-log.ts';

/** What the log has of the time before it began is written in blobs of so many documents. */
const DOCUMENTS = 2_000;
const BYTES = 16 * 1024 * 1024;

export interface BeginOptions {
  /** Whether the tenant of a document is erased now: asked before each write (ERASE-S5). Absent: none is. */
  readonly isErased?: (change: Change) => Promise<boolean>;
  /** The monotonic time at which it stops; the next run goes on. */
  readonly until?: number;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs?: number;
  /** Of a sharded source; asked only before the log has begun. Absent: one place has all of its documents. */
  readonly shard?: () => Promise<LogShard | undefined>;
  readonly signal: AbortSignal;
}

/** A shard, and all of which the log must have the documents before it has begun; also those that can't be reached now. */
export interface LogShard {
  readonly id: string;
  readonly all: readonly string[];
}

const progressed = z.object({
  format: z.literal(1),
  /** Where the feed was read up to; null: to its end. */
  hot: z.array(z.object({ range: z.object({ min: z.string(), max: z.string() }), position: z.string() })).nullable(),
  /** The blobs that were read, by the hashes in their names: a name has the tenant. */
  cold: z.array(z.string()),
});
type Progress = z.infer<typeof progressed>;

/**
 * Begins the log of an archive, unless it has begun. First it reads the container by its feed, then what entries name. Hosts
 * must have positions for all ranges, and keep what they read: what changes meanwhile comes by them. So a document that
 * doesn't change is hot until the feed has been read, or it is cold after that. Over shards each shard keeps its own, and
 * the log has begun with the last of them; of a shard that is added later, hosts read everything. Returns the time from which
 * on the log is whole, milliseconds; undefined: its time was up, or other shards have not kept theirs.
 */
export async function beginLog(archive: Archive, options: BeginOptions): Promise<number | undefined> {
  const { spec, store } = archive;
  const known = await logBegan(store, spec);
  if (known !== undefined) return known;
  const shard = await options.shard?.();
  const from = await beginHere(archive, options, shard?.id);
  if (!shard || from === undefined) return from;
  const others = await Promise.all(shard.all.map((id) => beganAt(store, beginName(spec, id))));
  return others.includes(undefined)
    ? undefined
    : begin(store, beginName(spec), Math.max(...others.flatMap((at) => at ?? [])));
}

/** Keeps the documents of this place. */
async function beginHere(archive: Archive, options: BeginOptions, shard?: string): Promise<number | undefined> {
  const { spec, store } = archive;
  const known = await beganAt(store, beginName(spec, shard));
  if (known !== undefined) return known;
  const name = progressName(spec, shard);
  const progress = await readProgress(store, name);
  const { hot } = progress;
  if (hot && !(await keepHot(archive, hot, name, options))) return undefined;
  const cold = new Set(progress.cold);
  const isWhole = await keepCold(archive, cold, options);
  if (!isWhole) {
    await saveProgress(store, name, { format: 1, hot: null, cold: [...cold] });
    return undefined;
  }
  // The service's clock may be ahead of this one, and versions have its time.
  return begin(store, beginName(spec, shard), Date.now() + CLOCK_SKEW_MS);
}

/** Another process may have been faster: then its time counts. */
async function begin(store: BlobStore, name: string, from: number): Promise<number> {
  await store.put(name, Buffer.from(JSON.stringify({ format: 1, from })), null);
  return (await beganAt(store, name)) ?? from;
}

const isOver = ({ until = Infinity }: BeginOptions): boolean => systemClock.monotonic() >= until;

/** True: the feed was read to its end. */
async function keepHot(
  archive: Archive,
  from: NonNullable<Progress['hot']>,
  name: string,
  options: BeginOptions,
): Promise<boolean> {
  const { spec, store, feed } = archive;
  const reader = new FeedReader(feed, from.length > 0 ? from : undefined);
  const lines = new Lines(archive, options);
  for await (const { changes } of reader.toEnd(options.signal)) {
    for (const change of changes) {
      if (change.type !== spec.from.type || change.gone) continue;
      const { leaving } = change;
      // A document that leaves, in the version that was archived: its mark is no version of the application's.
      await lines.add(leaving?.intact ? { ...change, ...leaving.of } : change);
    }
    if (!isOver(options)) continue;
    await lines.write();
    await saveProgress(store, name, { format: 1, hot: placesOf(reader), cold: [] });
    return false;
  }
  await lines.write();
  await saveProgress(store, name, { format: 1, hot: null, cold: [] });
  // After this wait, every replica has the entry of each document that left the container before.
  await systemClock.sleep(options.readLagMs ?? READ_LAG_MS, options.signal);
  return true;
}

const placesOf = (reader: FeedReader): NonNullable<Progress['hot']> =>
  (reader.places ?? []).map(({ range: { min, max }, position }) => ({ range: { min, max }, position }));

/** True: each blob that is there was read. A compaction may write others meanwhile, so it lists until nothing is new. */
async function keepCold(archive: Archive, done: Set<string>, options: BeginOptions): Promise<boolean> {
  const { spec, store, stateContainer } = archive;
  const { signal } = options;
  const access = archive.access(untilStopped(signal));
  const entries = new Entries(stateContainer);
  const isNamed = (name: string): Promise<boolean> => entries.name(name, access);
  const lines = new Lines(archive, options);
  const keep = async (name: string, read: () => Promise<ArchivedDocument[]>): Promise<void> => {
    const documents = (await read()).filter(({ container }) => container === spec.from.container);
    const known = await entries.read(documents, access);
    for (const [at, document] of documents.entries()) {
      const entry = known[at];
      const change = entry && isEntryOf(entry, document) ? asChange(archive, asEntered(entry, document)) : undefined;
      if (change?.type === spec.from.type) await lines.add(change);
    }
    // What was read counts as done only with its lines.
    await lines.write();
    done.add(promised(name));
  };
  for (let before = -1; before < done.size;) {
    before = done.size;
    for await (const { name, listed, read } of storedBlobs(store, isNamed, spec.from.container)) {
      signal.throwIfAborted();
      // A blob in no manifest was left by a crash, or its manifest was lost; then entries name the blob.
      if (done.has(promised(name)) || (!listed && !(await isNamed(name)))) continue;
      await keep(name, read);
      if (isOver(options)) return false;
    }
    // Of a folder that someone emptied no list knows: entries do.
    for (const name of await entries.blobs('', access)) {
      if (done.has(promised(name))) continue;
      const named = (await entries.ofBlob(name, access)).filter(({ state }) => state === 'archived');
      if (named.some(({ container }) => container === spec.from.container))
        await keep(name, () => readBlob(store, name));
    }
  }
  return true;
}

/** Lines on their way to the log. */
class Lines {
  readonly #archive: Archive;
  readonly #isErased: NonNullable<BeginOptions['isErased']>;
  #lines: Line[] = [];
  #bytes = 0;

  constructor(archive: Archive, { isErased = async () => false }: BeginOptions) {
    this.#archive = archive;
    this.#isErased = isErased;
  }

  async add(change: Change): Promise<void> {
    const line = loggedLine(this.#archive.spec, change);
    this.#lines.push(line);
    this.#bytes += line.line.length;
    if (this.#lines.length >= DOCUMENTS || this.#bytes >= BYTES) await this.write();
  }

  async write(): Promise<void> {
    const left: Line[] = [];
    for (const line of this.#lines) if (!(await this.#isErased(line.change))) left.push(line);
    this.#lines = [];
    this.#bytes = 0;
    await writeLines(this.#archive.store, this.#archive.spec, left);
  }
}

/** An archived document as its feed would deliver it. */
function asChange({ feed }: Archive, { doc, version, at }: ArchivedDocument): Change | undefined {
  const found = feed.source.found({ ...doc, _etag: version.etag, _ts: at / 1_000 });
  return found && { ...found, version };
}

const progressName = (spec: ArchiveSpec, shard?: string): string =>
  `${logFolder(spec)}begin-progress${shard === undefined ? '' : `~${shard}`}.json`;

async function readProgress(store: BlobStore, name: string): Promise<Progress> {
  const stored = await store.read(name);
  if (!stored) return { format: 1, hot: [], cold: [] };
  try {
    return progressed.parse(JSON.parse(Buffer.from(stored.bytes).toString()));
  } catch {
    throw new ArchiveDamaged({ code: 'blob-changed', what: `${name} is not what Millrace wrote`, blob: name });
  }
}

/** If another process has written it meanwhile, its progress stays: whichever is read, the next run reads the rest again. */
async function saveProgress(store: BlobStore, name: string, progress: Progress): Promise<void> {
  const stored = await store.read(name);
  await store.put(name, Buffer.from(JSON.stringify(progress)), stored?.etag ?? null);
}
