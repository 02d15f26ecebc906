import { roundedIn } from '../../base/whole-numbers.ts';
import { isObject } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type KeyPath, fullKey, storedKey } from '../../cosmos/paths.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import type { Change, Key } from '../../feed/reading/change.ts';
import { feedWithoutSystemFields as contentOf } from '../../feed/reading/mapper.ts';
import { movedMarkOf, movedOwn } from '../../kinds/moved.ts';
import { withoutGuards } from '../../kinds/embed/fields.ts';
import { Guess } from '../../kinds/create-first.ts';
import { changeDocument } from '../../access/change.ts';
import type { SinkDocument, DocumentAccess } from '../../access/document-access.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** One side of a migration. */
export interface Side {
  readonly container: string;
  readonly keyPaths: readonly KeyPath[];
  /** Seconds; undefined: documents don't expire. */
  readonly defaultTtl: number | undefined;
  /** The container's `_rid`. */
  readonly rid: string;
}

/** Of `_mr.moved` of a migrated document: the container, identity and version that it was copied from. */
export interface MigratedDocuments {
  readonly rid: string;
  readonly pk: Key;
  readonly id: string;
  readonly lsn: number;
  readonly etag: string;
}

export interface CopyRules {
  /**
   * The copies count as versions of this epoch of the source until the map gives their keys to the target, and replace no
   * document but copies. Absent: they have versions of their own, and replace what is there.
   */
  readonly epoch?: number;
  /** They are copies of archived documents, which leave again. */
  readonly cold?: true;
}

export const movedOf = (document: Readonly<Record<string, unknown>>, rid: string): MigratedDocuments | undefined => {
  const own = document['_mr'];
  const moved = isObject(own) ? own['moved'] : undefined;
  return isObject(moved) && moved['rid'] === rid ? (moved as unknown as MigratedDocuments) : undefined;
};

/** Whether a document is in the source, as far as a possibly stale read can show. */
export type Exists = (document: Pick<MigratedDocuments, 'pk' | 'id'>) => Promise<boolean>;

/** Copies raw changes of one container into another. It never replaces a newer version by an older one. */
export class Copier {
  readonly #from: Side;
  readonly #into: Side;
  readonly #access: DocumentAccess;
  readonly #exists: Exists;
  readonly #rules: CopyRules;
  readonly #guess = new Guess();

  /** `access` is one to the target's database; `exists` asks the source. */
  constructor(from: Side, into: Side, access: DocumentAccess, exists: Exists, rules: CopyRules = {}) {
    this.#from = from;
    this.#into = into;
    this.#access = access;
    this.#exists = exists;
    this.#rules = rules;
  }

  /** Resolves with the number of documents written. */
  async copy(changes: readonly Change[], now = Date.now()): Promise<number> {
    const written = await mapSettled(changes, (change) => this.#copyOne(change, now), { concurrency: 128 });
    return written.filter(Boolean).length;
  }

  /**
   * The key and id that a document of the source has in the target. It may lack a level that it lacks in the source too.
   * @throws MillraceError `key-missing`
   */
  placeOf(document: Readonly<Record<string, unknown>>): { readonly key: Key; readonly id: string } {
    const id = String(document['id']);
    const own = new Set(this.#from.keyPaths.map((path) => path.join('/')));
    const added = fullKey(
      document,
      this.#into.keyPaths.filter((path) => !own.has(path.join('/'))),
    );
    if ('key' in added) return { key: storedKey(document, this.#into.keyPaths), id };
    throw sharedError(
      'key-missing',
      `${this.#from.container}/${id} has no value at ${added.missing}, which is part of the key of ${this.#into.container}`,
      { hint: 'Give every document a value there first, or choose another partition key.' },
    );
  }

  /**
   * Copies changes that the source's feed delivers after the switch, if the target's document is still the copied one.
   * Otherwise the application has written the target's document since; resolves with the identities of these.
   */
  async copyLate(changes: readonly Change[]): Promise<string[]> {
    const left: string[] = [];
    for (const change of changes) {
      const place = this.placeOf(change.doc ?? {});
      const [found] = await this.#access.read(this.#into.container, place.key, [place.id]);
      const before = found && movedOf(found, this.#from.rid);
      if (before?.etag === change.version.etag) continue;
      if (before && isAsCopied(found)) await this.#copyOne(change, Date.now());
      else left.push(JSON.stringify([change.key, change.id]));
    }
    return left;
  }

  async #copyOne({ key: pk, id, version, doc = {} }: Change, now: number): Promise<boolean> {
    const place = this.placeOf(doc);
    const ttl = remainingTtl(doc, this.#from.defaultTtl, now);
    // It has expired: no reader of the source sees it any more.
    if (ttl === 0) return false;
    const { epoch, cold } = this.#rules;
    const moved: MigratedDocuments = { rid: this.#from.rid, pk, id, lsn: version.lsn, etag: version.etag };
    const { ttl: _, _mr: own, ...rest } = withoutSystemFields(doc);
    const left = { ...rest, ...(ttl === undefined ? {} : { ttl }) };
    assertExact(this.#from.container, id, left);
    const body = {
      ...left,
      _mr: movedOwn(
        epoch === undefined ? own : withoutGuards(own),
        {
          ...moved,
          ...(epoch !== undefined && { epoch, ahead: true as const }),
          ...(cold && { cold }),
        },
        contentOf(left),
      ),
    };
    const { container } = this.#into;
    const refused = (why: string) => sharedError('document-refused', `${container} refused ${id}: ${why}`);
    const etag = await changeDocument(
      this.#access,
      { container, key: place.key, id, what: `Document ${container}/${id}`, refused },
      async (found) => (found && !(await this.#mayReplace(found, moved)) ? undefined : body),
      (first, stored) => this.#guess.read(first, stored),
    );
    return etag !== undefined;
  }

  /** Whether the target's document may be replaced. A document of a migration in the other direction is always older. */
  async #mayReplace(found: SinkDocument, moved: MigratedDocuments): Promise<boolean> {
    const before = movedOf(found, this.#from.rid);
    if (!before) return this.#rules.epoch === undefined;
    if (this.#rules.epoch !== undefined && !isAsCopied(found)) return false;
    if (before.id === moved.id && JSON.stringify(before.pk) === JSON.stringify(moved.pk)) return before.lsn < moved.lsn;
    // Another document of the source with the same place: a collision, unless it was deleted and created under another key.
    if (!(await this.#exists(before))) return true;
    throw sharedError(
      'collision',
      `${this.#into.container} would have two documents ${moved.id} under one key, from ${JSON.stringify(before.pk)} and ${JSON.stringify(moved.pk)}`,
      { hint: 'Choose another partition key, or make the ids unique under the new one.' },
    );
  }
}

/** False: the document was written since. */
/** A copy would have another number than the document. @throws MillraceError `value-invalid` */
export function assertExact(container: string, id: string, body: object): void {
  const rounded = roundedIn(body);
  if (rounded !== undefined)
    throw sharedError('value-invalid', `${container}/${id}: ${rounded}`, { hint: 'Store the number as a text.' });
}

const isAsCopied = (found: SinkDocument): boolean => movedMarkOf(found, contentOf(found)) !== undefined;

/** Seconds until a document expires, by its own `ttl` or its container's; 0: it has expired; undefined: it never does. */
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
