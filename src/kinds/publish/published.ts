import { formatOf } from '../../base/format.ts';
import { canonical, digest } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type Change, type Version, compareVersions } from '../../feed/reading/change.ts';
import type { SinkDocument, DocumentAccess, Write } from '../../access/document-access.ts';
import { untilDone } from '../conflict.ts';
import { projectionsError } from '../errors.ts';

interface PublishedDocument {
  readonly id: string;
  readonly pk: string;
  readonly type: 'millrace.published';
  readonly version: Version;
  /** A digest of the content last published. */
  readonly content: string;
}

const AT_ONCE = 512;

/**
 * The content of each document that was published last. Needed where a projection writes into the published type: its
 * writes come back through the feed, and a write that changed only Millrace's own marks must not be published again.
 */
export class LastPublished {
  readonly #container: string;
  readonly #projection: string;
  readonly #own: (doc: Record<string, unknown>) => Record<string, unknown>;

  /** `own`: the part of a document whose changes count; default all of it. */
  constructor(stateContainer: string, projection: string, own = (doc: Record<string, unknown>) => doc) {
    this.#container = stateContainer;
    this.#projection = projection;
    this.#own = own;
  }

  /** The changes whose content differs from the content published last, in their order. */
  async changed(changes: readonly Change[], access: DocumentAccess): Promise<Change[]> {
    const known = new Map<string, string>();
    const stored = await mapSettled(changes, (change) => this.#read(change, access), { concurrency: AT_ONCE });
    return changes.filter((change, index) => {
      const { pk, id } = this.#place(change);
      const before = stored[index];
      const last = known.get(`${pk}\n${id}`) ?? before?.content;
      const content = this.#contentOf(change);
      known.set(`${pk}\n${id}`, content);
      // A crash may have interrupted the publishing of this very version: it is published again under the same id.
      return last !== content || before?.version.etag === change.version.etag || change.owed === true;
    });
  }

  /** The version that the content of a change was published last with, for the changes of which it is known. */
  async versions(changes: readonly Change[], access: DocumentAccess): Promise<Map<Change, Version>> {
    const stored = await mapSettled(changes, (change) => this.#read(change, access), { concurrency: AT_ONCE });
    const versions = new Map<Change, Version>();
    for (const [index, change] of changes.entries()) {
      const before = stored[index];
      if (before?.content === this.#contentOf(change)) versions.set(change, before.version);
    }
    return versions;
  }

  /** Stores that the hub has these changes. */
  async note(changes: readonly Change[], access: DocumentAccess): Promise<void> {
    const last = new Map(changes.map((change) => [canonical([change.container, change.key, change.id]), change]));
    await mapSettled(last.values(), (change) => this.#note(change, access), { concurrency: AT_ONCE });
  }

  async #note(change: Change, access: DocumentAccess): Promise<void> {
    const { pk, id } = this.#place(change);
    await untilDone(`The record that ${change.container}/${change.id} was published`, async () => {
      const stored = await this.#read(change, access);
      if (stored && compareVersions(change.version, stored.version) !== 'newer') return true;
      const content = this.#contentOf(change);
      const type = 'millrace.published';
      const body: PublishedDocument = { id, pk, type, ...formatOf('published'), version: change.version, content };
      const write: Write = stored ? { op: 'replace', id, body, ifMatch: stored._etag } : { op: 'create', id, body };
      const answer = await access.commit(this.#container, [pk], [write]);
      if (answer.kind === 'refused')
        throw projectionsError(
          'state-refused',
          `The state container refused the record of a published document: ${answer.why}`,
        );
      return answer.kind === 'done';
    });
  }

  async #read(change: Change, access: DocumentAccess): Promise<(SinkDocument & PublishedDocument) | undefined> {
    const { pk, id } = this.#place(change);
    const [stored] = await access.read(this.#container, [pk], [id]);
    return stored as (SinkDocument & PublishedDocument) | undefined;
  }

  #place({ container, key, id }: Change): { pk: string; id: string } {
    return { pk: `published|${this.#projection}|${digest([container, key])}`, id: digest(id) };
  }

  /** Without `ttl`: another time to live is not another content. System fields and Millrace's are removed before. */
  #contentOf({ op, doc = {} }: Change): string {
    const { ttl: _, ...content } = this.#own(doc);
    return digest([op, content]);
  }
}
