import type { Container } from '@azure/cosmos';
import { formatOf } from '../../base/format.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';
import { type AggregateSpec, type Pipeline, type ProjectionSpec, type SourceRef } from '../../pipeline/specs.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';

/** One version of a projection: where its documents are and how one is found, for readers without the pipeline, and its sources. */
export interface ViewVersion {
  readonly version: number;
  readonly container: string;
  readonly type: string;
  /** The paths of its container's partition key. Absent, as `ids`: its documents are outside of Cosmos DB. */
  readonly key?: readonly string[];
  /** What makes a document's id: `map` returns it, or it has the values of its group (`aggregateId`). */
  readonly ids?: 'map' | 'group';
  /** The group's fields, as the model has them: those of its type without the measures. Absent: the type has no fields there. */
  readonly group?: readonly string[];
  /** The types whose changes it needs. A host that doesn't know this version must not skip them. */
  readonly reads: readonly SourceRef[];
}

/** A version that is being built beside the current one. Of an outside sink `container` is the target that is being filled. */
export interface Staged extends ViewVersion {
  /** `resetting`: what was derived is removed. `filling`: it is being built from history; `filled`: it has all of the history; `frozen`: its promotion is under way. */
  readonly phase: 'resetting' | 'filling' | 'filled' | 'frozen';
  /** ISO 8601 UTC. */
  readonly since: string;
  /** While `frozen`: when the hosts continue if the promotion is not finished. ISO 8601 UTC. */
  readonly frozenUntil?: string;
}

/** The version that was current before. It stays until `readableUntil` for applications that still read it. */
export interface Previous extends ViewVersion {
  /** ISO 8601 UTC, as `readableUntil`. */
  readonly replacedAt: string;
  readonly readableUntil: string;
  /** Until then it can become current again: hosts apply changes to it too. Absent: they don't. ISO 8601 UTC. */
  readonly keptUntil?: string;
  /** Why it is no longer kept, although its time is not over. */
  readonly notKept?: string;
  /** While it becomes current again: when the hosts continue if that is not finished. ISO 8601 UTC. */
  readonly frozenUntil?: string;
}

/** A pause: since when, by which person, and why. */
export interface Paused {
  /** ISO 8601 UTC. */
  readonly since: string;
  readonly by: string;
  readonly reason: string;
  /** The types whose changes wait. For embeds, effects, publishes and archives, which have no `current` version. */
  readonly reads?: readonly SourceRef[];
}

/** The stored state of one projection name. */
export interface View {
  /** null: the projection was added to a running pipeline and never built. */
  readonly current: ViewVersion | null;
  readonly staged: Staged | null;
  readonly previous: Previous | null;
  readonly paused: Paused | null;
  /** What writes for the projection beside the hosts, such as a replay: hosts leave no version unwritten meanwhile. */
  readonly rewriting?: readonly string[];
  /** How often another version became current. Orders the answers of lagging replicas. */
  readonly promotions: number;
}

/** All views of a pipeline, by projection name. */
export type ViewsByName = Readonly<Record<string, View>>;

const TYPE = 'millrace.views';

interface Stored {
  readonly id: string;
  readonly pk: string;
  readonly type: typeof TYPE;
  readonly views: ViewsByName;
}

const PARTITION = 'views';
export const DEFAULT_PIPELINE = 'millrace';
export const NO_VIEW: View = { current: null, staged: null, previous: null, paused: null, promotions: 0 };

/** What the views of a pipeline are recorded from. */
export type Declares = Pick<Pipeline, 'projections' | 'model'>;

export const versionOf = (spec: ProjectionSpec, { model }: Pick<Declares, 'model'>): ViewVersion => ({
  version: spec.version,
  container: spec.into.container,
  type: spec.into.type,
  key: model.containers[spec.into.container]?.key ?? [],
  ids: spec.kind === 'aggregate' ? 'group' : 'map',
  ...(spec.kind === 'aggregate' && groupOf(spec, model)),
  reads: sourcesOf(spec),
});

function groupOf({ into, measures }: AggregateSpec, model: Declares['model']): Pick<ViewVersion, 'group'> {
  const fields = Object.keys(model.containers[into.container]?.types[into.type]?.fields ?? {});
  const group = fields.filter((field) => field !== 'id' && field !== 'type' && !(field in measures)).toSorted();
  return group.length > 0 ? { group } : {};
}

/**
 * Which version of each projection is current, staged or paused: one document, changed only under its ETag. A host may
 * read it `readLagMs` late (ASM-A3). A process that changes it must wait for that time until all hosts have seen it.
 */
export class Views {
  readonly #state: Container;
  readonly #id: string;

  /** `pipeline`: its name; two pipelines may share a state container. */
  constructor(state: Container, pipeline: string) {
    this.#state = state;
    this.#id = pipeline;
  }

  /** The names of the pipelines whose views are in a state container. */
  static async pipelinesIn(state: Container): Promise<string[]> {
    const query = {
      query: 'SELECT VALUE c.id FROM c WHERE c.type = @type',
      parameters: [{ name: '@type', value: TYPE }],
    };
    const find = () => state.items.query<string>(query, { partitionKey: PARTITION }).fetchAll();
    return (await withRetry(find, { reads: true })).resources;
  }

  /** Undefined: no pipeline of this name has run. @throws FormatUnreadable */
  async read(): Promise<ViewsByName | undefined> {
    const item = this.#state.item(this.#id, PARTITION);
    return (await readItem<Stored>(item))?.views;
  }

  /**
   * Changes one view. `next` gets the stored view, and all, and returns the new one, or undefined to leave it. It is called
   * again if another process was faster, and may throw to refuse. Resolves with the stored view.
   */
  async change(name: string, next: (view: View, all: ViewsByName) => View | undefined): Promise<View> {
    const views = await this.#write((stored) => {
      const changed = next(stored[name] ?? NO_VIEW, stored);
      return changed && { ...stored, [name]: changed };
    });
    return views[name] ?? NO_VIEW;
  }

  /** Removes a name, with its state, if `may` says so of the stored view. */
  async forget(name: string, may: (view: View) => boolean): Promise<void> {
    await this.#write((stored) => {
      const { [name]: view, ...others } = stored;
      return view && may(view) ? others : undefined;
    });
  }

  /**
   * Stores the views of a pipeline at its first start: the lowest version of each declared projection becomes current,
   * because it reads from the beginning. A projection that is declared later must be built first.
   */
  async adopt(pipeline: Declares): Promise<ViewsByName> {
    const stored = await this.read();
    if (stored) return stored;
    const first: Record<string, View> = {};
    for (const spec of pipeline.projections.toSorted((a, b) => a.version - b.version))
      first[spec.name] ??= { ...NO_VIEW, current: versionOf(spec, pipeline) };
    return this.#write((views, exists) => (exists ? undefined : { ...views, ...first }));
  }

  async #write(next: (views: ViewsByName, exists: boolean) => ViewsByName | undefined): Promise<ViewsByName> {
    const at = { id: this.#id, pk: PARTITION };
    const { after } = await rewrite(this.#state, at, (stored: Stored | undefined): Stored | undefined => {
      const views = next(stored?.views ?? {}, stored !== undefined);
      return views ? { ...at, type: TYPE, ...formatOf('views'), views } : stored;
    });
    return after?.views ?? {};
  }
}
