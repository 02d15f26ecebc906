import { systemClock } from '../../base/clock.ts';
import type { Rates } from '../../feed/processor/rates.ts';
import { startTelemetry } from '../../feed/processor/telemetry.ts';
import { waitingTenants } from '../../procedures/tenants/waiting.ts';
import type { App, ComposeOptions } from '../../runtime/hosts/processor-host.ts';
import { startBacklogMetrics } from './deferred-metrics.ts';
import { startLetterMetrics } from './letter-metrics.ts';
import { startProjectionMetrics } from './projection-metrics.ts';
import { hostRangesOf } from './ranges.ts';
import { startTenantMetrics } from './tenant-metrics.ts';
import { startTenantRecordMetrics } from './tenant-record-metrics.ts';
import { startVerificationMetrics } from './verification-metrics.ts';

/** All that a host reports to OpenTelemetry: its spans and its metrics. The returned function ends it. */
export function startSignals(
  app: App,
  rates: Rates,
  { services, signal }: Pick<ComposeOptions, 'services'> & { readonly signal: AbortSignal },
): () => void {
  const waiting = () =>
    app
      .places()
      .map(({ shard, pipeline, place }) => ({ shard, waiting: waitingTenants(pipeline, place.state, signal) }));
  const ends = [
    startTelemetry({ lags: () => app.lags(), ranges: () => hostRangesOf(app, rates, systemClock.monotonic()) }),
    startProjectionMetrics(app),
    startLetterMetrics(() => app.places()),
    startTenantMetrics(app),
    startTenantRecordMetrics(() => app.places()),
    startBacklogMetrics(waiting),
    startVerificationMetrics(services.global.state, () => app.places()),
  ];
  return () => {
    for (const end of ends) end();
  };
}
