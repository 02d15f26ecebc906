import type { Container, Database } from '@azure/cosmos';
import { CLOCK_SKEW_MS } from '../../base/bounds.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { formatOf } from '../../base/format.ts';
import { ifFound } from '../../cosmos/container-missing.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { ridOf } from '../../cosmos/rid.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';
import { feedModeOf } from '../../pipeline/all-versions.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import { type Pipeline, type StartSpec, projectionId } from '../../pipeline/specs.ts';
import { startOf } from '../../pipeline/start.ts';
import type { Change } from '../../feed/reading/change.ts';
import { areInOneOrder } from '../../feed/reading/epochs.ts';
import { isBelow } from '../../feed/reading/ends.ts';
import { type StartPosition, positionNow } from './start-position.ts';

/** Where one version of a projection begins. Never changed once it is stored. */
export interface RecordedStart {
  /** What was declared when it was recorded. */
  readonly start: StartSpec;
  /** When it was recorded, ISO 8601 UTC. */
  readonly at: string;
  /** For `now`: where the feed of each source ended. A container that was missing, or is a source since, has none. */
  readonly positions?: Readonly<Record<string, StartPosition>>;
}

export type StartsById = Readonly<Record<string, RecordedStart>>;

interface Stored {
  readonly id: string;
  readonly pk: typeof PARTITION;
  readonly type: 'millrace.starts';
  readonly starts: StartsById;
  /** `_rid` of the lease container in which the pipeline last ran. */
  readonly leases?: string;
}

const PARTITION = 'starts';

export interface StartsOptions {
  readonly database: Database;
  readonly state: Container;
  readonly pipeline: Pipeline;
  /** Of a host: the container of its leases, which is recorded too. */
  readonly leases?: Container | undefined;
  readonly clock?: Clock;
}

/** The recorded starts of a pipeline; undefined: no host has run it. */
export const readStarts = async (state: Container, pipeline: string): Promise<StartsById | undefined> =>
  (await readItem<Stored>(state.item(pipeline, PARTITION)))?.starts;

/** The lease container in which the pipeline last ran; undefined: no host has run it. */
export const readLeasesRid = async (state: Container, pipeline: string): Promise<string | undefined> =>
  (await readItem<Stored>(state.item(pipeline, PARTITION)))?.leases;

/**
 * Records `since` for each projection that is declared to begin now and has no start. It was lost, or
 * no host has run the projection: a host would record the end of the feeds, and leave out what was written before it was lost (REC-E4).
 */
export async function recordLostStarts(
  state: Container,
  pipeline: Pipeline,
  since: StartSpec,
  now: number,
): Promise<void> {
  const at = { id: pipeline.name, pk: PARTITION } as const;
  await rewrite(state, at, (stored?: Stored): Stored | undefined => {
    const lost = [...pipeline.effects, ...pipeline.publishes].filter(
      (spec) => startOf(spec) === 'now' && !stored?.starts[projectionId(spec)],
    );
    if (lost.length === 0) return stored;
    const start: RecordedStart = { start: since, at: new Date(now).toISOString() };
    const starts = { ...stored?.starts, ...Object.fromEntries(lost.map((spec) => [projectionId(spec), start])) };
    return {
      ...at,
      type: 'millrace.starts',
      ...formatOf('starts'),
      starts,
      ...(stored?.leases && { leases: stored.leases }),
    };
  });
}

/**
 * Where the projections of a pipeline begin (docs/SPEC-starts.md). One document for each pipeline: the first host that
 * declares a projection adds its start, under the document's ETag, and every host uses what is stored. It isn't part of
 * the views, which each host reads every two seconds.
 */
export class Starts {
  readonly #options: StartsOptions;
  readonly #clock: Clock;
  readonly #ids: ReadonlySet<string>;
  #recorded: Promise<StartsById> | undefined;
  /** By container, recorded epoch and read epoch: whether their lsns are in one order. */
  readonly #comparable = new Map<string, Promise<boolean>>();

  constructor(options: StartsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#ids = new Set([...options.pipeline.effects, ...options.pipeline.publishes].map(projectionId));
  }

