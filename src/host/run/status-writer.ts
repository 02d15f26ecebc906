import { CLOCK_SKEW_MS } from '../../base/bounds.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { formatOf } from '../../base/format.ts';
import { packageVersion } from '../../base/package.ts';
import { SYNCHRONISE, clockOff } from '../../cosmos/clock-off.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { type HostStatus, STATUS_KEY, STATUS_TTL, historyText } from '../../procedures/status/host-status.ts';
import type { Services } from '../../runtime/workspace.ts';
import type { App } from '../../runtime/hosts/processor-host.ts';
import type { Rates } from '../../feed/processor/rates.ts';
import { Hour } from './hour.ts';
import { hostProgressOf } from './progress.ts';
import type { Problem, Problems } from './problems.ts';
import { failureText, hostRangesOf, sampleRates } from './ranges.ts';

export interface StatusWriterOptions {
  readonly services: Pick<Services, 'global'>;
  readonly host: string;
  /** The name of its pipeline. */
  readonly pipeline: string;
  readonly app: Pick<App, 'stats' | 'tenants' | 'sources' | 'failures' | 'lags'>;
  /** What it needs beside its feeds, and does not work. */
  readonly needs?: Problems | undefined;
  /** Samples the ranges at each writing. */
  readonly rates: Rates;
  readonly clock?: Clock;
  /** Milliseconds between two reports; default: half a minute. */
  readonly everyMs?: number;
}

export const STATUS_MS = 30_000;

/**
 * Writes the status of this host, for `millrace status` on other machines: one upsert each half minute, about 10 RU, and
 * the read of one document for each lease, for its lag. A failed write is ignored, because nothing depends on it. The returned function ends the writing and deletes the
 * document: only the last status of a host that died stays, for a day. `clockOffMs`: how far this host's clock is from the
 * service's, as of the last answer; 0 until then.
 */
export function startStatusWriter({
  services,
  host,
  pipeline,
  app,
  rates,
  needs,
  clock = systemClock,
  everyMs = STATUS_MS,
}: StatusWriterOptions): { readonly end: () => Promise<void>; readonly clockOffMs: () => number } {
  const ended = new AbortController();
  const startedAt = new Date(clock.now()).toISOString();
  const version = packageVersion();
  const hour = new Hour();
  let off = 0;
  const write = async (): Promise<void> => {
    await sampleRates(app, rates, clock).catch(() => undefined);
    hour.sample(app.sources(), rates.now, clock.now());
    const missing = (await needs?.()) ?? [];
    const document = {
      ...statusOf(app, host, startedAt, clock, off, missing),
      history: historyText(hour.history),
      ranges: hostRangesOf(app, rates, clock.monotonic()),
      version,
      pipeline,
      pk: STATUS_KEY,
      type: 'millrace.status',
      ...formatOf('status'),
      ttl: STATUS_TTL,
    };
    const began = clock.now();
    const answer = await withRetry(() => services.global.state.items.upsert<object>(document), {
      reads: false,
      withinMs: everyMs / 2,
    }).catch(() => undefined);
    const at = answer?.resource?._ts;
    if (at !== undefined) off = clockOff(began, at, clock.now());
  };
  const writing = (async () => {
    while (!ended.signal.aborted) {
      await write();
      await clock.sleep(everyMs, ended.signal).catch(() => undefined);
    }
  })();
  return {
    clockOffMs: () => off,
    end: async () => {
      ended.abort();
      await writing;
      await withRetry(() => services.global.state.item(host, STATUS_KEY).delete(), {
        reads: true,
        withinMs: 1_000,
      }).catch(() => undefined);
    },
  };
}

function statusOf(
  app: Pick<App, 'stats' | 'tenants' | 'sources' | 'failures'>,
  host: string,
  startedAt: string,
  clock: Clock,
  offMs: number,
  missing: readonly Problem[],
): Omit<HostStatus, 'version' | 'pipeline' | 'ranges' | 'history'> {
  const now = clock.now();
  const { tenants, others } = app.tenants();
  return {
    id: host,
    at: new Date(now).toISOString(),
    startedAt,
    projections: hostProgressOf(app, now).map(({ projection, changes, ruPerChange, lag, parked }) => ({
      projection,
      changes,
      ruPerChange,
      lag,
      parked,
    })),
    ...(tenants.length > 0 && { tenants: { tenants: [...tenants], others } }),
    sources: sourcesOf(app, offMs, missing),
  };
}

function sourcesOf(
  app: Pick<App, 'sources' | 'failures'>,
  offMs: number,
  missing: readonly Problem[],
): HostStatus['sources'] {
  const failing = new Map(
    app
      .failures()
      .map(({ part, shard, error }) => [shard === undefined ? part : `${shard}/${part}`, failureText(error)]),
  );
  for (const { part, code } of missing) failing.set(part, code);
  if (Math.abs(offMs) > CLOCK_SKEW_MS)
    failing.set('clock', `it is off by ${Math.round(Math.abs(offMs) / 1_000)} s. ${SYNCHRONISE}`);
  const sources = app.sources().map(({ container, leases, known }) => ({ container, leases: leases.length, known }));
  const others = [...failing.keys()].filter((name) => !sources.some(({ container }) => container === name));
  return [...sources, ...others.map((container) => ({ container, leases: 0, known: 0 }))].map((source) =>
    failing.has(source.container) ? { ...source, failure: failing.get(source.container) ?? '' } : source,
  );
}
