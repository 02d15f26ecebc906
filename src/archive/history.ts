import { systemClock } from '../base/clock.ts';
import { digest } from '../base/json.ts';
import { type SourceContainer, toChange, typeOf } from '../feed/reading/mapper.ts';
import type { Change, Identity } from '../feed/reading/change.ts';
import { Entries, type StoredEntry } from '../projections/archive/entries.ts';
import type { SinkSession } from '../sinks/session.ts';
import { ArchiveDamaged, readBlob } from './blob.ts';
import type { BlobStore } from './blob-store.ts';
import { FeedReader } from './feed-reader.ts';
import { isBlob, isManifest, manifestBeside } from './layout.ts';
import { readManifest } from './manifests.ts';
import { RESTORING } from './placeholder.ts';
import type { ArchivedDocument, HistoricDocument, SourceFeed } from './types.ts';

export interface HistoryOptions {
  readonly source: SourceContainer;
  readonly feed: SourceFeed;
  readonly session: SinkSession;
  readonly stateContainer: string;
  /** Undefined where the pipeline archives nothing. */
  readonly store: BlobStore | undefined;
  /** How old a read may be, milliseconds (A3). */
  readonly readLagMs: number;
  readonly signal: AbortSignal;
}

/**
 * Every document of a container, hot or cold, once, in a version that was its newest at some moment of the reading:
 * first the container by its feed, then the archive where the entries say so, then, until nothing is open, what moved
 * from the one to the other meanwhile. Remembers the identities (some 60 bytes each), never the documents.
 */
export async function* readHistory(options: HistoryOptions): AsyncGenerator<HistoricDocument> {
  const { source, store, session, signal } = options;
  const reader = new FeedReader(options.feed);
  const seen = new Identities();
  const hot = async function* (): AsyncGenerator<HistoricDocument> {
    for await (const { changes } of reader.toEnd(signal)) {
      for (const change of changes) if (seen.add(change)) yield { ...change, cold: false };
    }
  };
  yield* hot();
  const entries = new Entries(options.stateContainer);
  /** Lines whose document is neither here nor, so far, elsewhere. */
  const open = new Map<string, Identity>();
  if (store) {
    // Whatever had left the container by then is in its entry, whichever replica answers.
    await systemClock.sleep(options.readLagMs, signal);
    for await (const { name, listed } of blobsOf(store, source.name)) {
      signal.throwIfAborted();
      // In no manifest: left by a crash, unless a manifest was lost, which the entries would tell.
      if (!listed && (await entries.ofBlob(name, session)).length === 0) continue;
      const documents = (await readBlob(store, name)).filter(({ container }) => container === source.name);
      const known = await entries.read(documents, session);
      for (const [index, document] of documents.entries()) {
        const entry = known[index];
        if (isEntryOf(entry, name, document)) {
          const change = asChange(source, document);
          if (change && seen.add(document)) yield change;
        } else if (!seen.has(document)) open.set(identityOf(document), pick(document));
      }
    }
  }
  // Twice at least: what a stale read hid is there once the read lag has passed.
  for (let quiet = 0; quiet < 2;) {
    let moved = false;
    for await (const document of hot()) {
      moved = true;
      yield document;
    }
    for (const [key, identity] of open) {
      const found = seen.has(identity) ? 'told' : store ? await settle(identity, entries, store, options) : 'gone';
      if (found !== 'gone') moved = true;
      if (typeof found === 'object' && seen.add(identity)) yield found;
      if (found !== 'gone' && found !== 'hot') open.delete(key);
    }
    quiet = moved ? 0 : quiet + 1;
    if (open.size === 0 && !moved) return;
    if (quiet < 2) await systemClock.sleep(options.readLagMs, signal);
  }
}

/**
 * Where a document is that was met neither hot nor cold. The entry is read before and after the container: a document
 * whose entry was void all the while and that isn't in the container was deleted.
 */
async function settle(
  identity: Identity,
  entries: Entries,
  store: BlobStore,
  { source, session }: HistoryOptions,
): Promise<HistoricDocument | 'hot' | 'gone'> {
  for (;;) {
    const [before] = await entries.read([identity], session);
    const [found] = await session.read(identity.container, identity.key, [identity.id]);
    if (found && found['type'] !== RESTORING) return typeOf(source.types, found) === undefined ? 'gone' : 'hot';
    const [entry] = await entries.read([identity], session);
    if (entry?.etag !== before?.etag) continue;
    if (entry?.state !== 'archived' || !entry.blob) return 'gone';
    const document = (await readBlob(store, entry.blob.name))[entry.blob.line];
    if (!document || document.id !== identity.id) {
      const what = `Line ${entry.blob.line} of ${entry.blob.name} isn't ${identity.container}/${identity.id}`;
      const { container, key, id } = identity;
      throw new ArchiveDamaged({ code: 'line-missing', what, blob: entry.blob.name, container, key, id });
    }
    return asChange(source, document) ?? 'gone';
  }
}

const isEntryOf = (entry: StoredEntry | undefined, name: string, document: ArchivedDocument): boolean =>
  entry?.state === 'archived' && entry.blob?.name === name && entry.version.etag === document.version.etag;

/** An archived document as its feed would deliver it. */
function asChange(source: SourceContainer, { doc, version, at }: ArchivedDocument): HistoricDocument | undefined {
  const raw = { ...doc, _etag: version.etag, _lsn: version.lsn, _ts: at / 1000 };
  const change: Change | undefined = toChange(source, raw, version.epoch);
  return change && { ...change, cold: true };
}

/** The blobs that may hold documents of a container: those that its manifests list, and those that none lists. */
async function* blobsOf(store: BlobStore, container: string): AsyncGenerator<{ name: string; listed: boolean }> {
  let folder: { readonly manifest: string; readonly present: string[] } | undefined;
  const finish = async function* (): AsyncGenerator<{ name: string; listed: boolean }> {
    if (!folder) return;
    const manifest = await readManifest(store, folder.manifest);
    if (manifest && manifest.source.container !== container) return;
    const listed = new Set(manifest?.blobs.map(({ name }) => name));
    for (const name of listed) yield { name, listed: true };
    for (const name of folder.present) if (!listed.has(name)) yield { name, listed: false };
  };
  for await (const name of store.list('')) {
    if (!isBlob(name) && !isManifest(name)) continue;
    const manifest = manifestBeside(name);
    if (folder?.manifest !== manifest) {
      yield* finish();
      folder = { manifest, present: [] };
    }
    if (isBlob(name)) folder.present.push(name);
  }
  yield* finish();
}

const pick = ({ container, key, id }: Identity): Identity => ({ container, key, id });
const identityOf = ({ key, id }: Identity): string => digest([key, id]);

/** A set of identities; parted by first letter, for one Set of JavaScript holds 16 million at most. */
class Identities {
  readonly #parts = new Map<string, Set<string>>();

  /** False: it was there already. */
  add(identity: Identity): boolean {
    const key = identityOf(identity);
    const part = this.#parts.get(key.slice(0, 1)) ?? new Set<string>();
    this.#parts.set(key.slice(0, 1), part);
    return part.size < part.add(key).size;
  }

  has(identity: Identity): boolean {
    const key = identityOf(identity);
    return this.#parts.get(key.slice(0, 1))?.has(key) ?? false;
  }
}
