import { formatOf } from '../../base/format.ts';
import { canonical, digest } from '../../base/json.ts';
import { type Doc, type EmbedSpec, projectionId } from '../../pipeline/specs.ts';
import type { Change, Identity, Version } from '../../feed/reading/change.ts';
import type { SinkDocument, DocumentAccess } from '../../access/document-access.ts';
import { changeDocument } from '../../access/change.ts';
import { stateDocument } from '../changed-state.ts';
import { standing } from '../standing.ts';
import { sameForChildren } from './same-for-children.ts';

/** How far one pass through all children of a parent has got. */
export interface ChildPass {
  /** It began at least 2 × the read lag after the state was written, so it sees every child that existed then. */
  readonly late: boolean;
  /** It has found nothing to do so far. */
  readonly clean: boolean;
  /** The id of the last child that it has processed. */
  readonly after: string;
}

/** The durable state of a parent: the version that its children must get, and the progress of that. */
export interface EmbedState {
  readonly id: string;
  readonly pk: string;
  readonly type: 'millrace.embed';
  readonly projection: string;
  readonly parent: Identity;
  readonly version: Version;
  readonly doc: Doc | null;
  /** True: the parent is in another shard now, with its children. Absent: it is here, or was deleted. */
  readonly away?: true;
  /** `run`: children may still have older fields; any host that finds the state continues. */
  readonly job: 'run' | 'done';
  /** null: the next pass begins with the first child. */
  readonly pass: ChildPass | null;
}

/** A state as it was read or written, with its ETag. */
export interface StoredState {
  readonly state: EmbedState;
  readonly etag: string;
}

const STATE_ID = 'state';

/** The states of one projection's parents. Each has a logical partition of its own in the state container. */
export class EmbedStates {
  readonly #container: string;
  readonly #spec: EmbedSpec;
  readonly #projection: string;

  constructor(stateContainer: string, spec: EmbedSpec) {
    this.#container = stateContainer;
    this.#spec = spec;
    this.#projection = projectionId(spec);
  }

  /** The stored state of a parent that is here. It may be older than a write of another host. */
  async read(parent: Identity, access: DocumentAccess): Promise<StoredState | undefined> {
    const [found] = await access.read(this.#container, [this.#partition(parent)], [STATE_ID]);
    const stored = found && storedStateOf(found as SinkDocument & EmbedState);
    return stored?.state.away ? undefined : stored;
  }

  /** The states whose children are not done, of all hosts. May be stale. */
  async open(access: DocumentAccess): Promise<StoredState[]> {
    const sql = `SELECT * FROM c WHERE c.type = 'millrace.embed' AND c.projection = @projection AND c.job = 'run'`;
    const found = await access.query<SinkDocument & EmbedState>(this.#container, sql, {
      projection: this.#projection,
    });
    return found.map(storedStateOf);
  }

  /**
   * Takes a parent's change into its state, before anything is written to a child. Undefined: the change is older than
   * the state. A change that gives the children the same fields as before starts no pass: an echo ends here. Nor does a
   * deletion by a move: the children go as the parent does.
   */
  async advance(change: Change, doc: Doc | null, access: DocumentAccess): Promise<StoredState | undefined> {
    const pk = this.#partition(change);
    let result: StoredState | undefined;
    const what = `The state of parent ${change.id}`;
    const of = stateDocument(this.#container, pk, STATE_ID, { what, kind: 'the state of a parent' });
    const etag = await changeDocument<SinkDocument & EmbedState>(access, of, async (found) => {
      const stored = found && storedStateOf(found);
      const order = stored ? await standing(change, stored.state.version, access) : 'newer';
      result = order === 'older' ? undefined : stored;
      if (order !== 'newer') return undefined;
      const state: EmbedState = {
        id: STATE_ID,
        pk,
        type: 'millrace.embed',
        ...formatOf('embed'),
        projection: this.#projection,
        parent: { container: change.container, key: change.key, id: change.id },
        version: change.version,
        doc,
        ...this.#workOf(change, stored?.state, doc),
      };
      result = { state, etag: '' };
      return state;
    });
    return result && { ...result, ...(etag !== undefined && { etag }) };
  }

  #workOf(
    { gone }: Change,
    before: EmbedState | undefined,
    doc: Doc | null,
  ): Pick<EmbedState, 'away' | 'job' | 'pass'> {
    if (gone) return { away: true, job: 'done', pass: null };
    if (before && !before.away && sameForChildren(this.#spec, before.doc, doc))
      return { job: before.job, pass: before.pass };
    return { job: 'run', pass: null };
  }

  /** Stores the progress; undefined if a newer parent or another host has changed the state. */
  async save(
    { state, etag }: StoredState,
    progress: Pick<EmbedState, 'job' | 'pass'>,
    access: DocumentAccess,
  ): Promise<StoredState | undefined> {
    const body: EmbedState = { ...state, ...formatOf('embed'), ...progress };
    const write = { op: 'replace', id: STATE_ID, body, ifMatch: etag } as const;
    const answer = await access.commit(this.#container, [state.pk], [write]);
    return answer.kind === 'done' ? { state: body, etag: answer.etags[0] ?? '' } : undefined;
  }

  #partition(parent: Identity): string {
    const name = canonical([parent.container, parent.key, parent.id]);
    return `embed|${this.#projection}|${name.length > 500 ? digest(name) : name}`;
  }
}

const storedStateOf = ({
  id,
  pk,
  type,
  projection,
  parent,
  version,
  doc,
  away,
  job,
  pass,
  _etag,
}: SinkDocument & EmbedState): StoredState => ({
  state: { id, pk, type, projection, parent, version, doc, ...(away && { away }), job, pass },
  etag: _etag,
});
