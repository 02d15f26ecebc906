import { type BatchObservableResult, type MeterProvider, metrics } from '@opentelemetry/api';
import { gauge } from '../../base/metrics.ts';
import { SCOPE } from '../../base/opentelemetry.ts';
import type { App } from '../../runtime/hosts/processor-host.ts';

/** Stands for all tenants that are not among the costliest. */
export const OTHER_TENANTS = '(others)';

/**
 * Reports to OpenTelemetry what the ten costliest tenants took on this host since it started, and all others together
 * (`tenant` is `(others)`): `millrace.tenant.changes`, `millrace.tenant.charge` (RU), and `millrace.tenant.delay`
 * (seconds that the oldest change of the last page had waited when it was applied). Add the first two over hosts, and
 * take the maximum of the delay. A tenant that leaves the ten stops being reported by name. The returned function ends it.
 */
export function startTenantMetrics(
  app: Pick<App, 'tenants'>,
  meterProvider: MeterProvider = metrics.getMeterProvider(),
): () => void {
  const meter = meterProvider.getMeter(SCOPE);
  const changes = gauge(meter, 'millrace.tenant.changes');
  const charge = gauge(meter, 'millrace.tenant.charge');
  const delay = gauge(meter, 'millrace.tenant.delay');
  const observe = (result: BatchObservableResult): void => {
    const { tenants, others } = app.tenants();
    for (const { tenant, ...work } of [...tenants, ...(others ? [{ tenant: OTHER_TENANTS, ...others }] : [])]) {
      result.observe(changes, work.changes, { tenant });
      result.observe(charge, work.charge, { tenant });
      result.observe(delay, work.delayMs / 1_000, { tenant });
    }
  };
  const all = [changes, charge, delay];
  meter.addBatchObservableCallback(observe, all);
  return () => meter.removeBatchObservableCallback(observe, all);
}
