import { isKeyLevel } from '../../base/key-level.ts';
import type { Container } from '@azure/cosmos';
import { shown } from '../../base/json.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import type { Key } from '../../feed/reading/change.ts';
import { isHidden } from '../../cosmos/own-documents.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { Entries } from '../../kinds/archive/entries.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import { AzureBlobStore } from '../blobs/azure-blob-store.ts';
import type { BlobContainer } from '../blobs/blob-container.ts';
import { ArchiveDamaged } from '../blobs/blob.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { findArchived, isEntryOf } from './archived-line.ts';
import { Identities } from './identities.ts';
import { KeptBlobs } from '../blobs/kept-blobs.ts';
import { type Period, isSelected, placeOf, stepOf } from '../blobs/layout.ts';
import { unmetLines } from '../sweep/selection.ts';
import { storedBlobs } from '../blobs/stored-blobs.ts';
import type { ArchivedDocument } from '../types.ts';

/** A value of the partition key, or its levels. `{}` is a level that the document lacks. */
export type HistoryKey = Key | Key[number];

export interface HistoryReaderOptions {
  /** The container `millrace` beside the containers that are archived. The identity needs to read both. */
  readonly state: Container;
  /** The container that `STORAGE_CONTAINER` names. The identity needs Storage Blob Data Reader. */
  readonly storage: BlobContainer;
  /** How many characters of unpacked blobs stay in memory. Default 64 Mi. */
  readonly cacheSize?: number;
  readonly signal?: AbortSignal;
}

/** A document as it was stored, without `_etag` and the other fields of the service if it is cold. */
export interface ReadDocument<T> {
  readonly doc: T;
  /** Whether it came from the archive. */
  readonly cold: boolean;
  /** When the application changed it last (`_ts`). */
  readonly changedAt: Date;
}

export interface ColdDocument<T> extends ReadDocument<T> {
  readonly cold: true;
  readonly container: string;
  /** The levels of its partition key. */
  readonly key: Key;
  readonly id: string;
  readonly type: string;
}

export interface ColdSelection {
  /** The tenant in whose folders to look. Default: all. */
  readonly tenant?: string | number;
  /** First and last month, `yyyy-mm` or `yyyy`, of the date by which the documents were archived. Both are included. */
  readonly from?: string;
  readonly to?: string;
}

/** Reads documents wherever they are: in their container or in the archive. */
export interface HistoryReader {
  /**
   * The document from its container, else from the archive; undefined if it is in neither. It costs 1 RU a KB where the
   * document is hot, and one point read more and at most one blob read where it isn't. It is as fresh as the reads of your client.
   * @throws UsageError `option-invalid`, `denied`, `storage-container-missing`, `unreachable`,
   * `blob-offline`, `container-missing`
   * @throws ArchiveDamaged the archive should have the document, and its blob is missing or changed
   */
  read<T = Record<string, unknown>>(
    container: string,
    key: HistoryKey,
    id: string,
  ): Promise<ReadDocument<T> | undefined>;
  /**
   * The document from the archive: the fallback after a point read that found none. Undefined if the archive doesn't have
   * it. One point read and at most one blob read. Throws as `read` does.
   */
  coldRead<T = Record<string, unknown>>(
    container: string,
    key: HistoryKey,
    id: string,
  ): Promise<ColdDocument<T> | undefined>;
  /**
   * The documents of a container that are archived now, each once, blob by blob. It keeps one blob in memory, and some 60
   * bytes for each document that it has given. Documents that are archived or restored meanwhile may be left out.
   * Throws as `read` does; a damaged manifest or blob ends it.
   */
  archived<T = Record<string, unknown>>(container: string, selection?: ColdSelection): AsyncGenerator<ColdDocument<T>>;
}

const MONTH = /^\d{4}(-(0[1-9]|1[0-2]))?$/;

/**
 * For applications that read what an archive has taken from their containers; it needs no pipeline:
 * `const history = openHistory({ state: database.container('millrace'), storage: blobService.getContainerClient('archive') })`.
 */
