import { type BatchObservableResult, type MeterProvider, metrics } from '@opentelemetry/api';
import { gauge } from '../../base/metrics.ts';
import { SCOPE } from '../../base/opentelemetry.ts';
import type { Container } from '@azure/cosmos';
import { VERIFIED_KINDS, readVerified, verifiedName } from '../../procedures/verify/verified.ts';
import type { WorkedOn } from '../../runtime/hosts/place-host.ts';

export interface VerificationMetricsOptions {
  /** Default: the globally registered one. Without one the state container is not read. */
  readonly meterProvider?: MeterProvider;
  /** Milliseconds since 1970; default: the current time. */
  readonly now?: () => number;
}

/**
 * Reports the last verifications to OpenTelemetry, for alerts: `millrace.verification.differences` and
 * `millrace.verification.age` (seconds since it ended), each with `kind` whole or sample, and those of a shard with
 * the attribute `shard`. Nothing is reported of a kind that never ended, or if the read fails. Every host reports the same:
 * take the maximum. `state`: of the global place. The returned function ends it.
 */
export function startVerificationMetrics(
  state: Container,
  places: () => readonly WorkedOn[],
  { meterProvider = metrics.getMeterProvider(), now = Date.now }: VerificationMetricsOptions = {},
): () => void {
  const meter = meterProvider.getMeter(SCOPE);
  const differences = gauge(meter, 'millrace.verification.differences');
  const age = gauge(meter, 'millrace.verification.age');
  const observe = async (result: BatchObservableResult): Promise<void> => {
    const observeIn = async ({ shard, pipeline, place }: WorkedOn): Promise<void> => {
      for (const kind of VERIFIED_KINDS) {
        const last = await readVerified(state, verifiedName(pipeline, place), kind).catch(() => undefined);
        if (!last) continue;
        const about = { kind, ...(shard !== undefined && { shard }) };
        result.observe(differences, last.different, about);
        result.observe(age, Math.max(0, (now() - Date.parse(last.at)) / 1_000), about);
      }
    };
    await Promise.all(places().map(observeIn));
  };
  meter.addBatchObservableCallback(observe, [differences, age]);
  return () => meter.removeBatchObservableCallback(observe, [differences, age]);
}
