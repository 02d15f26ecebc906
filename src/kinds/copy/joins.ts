import { namesLevel } from '../../base/key-level.ts';
import { LRUCache } from 'lru-cache';
import { formatOf, readableWhere } from '../../base/format.ts';
import { canonical, digest } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import type { Doc, Join } from '../../pipeline/specs.ts';
import { type Change, type Identity, type Version, compareVersions } from '../../feed/reading/change.ts';
import { type SourceContainer, toDocument, typeOf } from '../../feed/reading/mapper.ts';
import type { SinkDocument, DocumentAccess } from '../../access/document-access.ts';
import { changeDocument } from '../../access/change.ts';
import { stateDocument } from '../changed-state.ts';
import type { JoinUse } from '../join-use.ts';

/**
 * What a copy projection knows about one joined document. Changes of the joined document write it to the state container,
 * and every copy reads it. A copy is done only when a conditional patch has confirmed that its state is still the
 * current one (COPY-J1), so a cached or stale state does no harm.
 */
interface StateDocument {
  readonly id: string;
  readonly pk: string;
  readonly type: 'millrace.join';
  readonly projection: string;
  readonly parent: Identity;
  readonly mark: string;
  readonly version: Version | null;
  readonly doc: Doc | null;
  /** The state had another content before: copies made with it may be in the sink. */
  readonly replaced: boolean;
}

type Stored = SinkDocument & StateDocument;

export interface JoinState extends JoinUse {
  readonly pk: string;
  readonly doc: Doc | null;
}

const STATE_ID = 'state';
const NONE = 'none';

export class JoinStates {
  readonly join: Join;
  readonly #container: string;
  readonly #projection: string;
  readonly #source: SourceContainer;
  /** A limit by `max` would allocate its places at once: 0.5 MB for each join of each shard. */
  readonly #known = new LRUCache<string, JoinState>({ maxSize: 20_000, sizeCalculation: () => 1 });

  /** `source`: the joined type's container. */
  constructor(join: Join, stateContainer: string, projection: string, source: SourceContainer) {
    this.join = join;
    this.#container = stateContainer;
    this.#projection = projection;
    this.#source = source;
  }

  /** The joined document's identity as the child names it; undefined if a join field has no value that can be a key. */
  parentOf(child: Doc): Identity | undefined {
    const field = (name: string): unknown => child[this.join.on[name] ?? ''];
    const key = this.#source.keyPaths.map((path) => field(path.join('/')));
    const id = this.join.on['id'] === undefined ? key.at(-1) : field('id');
    if (typeof id !== 'string' || !key.every(namesLevel)) return undefined;
    return { container: this.join.of.container, key, id };
  }

  /**
   * The states of several joined documents by their children; each is read once. Concurrent calls share nothing, since
   * each has an access, and so a fence, of its own.
   */
  async currentOf<C extends { readonly doc?: Doc }>(
    children: readonly C[],
    sink: DocumentAccess,
  ): Promise<Map<C, JoinState>> {
    const parents = new Map<string, { parent: Identity; children: C[] }>();
    for (const child of children) {
      const parent = child.doc ? this.parentOf(child.doc) : undefined;
      if (!parent) continue;
      const pk = this.#partition(parent);
      const of = parents.get(pk);
      if (of) of.children.push(child);
      else parents.set(pk, { parent, children: [child] });
    }
    const states = new Map<C, JoinState>();
    await mapSettled(
      parents.values(),
      async (of) => {
        const state = await this.current(of.parent, sink);
        for (const child of of.children) states.set(child, state);
      },
      { concurrency: 128 },
    );
    return states;
  }

  /** The state of a joined document; created from the source if there is none yet. */
  async current(parent: Identity, sink: DocumentAccess): Promise<JoinState> {
    const pk = this.#partition(parent);
    const known = this.#known.get(pk);
    if (known) return known;
    let state!: StateDocument;
    await changeDocument<Stored>(sink, this.#at(pk, parent), async (stored) => {
      state = stored ?? (await this.#fromSource(pk, parent, sink));
      return stored ? undefined : state;
    });
    return this.#remember(state);
  }

  /** Forgets a cached state that turned out to be old. */
  forget(state: Pick<JoinState, 'pk'>): void {
    this.#known.delete(state.pk);
  }

