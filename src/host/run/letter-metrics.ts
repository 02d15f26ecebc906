import { type MeterProvider, type ObservableGauge, metrics } from '@opentelemetry/api';
import type { Container } from '@azure/cosmos';
import { countLetters } from '../../engine/dead-letters/dead-letter-counts.ts';

export interface LetterMetricsOptions {
  /** Projections to tell of, by `name@version`, also while they have no letter. */
  readonly projections: readonly string[];
  /** Default: the globally registered one; without any, nothing is asked. */
  readonly meterProvider?: MeterProvider;
  /** Milliseconds since 1970; default the time it is. */
  readonly now?: () => number;
}

/**
 * Tells OpenTelemetry how much is parked, for alerts on count and age: `millrace.dead_letters` and
 * `millrace.dead_letters.age` (seconds since the oldest was parked; 0 without any). All of the pipeline's, whichever host
 * parked them: take the maximum over hosts. Asked once a collection; what can't be read isn't told. The returned function
 * ends it.
 */
export function startLetterMetrics(
  state: Container,
  { projections, meterProvider = metrics.getMeterProvider(), now = Date.now }: LetterMetricsOptions,
): () => void {
  const meter = meterProvider.getMeter('millrace');
  const count = meter.createObservableGauge('millrace.dead_letters', {
    unit: '{change}',
    description: 'Changes that are parked',
  });
  const age = meter.createObservableGauge('millrace.dead_letters.age', {
    unit: 's',
    description: 'How long the oldest parked change has been so',
  });
  const observe = async (result: {
    observe: (gauge: ObservableGauge, value: number, attributes: { projection: string }) => void;
  }): Promise<void> => {
    const letters = await countLetters(state).catch(() => undefined);
    if (!letters) return;
    for (const projection of new Set([...projections, ...letters.map((of) => of.projection)])) {
      const of = letters.find((one) => one.projection === projection);
      result.observe(count, of?.count ?? 0, { projection });
      result.observe(age, of ? Math.max(0, (now() - Date.parse(of.since)) / 1_000) : 0, { projection });
    }
  };
  meter.addBatchObservableCallback(observe, [count, age]);
  return () => meter.removeBatchObservableCallback(observe, [count, age]);
}
