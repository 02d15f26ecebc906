import { type BatchObservableResult, type MeterProvider, metrics } from '@opentelemetry/api';
import type { App } from '../../runtime/processor-host.ts';

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
  const meter = meterProvider.getMeter('millrace');
  const changes = meter.createObservableGauge('millrace.tenant.changes', {
    unit: '{change}',
    description: 'Changes of a tenant that this host applied or parked since it started',
  });
  const charge = meter.createObservableGauge('millrace.tenant.charge', {
    unit: '{RU}',
    description: 'Request units of a tenant’s changes on this host since it started',
  });
  const delay = meter.createObservableGauge('millrace.tenant.delay', {
    unit: 's',
    description: 'How long the oldest change of a tenant’s last page had waited when it was applied',
  });
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