export function openHistory({ state, storage, cacheSize, signal }: HistoryReaderOptions): HistoryReader {
  const stopped = signal ?? new AbortController().signal;
  const store = new AzureBlobStore(storage, { signal: stopped });
  const access = new CosmosAccess(state.database, untilStopped(stopped), new Meter());
  const entries = new Entries(state.id);
  const blobs = new KeptBlobs((name) => store.read(name), cacheSize);

  const hot = async <T>(container: string, key: Key, id: string): Promise<ReadDocument<T> | undefined> => {
    const [found] = await access.read(container, key, [id]);
    if (!found || isHidden(found)) return undefined;
    return { doc: found as T, cold: false, changedAt: new Date(Number(found['_ts']) * 1000) };
  };

  const cold = async <T>(
    container: string,
    key: Key,
    id: string,
  ): Promise<{ readonly found: ColdDocument<T> | undefined; readonly etag: string | undefined }> => {
    for (let before: string | undefined; ;) {
      const [entry] = await entries.read([{ container, key, id }], access);
      try {
        const document = await findArchived({ container, key, id }, entry, blobs);
        return { found: document && asCold<T>(document), etag: entry?.etag };
      } catch (error) {
        // An erasure of another tenant may have written the blob again; then the entry names the new one.
        if (!(error instanceof ArchiveDamaged) || entry?.etag === before) throw error;
        before = entry?.etag;
      }
    }
  };

  return {
    coldRead: async <T>(container: string, key: HistoryKey, id: string) =>
      (await cold<T>(container, checkedKey(container, key, id), id)).found,
    read: async <T>(container: string, key: HistoryKey, id: string) => {
      const levels = checkedKey(container, key, id);
      for (let before: string | undefined, again = false; ; again = true) {
        const now = await hot<T>(container, levels, id);
        if (now) return now;
        const { found, etag } = await cold<T>(container, levels, id);
        if (found) return found;
        // Neither: it may have moved between the two reads. Then its entry changed, or it is in the container now.
        if (again && etag === before) return undefined;
        before = etag;
      }
    },
    archived: async function* <T>(container: string, { tenant, from, to }: ColdSelection = {}) {
      const months = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
      for (const [name, month] of Object.entries(months))
        if (!MONTH.test(month))
          throw sharedError('option-invalid', `\`${name}\` is ${shown(month)}: it takes yyyy-mm or yyyy`, {
            hint: 'Pass the name of the container, the levels of the partition key, and the `id`; months as `2026-01` or `2026`.',
          });
      const folder = typeof tenant === 'number' ? String(tenant) : tenant;
      const given = new Identities();
      const isWanted = (place: Period): boolean => isSelected(place, { ...months, tenant: folder });
      const met = new Set<string>();
      const wanted = storedBlobs(store, (name) => entries.name(name, access), container, isWanted);
      for await (const { name, read } of wanted) {
        stopped.throwIfAborted();
        met.add(name);
        const documents = (await read()).filter((document) => document.container === container);
        const known = await entries.read(documents, access);
        for (const [at, document] of documents.entries())
          if (isEntryOf(known[at], document) && given.add(document)) yield asCold<T>(document);
      }
      // Of a folder that someone emptied nothing is left: entries name its blobs.
      for (const name of await entries.blobsOf(container, folder === undefined ? '' : stepOf(folder), access)) {
        if (met.has(name) || !isWanted(placeOf(name))) continue;
        stopped.throwIfAborted();
        for (const document of await unmetLines(store, entries, name, access))
          if (given.add(document)) yield asCold<T>(document);
      }
    },
  };
}

const asCold = <T>({ container, key, id, type, at, doc }: ArchivedDocument): ColdDocument<T> => ({
  doc: doc as T,
  cold: true,
  changedAt: new Date(at),
  container,
  key,
  id,
  type,
});

/** @throws UsageError `option-invalid` */
function checkedKey(container: string, key: HistoryKey, id: string): Key {
  const levels: Key = Array.isArray(key) ? (key as Key) : [key as Key[number]];
  const wrong = !levels.every(isKeyLevel);
  const what =
    typeof container !== 'string' || container === ''
      ? `${shown(container)} can't be a container`
      : typeof id !== 'string' || id === ''
        ? `${shown(id)} can't be the id of a document`
        : levels.length === 0 || wrong
          ? `${shown(key)} can't be a partition key`
          : undefined;
  if (what === undefined) return levels;
  throw sharedError('option-invalid', what, {
    hint: 'Pass the name of the container, the levels of the partition key, and the `id`; months as `2026-01` or `2026`.',
  });
}
