import { TOMBSTONE_TTL_S } from '../../base/bounds.ts';
import { MillraceError } from '../../base/errors.ts';
import { canonical, digest } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import type { Change, Identity } from '../../feed/reading/change.ts';
import type { SinkDocument, SinkSession, Write } from '../../sinks/session.ts';
import { untilDone } from '../conflict.ts';
import { standing } from '../stamp.ts';
import type { ArchiveEntry } from './entry.ts';

/** An entry as it was read, with the ETag it can be changed under. */
export type StoredEntry = ArchiveEntry & { readonly etag: string };

/** What became of a document's entry: `there` means that it said so already. */
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
  /** Of a deleted document's entry: it outlives whoever may still hold an older version. */
  readonly ttl?: number;
}

const CHUNK = 100;
const AT_ONCE = 512;

/**
 * The entries of archived documents (R11), one a document whatever projection archives it, in the state container.
 * Every write is a create or carries the ETag of what it was decided on, and no entry goes back in version.
 */
export class Entries {
  readonly #container: string;

  constructor(stateContainer: string) {
    this.#container = stateContainer;
  }

  /** In the order of `documents`; may be stale, as any read. */
  async read(documents: readonly Identity[], session: SinkSession): Promise<(StoredEntry | undefined)[]> {
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
        for (const stored of await session.read(this.#container, [pk], ids))
          if (stored) found.set(`${pk}\n${stored.id}`, entryOf(stored));
      },
      { concurrency: 64 },
    );
    return places.map(({ pk, id }) => found.get(`${pk}\n${id}`));
  }

  /** Step 2 of archiving: the document's newest version lies in this blob and line. */
  async archive(
    projection: string,
    change: Change,
    blob: NonNullable<ArchiveEntry['blob']>,
    session: SinkSession,
  ): Promise<Entered> {
    let outcome: Entered = 'overtaken';
    await this.#advance(change, session, async (known) => {
      const order = known ? await standing(change, known.version, session) : 'newer';
      outcome = 'overtaken';
      if (order === 'older') return undefined;
      outcome = 'there';
      if (order === 'same' && known?.state === 'archived') return undefined;
      outcome = 'written';
      return { projection, state: 'archived', blob };
    });
    return outcome;
  }

  /**
   * A newer version is live, or the document was deleted. A live one voids the entry that is there; a deletion leaves a
   * void entry in any case, so that whoever still holds an older version can't archive it.
   */
  async annul(projection: string, change: Change, session: SinkSession): Promise<void> {
    const deleted = change.op === 'delete';
    await this.#advance(change, session, async (known) => {
      if (!known && !deleted) return undefined;
      if (known && (await standing(change, known.version, session)) !== 'newer') return undefined;
      return { projection, state: 'void', blob: null, ...(deleted ? { ttl: TOMBSTONE_TTL_S } : {}) };
    });
  }

  /**
   * Whether the entry is still the one that was read, by writing it again under its ETag: no read could tell, for any
   * read may be stale (A3).
   */
  async confirm(entry: StoredEntry, session: SinkSession): Promise<boolean> {
    const { projection, state, blob } = entry;
    const body = documentOf(entry, { projection, state, blob });
    const answer = await session.commit(
      this.#container,
      [body.pk],
      [{ op: 'replace', id: body.id, body, ifMatch: entry.etag }],
    );
    return answer.kind === 'done';
  }

  /** Names of the blobs in which documents of the projections lie at present whose name begins so. */
  async blobs(prefix: string, session: SinkSession): Promise<string[]> {
    return session.query<string>(
      this.#container,
      "SELECT DISTINCT VALUE c.blob.name FROM c WHERE c.type = @type AND c.state = 'archived' AND STARTSWITH(c.projection, @prefix)",
      { type: ENTRY, prefix },
    );
  }

  /** The entries that name a blob. */
  async ofBlob(name: string, session: SinkSession): Promise<StoredEntry[]> {
    const sql = 'SELECT * FROM c WHERE c.type = @type AND c.blob.name = @name';
    return (await session.query<SinkDocument>(this.#container, sql, { type: ENTRY, name })).map(entryOf);
  }

  async #advance(
    change: Change,
    session: SinkSession,
    decide: (
      known: StoredEntry | undefined,
    ) => Promise<Pick<EntryDocument, 'projection' | 'state' | 'blob' | 'ttl'> | undefined>,
  ): Promise<void> {
    await untilDone(`The archive entry of ${change.container}/${change.id}`, async () => {
      const [known] = await this.read([change], session);
      const next = await decide(known);
      if (!next) return true;
      const body = documentOf(change, next);
      const write: Write = known
        ? { op: 'replace', id: body.id, body, ifMatch: known.etag }
        : { op: 'create', id: body.id, body };
      const answer = await session.commit(this.#container, [body.pk], [write]);
      if (answer.kind === 'refused')
        throw new MillraceError('state-refused', `The state container refused an archive entry: ${answer.why}`);
      return answer.kind === 'done';
    });
  }
}

/** Runs `task` for each document; the session sends many of their requests as one. */
export const forEach = async <T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> => {
  await mapSettled(items, task, { concurrency: AT_ONCE });
};

/** One logical partition a source key: no larger than the source's own. */
function partition({ container, key }: Identity): string {
  const source = canonical([container, key]);
  return `archive|${source.length > 500 ? digest(source) : source}`;
}

const documentOf = (
  of: Identity & Pick<Change, 'type' | 'version'>,
  next: Pick<EntryDocument, 'projection' | 'state' | 'blob' | 'ttl'>,
): EntryDocument => ({
  id: digest(of.id),
  pk: partition(of),
  type: ENTRY,
  source: { container: of.container, key: of.key, id: of.id, type: of.type },
  version: of.version,
  ...next,
});

function entryOf(stored: SinkDocument): StoredEntry {
  const { source, projection, version, state, blob, _etag: etag } = stored as SinkDocument & EntryDocument;
  return { ...source, projection, version, state, blob, etag };
}