  /** Whether a projection has a start. The others begin at the beginning, and nothing is asked for them. */
  concerns(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Records the starts that are missing. Later calls return the same; a failure isn't kept. */
  recorded(): Promise<StartsById> {
    const recorded = (this.#recorded ??= this.#record());
    recorded.catch(() => {
      if (this.#recorded === recorded) this.#recorded = undefined;
    });
    return recorded;
  }

  /** Divides the changes for a projection: those that it applies, and those below its start. */
  async divide(
    id: string,
    changes: readonly Change[],
  ): Promise<{ readonly due: readonly Change[]; readonly below: readonly Change[] }> {
    const start = (await this.recorded())[id];
    if (!start || start.start === 'beginning') return { due: changes, below: [] };
    const due: Change[] = [];
    const below: Change[] = [];
    for (const change of changes) ((await this.#isBelow(start, change)) ? below : due).push(change);
    return { due, below };
  }

  async #isBelow({ start, at, positions }: RecordedStart, change: Change): Promise<boolean> {
    if (start !== 'now') return change.at < wholeSecond(Date.parse(start));
    const position = positions?.[change.container];
    if (position && (await this.#isComparable(position, change))) return isBelow(position, change);
    // Its lsns say nothing here. The clocks of this host's predecessor and of the service may differ, and what comes twice
    // is better than what is left out.
    return change.at < wholeSecond(Date.parse(at) - CLOCK_SKEW_MS);
  }

  #isComparable(position: StartPosition, { container, version: { epoch } }: Change): true | Promise<boolean> {
    if (epoch <= position.epoch) return true;
    const name = `${container}|${position.rid}|${position.epoch}|${epoch}`;
    const known = this.#comparable.get(name);
    if (known) return known;
    const asked = areInOneOrder(this.#options.state, container, position, epoch, this.#clock);
    this.#comparable.set(name, asked);
    asked.catch(() => this.#comparable.delete(name));
    return asked;
  }

  async #record(): Promise<StartsById> {
    const { state, pipeline } = this.#options;
    const at = { id: pipeline.name, pk: PARTITION } as const;
    const own = await this.#leasesNow();
    // All of it is decided by the document that the write is conditional on: a read may be older than another host's write.
    const { after } = await rewrite(state, at, async (stored?: Stored): Promise<Stored> => {
      const added = await this.#missingIn(stored?.starts);
      const leases = own ?? stored?.leases;
      if (stored?.leases === leases && stored && Object.keys(added).length === 0) return stored;
      const starts = { ...stored?.starts, ...added };
      return { ...at, type: 'millrace.starts', ...formatOf('starts'), starts, ...(leases && { leases }) };
    });
    return after.starts;
  }

  /** Undefined: not a host's, or missing, which others report. */
  async #leasesNow(): Promise<string | undefined> {
    const { leases } = this.#options;
    return leases && ifFound(ridOf(leases));
  }

  async #missingIn(stored: StartsById | undefined): Promise<StartsById> {
    const { pipeline } = this.#options;
    const specs = [...pipeline.effects, ...pipeline.publishes].filter((spec) => !stored?.[projectionId(spec)]);
    const at = new Date(this.#clock.now()).toISOString();
    const ends = new Map<string, Promise<StartPosition | undefined>>();
    const added = specs.map(async (spec): Promise<[string, RecordedStart]> => {
      const start = startOf(spec);
      if (start !== 'now') return [projectionId(spec), { start, at }];
      const positions: Record<string, StartPosition> = {};
      for (const { container } of sourcesOf(spec)) {
        const end = ends.get(container) ?? this.#positionNow(container);
        ends.set(container, end);
        const position = await end;
        if (position) positions[container] = position;
      }
      return [projectionId(spec), { start, at, positions }];
    });
    return Object.fromEntries(await Promise.all(added));
  }

  #positionNow(container: string): Promise<StartPosition | undefined> {
    const { database, state, pipeline } = this.#options;
    return positionNow(database.container(container), state, feedModeOf(pipeline, container));
  }
}

/** The start of one projection, for history that it gets again under this or another name. */
export const startAs = (id: string, starts: Starts): Pick<Starts, 'concerns' | 'divide'> => ({
  concerns: () => starts.concerns(id),
  divide: (_, changes) => starts.divide(id, changes),
});

/** From when on, milliseconds, a document that was written must have been applied, though clocks may differ. */
export function expectedFrom(start: RecordedStart | undefined): number {
  if (!start || start.start === 'beginning') return -Infinity;
  return start.start === 'now' ? Date.parse(start.at) + CLOCK_SKEW_MS : wholeSecond(Date.parse(start.start));
}

/** `_ts` counts whole seconds (ASM-A26), so the second of the start belongs to what comes after it. */
const wholeSecond = (ms: number): number => Math.floor(ms / 1_000) * 1_000;
