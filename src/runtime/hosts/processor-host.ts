import { setTimeout as delay } from 'node:timers/promises';
import { abortReason } from '../../base/errors.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import type { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import type { Engine, ProjectionStats } from '../../engine/engine.ts';
import { type TenantReport, mergeTenants } from '../../engine/tenant-work.ts';
import type { LeaseLag } from '../../feed/processor/telemetry.ts';
import { DEFAULT_TIMINGS } from '../../feed/sharing/feed-host.ts';
import { processorStopped } from '../../feed/sharing/processor-stopped.ts';
import { untilDrained } from './drained.ts';
import type { PartFailure } from './part-failure.ts';
import type { PlaceHost, WorkedOn } from './place-host.ts';
import { PlaceHosts, type PlaceHostsOptions } from './place-hosts.ts';
import type { SourceStatus } from '../source-reading.ts';

export type ComposeOptions = PlaceHostsOptions;

export interface App {
  /** With shards: of the global place. */
  readonly engine: Engine;
  /** With shards: of the global place. */
  readonly deadLetters: DeadLetters;
  /** Rejects with a UsageError when leases or containers can't be used. */
  start(): Promise<void>;
  /** Finishes the running work, writes checkpoints, and offers the leases to other hosts. */
  stop(): Promise<void>;
  /**
   * Resolves once all events of the hubs are taken, and all sources, derived ones included, were read to their end: with
   * shards, those of every shard of the map. For ranges of other hosts, and free ones, the stored positions count.
   * Deferred work of other hosts counts only as far as this host knows about it.
   * @throws UsageError `processor-stopped` once this host is stopped; MillraceError `handler-halted`
   */
  drained(signal: AbortSignal): Promise<void>;
  stats(): readonly ProjectionStats[];
  /** What the costliest tenants took on this host. */
  tenants(): TenantReport;
  /** Where it works now: with shards, the global place and each shard that is open. */
  places(): readonly WorkedOn[];
  /** With shards, `container` has the shard's name before it: `west/Orders`. */
  sources(): readonly SourceStatus[];
  /** What keeps it from its work now: one for each source, hub and shard at most. */
  failures(): readonly PartFailure[];
  /** How far the leases of this host are behind. Each call asks the service. */
  lags(): Promise<readonly LeaseLag[]>;
}

const INGEST_POLL_MS = 100;

/** Builds the host of a pipeline on the services of a workspace. Nothing runs before `start`. */
export async function compose(options: ComposeOptions): Promise<App> {
  /** Aborted once this host reads no more, with the reason. */
  const over = new AbortController();
  const halted = (host: PlaceHost): void => void host.halted.catch((error: unknown) => over.abort(error));
  const hosts = await PlaceHosts.open(options, halted);
  return {
    engine: hosts.home.engine,
    deadLetters: hosts.home.deadLetters,
    places: () => hosts.all(),
    sources: () => readingsOf(hosts.all()).map(({ status }) => status()),
    failures: () => [...hosts.all().flatMap(failuresOf), ...hosts.failures()],
    lags: async () => (await Promise.all(readingsOf(hosts.all()).map(({ lags }) => lags()))).flat(),
    stats: () => together(hosts.all().flatMap(statsOf)),
    tenants: () => mergeTenants(hosts.all().map(({ engine }) => engine.tenants())),
    start: () => hosts.start(),
    stop: async () => {
      over.abort(processorStopped('can’t read its feeds to their end'));
      await hosts.stop();
    },
    drained: async (given) => {
      const signal = AbortSignal.any([given, over.signal]);
      try {
        await untilAllDrained(hosts, options, signal);
      } catch (error) {
        if (!over.signal.aborted) throw error;
      }
      // A stopped host no longer knows how far the feeds are read.
      if (over.signal.aborted) throw abortReason(over.signal);
    },
  };
}

async function untilAllDrained(hosts: PlaceHosts, { timings }: ComposeOptions, signal: AbortSignal): Promise<void> {
  const { pollMs } = { ...DEFAULT_TIMINGS, ...timings };
  for (;;) {
    await hosts.complete(signal);
    const all = hosts.all();
    for (const ingestor of all.flatMap(({ ingestors }) => ingestors))
      while (!(await ingestor.caughtUp())) await delay(INGEST_POLL_MS, undefined, { signal });
    const idle = async (until: AbortSignal): Promise<boolean> =>
      (await Promise.all(all.map(({ resuming }) => resuming.idle(until)))).every((none) => none);
    await untilDrained(readingsOf(all), { idle, pollMs, signal });
    // A shard that was added meanwhile has feeds of its own.
    await hosts.complete(signal);
    const now = hosts.all();
    if (now.length === all.length && now.every((one) => all.includes(one))) return;
  }
}

function failuresOf({ shard, readings, ingestors }: PlaceHost): PartFailure[] {
  const found = [
    ...readings.map(({ name, status }) => {
      const { failure, leases } = status();
      return { part: name, shard, error: failure ?? leases.find((of) => of.failure !== undefined)?.failure };
    }),
    ...ingestors.map(({ hub, failure }) => ({ part: `event hub ${hub}`, shard, error: failure })),
  ];
  return found.filter(({ error }) => error !== undefined);
}

const readingsOf = (hosts: readonly PlaceHost[]): PlaceHost['readings'] => hosts.flatMap(({ readings }) => readings);

const statsOf = ({ ingestors, engine }: PlaceHost): ProjectionStats[] => [
  ...ingestors.map(({ stats }) => stats),
  ...engine.stats,
];

/** The figures of each projection over all places. */
function together(all: readonly ProjectionStats[]): ProjectionStats[] {
  return [...Map.groupBy(all, ({ id }) => id).values()].flatMap(([first, ...others]) => {
    if (!first || others.length === 0) return first ?? [];
    const meter = new Meter();
    for (const of of [first, ...others]) meter.add(of.meter);
    const sum = (of: (stats: ProjectionStats) => number): number => others.reduce((n, one) => n + of(one), of(first));
    return {
      id: first.id,
      changes: sum(({ changes }) => changes),
      parked: sum(({ parked }) => parked),
      meter,
      idle: first.idle && others.every(({ idle }) => idle),
    };
  });
}
