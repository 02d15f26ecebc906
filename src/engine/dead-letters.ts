import type { Container } from '@azure/cosmos';
import { canonical, digest } from '../base/json.ts';
import { failureOf } from '../cosmos/failure.ts';
import { AmbiguousOutcome, withRetry } from '../cosmos/retry.ts';
import { type Change, type Identity, type Version, compareVersions } from '../feed/change.ts';
import type { Refusal } from '../projections/runner.ts';
import { scrub } from './dead-letters-scrub.ts';
import { type Kept, KeptChanges } from './kept-changes.ts';
import type { LetterBodies } from './letter-bodies.ts';

/** A change that couldn't be applied, parked per document: a newer version of the document replaces it. */
export interface DeadLetter extends Identity {
  /** `name@version` of the projection. */
  readonly projection: string;
  readonly type: string;
  readonly version: Version;
  readonly op: Change['op'];
  readonly code: string;
  readonly message: string;
  readonly mend?: string;
  readonly attempts: number;
  /** It was never tried: an earlier change of its key is parked, and the projection keeps their order. */
  readonly waits?: boolean;
  /** ISO 8601 UTC. */
  readonly firstAt: string;
  readonly lastAt: string;
}

/** The change itself is kept where it waits or was an event. */
interface Stored extends DeadLetter, Kept {
  readonly pk: string;
  readonly kind: 'dead-letter';
  readonly document: string;
  readonly _etag: string;
}

/** What is known of a parked document without its letter. */
export interface Parked {
  readonly version: Version;
  readonly waits: boolean;
  /** Canonical JSON of container and full key: what an ordered projection keeps its order within. */
  readonly order: string;
}

const PARTITION = 'dead-letters';

/** Dead letters of state projections, in the state container. The source stays the truth: no document body is kept. */
export class DeadLetters {
  readonly #state: Container;
  readonly #kept: KeptChanges;
  /** Parked documents by projection, as last read: a hint that spares a read a page. */
  readonly #parked = new Map<string, Promise<Map<string, Parked>>>();

  /** `bodies`: blobs for the largest changes; without it they are kept in documents. */
  constructor(state: Container, bodies?: LetterBodies) {
    this.#state = state;
    this.#kept = new KeptChanges(state, bodies);
  }

  /**
   * Stores what was refused; resolves when it is durable, so that the checkpoint may pass it (L2). `whole`: with the
   * change itself, since nobody could be asked for it again.
   */
  async park(
    projection: string,
    refusals: readonly Refusal[],
    now: Date,
    { whole = false }: { readonly whole?: boolean } = {},
  ): Promise<void> {
    for (const { change, error } of refusals) {
      await this.#park(
        projection,
        change,
        { code: error.code, message: scrub(error.message), ...(error.mend ? { mend: scrub(error.mend) } : {}) },
        now,
        whole,
      );
      (await this.#known(projection)).set(documentId(change), parked(change, false));
    }
  }

