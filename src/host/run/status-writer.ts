import { type Clock, systemClock } from '../../base/clock.ts';
import { formatOf } from '../../base/format.ts';
import { packageVersion } from '../../base/package.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { type HostStatus, STATUS_KEY, STATUS_TTL } from '../../procedures/status/host-status.ts';
import type { Services } from '../../runtime/workspace.ts';
import type { App } from '../../runtime/hosts/processor-host.ts';
import type { Rates } from '../../feed/processor/rates.ts';
import { hostProgressOf } from './progress.ts';
import { failureText, hostRangesOf, sampleRates } from './ranges.ts';

export interface StatusWriterOptions {
  readonly services: Pick<Services, 'global'>;
  readonly host: string;
  readonly app: Pick<App, 'stats' | 'tenants' | 'sources' | 'lags'>;
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
 * document: only the last status of a host that died stays, for a day.
 */
export function startStatusWriter({
  services,
  host,
  app,
  rates,
  clock = systemClock,
  everyMs = STATUS_MS,
}: StatusWriterOptions): () => Promise<void> {
  const ended = new AbortController();
  const startedAt = new Date(clock.now()).toISOString();
  const version = packageVersion();
  const write = async (): Promise<void> => {
    await sampleRates(app, rates, clock).catch(() => undefined);
    const document = {
      ...statusOf(app, host, startedAt, clock),
      ranges: hostRangesOf(app, rates, clock.monotonic()),
      version,
      pk: STATUS_KEY,
      type: 'millrace.status',
      ...formatOf('status'),
      ttl: STATUS_TTL,
    };
    await withRetry(() => services.global.state.items.upsert(document), { reads: false, withinMs: everyMs / 2 }).catch(
      () => undefined,
    );
  };
  const writing = (async () => {
    while (!ended.signal.aborted) {
      await write();
      await clock.sleep(everyMs, ended.signal).catch(() => undefined);
    }
  })();
  return async () => {
    ended.abort();
    await writing;
    await withRetry(() => services.global.state.item(host, STATUS_KEY).delete(), {
      reads: true,
      withinMs: 1_000,
    }).catch(() => undefined);
  };
}

function statusOf(
  app: Pick<App, 'stats' | 'tenants' | 'sources'>,
  host: string,
  startedAt: string,
  clock: Clock,
): Omit<HostStatus, 'version' | 'ranges'> {
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
    sources: app.sources().map(({ container, leases, known }) => {
      const failed = leases.find(({ failure }) => failure !== undefined);
      return { container, leases: leases.length, known, ...(failed && { failure: failureText(failed.failure) }) };
    }),
  };
}
