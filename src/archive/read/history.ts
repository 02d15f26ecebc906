import { systemClock } from '../../base/clock.ts';
import { RESTORING, type SourceContainer, toChange, typeOf } from '../../feed/reading/mapper.ts';
import type { Change, Identity } from '../../feed/reading/change.ts';
import { Entries } from '../../kinds/archive/entries.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { readBlob } from '../blobs/blob.ts';
import type { BlobStore } from '../../access/blob-store.ts';
import { FeedReader } from '../sweep/feed-reader.ts';
import { asEntered, findArchived, isEntryOf } from './archived-line.ts';
import { Identities, identityOf } from './identities.ts';
import { KeptBlobs } from '../blobs/kept-blobs.ts';
import { storedBlobs } from '../blobs/stored-blobs.ts';
import type { ArchivedDocument, HistoricDocument, SourceFeed } from '../types.ts';

export interface HistoryOptions {
  readonly source: SourceContainer;
  readonly feed: SourceFeed;
  readonly access: DocumentAccess;
  readonly stateContainer: string;
  /** Undefined if the pipeline archives nothing. */
  readonly store: BlobStore | undefined;
  /** Several places share the store: a line without an entry here is of another one. */
  readonly shared?: boolean;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
  readonly signal: AbortSignal;
}

/**
 * Every document of a container, hot or cold, once, in a version that was its newest at some moment of the read. First
 * it reads the container by its feed, then the archived documents by their entries, then the documents that moved from
 * one to the other meanwhile, until none is open. It keeps the identities in memory (some 60 bytes each), no documents.
 */
export async function* readHistory(options: HistoryOptions): AsyncGenerator<HistoricDocument> {
  const { source, store, access, signal } = options;
  const reader = new FeedReader(options.feed);
  const seen = new Identities();
  const hot = async function* (): AsyncGenerator<HistoricDocument> {
    for await (const { changes } of reader.toEnd(signal)) {
      for (const change of changes) if (seen.add(change)) yield { ...asBefore(change), cold: false };
    }
  };
  yield* hot();
  const entries = new Entries(options.stateContainer);
  /** Documents of lines that are not the current version, and that were not found elsewhere so far. */
  const open = new Map<string, Identity>();
  const kept = store && new KeptBlobs((name) => store.read(name));
  if (store) {
    // After this wait, every replica has the entry of each document that left the container before.
    await systemClock.sleep(options.readLagMs, signal);
    const met = new Set<string>();
    const isNamed = (name: string): Promise<boolean> => entries.name(name, access);
    for await (const { name, listed, read } of storedBlobs(store, isNamed, source.name)) {
      signal.throwIfAborted();
      met.add(name);
      // A blob in no manifest was left by a crash, or its manifest was lost; then entries name the blob.
      if (!listed && !(await isNamed(name))) continue;
      const documents = (await read()).filter(({ container }) => container === source.name);
      const known = await entries.read(documents, access);
      for (const [index, document] of documents.entries()) {
        const entry = known[index];
        if (isEntryOf(entry, document)) {
          const change = asChange(source, asEntered(entry!, document));
          if (change && seen.add(document)) yield change;
        } else if (!seen.has(document) && (entry || !options.shared)) open.set(identityOf(document), pick(document));
      }
    }
    // Of a folder that someone emptied no list knows: entries do. Other blobs were written meanwhile.
    for (const name of await entries.blobs('', access)) {
      if (met.has(name)) continue;
      const named = (await entries.ofBlob(name, access)).filter(({ state }) => state === 'archived');
      const own = named.filter((entry) => entry.container === source.name && !seen.has(entry));
      if (own.length > 0) await readBlob(store, name);
      for (const entry of own) open.set(identityOf(entry), pick(entry));
    }
  }
  // At least twice: a stale read may hide a document until the read lag has passed.
  for (let quiet = 0; quiet < 2;) {
    let moved = false;
    for await (const document of hot()) {
      moved = true;
      yield document;
    }
    for (const [key, identity] of open) {
      const found = seen.has(identity) ? 'seen' : kept ? await findUnread(identity, entries, kept, options) : 'gone';
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
 * Finds a document that was read neither hot nor cold. It reads the entry before and after the container: if the entry
 * was void both times and the container doesn't have the document, the document was deleted.
 */
async function findUnread(
  identity: Identity,
  entries: Entries,
  blobs: KeptBlobs,
  { source, access }: HistoryOptions,
): Promise<HistoricDocument | 'hot' | 'gone'> {
  for (;;) {
    const [before] = await entries.read([identity], access);
    const [found] = await access.read(identity.container, identity.key, [identity.id]);
    if (found && found['type'] !== RESTORING) return typeOf(source.types, found) === undefined ? 'gone' : 'hot';
    const [entry] = await entries.read([identity], access);
    if (entry?.etag !== before?.etag) continue;
    const document = await findArchived(identity, entry, blobs);
    return (document && asChange(source, document)) ?? 'gone';
  }
}

/** An archived document in the form in which its feed would deliver it. */
function asChange(source: SourceContainer, { doc, version, at }: ArchivedDocument): HistoricDocument | undefined {
  const raw = { ...doc, _etag: version.etag, _lsn: version.lsn, _ts: at / 1000 };
  const change: Change | undefined = toChange(source, raw, version.epoch);
  return change && { ...change, cold: true };
}

/** A document that leaves, in the version that was archived: its mark is no version of the application's. */
function asBefore({ leaving, ...change }: Change): Change {
  return leaving?.intact ? { ...change, ...leaving.of } : change;
}

const pick = ({ container, key, id }: Identity): Identity => ({ container, key, id });
