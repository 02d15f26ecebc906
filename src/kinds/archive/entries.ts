import { TOMBSTONE_TTL_S } from '../../base/bounds.ts';
import { formatOf } from '../../base/format.ts';
import { canonical, digest } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import type { Change, Identity } from '../../feed/reading/change.ts';
import type { SinkDocument, DocumentAccess, Write } from '../../access/document-access.ts';
import { untilDone } from '../../access/change.ts';
import { standing } from '../standing.ts';
import { type ArchiveEntry, turnsAfter } from './entry.ts';
import { projectionsError } from '../errors.ts';

/** An entry as it was read, with the ETag it can be changed under. */
export type StoredEntry = ArchiveEntry & { readonly etag: string };

/** What a look for an entry has found. */
export interface FoundEntry {
  readonly entry: StoredEntry | undefined;
}

/** What happened to a document's entry. `there`: it was so already; `overtaken`: a newer version is known. */
export type Entered = 'written' | 'there' | 'overtaken';

/** Discriminator of an entry in the state container. */
export const ENTRY = 'millrace.archived';

interface EntryDocument {
  readonly id: string;
  readonly pk: string;
  readonly type: typeof ENTRY;
  readonly projection: string;
  readonly source: Identity & { readonly type: string };
  readonly version: ArchiveEntry['version'];
  readonly state: ArchiveEntry['state'];
  readonly blob: ArchiveEntry['blob'];
  readonly shown?: ArchiveEntry['shown'];
  /** Set on a deleted document's entry: it lasts longer than any host can have an older version in memory. */
  readonly ttl?: number;
}

type Body = Pick<EntryDocument, 'projection' | 'state' | 'blob' | 'shown' | 'ttl'>;

const CHUNK = 100;
const AT_ONCE = 512;

/**
 * The entries of archived documents (ARC-H1, ARC-H3) in the state container: one for each document, whichever projection
 * archives it. Every write is a create, or has the ETag of the entry that was read. No entry returns to an older version.
 */
export class Entries {
  readonly #container: string;

  constructor(stateContainer: string) {
    this.#container = stateContainer;
  }

