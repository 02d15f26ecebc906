import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../base/clock.ts';
import { MillraceError } from '../base/errors.ts';
import { Meter } from '../cosmos/meter.ts';
import { withRetry } from '../cosmos/retry.ts';
import { spendingOf } from '../cosmos/spending.ts';
import type { EmbedSpec, ProjectionSpec } from '../definition/specs.ts';
import type { Engine } from '../engine/engine.ts';
import { FeedHost, type Timings } from '../feed/sharing/feed-host.ts';
import type { SourceContainer } from '../feed/reading/mapper.ts';
import { lsnOf } from '../feed/reading/position.ts';
import type { Start } from '../feed/reading/source.ts';
import { openPipelineHistory } from './archives.ts';
import { FeedEnds } from './feed-ends.ts';
import { asSeen, consumeHistory, sourcesFor } from './history-pages.ts';
import { READ_LAG_MS, openEngine } from './open-engine.ts';
import { type OpenFeed, type Parts, openFeed } from './open-feed.ts';
import type { Services } from './workspace.ts';

export interface StagedOptions extends Parts {
  /** An embed is fed its parents: its children, that is what it writes into, are found by them. */
  readonly spec: ProjectionSpec | EmbedSpec;
  /** Tells these leases from all others; whoever comes with the same goes on where another stopped. */
  readonly purpose: string;
  /** Where the ranges of a container without a position begin. Default: the beginning. */
  readonly startOf?: ((container: string, rid: string) => Start) | undefined;
  /** Most request units a second, of reading and writing together. Default: no bound. */
  readonly ruPerSecond?: number | undefined;
  /** How old a read may be, milliseconds (A3). Default 5,000. */
  readonly readLagMs?: number | undefined;
  readonly timings?: Partial<Timings> | undefined;
}

export interface StagedProgress {
  readonly changes: number;
  readonly parked: number;
  /** Request units. */
  readonly charge: number;
}

interface Feed extends Pick<OpenFeed, 'leases' | 'prefix'> {
  readonly host: FeedHost;
  readonly ends: FeedEnds;
}

/** A host that writes its lease seldom and takes it at once: there is one of them, but for the moment of a takeover. */
const TIMINGS: Partial<Timings> = { acquireMs: 1_000, pollMs: 500 };
/** Another process with the same purpose has had all leases for this long: it is theirs to finish. */
const OVERTAKEN_MS = 30_000;

/** One version of a projection, fed apart from the live hosts: by leases of its own, without side effects. */
export class StagedHost implements AsyncDisposable {
  readonly #options: StagedOptions;
  readonly #engine: Engine;
  readonly #sources: ReadonlyMap<string, SourceContainer>;
  /** Of reading the feeds. */
  readonly #meter = new Meter();
  readonly #pace: (signal: AbortSignal) => Promise<void>;
  #feeds: readonly Feed[] = [];
  #stopped: Promise<void> | undefined;

  private constructor(options: StagedOptions) {
    this.#options = options;
    this.#engine = openEngine(options, options.spec).engine;
    this.#sources = sourcesFor(options.loaded, options.spec);
    this.#pace = pacer(() => this.progress().charge, options.ruPerSecond);
  }

