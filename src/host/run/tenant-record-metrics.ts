import { type BatchObservableResult, type MeterProvider, metrics } from '@opentelemetry/api';
import { gauge } from '../../base/metrics.ts';
import { SCOPE } from '../../base/opentelemetry.ts';
import { OTHER_TENANTS } from './tenant-metrics.ts';
import { readCounted } from '../../procedures/tenants/tenant-counts.ts';
import { lettersByTenant } from '../../procedures/tenants/tenant-table.ts';
import type { WorkedOn } from '../../runtime/hosts/place-host.ts';

export interface TenantRecordMetricsOptions {
  /** Default: the globally registered one. Without one the state container is not read. */
  readonly meterProvider?: MeterProvider;
}

/** Tenants that are reported by name. */
const MOST = 10;

/**
 * Reports to OpenTelemetry what is stored of tenants: `millrace.tenant.documents`, as `tenants list` counted them last,
 * and `millrace.tenant.dead_letters`. Each names the ten tenants that have the most, and all others together as
 * `(others)`; in a shard with the attribute `shard`. Every host reports the same: take the maximum. What can't be read is not reported. The returned function
 * ends it.
 */
export function startTenantRecordMetrics(
  places: () => readonly WorkedOn[],
  { meterProvider = metrics.getMeterProvider() }: TenantRecordMetricsOptions = {},
): () => void {
  const meter = meterProvider.getMeter(SCOPE);
  const documents = gauge(meter, 'millrace.tenant.documents');
  const letters = gauge(meter, 'millrace.tenant.dead_letters');
  const observe = async (result: BatchObservableResult): Promise<void> => {
    await Promise.all(places().map((place) => observeIn(result, place)));
  };
  const observeIn = async (
    result: BatchObservableResult,
    { shard, pipeline, place: { state } }: WorkedOn,
  ): Promise<void> => {
    const where = shard !== undefined && { shard };
    const say = (
      metric: typeof documents | typeof letters,
      all: number,
      of: readonly (readonly [string, number])[],
    ): void => {
      const named = of.toSorted(([, a], [, b]) => b - a).slice(0, MOST);
      for (const [tenant, count] of named) result.observe(metric, count, { tenant, ...where });
      const others = all - named.reduce((sum, [, count]) => sum + count, 0);
      if (others > 0) result.observe(metric, others, { tenant: OTHER_TENANTS, ...where });
    };
    const counted = await readCounted(state, pipeline.name).catch(() => undefined);
    if (counted)
      say(
        documents,
        counted.documents,
        counted.tenants.map((of) => [of.tenant, of.documents]),
      );
    const parked = await lettersByTenant(state).catch(() => undefined);
    if (parked)
      say(
        letters,
        parked.values().reduce((sum, count) => sum + count, 0),
        [...parked],
      );
  };
  meter.addBatchObservableCallback(observe, [documents, letters]);
  return () => meter.removeBatchObservableCallback(observe, [documents, letters]);
}
