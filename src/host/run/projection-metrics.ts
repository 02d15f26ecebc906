import { type BatchObservableResult, type MeterProvider, metrics } from '@opentelemetry/api';
import { observedCounter } from '../../base/metrics.ts';
import { SCOPE } from '../../base/opentelemetry.ts';
import type { App } from '../../runtime/hosts/processor-host.ts';

/**
 * Reports to OpenTelemetry what each projection did on this host since it started, over all shards. Add it over hosts.
 * Asks no service. The returned function ends it.
 */
export function startProjectionMetrics(
  app: Pick<App, 'stats'>,
  meterProvider: MeterProvider = metrics.getMeterProvider(),
): () => void {
  const meter = meterProvider.getMeter(SCOPE);
  const changes = observedCounter(meter, 'millrace.projection.changes');
  const writes = observedCounter(meter, 'millrace.projection.writes');
  const requests = observedCounter(meter, 'millrace.projection.requests');
  const charge = observedCounter(meter, 'millrace.projection.charge');
  const throttled = observedCounter(meter, 'millrace.projection.throttled');
  const observe = (result: BatchObservableResult): void => {
    for (const { id: projection, changes: handled, meter: of } of app.stats()) {
      result.observe(changes, handled, { projection });
      result.observe(writes, of.writes, { projection });
      result.observe(requests, of.requests, { projection });
      result.observe(charge, of.charge, { projection });
      result.observe(throttled, of.throttled, { projection });
    }
  };
  const all = [changes, writes, requests, charge, throttled];
  meter.addBatchObservableCallback(observe, all);
  return () => meter.removeBatchObservableCallback(observe, all);
}