  /** True if the state is still the current one now, after the copy that was made with it is durable. */
  async confirm(state: JoinState, sink: DocumentAccess): Promise<boolean> {
    const result = await sink.commit(
      this.#container,
      [state.pk],
      [
        {
          op: 'patch',
          id: STATE_ID,
          operations: [{ op: 'set', path: '/confirmed', value: 1 }],
          where: `from c where c.mark = '${state.mark}' and ${readableWhere('join')}`,
        },
      ],
    );
    if (result.kind === 'done') return true;
    this.forget(state);
    return false;
  }

  /**
   * Takes a change of a joined document into the state. `changed`: copies made with the former content may be in the sink.
   * A new state has no such copies, since no copy is confirmed without a state.
   */
  async advance(change: Change, sink: DocumentAccess): Promise<{ state: JoinState; changed: boolean }> {
    const pk = this.#partition(change);
    const doc = change.op === 'delete' ? null : (change.doc ?? null);
    const taken = {
      id: STATE_ID,
      pk,
      type: 'millrace.join',
      ...formatOf('join'),
      projection: this.#projection,
      parent: { container: change.container, key: change.key, id: change.id },
      version: change.version,
      doc,
    } as const;
    let advanced!: { readonly state: StateDocument; readonly changed: boolean };
    await changeDocument<Stored>(sink, this.#at(pk, change), (stored) => {
      if (stored?.version) {
        const order = compareVersions(change.version, stored.version);
        // A duplicate may come after a crash between this write and the refresh of the copies: refresh them again.
        if (order !== 'newer') {
          advanced = { state: stored, changed: order === 'same' && stored.replaced };
          return undefined;
        }
      }
      const known = stored !== undefined && isOf(stored, change.version, doc);
      // Content that returns after other content gets a new mark, so that copies of the first time are made again too.
      const mark = known ? stored.mark : digest(change.version);
      const body = { ...taken, mark, replaced: stored !== undefined && (!known || stored.replaced) };
      advanced = { state: body, changed: body.replaced };
      return body;
    });
    return { ...advanced, state: this.#remember(advanced.state) };
  }

  #at(pk: string, { id: of }: Pick<Identity, 'id'>) {
    const what = `The state of joined document ${of}`;
    return stateDocument(this.#container, pk, STATE_ID, { what, kind: 'the state of a joined document' });
  }

  async #fromSource(pk: string, parent: Identity, sink: DocumentAccess): Promise<StateDocument> {
    const [found] = await sink.read(parent.container, parent.key, [parent.id]);
    // The read may be stale. The document's feed will deliver its right version, which replaces this state.
    const doc =
      found && typeOf(this.#source.types, found) === this.join.of.type ? toDocument(this.#source, found) : null;
    const made = { mark: readMark(doc, found?._etag), version: null, doc, replaced: false };
    return {
      id: STATE_ID,
      pk,
      type: 'millrace.join',
      ...formatOf('join'),
      projection: this.#projection,
      parent,
      ...made,
    };
  }

  #remember(stored: StateDocument): JoinState {
    const version = stored.version ? { epoch: stored.version.epoch, lsn: stored.version.lsn } : null;
    const state: JoinState = { pk: stored.pk, ref: refOf(stored.parent), mark: stored.mark, version, doc: stored.doc };
    this.#known.set(stored.pk, state);
    return state;
  }

  #partition(parent: Identity): string {
    const name = canonical([parent.container, parent.key, parent.id]);
    return `join|${this.#projection}|${this.join.name}|${name.length > 500 ? digest(name) : name}`;
  }
}

/** The mark of a document that was read before its feed delivered it: only its ETag is known. */
const readMark = (doc: Doc | null, etag: string | undefined): string => (doc && etag ? digest(etag) : NONE);

/** Whether a state has the content of a version: it is of that version, or was read before the feed delivered it. */
const isOf = (stored: StateDocument, { etag }: Version, doc: Doc | null): boolean =>
  stored.version === null ? stored.mark === readMark(doc, etag) : stored.version.etag === etag;

const refOf = (parent: Identity): string => digest([parent.container, parent.key, parent.id]);
