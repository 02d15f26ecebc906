import { TOMBSTONE_TTL_S } from '../../base/bounds.ts';
import { MillraceError } from '../../base/errors.ts';
import { canonical, digest } from '../../base/json.ts';
import type { Doc } from '../../definition/specs.ts';
import type { Change, Identity, Version } from '../../feed/reading/change.ts';
import type { SinkDocument, SinkSession } from '../../sinks/session.ts';
import { untilDone } from '../conflict.ts';
import { standing } from '../stamp.ts';

/** One document of a list: a piece of reference data, or a tenant. */
export interface Listed {
  readonly id: string;
  readonly pk: string;
  readonly type: 'millrace.listed';
  readonly projection: string;
  readonly of: Identity;
  readonly version: Version;
  /** What its copies are made of; of one that is not there any more, what they were made of. null: never known. */
  readonly part: Doc | null;
  readonly present: boolean;
  /** Every pair with it is written. */
  readonly settled: boolean;
  readonly ttl?: number;
}

/** A listed document as it was written by whoever has to write its pairs. */
export interface Due {
  readonly change: Change;
  readonly listed: Listed;
  readonly etag: string;
}

/**
 * The reference data, or the tenants, of one projection: kept in one partition of the state container, written before
 * any copy is, moved forward only. Both sides are lists, since either may change while the other is being copied.
 */
export class List {
  readonly #container: string;
  readonly #projection: string;
  readonly #pk: string;

  constructor(stateContainer: string, projection: string, side: 'data' | 'tenants') {
    this.#container = stateContainer;
    this.#projection = projection;
    this.#pk = `reference|${projection}|${side}`;
  }

  /**
   * Takes a change into the list; undefined where it is older than what is known, or its pairs are all written.
   * `part`: null where it is to have no copies. `assertSame` throws where the part lies somewhere else than before.
   */
  async advance(
    change: Change,
    part: Doc | null,
    assertSame: (before: Doc, now: Doc) => void,
    session: SinkSession,
  ): Promise<Due | undefined> {
    const of = { container: change.container, key: change.key, id: change.id };
    const id = digest([of.container, of.key, of.id]);
    let due: Due | undefined;
    await untilDone(`The list entry of ${change.id}`, async () => {
      const [found] = await session.read(this.#container, [this.#pk], [id]);
      const stored = found as (SinkDocument & Listed) | undefined;
      const order = stored ? await standing(change, stored.version, session) : 'newer';
      due = undefined;
      if (order === 'older') return true;
      if (stored && order === 'same' && (stored.settled || isSame(stored, part))) {
        if (!stored.settled) due = { change, listed: stored, etag: stored._etag };
        return true;
      }
      if (stored?.part && part) assertSame(stored.part, part);
      const known = part ?? stored?.part ?? null;
      const unchanged = stored !== undefined && isSame(stored, part);
      const listed: Listed = {
        id,
        pk: this.#pk,
        type: 'millrace.listed',
        projection: this.#projection,
        of,
        version: change.version,
        part: known,
        present: part !== null,
        settled: unchanged && stored.settled,
      };
      const result = await session.commit(
        this.#container,
        [this.#pk],
        [
          stored
            ? { op: 'replace', id, body: settledForm(listed), ifMatch: stored._etag }
            : { op: 'create', id, body: listed },
        ],
      );
      if (result.kind === 'refused') throw new MillraceError('state-refused', result.why);
      if (result.kind === 'conflict') return false;
      if (!listed.settled) due = { change, listed, etag: result.etags[0] ?? '' };
      return true;
    });
    return due;
  }

  /** All of the list, those that are gone included as long as a late writer may still know them. May be stale. */
  all(session: SinkSession): Promise<Listed[]> {
    const sql = `SELECT * FROM c WHERE c.type = 'millrace.listed'`;
    return session.query<Listed>(this.#container, sql, {}, [this.#pk]);
  }

  /** Lets the version that is listed write its pairs again once its change comes again: what a repair needs. */
  async reopen(of: Identity, session: SinkSession): Promise<void> {
    const id = digest([of.container, of.key, of.id]);
    await untilDone(`The list entry of ${of.id}`, async () => {
      const [found] = await session.read(this.#container, [this.#pk], [id]);
      const stored = found as (SinkDocument & Listed) | undefined;
      if (!stored?.settled) return true;
      const { pk, type, projection, version, part, present } = stored;
      const body: Listed = { id, pk, type, projection, of: stored.of, version, part, present, settled: false };
      const write = { op: 'replace', id, body, ifMatch: stored._etag } as const;
      return (await session.commit(this.#container, [this.#pk], [write])).kind === 'done';
    });
  }

  /** Notes that all pairs are written; where the entry has moved on since, that is the newer change's business. */
  async settle({ listed, etag }: Due, session: SinkSession): Promise<void> {
    const body = settledForm({ ...listed, settled: true });
    await session.commit(this.#container, [this.#pk], [{ op: 'replace', id: listed.id, body, ifMatch: etag }]);
  }
}

/** Whether an entry says of its document what is to be said now; of what isn't there, what it was is kept. */
const isSame = (stored: Listed, part: Doc | null): boolean =>
  stored.present === (part !== null) && canonical(stored.part) === canonical(part ?? stored.part);

/** What is gone is forgotten once no late writer can bring it back; before its copies are gone it must be known. */
const settledForm = (listed: Listed): Listed =>
  listed.settled && !listed.present ? { ...listed, ttl: TOMBSTONE_TTL_S } : listed;