  /** The entries in the order of `documents`; may be stale, like any read. */
  async read(documents: readonly Identity[], access: DocumentAccess): Promise<(StoredEntry | undefined)[]> {
    const places = documents.map((document) => ({ pk: partition(document), id: digest(document.id) }));
    const found = new Map<string, StoredEntry>();
    const chunks = [...Map.groupBy(places, ({ pk }) => pk)].flatMap(([pk, of]) =>
      Array.from({ length: Math.ceil(of.length / CHUNK) }, (_, at) => ({
        pk,
        ids: [...new Set(of.slice(at * CHUNK, (at + 1) * CHUNK).map(({ id }) => id))],
      })),
    );
    await mapSettled(
      chunks,
      async ({ pk, ids }) => {
        for (const stored of await access.read(this.#container, [pk], ids))
          if (stored) found.set(`${pk}\n${stored.id}`, entryOf(stored));
      },
      { concurrency: 64 },
    );
    return places.map(({ pk, id }) => found.get(`${pk}\n${id}`));
  }

  /** The entry as it is now, never an older one. */
  async current(document: Identity, access: DocumentAccess): Promise<StoredEntry | undefined> {
    const [stored] = await access.read(this.#container, [partition(document)], [digest(document.id)], {
      current: true,
    });
    return stored && entryOf(stored);
  }

  /**
   * Step 2 of archiving: stores that the document's newest version is in this blob and line. `read`: the entry as the caller
   * has read it, or none; the condition of the write says whether it is another one now.
   */
  async archive(
    projection: string,
    change: Change,
    blob: NonNullable<ArchiveEntry['blob']>,
    access: DocumentAccess,
    read?: FoundEntry,
  ): Promise<Entered> {
    let entered: Entered = 'overtaken';
    await this.#advance(change, access, read, async (known) => {
      const order = known ? await standing(change, known.version, access) : 'newer';
      entered = 'overtaken';
      if (order === 'older') return undefined;
      entered = 'there';
      if (order === 'same' && known?.state === 'archived') return undefined;
      entered = 'written';
      // What the all-versions feed has shown of a document that comes and goes.
      const shown = known?.shown && { turns: turnsAfter(known, change.version) };
      return { projection, state: 'archived', blob, ...(shown && { shown }) };
    });
    return entered;
  }

  /**
   * Voids an entry, since a newer version is live or the document was deleted. A deletion writes a void entry even where
   * there was none, so that a host that still has an older version in memory can't archive it. One by a move doesn't: sweeps
   * leave its keys alone.
   */
  async annul(projection: string, change: Change, access: DocumentAccess): Promise<void> {
    const deleted = change.op === 'delete';
    await this.#advance(change, access, undefined, async (known) => {
      if (!known && (!deleted || change.moved)) return undefined;
      // The archived version itself, from a page that was read before it left, in a later epoch.
      if (known?.version.etag === change.version.etag) return undefined;
      if (known && (await standing(change, known.version, access)) !== 'newer') return undefined;
      return { projection, state: 'void', blob: null, ...(deleted ? { ttl: TOMBSTONE_TTL_S } : {}) };
    });
  }

  /**
   * Whether the entry is still the one that was read. It writes the entry again under its ETag, since any read may be
   * stale (ASM-A3).
   */
  async confirm(entry: StoredEntry, access: DocumentAccess): Promise<boolean> {
    return this.replace(entry, entry, entry, access);
  }

  /** Changes an entry at its version; from `decide` undefined: it stays. `read`: as of `archive`. */
  async change(
    of: Identity,
    access: DocumentAccess,
    decide: (entry: StoredEntry) => Body | undefined,
    read?: FoundEntry,
  ): Promise<void> {
    await untilDone(`The archive entry of ${of.container}/${of.id}`, async (first) => {
      const [known] = first && read ? [read.entry] : await this.read([of], access);
      const next = known && decide(known);
      return !next || this.replace(known, known, next, access);
    });
  }

  /** Writes an entry over the one that was read, or creates it. False: another host has changed it. */
  async replace(
    known: StoredEntry | undefined,
    of: Identity & Pick<Change, 'type' | 'version'>,
    { projection, state, blob, shown, ttl }: Body,
    access: DocumentAccess,
  ): Promise<boolean> {
    const next = { projection, state, blob, ...(shown && { shown }), ...(ttl !== undefined && { ttl }) };
    const body = documentOf(of, next);
    const write: Write = known
      ? { op: 'replace', id: body.id, body, ifMatch: known.etag }
      : { op: 'create', id: body.id, body };
    const answer = await access.commit(this.#container, [body.pk], [write]);
    if (answer.kind === 'refused')
      throw projectionsError('state-refused', `The state container refused an archive entry: ${answer.why}`);
    return answer.kind === 'done';
  }

  /** Removes an entry as it was read. False: another host has changed it. */
  async remove(entry: StoredEntry, access: DocumentAccess): Promise<boolean> {
    const write: Write = { op: 'delete', id: digest(entry.id), ifMatch: entry.etag };
    return (await access.commit(this.#container, [partition(entry)], [write])).kind === 'done';
  }

  /** Names of the blobs that hold archived documents of the projections whose names begin with `prefix`. */
  async blobs(prefix: string, access: DocumentAccess): Promise<string[]> {
    return access.query<string>(
      this.#container,
      "SELECT DISTINCT VALUE c.blob.name FROM c WHERE c.type = @type AND c.state = 'archived' AND STARTSWITH(c.projection, @prefix)",
      { type: ENTRY, prefix },
    );
  }

  /** The same, of the documents of a container, in blobs whose names have `folder` in them. */
  async blobsOf(container: string, folder: string, access: DocumentAccess): Promise<string[]> {
    return access.query<string>(
      this.#container,
      "SELECT DISTINCT VALUE c.blob.name FROM c WHERE c.type = @type AND c.state = 'archived' AND c.source.container = @container AND CONTAINS(c.blob.name, @folder)",
      { type: ENTRY, container, folder },
    );
  }

  /** As `blobs`, at most `most`, of the entries whose ids follow `from`: with a random text, a draw. */
  async someBlobs(
    prefix: string,
    { most, from }: { readonly most: number; readonly from: string },
    access: DocumentAccess,
  ): Promise<string[]> {
    const after = async (id: string): Promise<string[]> =>
      access.query<string>(
        this.#container,
        `SELECT TOP ${most} VALUE c.blob.name FROM c WHERE c.type = @type AND c.state = 'archived' AND STARTSWITH(c.projection, @prefix) AND c.id >= @id ORDER BY c.id`,
        { type: ENTRY, prefix, id },
      );
    const found = await after(from);
    return [...new Set(found.length < most ? [...found, ...(await after(''))] : found)].slice(0, most);
  }

  /** How many documents are archived now in each blob of the projections whose names begin with `prefix`. */
  async counts(
    prefix: string,
    access: DocumentAccess,
  ): Promise<{ readonly name: string; readonly documents: number }[]> {
    return access.query(
      this.#container,
      "SELECT c.blob.name AS name, COUNT(1) AS documents FROM c WHERE c.type = @type AND c.state = 'archived' AND STARTSWITH(c.projection, @prefix) GROUP BY c.blob.name",
      { type: ENTRY, prefix },
    );
  }

  /** The entries that name a blob. */
  async ofBlob(name: string, access: DocumentAccess): Promise<StoredEntry[]> {
    const sql = 'SELECT * FROM c WHERE c.type = @type AND c.blob.name = @name';
    return (await access.query<SinkDocument>(this.#container, sql, { type: ENTRY, name })).map(entryOf);
  }

  /** The entries of documents that are archived in a folder of blobs, each once. */
  async inFolder(folder: string, access: DocumentAccess): Promise<StoredEntry[]> {
    const sql = "SELECT * FROM c WHERE c.type = @type AND c.state = 'archived' AND STARTSWITH(c.blob.name, @folder)";
    return (await access.query<SinkDocument>(this.#container, sql, { type: ENTRY, folder: `${folder}/` })).map(entryOf);
  }

  /** Whether an entry names a blob. */
  async name(blob: string, access: DocumentAccess): Promise<boolean> {
    const sql = 'SELECT TOP 1 VALUE c.id FROM c WHERE c.type = @type AND c.blob.name = @blob';
    return (await access.query<string>(this.#container, sql, { type: ENTRY, blob })).length > 0;
  }

  async #advance(
    change: Change,
    access: DocumentAccess,
    read: FoundEntry | undefined,
    decide: (known: StoredEntry | undefined) => Promise<Body | undefined>,
  ): Promise<void> {
    await untilDone(`The archive entry of ${change.container}/${change.id}`, async (first) => {
      const [known] = first && read ? [read.entry] : await this.read([change], access);
      const next = await decide(known);
      return !next || this.replace(known, change, next, access);
    });
  }
}

/** Runs `task` for each document; the access sends many of their requests as one. */
export const forEach = async <T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> => {
  await mapSettled(items, task, { concurrency: AT_ONCE });
};

/** One logical partition for each source key, so it is no larger than the source's own. */
function partition({ container, key }: Identity): string {
  const source = canonical([container, key]);
  return `archive|${source.length > 500 ? digest(source) : source}`;
}

const documentOf = (of: Identity & Pick<Change, 'type' | 'version'>, next: Body): EntryDocument => ({
  id: digest(of.id),
  pk: partition(of),
  type: ENTRY,
  ...formatOf('archived'),
  source: { container: of.container, key: of.key, id: of.id, type: of.type },
  version: of.version,
  ...next,
});

export function entryOf(stored: SinkDocument): StoredEntry {
  const { source, projection, version, state, blob, shown, _etag: etag } = stored as SinkDocument & EntryDocument;
  return { ...source, projection, version, state, blob, ...(shown && { shown }), etag };
}
