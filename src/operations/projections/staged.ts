import { setTimeout as delay } from 'node:timers/promises';
import type { Settings } from '../../base/settings.ts';
import { systemClock } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { Meter } from '../../cosmos/meter.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { EmbedSpec, ProjectionSpec, SourceRef } from '../../definition/specs.ts';
import { sourcesOf } from '../../definition/pipeline.ts';
import { sourceContainers } from '../../engine/runners.ts';
import { type SourceContainer, toChange } from '../../feed/reading/mapper.ts';
import type { Change } from '../../feed/reading/change.ts';
import { CosmosLeaseStore, leasePrefix } from '../../feed/leases/cosmos-lease-store.ts';
import { currentEpoch } from '../../feed/reading/epochs.ts';
import { FeedHost, type Timings } from '../../feed/sharing/feed-host.ts';
import { lsnOf } from '../../feed/reading/position.ts';
import { CosmosChangeSource, type Start } from '../../feed/reading/source.ts';
import { openPipelineHistory } from '../archive/open.ts';
import { engineOf } from './engine-of.ts';
import { FeedEnds } from './feed-ends.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';

export interface StagedOptions {
  readonly settings: Settings;
  readonly services: Services;
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
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

/** One version of a projection, fed apart from the live hosts: by leases of its own, without side effects. */
export interface Staged extends AsyncDisposable {
  /** Resolves once every range was read to its end by reads that began after now, and all of it is done or parked. */
  drained(signal: AbortSignal): Promise<void>;
  /** Applies what has left the source containers for the archive. */
  applyCold(signal: AbortSignal): Promise<void>;
  progress(): StagedProgress;
  stop(): Promise<void>;
  /** Forgets how far it got. Stop it first. */
  removeLeases(): Promise<void>;
}

interface Feed {
  readonly host: FeedHost;
  readonly leases: CosmosLeaseStore;
  readonly prefix: string;
  readonly ends: FeedEnds;
}

/** A host that writes its lease seldom and takes it at once: there is one of them, but for the moment of a takeover. */
const TIMINGS: Partial<Timings> = { acquireMs: 1_000, pollMs: 500 };
/** Another process with the same purpose has had all leases for this long: it is theirs to finish. */
const OVERTAKEN_MS = 30_000;
const COLD_PAGE = 500;

/** Opens and starts it. */
export async function openStaged(options: StagedOptions): Promise<Staged> {
  const {
    settings,
    services,
    loaded,
    spec,
    purpose,
    startOf = () => 'beginning',
    ruPerSecond,
    readLagMs = 5_000,
  } = options;
  const { database, state } = services;
  const engine = engineOf({ settings, services, loaded, readLagMs }, spec);
  const meter = new Meter();
  const charge = (): number => meter.charge + (engine.stats[0]?.meter.charge ?? 0);
  const pace = pacer(charge, ruPerSecond);
  const databaseRid = (await withRetry(() => database.read(), { reads: true })).resource?._rid ?? '';

  const open = async (source: SourceContainer): Promise<Feed> => {
    const monitored = database.container(source.name);
    const rid = (await withRetry(() => monitored.read(), { reads: true })).resource?._rid ?? '';
    const epoch = await currentEpoch(state, source.name, rid);
    const prefix = leasePrefix(`${loaded.pipeline.name}.${purpose}.`, settings.cosmos.endpoint, databaseRid, rid);
    const leases = new CosmosLeaseStore({ monitored, leases: services.leases, host: purpose, prefix });
    const ends = new FeedEnds(new CosmosChangeSource(monitored, rid, source, { epoch, meter, pageSize: 1_000 }));
    const host = new FeedHost({
      container: source.name,
      host: purpose,
      source: ends,
      leases,
      start: startOf(source.name, rid),
      handle: async (page, fence) => {
        await engine.consume(page, fence);
        await pace(fence.signal);
      },
      timings: { ...TIMINGS, ...options.timings },
    });
    return { host, leases, prefix, ends };
  };
  const sources = sourcesFor(options);
  const feeds = await Promise.all([...sources.values()].map(open));
  for (const { host } of feeds) await host.start();
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> =>
    (stopped ??= Promise.all(feeds.map(({ host }) => host.stop())).then(() => undefined));
  return {
    drained: async (signal) => {
      const since = systemClock.monotonic();
      let ours = since;
      for (;;) {
        const all = feeds.map(({ host }) => host.status());
        if (feeds.every((feed) => isRead(feed, since))) break;
        const now = systemClock.monotonic();
        if (all.some(({ leases }) => leases.length > 0)) ours = now;
        else if (now - ours > OVERTAKEN_MS) throw overtaken(purpose);
        await delay(20, undefined, { signal });
      }
      // What changes left to be done after their page.
      while (!(await engine.resume(signal))) {
        await pace(signal);
        await delay(resumePause(readLagMs), undefined, { signal });
      }
    },
    applyCold: async (signal) => {
      const archived = new Set(loaded.pipeline.archives.map(({ from }) => from.container));
      for (const source of sources.values()) {
        if (!archived.has(source.name)) continue;
        const history = await openPipelineHistory(loaded, services, { signal, readLagMs });
        const pages = coldPages(history.documents(source.name, signal), source);
        for await (const changes of pages) {
          await engine.consume({ changes, charge: 0, readAt: systemClock.monotonic() }, untilStopped(signal));
          await pace(signal);
        }
      }
    },
    progress: () => ({
      changes: engine.stats[0]?.changes ?? 0,
      parked: engine.stats[0]?.parked ?? 0,
      charge: charge(),
    }),
    stop,
    removeLeases: async () => {
      for (const { leases, prefix } of feeds) {
        for (const lease of await leases.list()) await leases.remove(lease);
        await removeMarker(services, prefix);
      }
    },
    [Symbol.asyncDispose]: stop,
  };
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

/** Between two looks at what is left: most of it waits for the read lag, and each look is a query. */
export const resumePause = (readLagMs: number): number => Math.min(1_000, Math.max(20, readLagMs / 5));

/** The spec's source containers with the rules of just the types it reads. */
export function sourcesFor({
  loaded: { pipeline, model },
  spec,
}: Pick<StagedOptions, 'loaded' | 'spec'>): Map<string, SourceContainer> {
  const wanted = Map.groupBy(spec.kind === 'embed' ? [spec.from] : sourcesOf(spec), ({ container }) => container);
  const sources = new Map<string, SourceContainer>();
  for (const [name, source] of sourceContainers(pipeline, model)) {
    const types = new Set((wanted.get(name) ?? []).map(({ type }: SourceRef) => type));
    if (types.size > 0)
      sources.set(name, { ...source, types: new Map([...source.types].filter(([type]) => types.has(type))) });
  }
  return sources;
}

/** History tells documents as they are stored; a projection sees them by its source's rules. */
export function asSeen(source: SourceContainer, { doc, version, at }: Change): Change | undefined {
  const raw = { ...doc, _etag: version.etag, _lsn: version.lsn, _ts: at / 1000 };
  return toChange(source, raw, version.epoch);
}

async function* coldPages(
  documents: AsyncIterable<Change & { readonly cold: boolean }>,
  source: SourceContainer,
): AsyncGenerator<Change[]> {
  let page: Change[] = [];
  for await (const document of documents) {
    const change = document.cold ? asSeen(source, document) : undefined;
    if (change) page.push(change);
    if (page.length < COLD_PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
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
