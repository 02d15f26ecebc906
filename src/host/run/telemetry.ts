import { systemClock } from '../../base/clock.ts';
import type { Rates } from '../../feed/processor/rates.ts';
import { startTelemetry } from '../../feed/processor/telemetry.ts';
import { waitingTenants } from '../../procedures/tenants/waiting.ts';
import type { App, ComposeOptions } from '../../runtime/hosts/processor-host.ts';
import {
  startDeferredMetrics,
  startLetterMetrics,
  startProblemMetrics,
  startProjectionMetrics,
  startTenantMetrics,
  startTenantRecordMetrics,
  startVerificationMetrics,
} from './host-metrics.ts';
import type { Problems } from './problems.ts';
import { hostRangesOf } from './ranges.ts';

/** All that a host reports to OpenTelemetry: its spans and its metrics. The returned function ends it. */
export function startHostTelemetry(
  app: App,
  rates: Rates,
  {
    services,
    signal,
    problems,
  }: Pick<ComposeOptions, 'services'> & { readonly signal: AbortSignal; readonly problems: Problems },
): () => void {
  const waiting = () =>
    app
      .places()
      .map(({ shard, pipeline, place }) => ({ shard, waiting: waitingTenants(pipeline, place.state, signal) }));
  const ends = [
    startTelemetry({ lags: () => app.lags(), ranges: () => hostRangesOf(app, rates, systemClock.monotonic()) }),
    startProblemMetrics(problems),
    startProjectionMetrics(app),
    startLetterMetrics(() => app.places()),
    startTenantMetrics(app),
    startTenantRecordMetrics(() => app.places()),
    startDeferredMetrics(waiting),
    startVerificationMetrics(services.global.state, () => app.places()),
  ];
  return () => {
    for (const end of ends) end();
  };
}
