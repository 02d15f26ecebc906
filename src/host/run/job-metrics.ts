import { type BatchObservableResult, type MeterProvider, metrics } from '@opentelemetry/api';
import { gauge } from '../../base/metrics.ts';
import { SCOPE } from '../../base/opentelemetry.ts';
import type { Jobs } from '../../jobs/jobs.ts';

/**
 * Reports to OpenTelemetry how many jobs the queue has in each state. Every worker reports the same: take the maximum.
 * What can't be read is not reported. The returned function ends it.
 */
export function startJobMetrics(
  jobs: Pick<Jobs, 'counts'>,
  meterProvider: MeterProvider = metrics.getMeterProvider(),
): () => void {
  const meter = meterProvider.getMeter(SCOPE);
  const queued = gauge(meter, 'millrace.jobs');
  const observe = async (result: BatchObservableResult): Promise<void> => {
    const counts = await jobs.counts().catch(() => ({}));
    for (const [state, count] of Object.entries(counts)) result.observe(queued, count, { state });
  };
  meter.addBatchObservableCallback(observe, [queued]);
  return () => meter.removeBatchObservableCallback(observe, [queued]);
}