  /** Stores changes that wait behind what is parked of their key; resolves when they are durable. */
  async hold(projection: string, changes: readonly Change[], now: Date): Promise<void> {
    const code = 'waits-behind-parked';
    for (const change of changes) {
      const message = `An earlier change under the key ${JSON.stringify(change.key)} is parked`;
      await this.#park(projection, change, { code, message, waits: true }, now, true);
      (await this.#known(projection)).set(documentId(change), parked(change, true));
    }
  }

  /** What is parked of a projection by the keys it keeps the order of, as last read, each by its document. */
  async blocked(projection: string): Promise<Map<string, Map<string, Parked>>> {
    const keys = new Map<string, Map<string, Parked>>();
    for (const [id, one] of await this.#known(projection)) {
      const documents = keys.get(one.order) ?? new Map<string, Parked>();
      keys.set(one.order, documents.set(id, one));
    }
    return keys;
  }

  /** The changes that wait under a key. */
  async waiting(projection: string, order: string): Promise<Change[]> {
    const query = { query: `SELECT * FROM c WHERE c.kind = 'dead-letter' AND c.waits = true` };
    const options = { partitionKey: partition(projection) };
    const { resources } = await withRetry(() => this.#state.items.query<Stored>(query, options).fetchAll(), {
      reads: true,
    });
    const own = resources.filter((letter) => orderOf(letter) === order);
    const changes = await Promise.all(own.map((letter) => this.#kept.get(letter.pk, letter)));
    return changes.filter((change) => change !== undefined);
  }

  /** Takes away what newer versions, now applied, have replaced. */
  async settle(projection: string, applied: readonly Change[]): Promise<void> {
    const parked = await this.#known(projection);
    if (parked.size === 0) return;
    for (const change of applied) {
      const id = documentId(change);
      if (!parked.has(id)) continue;
      if (await this.#settle(projection, change.version, id)) parked.delete(id);
    }
  }

  /** Takes a letter away as it was listed; false where it is gone, or its document is parked in another version by now. */
  async discard(letter: Pick<DeadLetter, 'projection' | 'version'> & Identity): Promise<boolean> {
    const id = documentId(letter);
    for (;;) {
      const stored = await this.#read(letter.projection, id);
      if (!stored || compareVersions(letter.version, stored.version) !== 'same') return false;
      if (!(await this.#remove(stored))) continue;
      (await this.#parked.get(letter.projection))?.delete(id);
      return true;
    }
  }

  /** The change that is kept with a letter, where there is one. */
  async kept(letter: Pick<DeadLetter, 'projection'> & Identity): Promise<Change | undefined> {
    const stored = await this.#read(letter.projection, documentId(letter));
    return stored && this.#kept.get(stored.pk, stored);
  }

  /** True once nothing is parked of the document; false where a newer version is. */
  async #settle(projection: string, applied: Version, id: string): Promise<boolean> {
    for (;;) {
      const stored = await this.#read(projection, id);
      if (!stored) return true;
      // Of two under one lsn the parked one may be the later: what had expired is deleted and written anew at once.
      if (['older', 'undecided'].includes(compareVersions(applied, stored.version))) return false;
      if (await this.#remove(stored)) return true;
    }
  }

  async list(projection?: string): Promise<DeadLetter[]> {
    const filter = projection === undefined ? '' : ' AND c.projection = @projection';
    const parameters = projection === undefined ? [] : [{ name: '@projection', value: projection }];
    const query = { query: `SELECT * FROM c WHERE c.kind = 'dead-letter'${filter}`, parameters };
    const { resources } = await withRetry(() => this.#state.items.query<Stored>(query).fetchAll(), { reads: true });
    return resources.map(toDeadLetter).toSorted((a, b) => (a.firstAt < b.firstAt ? -1 : 1));
  }

  /** Reads the index again at the next use: at a lease's first dispatch, and for each batch under Functions. */
  refresh(): void {
    this.#parked.clear();
  }

  /** One reading at a time: what is parked while it is under way is added to the set that it gives. */
  #known(projection: string): Promise<Map<string, Parked>> {
    const known = this.#parked.get(projection);
    if (known) return known;
    const reading = this.#readIndex(projection);
    this.#parked.set(projection, reading);
    reading.catch(() => this.#parked.delete(projection));
    return reading;
  }

  async #readIndex(projection: string): Promise<Map<string, Parked>> {
    const query = { query: `SELECT c.id, c.container, c.key, c.version, c.waits FROM c WHERE c.kind = 'dead-letter'` };
    const options = { partitionKey: partition(projection) };
    const { resources } = await withRetry(() => this.#state.items.query<Stored>(query, options).fetchAll(), {
      reads: true,
    });
    return new Map(resources.map((stored) => [stored.id, parked(stored, stored.waits === true)]));
  }

  async #park(
    projection: string,
    change: Change,
    reason: Pick<DeadLetter, 'code' | 'message' | 'mend' | 'waits'>,
    now: Date,
    whole: boolean,
  ): Promise<void> {
    const id = documentId(change);
    const pk = partition(projection);
    let kept: Kept = {};
    for (;;) {
      const before = await this.#read(projection, id);
      const order = before && compareVersions(change.version, before.version);
      // Why a version was refused isn't replaced by that it would have to wait now.
      if (order === 'older' || (reason.waits && order === 'same')) return this.#forget(pk, kept, before);
      if (whole && !kept.change && !kept.parts && !kept.blob) kept = await this.#kept.put(pk, change);
      const at = now.toISOString();
      const letter = {
        ...reason,
        id,
        pk,
        kind: 'dead-letter',
        projection,
        container: change.container,
        key: change.key,
        document: change.id,
        type: change.type,
        version: change.version,
        op: change.op,
        attempts: reason.waits ? 0 : before && order === 'same' ? before.attempts + 1 : 1,
        ...kept,
        firstAt: before?.firstAt ?? at,
        lastAt: at,
      };
      try {
        await withRetry(
          () =>
            before
              ? this.#state
                  .item(id, pk)
                  .replace(letter, { accessCondition: { type: 'IfMatch', condition: before._etag } })
              : this.#state.items.create(letter),
          { reads: false },
        );
        return before && this.#forget(pk, before, kept);
      } catch (error) {
        // A letter may be settled meanwhile; one that can't be created lacks its container.
        if (!isRace(error) && !(before && failureOf(error).kind === 'not-found')) throw error;
      }
    }
  }

  /** Takes away the parts of a change that another letter, or the same, has replaced. */
  async #forget(pk: string, { parts, blob }: Kept, by: Kept | undefined): Promise<void> {
    if (parts && parts.name !== by?.parts?.name) await this.#kept.remove(pk, { parts });
    if (blob !== undefined && blob !== by?.blob) await this.#kept.remove(pk, { blob });
  }

  async #read(projection: string, id: string): Promise<Stored | undefined> {
    const { resource } = await withRetry(() => this.#state.item(id, partition(projection)).read<Stored>(), {
      reads: true,
    });
    return resource;
  }

  /** False where it changed meanwhile, or the outcome is unknown. */
  async #remove(stored: Stored): Promise<boolean> {
    const options = { accessCondition: { type: 'IfMatch', condition: stored._etag } };
    try {
      await withRetry(() => this.#state.item(stored.id, stored.pk).delete(options), { reads: false });
      await this.#kept.remove(stored.pk, stored);
      return true;
    } catch (error) {
      if (failureOf(error).kind === 'not-found') return true;
      if (isRace(error)) return false;
      throw error;
    }
  }
}

/** Somebody else wrote first, or the outcome is unknown: read again and decide again. */
const isRace = (error: unknown): boolean =>
  error instanceof AmbiguousOutcome || ['precondition', 'conflict'].includes(failureOf(error).kind);

const partition = (projection: string): string => `${PARTITION}|${projection}`;
const orderOf = ({ container, key }: Pick<Identity, 'container' | 'key'>): string => canonical([container, key]);

const parked = (of: Pick<DeadLetter, 'container' | 'key' | 'version'>, waits: boolean): Parked => ({
  version: of.version,
  waits,
  order: orderOf(of),
});
const documentId = (of: Identity): string => digest(canonical([of.container, of.key, of.id]));

const toDeadLetter = ({ document: id, mend, waits, ...stored }: Stored): DeadLetter => {
  const { projection, container, key, type, version, op, code, message, attempts, firstAt, lastAt } = stored;
  const told = { ...(mend ? { mend } : {}), attempts, ...(waits ? { waits } : {}), firstAt, lastAt };
  return { projection, container, key, id, type, version, op, code, message, ...told };
};
