import { MillraceError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type KeyPath, fullKey } from '../../cosmos/paths.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import type { Change, Key } from '../../feed/reading/change.ts';
import { Guess } from '../../projections/guess.ts';
import { untilDone } from '../../projections/conflict.ts';
import type { SinkDocument, SinkSession } from '../../sinks/session.ts';

/** One side of a migration. */
export interface Side {
  readonly container: string;
  readonly keyPaths: readonly KeyPath[];
  /** Seconds; undefined: documents don't expire by themselves. */
  readonly defaultTtl: number | undefined;
  /** The container's `_rid`. */
  readonly rid: string;
}

/** What a migrated document remembers in `_mr.moved`: which document, in which version, of which container it is. */
export interface Moved {
  readonly rid: string;
  readonly pk: Key;
  readonly id: string;
  readonly lsn: number;
  readonly etag: string;
}

export const movedOf = (document: Readonly<Record<string, unknown>>, rid: string): Moved | undefined => {
  const own = document['_mr'];
  const moved = isObject(own) ? own['moved'] : undefined;
  return isObject(moved) && moved['rid'] === rid ? (moved as unknown as Moved) : undefined;
};

/** Whether a document is in the source, as far as can be told. */
export type Exists = (document: Pick<Moved, 'pk' | 'id'>) => Promise<boolean>;

/** Copies raw changes of one container into another, forward in version only; resolves with how many were written. */
export class Copier {
  readonly #from: Side;
  readonly #into: Side;
  readonly #session: SinkSession;
  readonly #exists: Exists;
  readonly #guess = new Guess();

  /** `session` is one on the target's database; `exists` asks the source. */
  constructor(from: Side, into: Side, session: SinkSession, exists: Exists) {
    this.#from = from;
    this.#into = into;
    this.#session = session;
    this.#exists = exists;
  }

  async copy(changes: readonly Change[], now = Date.now()): Promise<number> {
    const written = await mapSettled(changes, (change) => this.#copyOne(change, now), { concurrency: 128 });
    return written.filter(Boolean).length;
  }

  /** Where a document of the source lies in the target. */
  placeOf(document: Readonly<Record<string, unknown>>): { readonly key: Key; readonly id: string } {
    const keyed = fullKey(document, this.#into.keyPaths);
    const id = String(document['id']);
    if ('key' in keyed) return { key: keyed.key, id };
    throw new MillraceError(
      'target-key-missing',
      `${this.#from.container}/${id} has no value at ${keyed.missing}, which is part of the key of ${this.#into.container}`,
      {
        mend: `Give every document ${keyed.missing.slice(1)} first, or choose another key.`,
      },
    );
  }

  /**
   * What the source's feed still brought after the change-over: taken over where the target's document is as it was
   * copied; else the application has written it there since. Resolves with the identities of the latter.
   */
  async copyLate(changes: readonly Change[]): Promise<string[]> {
    const left: string[] = [];
    for (const change of changes) {
      const place = this.placeOf(change.doc ?? {});
      const [found] = await this.#session.read(this.#into.container, place.key, [place.id]);
      const before = found && movedOf(found, this.#from.rid);
      if (before?.etag === change.version.etag) continue;
      if (before) await this.#copyOne(change, Date.now());
      else left.push(JSON.stringify([change.key, change.id]));
    }
    return left;
  }

  async #copyOne({ key: pk, id, version, doc = {} }: Change, now: number): Promise<boolean> {
    const place = this.placeOf(doc);
    const ttl = remainingTtl(doc, this.#from.defaultTtl, now);
    // Expired meanwhile: gone for every reader of the source.
    if (ttl === 0) return false;
    const moved: Moved = { rid: this.#from.rid, pk, id, lsn: version.lsn, etag: version.etag };
    const { ttl: _, _mr: own, ...rest } = withoutSystemFields(doc);
    const body = { ...rest, ...(ttl === undefined ? {} : { ttl }), _mr: { ...(isObject(own) ? own : {}), moved } };
    let written = false;
    await untilDone(`Document ${this.#into.container}/${id}`, async (first) => {
      const found = await this.#guess.read(
        first,
        async () => (await this.#session.read(this.#into.container, place.key, [id]))[0],
      );
      if (found && !(await this.#gives(found, moved))) return true;
      const write = found
        ? ({ op: 'replace', id, body, ifMatch: found._etag } as const)
        : ({ op: 'create', id, body } as const);
      const answer = await this.#session.commit(this.#into.container, place.key, [write]);
      if (answer.kind === 'refused')
        throw new MillraceError('target-refused', `${this.#into.container} refused ${id}: ${answer.why}`);
      written = answer.kind === 'done';
      return written;
    });
    return written;
  }

  /** Whether what is in the target gives way. What is there of a migration the other way is older than what comes now. */
  async #gives(found: SinkDocument, moved: Moved): Promise<boolean> {
    const before = movedOf(found, this.#from.rid);
    if (!before) return true;
    if (before.id === moved.id && JSON.stringify(before.pk) === JSON.stringify(moved.pk)) return before.lsn < moved.lsn;
    // Another identity of the same place: it was deleted and made anew under another key, unless both are there.
    if (!(await this.#exists(before))) return true;
    throw new MillraceError(
      'target-collision',
      `${this.#into.container} would have two documents ${moved.id} under one key: of ${JSON.stringify(before.pk)} and of ${JSON.stringify(moved.pk)}`,
      {
        mend: 'Ids must be unique under the new partition key: choose another key, or make them so.',
      },
    );
  }
}

/** Seconds that a document still has; undefined: it doesn't expire; 0: it has. An expiry of its own, or its container's. */
export function remainingTtl(
  doc: Readonly<Record<string, unknown>>,
  defaultTtl: number | undefined,
  now: number,
): number | undefined {
  if (defaultTtl === undefined) return undefined;
  const own = typeof doc['ttl'] === 'number' ? doc['ttl'] : defaultTtl;
  if (own <= 0) return undefined;
  return Math.max(0, Math.ceil(Number(doc['_ts']) + own - now / 1_000));
}
