import { type BatchObservableResult, type MeterProvider, metrics } from '@opentelemetry/api';
import { gauge } from '../../base/metrics.ts';
import { SCOPE } from '../../base/opentelemetry.ts';
import type { WaitingTenants } from '../../procedures/tenants/waiting.ts';

/** Stands for all tenants that are not among the largest. */
const OTHERS = '(others)';

export interface BacklogMetricsOptions {
  /** Default: the globally registered one. Without one nothing is read. */
  readonly meterProvider?: MeterProvider;
  /** Milliseconds since 1970; default: the current time. */
  readonly now?: () => number;
}

interface WaitingIn {
  readonly shard?: string | undefined;
  readonly waiting: Promise<WaitingTenants | null>;
}

/**
 * Reports to OpenTelemetry which tenants have changes that are set aside: `millrace.backlog.changes` (at most) and
 * `millrace.backlog.age` (seconds since the oldest was written), by `tenant` and `container`; of more than ten tenants the
 * others together (`tenant` is `(others)`); in a shard also by `shard`. Every host reports all: take the maximum over hosts. They are read once a
 * collection; if the read fails, nothing is reported. The returned function ends it.
 */
export function startBacklogMetrics(
  places: () => readonly WaitingIn[],
  { meterProvider = metrics.getMeterProvider(), now = Date.now }: BacklogMetricsOptions = {},
): () => void {
  const meter = meterProvider.getMeter(SCOPE);
  const changes = gauge(meter, 'millrace.backlog.changes');
  const age = gauge(meter, 'millrace.backlog.age');
  const observe = async (result: BatchObservableResult): Promise<void> => {
    const observeIn = async ({ shard, waiting }: WaitingIn): Promise<void> => {
      const { tenants = [], others = null } = (await waiting.catch(() => null)) ?? {};
      for (const of of [...tenants, ...(others ? [{ ...others, tenant: OTHERS, container: '' }] : [])]) {
        const about = { tenant: of.tenant, container: of.container, ...(shard !== undefined && { shard }) };
        result.observe(changes, of.changes, about);
        if (of.since !== null) result.observe(age, Math.max(0, (now() - Date.parse(of.since)) / 1_000), about);
      }
    };
    await Promise.all(places().map(observeIn));
  };
  meter.addBatchObservableCallback(observe, [changes, age]);
  return () => meter.removeBatchObservableCallback(observe, [changes, age]);
}
