// What a move writes into documents, apart from copies.
import { assertExact } from '../migrate/copy.ts';
import { randomUUID } from 'node:crypto';
import { withoutSystemFields as withoutCosmosFields } from '../../cosmos/system-fields.ts';
import { storedKey } from '../../cosmos/paths.ts';
import type { Key } from '../../feed/reading/change.ts';
import { feedWithoutSystemFields as contentOf } from '../../feed/reading/mapper.ts';
import { type MovedMark, movedMarkOf, movedOwn } from '../../kinds/moved.ts';
import type { CosmosAccess } from '../../access/cosmos-access.ts';
import type { Write } from '../../access/document-access.ts';
import { sharedError } from '../../base/shared-errors.ts';
import type { Side } from '../migrate/copy.ts';

type Stored = Readonly<Record<string, unknown>>;

/** A marker lives this long if no one deletes it: longer than hosts stand still. */
const MARKER_TTL_S = 30 * 24 * 3_600;
/** A document that stands for a moment, and of which nothing is derived. */
const ADVANCE = 'millrace.advance';
const ADVANCE_TTL_S = 60;

export const markOf = (document: Stored): MovedMark | undefined => movedMarkOf(document, contentOf(document));

/** The documents of one container of a shard, changed on condition that they are as they were read. */
export class MovedDocuments {
  readonly #side: Side;
  readonly #access: CosmosAccess;

  constructor(side: Side, access: CosmosAccess) {
    this.#side = side;
    this.#access = access;
  }

  /**
   * The same content as a version of its own: no event, and newer than whatever was derived from it. `of`: what else the mark
   * still says.
   */
  renew(document: Stored, of: Omit<MovedMark, 'digest'> = {}): Promise<boolean> {
    return this.#write(document, of, {}, 'replace');
  }

  /**
   * The document counts as deleted here. `of`: the version as which; without `lsn` it is the marker's own. The content
   * stays, because it says which type the document has, and of whom it is.
   */
  markGone(document: Stored, of: Pick<MovedMark, 'epoch' | 'lsn'>): Promise<boolean> {
    const { rid, pk, id } = markOf(document) ?? {};
    return this.#write(
      document,
      { ...(rid !== undefined && { rid, pk: pk!, id: id! }), ...of, gone: true },
      { ttl: MARKER_TTL_S },
      'replace',
    );
  }

  /** The marker of a document that isn't here, because it is archived. False: there is a document. */
  async createGone(document: Stored, of: Pick<MovedMark, 'epoch' | 'lsn'>): Promise<boolean> {
    return this.#write(document, { ...of, gone: true }, { ttl: MARKER_TTL_S }, 'create');
  }

  /** Makes the feed of a key's range end later. `of`: a document with the key. */
  async advance(of: Stored): Promise<void> {
    const document = { ...of, id: `millrace.advance|${randomUUID()}`, type: ADVANCE, ttl: ADVANCE_TTL_S };
    const { id, key } = this.#placeOf(document);
    const answer = await this.#access.commit(this.#side.container, key, [{ op: 'create', id, body: document }]);
    if (answer.kind !== 'done') return;
    const [etag = ''] = answer.etags;
    await this.#access.commit(this.#side.container, key, [{ op: 'delete', id, ifMatch: etag }]);
  }

  async remove(document: Stored): Promise<boolean> {
    const { id, key, etag } = this.#placeOf(document);
    return (
      (await this.#access.commit(this.#side.container, key, [{ op: 'delete', id, ifMatch: etag }])).kind === 'done'
    );
  }

  async read(key: Key, id: string): Promise<Stored | undefined> {
    return (await this.#access.read(this.#side.container, key, [id]))[0];
  }

  async #write(
    document: Stored,
    mark: Omit<MovedMark, 'digest'>,
    fields: Stored,
    op: 'create' | 'replace',
  ): Promise<boolean> {
    const { id, key, etag } = this.#placeOf(document);
    const { _mr: own, ...rest } = withoutCosmosFields(document);
    const body = { ...rest, ...fields };
    assertExact(this.#side.container, id, body);
    const written = { ...body, _mr: movedOwn(own, mark, contentOf(body)) };
    const write: Write = op === 'create' ? { op, id, body: written } : { op, id, body: written, ifMatch: etag };
    const answer = await this.#access.commit(this.#side.container, key, [write]);
    if (answer.kind === 'refused')
      throw sharedError('document-refused', `${this.#side.container} refused ${id}: ${answer.why}`);
    return answer.kind === 'done';
  }

  #placeOf(document: Stored): { readonly id: string; readonly key: Key; readonly etag: string } {
    const key = storedKey(document, this.#side.keyPaths);
    return { id: String(document['id']), key, etag: String(document['_etag']) };
  }
}
