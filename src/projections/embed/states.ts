import { MillraceError } from '../../base/errors.ts';
import { canonical, digest } from '../../base/json.ts';
import { type Doc, type EmbedSpec, projectionId } from '../../definition/specs.ts';
import type { Change, Identity, Version } from '../../feed/reading/change.ts';
import type { SinkDocument, SinkSession } from '../../sinks/session.ts';
import { untilDone } from '../conflict.ts';
import { standing } from '../stamp.ts';
import { sameTold } from './same-told.ts';

/** One look at all children of a parent. */
export interface Pass {
  /** It began at least 2 × the read lag after the state was written, so it sees every child of then. */
  readonly late: boolean;
  /** It has found nothing to do so far. */
  readonly clean: boolean;
  /** The last child id it has dealt with. */
  readonly after: string;
}

/** The durable state of a parent: what its children are to be told, and how far that is. */
export interface EmbedState {
  readonly id: string;
  readonly pk: string;
  readonly type: 'millrace.embed';
  readonly projection: string;
  readonly parent: Identity;
  readonly version: Version;
  readonly doc: Doc | null;
  /** `run`: children may still have what was before; whoever finds it goes on with it. */
  readonly job: 'run' | 'done';
  /** null: the next pass begins at the beginning. */
  readonly pass: Pass | null;
}

/** A state as it was read or written. */
export interface Held {
  readonly state: EmbedState;
  readonly etag: string;
}

const STATE_ID = 'state';

/** The states of one projection's parents, each in a partition of its own in the state container. */
export class EmbedStates {
  readonly #container: string;
  readonly #spec: EmbedSpec;
  readonly #projection: string;

  constructor(stateContainer: string, spec: EmbedSpec) {
    this.#container = stateContainer;
    this.#spec = spec;
    this.#projection = projectionId(spec);
  }

  /** May be stale. */
  async read(parent: Identity, session: SinkSession): Promise<Held | undefined> {
    const [found] = await session.read(this.#container, [this.#partition(parent)], [STATE_ID]);
    return found && held(found as SinkDocument & EmbedState);
  }

  /** The states whose children are not done, wherever they were left. May be stale. */
  async open(session: SinkSession): Promise<Held[]> {
    const sql = `SELECT * FROM c WHERE c.type = 'millrace.embed' AND c.projection = @projection AND c.job = 'run'`;
    const found = await session.query<SinkDocument & EmbedState>(this.#container, sql, {
      projection: this.#projection,
    });
    return found.map(held);
  }

  /**
   * Takes a parent's change into its state, before anything is written to a child; undefined where it is older than what
   * is known. What tells the children the same as before needs none of them: an echo ends here.
   */
  async advance(change: Change, doc: Doc | null, session: SinkSession): Promise<Held | undefined> {
    const pk = this.#partition(change);
    let result: Held | undefined;
    await untilDone(`The state of parent ${change.id}`, async () => {
      const [found] = await session.read(this.#container, [pk], [STATE_ID]);
      const stored = found && held(found as SinkDocument & EmbedState);
      const order = stored ? await standing(change, stored.state.version, session) : 'newer';
      result = order === 'older' ? undefined : stored;
      if (order !== 'newer') return true;
      const state: EmbedState = {
        id: STATE_ID,
        pk,
        type: 'millrace.embed',
        projection: this.#projection,
        parent: { container: change.container, key: change.key, id: change.id },
        version: change.version,
        doc,
        ...(stored && sameTold(this.#spec, stored.state.doc, doc)
          ? { job: stored.state.job, pass: stored.state.pass }
          : { job: 'run', pass: null }),
      };
      const write = stored
        ? ({ op: 'replace', id: STATE_ID, body: state, ifMatch: stored.etag } as const)
        : ({ op: 'create', id: STATE_ID, body: state } as const);
      const answer = await session.commit(this.#container, [pk], [write]);
      if (answer.kind === 'refused') throw new MillraceError('state-refused', answer.why);
      if (answer.kind === 'conflict') return false;
      result = { state, etag: answer.etags[0] ?? '' };
      return true;
    });
    return result;
  }

  /** Notes how far the children are; undefined where the state has moved on, or another host got further. */
  async save(
    { state, etag }: Held,
    progress: Pick<EmbedState, 'job' | 'pass'>,
    session: SinkSession,
  ): Promise<Held | undefined> {
    const body: EmbedState = { ...state, ...progress };
    const write = { op: 'replace', id: STATE_ID, body, ifMatch: etag } as const;
    const answer = await session.commit(this.#container, [state.pk], [write]);
    return answer.kind === 'done' ? { state: body, etag: answer.etags[0] ?? '' } : undefined;
  }

  #partition(parent: Identity): string {
    const name = canonical([parent.container, parent.key, parent.id]);
    return `embed|${this.#projection}|${name.length > 500 ? digest(name) : name}`;
  }
}

const held = ({
  id,
  pk,
  type,
  projection,
  parent,
  version,
  doc,
  job,
  pass,
  _etag,
}: SinkDocument & EmbedState): Held => ({
  state: { id, pk, type, projection, parent, version, doc, job, pass },
  etag: _etag,
});
