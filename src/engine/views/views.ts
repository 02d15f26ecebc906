import type { Container } from '@azure/cosmos';
import { MillraceError } from '../../base/errors.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { rewrite } from '../../cosmos/rewrite.ts';
import { type ProjectionSpec, type SourceRef, projectionId } from '../../definition/specs.ts';
import { sourcesOf } from '../../definition/pipeline.ts';

/** One version of a projection: where its documents lie, and what it is derived from. */
export interface ViewVersion {
  readonly version: number;
  readonly container: string;
  readonly type: string;
  /** The types whose changes it needs: a host that doesn't know this version must not pass them by. */
  readonly reads: readonly SourceRef[];
}

/** A version that is being built beside the current one. */
export interface Staged extends ViewVersion {
  /** `filling`: from history; `filled`: all that there was is in it; `frozen`: its promotion is under way. */
  readonly phase: 'filling' | 'filled' | 'frozen';
  /** ISO 8601 UTC. */
  readonly since: string;
  /** While `frozen`: when the hosts go on by themselves, should nobody finish the promotion. ISO 8601 UTC. */
  readonly frozenUntil?: string;
}

/** What readers saw before; there until `readableUntil` for those who still read it. */
export interface Previous extends ViewVersion {
  /** ISO 8601 UTC, both. */
  readonly replacedAt: string;
  readonly readableUntil: string;
}

/** Since when it is held back, by whom and why. */
export interface Paused {
  /** ISO 8601 UTC. */
  readonly since: string;
  readonly by: string;
  readonly reason: string;
  /** The types whose changes wait, where no version of its own says so: embeds, effects, publishes, archives. */
  readonly reads?: readonly SourceRef[];
}

/** What is known of one projection name. */
export interface View {
  /** null: it was added to a running pipeline and never built. */
  readonly current: ViewVersion | null;
  readonly staged: Staged | null;
  readonly previous: Previous | null;
  readonly paused: Paused | null;
  /** How often another version became current: orders what lagging replicas say. */
  readonly flips: number;
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
export const NO_VIEW: View = { current: null, staged: null, previous: null, paused: null, flips: 0 };

export const versionOf = (spec: ProjectionSpec): ViewVersion => ({
  version: spec.version,
  container: spec.into.container,
  type: spec.into.type,
  reads: sourcesOf(spec),
});

/**
 * Which version of each projection is current, staged, paused: one document, changed only under its ETag. What it says
 * may be read `readLagMs` late (A3); whoever changes it waits that long before relying on everybody having seen it.
 */
export class Views {
  readonly #state: Container;
  readonly #id: string;

  /** `pipeline`: its name; two pipelines may share a state container. */
  constructor(state: Container, pipeline: string) {
    this.#state = state;
    this.#id = pipeline;
  }

  /** The names of the pipelines that a state container has views of. */
  static async pipelinesIn(state: Container): Promise<string[]> {
    const query = {
      query: 'SELECT VALUE c.id FROM c WHERE c.type = @type',
      parameters: [{ name: '@type', value: TYPE }],
    };
    const find = () => state.items.query<string>(query, { partitionKey: PARTITION }).fetchAll();
    return (await withRetry(find, { reads: true })).resources;
  }

  /** undefined: nothing was ever recorded. */
  async read(): Promise<ViewsByName | undefined> {
    const item = this.#state.item(this.#id, PARTITION);
    return (await withRetry(() => item.read<Stored>(), { reads: true })).resource?.views;
  }

  /**
   * Changes one view: `next` is given it as stored and returns what it is to be, or undefined to leave it. It is called
   * again whenever somebody else was quicker, and may throw to refuse. Resolves with the view as it is then.
   */
  async change(name: string, next: (view: View) => View | undefined): Promise<View> {
    const views = await this.#write((stored) => {
      const changed = next(stored[name] ?? NO_VIEW);
      return changed && { ...stored, [name]: changed };
    });
    return views[name] ?? NO_VIEW;
  }

  /**
   * Records what a pipeline has, once: on the first start everything declared is current, in its lowest version, since
   * that is what runs. What is declared later than that has to be built first.
   */
  async adopt(projections: readonly ProjectionSpec[]): Promise<ViewsByName> {
    const stored = await this.read();
    if (stored) return stored;
    const first: Record<string, View> = {};
    for (const spec of projections.toSorted((a, b) => a.version - b.version))
      first[spec.name] ??= { ...NO_VIEW, current: versionOf(spec) };
    return this.#write((views, exists) => (exists ? undefined : { ...views, ...first }));
  }

  async #write(next: (views: ViewsByName, exists: boolean) => ViewsByName | undefined): Promise<ViewsByName> {
    const at = { id: this.#id, pk: PARTITION };
    const { after } = await rewrite(this.#state, at, (stored: Stored | undefined): Stored | undefined => {
      const views = next(stored?.views ?? {}, stored !== undefined);
      return views ? { ...at, type: TYPE, views } : stored;
    });
    return after?.views ?? {};
  }
}

/** A page must wait: it is read again later, and nothing of it is lost. */
export class Held extends MillraceError<'projection-held'> {
  constructor(why: string, mend: string) {
    super('projection-held', why, { retryable: true, mend });
  }
}

/** That a name is paused, and how it goes on; undefined where it isn't. */
export function pausedBy(views: ViewsByName, name: string): Held | undefined {
  const paused = views[name]?.paused;
  if (!paused) return undefined;
  const why = `${name} is paused since ${paused.since} by ${paused.by}${paused.reason ? `: ${paused.reason}` : ''}`;
  return new Held(why, `\`millrace projections resume ${name}\` lets it go on.`);
}

/** Why changes of a type must not be applied now; undefined where they may. */
export function heldBy(
  views: ViewsByName,
  of: SourceRef,
  knows: (id: string) => boolean,
  now: number,
): Held | undefined {
  const reads = (what: { readonly reads?: readonly SourceRef[] } | null): boolean =>
    what?.reads?.some(({ container, type }) => container === of.container && type === of.type) ?? false;
  for (const [name, { current, staged, paused }] of Object.entries(views)) {
    if (paused && (reads(current) || reads(paused))) return pausedBy(views, name);
    const frozen = staged?.phase === 'frozen' && now < Date.parse(staged.frozenUntil ?? '');
    if (frozen && (reads(current) || reads(staged)))
      return new Held(`${name}@${staged.version} is being promoted`, 'This takes seconds; nothing has to be done.');
    if (current && reads(current) && !knows(projectionId({ name, version: current.version }))) {
      const why = `${name}@${current.version} is current, and this pipeline does not declare it`;
      const mend = `Declare version ${current.version} of ${name} until another one is promoted, or drop it: \`millrace projections drop ${name}\`.`;
      return new Held(why, mend);
    }
  }
  return undefined;
}
