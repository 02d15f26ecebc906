import { MillraceError } from '../../base/errors.ts';
import { canonical, digest } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type Change, type Version, compareVersions } from '../../feed/reading/change.ts';
import type { SinkDocument, SinkSession, Write } from '../../sinks/session.ts';
import { untilDone } from '../conflict.ts';

interface PublishedDocument {
  readonly id: string;
  readonly pk: string;
  readonly type: 'millrace.published';
  readonly version: Version;
  /** Of the content last published. */
  readonly content: string;
}

const AT_ONCE = 512;

/**
 * What was last published of each document, where a projection writes into the same type: its writes come back through
 * the feed, and one that changed nothing but Millrace's own marks is no news.
 */
export class LastPublished {
  readonly #container: string;
  readonly #projection: string;
  readonly #own: (doc: Record<string, unknown>) => Record<string, unknown>;

  /** `own`: the part of a document whose changes are news; default all of it. */
  constructor(stateContainer: string, projection: string, own = (doc: Record<string, unknown>) => doc) {
    this.#container = stateContainer;
    this.#projection = projection;
    this.#own = own;
  }

  /** The changes whose content was not the last to be published, in their order. */
  async news(changes: readonly Change[], session: SinkSession): Promise<Change[]> {
    const known = new Map<string, string>();
    const stored = await mapSettled(changes, (change) => this.#read(change, session), { concurrency: AT_ONCE });
    return changes.filter((change, index) => {
      const { pk, id } = this.#place(change);
      const before = stored[index];
      const last = known.get(`${pk}\n${id}`) ?? before?.content;
      const content = this.#contentOf(change);
      known.set(`${pk}\n${id}`, content);
      // The very version that was published last may have been cut off in the middle: it goes out again under its id.
      return last !== content || before?.version.etag === change.version.etag;
    });
  }

  /** Notes what the hub has by now. */
  async note(changes: readonly Change[], session: SinkSession): Promise<void> {
    const last = new Map(changes.map((change) => [canonical([change.container, change.key, change.id]), change]));
    await mapSettled(last.values(), (change) => this.#note(change, session), { concurrency: AT_ONCE });
  }

  async #note(change: Change, session: SinkSession): Promise<void> {
    const { pk, id } = this.#place(change);
    await untilDone(`What was published of ${change.container}/${change.id}`, async () => {
      const stored = await this.#read(change, session);
      if (stored && compareVersions(change.version, stored.version) !== 'newer') return true;
      const content = this.#contentOf(change);
      const body: PublishedDocument = { id, pk, type: 'millrace.published', version: change.version, content };
      const write: Write = stored ? { op: 'replace', id, body, ifMatch: stored._etag } : { op: 'create', id, body };
      const answer = await session.commit(this.#container, [pk], [write]);
      if (answer.kind === 'refused')
        throw new MillraceError('state-refused', `The state container refused what was published: ${answer.why}`);
      return answer.kind === 'done';
    });
  }

  async #read(change: Change, session: SinkSession): Promise<(SinkDocument & PublishedDocument) | undefined> {
    const { pk, id } = this.#place(change);
    const [stored] = await session.read(this.#container, [pk], [id]);
    return stored as (SinkDocument & PublishedDocument) | undefined;
  }

  #place({ container, key, id }: Change): { pk: string; id: string } {
    return { pk: `published|${this.#projection}|${digest([container, key])}`, id: digest(id) };
  }

  /** Without `ttl`: keeping a document longer says nothing about it. System fields and Millrace's are gone already. */
  #contentOf({ op, doc = {} }: Change): string {
    const { ttl: _, ...content } = this.#own(doc);
    return digest([op, content]);
  }
}