  /** Opens and starts it. */
  static async open(options: StagedOptions): Promise<StagedHost> {
    const staged = new StagedHost(options);
    staged.#feeds = await Promise.all([...staged.#sources.values()].map((map) => staged.#open(map)));
    for (const { host } of staged.#feeds) await host.start();
    return staged;
  }

  /** Resolves once every range was read to its end by reads that began after now, and all of it is done or parked. */
  async drained(signal: AbortSignal): Promise<void> {
    const since = systemClock.monotonic();
    for (let ours = since; !this.#feeds.every((feed) => isRead(feed, since));) {
      const now = systemClock.monotonic();
      if (this.#feeds.some(({ host }) => host.status().leases.length > 0)) ours = now;
      else if (now - ours > OVERTAKEN_MS) throw overtaken(this.#options.purpose);
      await delay(20, undefined, { signal });
    }
    await untilResumed(this.#engine, signal, this.#options.readLagMs, this.#pace);
  }

  /** Applies what has left the source containers for the archive. */
  async applyCold(signal: AbortSignal): Promise<void> {
    const { loaded, services, readLagMs = READ_LAG_MS } = this.#options;
    const archived = new Set(loaded.pipeline.archives.map(({ from }) => from.container));
    for (const source of this.#sources.values()) {
      if (!archived.has(source.name)) continue;
      const history = await openPipelineHistory(loaded, services, { signal, readLagMs });
      const documents = history.documents(source.name, signal);
      const seen = (document: Parameters<typeof asSeen>[1] & { readonly cold: boolean }) =>
        document.cold ? asSeen(source, document) : undefined;
      await consumeHistory(this.#engine, documents, seen, signal, this.#pace);
    }
  }

  progress(): StagedProgress {
    const [{ changes, parked, meter } = { changes: 0, parked: 0, meter: undefined }] = this.#engine.stats;
    return { changes, parked, charge: this.#meter.charge + (meter?.charge ?? 0) };
  }

  stop(): Promise<void> {
    return (this.#stopped ??= Promise.all(this.#feeds.map(({ host }) => host.stop())).then(() => undefined));
  }

  /** Forgets how far it got. Stop it first. */
  async removeLeases(): Promise<void> {
    for (const { leases, prefix } of this.#feeds) {
      for (const lease of await leases.list()) await leases.remove(lease);
      await removeMarker(this.#options.services, prefix);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #open(map: SourceContainer): Promise<Feed> {
    const { services, purpose, startOf = () => 'beginning', timings } = this.#options;
    const { state, database } = services;
    const opened = await openFeed(this.#options, map, { host: purpose, purpose }, { state, meter: this.#meter });
    const { source, leases, prefix, rid, mode } = opened;
    const ends = new FeedEnds(source);
    const host = new FeedHost({
      container: map.name,
      host: purpose,
      source: ends,
      leases,
      mode,
      start: startOf(map.name, rid),
      handle: async (page, fence) => {
        await this.#engine.consume(page, fence);
        await this.#pace(fence.signal);
      },
      budget: spendingOf(database)?.reading(map.name),
      timings: { ...TIMINGS, ...timings },
    });
    return { host, leases, prefix, ends };
  }
}

/** What says that there were leases; one that is left does no harm. */
async function removeMarker({ leases }: Services, prefix: string): Promise<void> {
  const id = `${prefix}.info`;
  await withRetry(() => leases.item(id, id).delete(), { reads: true }).catch(() => undefined);
}

/** All ranges are here, and each was read to its end by a read that began after `since`, all of it acknowledged. */
function isRead({ host, ends }: Feed, since: number): boolean {
  const { known, leases } = host.status();
  if (known === 0 || leases.length !== known) return false;
  return leases.every(({ range, position, idleSince, checkedAt }) => {
    if (idleSince !== undefined && (checkedAt ?? 0) > since) return true;
    const end = ends.since(range, since);
    return end !== undefined && position !== undefined && lsnOf(position) >= end;
  });
}

const overtaken = (purpose: string): MillraceError =>
  new MillraceError('overtaken', `Another process works on ${purpose}`, {
    retryable: true,
    mend: 'Leave it to that one, or end it; `millrace jobs list` and `millrace leases list` show who it is.',
  });

/** Resolves once nothing is left to do of what changes left to be done after their page. */
export async function untilResumed(
  engine: Pick<Engine, 'resume'>,
  signal: AbortSignal,
  readLagMs = READ_LAG_MS,
  pace: (signal: AbortSignal) => Promise<void> = async () => undefined,
): Promise<void> {
  // Most of what is left waits for the read lag, and each look is a query.
  const pauseMs = Math.min(1_000, Math.max(20, readLagMs / 5));
  while (!(await engine.resume(signal))) {
    await pace(signal);
    await delay(pauseMs, undefined, { signal });
  }
}

/** Waits until the request units spent so far are within the bound. */
export function pacer(charge: () => number, ruPerSecond: number | undefined): (signal: AbortSignal) => Promise<void> {
  const began = systemClock.monotonic();
  return async (signal) => {
    if (ruPerSecond === undefined) return;
    const due = began + (charge() / ruPerSecond) * 1_000 - systemClock.monotonic();
    // In steps: a lease is renewed meanwhile, and its holder counts as making progress.
    if (due > 0) await systemClock.sleep(Math.min(due, 30_000), signal);
  };
}
