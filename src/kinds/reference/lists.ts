import { TOMBSTONE_TTL_S } from '../../base/bounds.ts';
import { formatOf } from '../../base/format.ts';
import { canonical, digest } from '../../base/json.ts';
import type { Doc } from '../../pipeline/specs.ts';
import type { Change, Identity, Version } from '../../feed/reading/change.ts';
import type { SinkDocument, DocumentAccess } from '../../access/document-access.ts';
import { changeDocument } from '../../access/change.ts';
import { stateDocument } from '../changed-state.ts';
import { standing } from '../standing.ts';

/** One document of a list: a piece of reference data, or a tenant. */
export interface ListedReference {
  readonly id: string;
  readonly pk: string;
  readonly type: 'millrace.listed';
  readonly projection: string;
  readonly of: Identity;
  readonly version: Version;
  /** The content of its copies; of a deleted one, the content that they had. null: never known. */
  readonly part: Doc | null;
  readonly present: boolean;
  /** Every pair with it is written. */
  readonly complete: boolean;
  readonly ttl?: number;
}

type Stored = SinkDocument & ListedReference;

/** A list entry as this host wrote it, which now has to write its pairs. */
export interface Due {
  readonly change: Change;
  readonly listed: ListedReference;
  readonly etag: string;
}

/**
 * The reference data, or the tenants, of one projection: one partition of the state container, written before any copy
 * and never set back to an older version. Both sides have a list, since each may change while the other is copied.
 */
export class List {
  readonly #container: string;
  readonly #projection: string;
  readonly #pk: string;
  readonly #again: boolean;

  /** With `again`, an entry whose pairs are written is due too: one of them may have been lost since. */
  constructor(
    stateContainer: string,
    projection: string,
    side: 'data' | 'tenants',
    { again = false }: { readonly again?: boolean | undefined } = {},
  ) {
    this.#again = again;
    this.#container = stateContainer;
    this.#projection = projection;
    this.#pk = `reference|${projection}|${side}`;
  }

  /**
   * Takes a change into the list. Undefined: the change is older than the entry, or all its pairs were written.
   * `part`: null if the document has no copies. `assertSame` throws if the copies would move to another place.
   */
  async advance(
    change: Change,
    part: Doc | null,
    assertSame: (before: Doc, now: Doc) => void,
    access: DocumentAccess,
  ): Promise<Due | undefined> {
    const of = { container: change.container, key: change.key, id: change.id };
    const at = this.#at(of);
    let due: (Omit<Due, 'etag'> & Partial<Due>) | undefined;
    const etag = await changeDocument<Stored>(access, at, async (stored): Promise<ListedReference | undefined> => {
      const order = stored ? await standing(change, stored.version, access) : 'newer';
      due = undefined;
      if (order === 'older') return undefined;
      if (stored && order === 'same' && (stored.complete || isSame(stored, part))) {
        if (!stored.complete || this.#again) due = { change, listed: stored, etag: stored._etag };
        return undefined;
      }
      if (stored?.part && part) assertSame(stored.part, part);
      const known = part ?? stored?.part ?? null;
      const unchanged = stored !== undefined && isSame(stored, part);
      const listed: ListedReference = {
        id: at.id,
        pk: this.#pk,
        type: 'millrace.listed',
        ...formatOf('listed'),
        projection: this.#projection,
        of,
        version: change.version,
        part: known,
        present: part !== null,
        complete: unchanged && stored.complete,
      };
      if (!listed.complete) due = { change, listed };
      return completeForm(listed);
    });
    return due && { etag: etag ?? '', ...due };
  }

  /** The whole list, with deleted documents for as long as a late writer may still know them. May be stale. */
  all(access: DocumentAccess): Promise<ListedReference[]> {
    const sql = `SELECT * FROM c WHERE c.type = 'millrace.listed'`;
    return access.query<ListedReference>(this.#container, sql, {}, [this.#pk]);
  }

  /** Marks an entry so that the next delivery of its version writes its pairs again. A repair needs this. */
  async reopen(of: Identity, access: DocumentAccess): Promise<void> {
    await changeDocument<Stored>(access, this.#at(of), (stored): ListedReference | undefined => {
      if (!stored?.complete) return undefined;
      const { id, pk, type, projection, version, part, present } = stored;
      const kept = { id, pk, type, ...formatOf('listed'), projection, of: stored.of, version, part, present };
      return { ...kept, complete: false };
    });
  }

  #at(of: Identity) {
    const id = digest([of.container, of.key, of.id]);
    const what = `The list entry of ${of.id}`;
    return stateDocument(this.#container, this.#pk, id, { what, kind: 'a list entry' });
  }

  /** Stores that all pairs are written. If a newer change has advanced the entry, nothing happens. */
  async complete({ listed, etag }: Due, access: DocumentAccess): Promise<void> {
    if (listed.complete) return;
    const body = completeForm({ ...listed, ...formatOf('listed'), complete: true });
    await access.commit(this.#container, [this.#pk], [{ op: 'replace', id: listed.id, body, ifMatch: etag }]);
  }
}

/** Whether an entry already has this content; the entry of a deleted document keeps its last content. */
const isSame = (stored: ListedReference, part: Doc | null): boolean =>
  stored.present === (part !== null) && canonical(stored.part) === canonical(part ?? stored.part);

/** The entry of a deleted document expires when its copies are gone and no late writer can write them again. */
const completeForm = (listed: ListedReference): ListedReference =>
  listed.complete && !listed.present ? { ...listed, ttl: TOMBSTONE_TTL_S } : listed;
