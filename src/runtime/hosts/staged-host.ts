import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../base/clock.ts';
import { sharedError } from '../../base/shared-errors.ts';
import type { MillraceError } from '../../base/errors.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { spendingOf } from '../../cosmos/budget/meter.ts';
import { type ReplayedSpec, projectionId } from '../../pipeline/specs.ts';
import { keyHash } from '../../cosmos/key-definition.ts';
import type { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { letterId } from '../../engine/dead-letters/letter-document.ts';
import type { Change } from '../../feed/reading/change.ts';
import { isBelow } from '../../feed/reading/ends.ts';
import { registeredOf } from '../../engine/deferred/registered.ts';
import type { Engine } from '../../engine/engine.ts';
import { readAgain } from '../../engine/read-again.ts';
import { FeedHost, type Timings } from '../../feed/sharing/feed-host.ts';
import { LeaseLost } from '../../feed/leases/lease.ts';
import type { SourceContainer } from '../../feed/reading/mapper.ts';
import { lsnOf, overlaps } from '../../feed/reading/position.ts';
import type { Start } from '../../feed/reading/source.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import type { ColdRead } from '../../kinds/archive/cold-read.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import { openPipelineHistory } from '../archives.ts';
import { FeedEnds } from './feed-ends.ts';
import { asSeen, consumeHistory, sourcesFor } from '../history-pages.ts';
import { READ_LAG_MS, openEngine } from '../open-engine.ts';
import { type OpenFeed, type Parts, openFeed } from '../open-feed.ts';
import type { Services } from '../workspace.ts';
import { runtimeError } from '../errors.ts';

export interface StagedOptions extends Parts {
  /** An embed reads its parents, and finds the children that it writes to by them. */
  readonly spec: ReplayedSpec;
  /** Part of the lease names. A later host with the same purpose continues where this one stopped. */
  readonly purpose: string;
  /**
   * Where to start in a container without positions. Default: at the beginning. An all-versions feed has no such start: it
   * is followed from now, and `fill` reads what is before.
   */
  readonly startOf?: ((container: string, rid: string) => Start) | undefined;
  /**
   * It continues what a host of this purpose has begun. An all-versions feed whose position is gone is then refused:
   * another start would miss the deletions between.
   */
  readonly resumes?: boolean | undefined;
  /** Has no effect: notes what live hosts have passed, of documents that nothing is parked of. */
  readonly note?: boolean | undefined;
  /** `name@version` whose recorded start counts. Absent: all of history counts. */
  readonly startsAs?: string | undefined;
  /** Only this tenant's changes, and those of no tenant. Absent: all. */
  readonly tenant?: string | undefined;
  /** Called before positions that were listed are deleted as they were. Throws if the purpose is another run's by then. */
  readonly mayForget?: (() => Promise<unknown>) | undefined;
  /** The most request units a second, of reading and writing together. Default: no limit. */
  readonly ruPerSecond?: number | undefined;
  /** How old a read may be, milliseconds (ASM-A3). Default 5,000. */
  readonly readLagMs?: number | undefined;
  readonly timings?: Partial<Timings> | undefined;
}

export interface StagedProgress {
  readonly changes: number;
  readonly parked: number;
  /** Documents of the sink that were written; null: the sink is no container. */
  readonly changed: number | null;
  /** Request units. */
  readonly charge: number;
}

interface Feed extends Pick<OpenFeed, 'leases' | 'prefix' | 'mode'> {
  readonly map: SourceContainer;
  /** It is followed from now: what lies before is filled in. */
  readonly filled: boolean;
  readonly host: FeedHost;
  readonly ends: FeedEnds;
}

/** Only one host has these leases, except in the moment of a takeover. So it may look for them often. */
const TIMINGS: Partial<Timings> = { acquireMs: 1_000, pollMs: 500 };
/** If another process with the same purpose has all leases for this long, this one gives up. */
const OVERTAKEN_MS = 30_000;

/** Applies the feeds to one version of a projection, apart from the live hosts: with its own leases. */
export class StagedHost implements AsyncDisposable {
  readonly #options: StagedOptions;
  readonly #engine: Engine;
  readonly #deadLetters: DeadLetters;
  readonly #cold: ColdRead;
  readonly #sources: ReadonlyMap<string, SourceContainer>;
  /** Counts the reads of the feeds. */
  readonly #meter = new Meter();
  readonly #pace: (signal: AbortSignal) => Promise<void>;
  #feeds: readonly Feed[] = [];
  #stopped: Promise<void> | undefined;

  private constructor(options: StagedOptions) {
    this.#options = options;
    const { engine, cold, deadLetters } = openEngine(options, options.spec);
    this.#engine = engine;
    this.#deadLetters = deadLetters;
    this.#cold = cold;
    this.#sources = sourcesFor(options.loaded, options.spec);
    this.#pace = pacer(() => this.progress().charge, options.ruPerSecond);
  }

  /** Opens and starts a host. @throws MillraceError `position-lost` */
  static async open(options: StagedOptions): Promise<StagedHost> {
    const staged = new StagedHost(options);
    staged.#feeds = await Promise.all([...staged.#sources.values()].map((map) => staged.#open(map)));
    if (options.resumes) for (const feed of staged.#feeds) await assertFollowed(feed, options.purpose);
    for (const { host } of staged.#feeds) await host.start();
    return staged;
  }

  /** Deletes the positions of a purpose for which no process works any more. */
  static async forget(options: StagedOptions): Promise<void> {
    const staged = new StagedHost(options);
    staged.#feeds = await Promise.all([...staged.#sources.values()].map((map) => staged.#open(map)));
    await staged.removeLeases();
  }

  /**
   * Resolves once reads that start after now have reached the end of every range, and all changes are applied or parked.
   * @throws MillraceError `retention-passed`, `versions-not-kept`, `overtaken`
   */
  async drained(signal: AbortSignal): Promise<void> {
    await this.#drained(this.#feeds, signal);
  }

  /**
   * Applies the documents of the containers that are read by their all-versions feed, by their latest-version feed. Call
   * it when `drained` has resolved: then the positions of the all-versions feeds are stored, and no deletion since is
   * missed (REB-V12). A later host with the same purpose continues where this one stopped.
   */
  async fill(signal: AbortSignal): Promise<void> {
    const filled = this.#feeds.filter((feed) => feed.filled);
    const feeds = await Promise.all(filled.map(({ map }) => this.#open(map, 'fill')));
    const followed = filled.flatMap(({ map, host }) => host.status().leases.map((lease) => ({ map, ...lease })));
    /** A replica that lags may end before the stored position, and the feed that is followed begins behind it. */
    const isBehind = ({ map, host, ends }: Feed): boolean =>
      host
        .status()
        .leases.some(({ range }) =>
          followed.some(
            (of) => of.map === map && overlaps(of.range, range) && ends.reached(range) < lsnOf(of.position ?? ''),
          ),
        );
    try {
      for (const { host } of feeds) await host.start();
      do await this.#drained(feeds, signal);
      while (feeds.some(isBehind));
    } finally {
      await Promise.all(feeds.map(({ host }) => host.stop()));
    }
    await this.#remove(feeds);
  }

  async #drained(feeds: readonly Feed[], signal: AbortSignal): Promise<void> {
    const since = systemClock.monotonic();
    for (let ours = since; !feeds.every((feed) => isRead(feed, since));) {
      for (const { ends } of [...this.#feeds, ...feeds]) if (ends.lost) throw ends.lost;
      const now = systemClock.monotonic();
      if (feeds.some(({ host }) => host.status().leases.length > 0)) ours = now;
      else if (now - ours > OVERTAKEN_MS) throw overtaken(this.#options.purpose);
      await delay(20, undefined, { signal });
    }
    await untilResumed(this.#engine, signal, this.#options.readLagMs, this.#pace);
  }

  /**
   * Applies the changes that live hosts have deferred, as their source has them now, and leaves them to the hosts. Call it
   * while hosts stand still, with live positions that were read before.
   */
  async applyDeferred(signal: AbortSignal): Promise<void> {
    const { loaded, services, readLagMs = READ_LAG_MS } = this.#options;
    const { database, state } = services.place;
    const fence = untilStopped(signal);
    const access = new CosmosAccess(database, fence, this.#meter, spendingOf(database));
    const reading = { sources: this.#sources, access, cold: this.#cold, readLagMs, signal };
    for (const { name, types } of this.#sources.values()) {
      const deferred = registeredOf(state, { pipeline: loaded.pipeline.name, source: name }, signal);
      for await (const items of deferred.changes()) {
        const readAt = systemClock.monotonic();
        const own = items.filter(({ type }) => types.has(type));
        const found = await Promise.all(own.map((item) => readAgain(item, reading)));
        await this.#engine.consume({ changes: found.filter((one) => one !== undefined), charge: 0, readAt }, fence);
        await this.#pace(signal);
      }
    }
  }

  /** Applies the archived documents of the source containers. */
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
    const { spec } = this.#options;
    const into = 'into' in spec ? spec.into.container : undefined;
    const changed = into === undefined ? null : (meter?.changed.get(into) ?? 0);
    return { changes, parked, changed, charge: this.#meter.charge + (meter?.charge ?? 0) };
  }

  /** Why a page was not taken the last time; undefined: each was. */
  rejection(): unknown {
    const leases = this.#feeds.flatMap(({ host }) => host.status().leases);
    return leases.find(({ rejection }) => rejection)?.rejection?.error;
  }

  stop(): Promise<void> {
    return (this.#stopped ??= Promise.all(this.#feeds.map(({ host }) => host.stop())).then(() => undefined));
  }

  /** Deletes the host's positions. Stop it first. */
  async removeLeases(): Promise<void> {
    const filled = this.#feeds.filter((feed) => feed.filled);
    await this.#remove([...this.#feeds, ...(await Promise.all(filled.map(({ map }) => this.#open(map, 'fill'))))]);
  }

  async #remove(feeds: readonly Feed[]): Promise<void> {
    for (const { leases, prefix } of feeds) {
      const all = await leases.list();
      await this.#options.mayForget?.();
      for (const lease of all)
        await leases.remove(lease).catch((error: unknown) => {
          // Another process works for the purpose, and its positions are its own.
          if (!(error instanceof LeaseLost)) throw error;
        });
      await removeMarker(this.#options.services, prefix);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** What live hosts have passed had its effect, or has a letter. */
  async #notedOf(name: string): Promise<(change: Change) => boolean> {
    const { container, leases } = await openFeed(this.#options, name, { host: this.#options.purpose });
    const ranges = (await leases.list()).map(({ range, position }) => ({ ...range, lsn: lsnOf(position) }));
    const definition = (await container.read()).resource?.partitionKey;
    const passed = { key: { paths: definition?.paths ?? [], ...keyHash(definition) }, ranges };
    const parked = new Set((await this.#deadLetters.list(projectionId(this.#options.spec))).map(letterId));
    return (change) => isBelow(passed, change) && !parked.has(letterId(change));
  }

  /** `fill`: the latest versions of a container that is read by its all-versions feed, with leases of their own. */
  async #open(map: SourceContainer, part: 'follow' | 'fill' = 'follow'): Promise<Feed> {
    const { services, timings } = this.#options;
    const { database } = services.place;
    const purpose = part === 'fill' ? `${this.#options.purpose}.fill` : this.#options.purpose;
    const feed = { epochs: true, meter: this.#meter, ...(part === 'fill' && { mode: 'latest-version' as const }) };
    const opened = await openFeed(this.#options, map, { host: purpose, purpose }, feed);
    const { source, leases, prefix, rid, mode } = opened;
    const start = (this.#options.startOf ?? (() => 'beginning' as const))(map.name, rid);
    // An all-versions feed can be read from positions, and otherwise from now.
    const filled = mode === 'all-versions' && (start === 'beginning' || start instanceof Date);
    const ends = new FeedEnds(source);
    const isDue = this.#options.note ? await this.#notedOf(map.name) : () => true;
    const host = new FeedHost({
      container: map.name,
      host: purpose,
      source: ends,
      leases,
      mode,
      start: filled ? 'now' : start,
      handle: async (page, fence) => {
        await this.#engine.consume({ ...page, changes: page.changes.filter(isDue) }, fence);
        await this.#pace(fence.signal);
      },
      budget: spendingOf(database)?.reading(map.name),
      timings: { ...TIMINGS, ...timings },
    });
    return { map, host, leases, prefix, mode, ends, filled };
  }
}

/** Deletes the marker document of the leases. If that fails, the marker does no harm. */
export async function removeMarker({ global: { leases } }: Services, prefix: string): Promise<void> {
  const id = `${prefix}.info`;
  await withRetry(() => leases.item(id, id).delete(), { reads: true }).catch(() => undefined);
}

/** True: this host has all ranges, reads after `since` reached their ends, and all changes are acknowledged. */
function isRead({ host, ends }: Feed, since: number): boolean {
  const { known, leases } = host.status();
  if (known === 0 || leases.length !== known) return false;
  return leases.every(({ range, position, idleSince, checkedAt }) => {
    if (idleSince !== undefined && (checkedAt ?? 0) > since) return true;
    const end = ends.since(range, since);
    return end !== undefined && position !== undefined && lsnOf(position) >= end;
  });
}

async function assertFollowed({ map, mode, leases }: Feed, purpose: string): Promise<void> {
  if (mode !== 'all-versions') return;
  const known = await leases.list();
  if (known.length > 0 && known.every(({ position }) => position !== undefined)) return;
  throw runtimeError('position-lost', `${purpose} has no position in the all-versions feed of ${map.name}`);
}

const overtaken = (purpose: string): MillraceError => sharedError('overtaken', `Another process works on ${purpose}`);

/** Resolves once no fan-out is left. */
export async function untilResumed(
  engine: Pick<Engine, 'resume'>,
  signal: AbortSignal,
  readLagMs = READ_LAG_MS,
  pace: (signal: AbortSignal) => Promise<void> = async () => undefined,
): Promise<void> {
  // Most fan-out waits for the read lag, and each look is a query.
  const pauseMs = Math.min(1_000, Math.max(20, readLagMs / 5));
  while (!(await engine.resume(signal))) {
    await pace(signal);
    await delay(pauseMs, undefined, { signal });
  }
}

/** Waits until the request units spent so far are within the limit. */
export function pacer(charge: () => number, ruPerSecond: number | undefined): (signal: AbortSignal) => Promise<void> {
  const began = systemClock.monotonic();
  return async (signal) => {
    if (ruPerSecond === undefined) return;
    const due = began + (charge() / ruPerSecond) * 1_000 - systemClock.monotonic();
    // In short steps: in between the lease is renewed and its holder shows progress.
    if (due > 0) await systemClock.sleep(Math.min(due, 30_000), signal);
  };
}
