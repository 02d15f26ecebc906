import { acknowledgedBy } from '../../archive/sweep/may-leave.ts';
import type { Clock } from '../../base/clock.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { type Registered, registeredOf, mayWait } from '../../engine/deferred/registered.ts';
import { letterId } from '../../engine/dead-letters/letter-document.ts';
import { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { sourceContainers } from '../../engine/runners.ts';
import type { Lease } from '../../feed/leases/lease.ts';
import { type Change, type Identity, feedLsnOf } from '../../feed/reading/change.ts';
import type { SourceContainer } from '../../feed/reading/mapper.ts';
import { type Parts, openFeed } from '../../runtime/open-feed.ts';

/** Positions of the leases, and when they were read, monotonic. */
interface Sample {
  readonly at: number;
  readonly leases: readonly Pick<Lease, 'range' | 'position'>[];
}

export interface ProcessedOptions {
  /** The projections that must have had a change. */
  readonly projections: readonly string[];
  readonly clock: Clock;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
  readonly signal: AbortSignal;
}

/**
 * What hosts have processed of a container. Positions count once they were read as long ago as a read may be old: a letter
 * that was written before its checkpoint is then visible.
 */
export class Processed {
  readonly #list: () => Promise<readonly Lease[]>;
  readonly #letters: DeadLetters;
  readonly #deferred: Registered;
  readonly #source: SourceContainer | undefined;
  readonly #options: ProcessedOptions;
  #samples: readonly Sample[] = [];

  private constructor(
    container: string,
    { services, loaded: { pipeline, model } }: Parts,
    list: () => Promise<readonly Lease[]>,
    options: ProcessedOptions,
  ) {
    this.#list = list;
    this.#letters = new DeadLetters(services.place.state);
    this.#deferred = registeredOf(services.place.state, { pipeline: pipeline.name, source: container }, options.signal);
    this.#source = sourceContainers(pipeline, model).get(container);
    this.#options = options;
  }

  static async open(container: string, parts: Parts, options: ProcessedOptions): Promise<Processed> {
    const { leases } = await openFeed(parts, container, { host: 'backfill' });
    // A lease created here has no position, so no change of its range counts as processed.
    await leases.prepare(options.signal);
    return new Processed(container, parts, () => leases.list(), options);
  }

  /** Which changes of the range were processed or parked. */
  async of(range: FeedRange): Promise<(change: Change) => boolean> {
    const upTo = await this.#upTo(range);
    // After the positions: what they passed is applied, or still deferred.
    const tenants = await this.#deferred.tenants();
    const source = this.#source ?? { keyPaths: [] };
    return (change) => feedLsnOf(change) <= upTo && !mayWait(tenants, source, change);
  }

  /** The lsn up to which every change of the range was processed, parked or deferred; -1: none. */
  async #upTo(range: FeedRange): Promise<number> {
    const { clock, readLagMs } = this.#options;
    const leases = await this.#list();
    const now = clock.monotonic();
    const all = [...this.#samples, { at: now, leases }];
    const old = all.filter(({ at }) => now - at >= readLagMs);
    this.#samples = all.slice(Math.max(0, old.length - 1));
    return acknowledgedBy(old.at(-1)?.leases ?? [], range) ?? -1;
  }

  /** Those of the documents of which one of the projections has a dead letter. Call it after `of`. */
  async parked<D extends Identity>(documents: readonly D[]): Promise<Set<D>> {
    const letters = await Promise.all(
      this.#options.projections.map((projection) => this.#letters.reasons(projection, documents)),
    );
    return new Set(documents.filter((document) => letters.some((of) => of.has(letterId(document)))));
  }
}
