import { type BatchObservableResult, type MeterProvider, metrics } from '@opentelemetry/api';
import { gauge } from '../../base/metrics.ts';
import { SCOPE } from '../../base/opentelemetry.ts';
import { feedReaders } from '../../pipeline/pipeline.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { countLetters } from '../../engine/dead-letters/dead-letter-counts.ts';
import type { WorkedOn } from '../../runtime/hosts/place-host.ts';

export interface LetterMetricsOptions {
  /** Default: the globally registered one. Without one the state container is not read. */
  readonly meterProvider?: MeterProvider;
  /** Milliseconds since 1970; default: the current time. */
  readonly now?: () => number;
}

/**
 * Reports the dead letters to OpenTelemetry, for alerts on count and age: `millrace.dead_letters` and
 * `millrace.dead_letters.age` (seconds since the oldest was parked; 0 without any). Every host reports all dead letters
 * of the pipeline, those of a shard with the attribute `shard`: take the maximum over hosts. They are counted once a collection; if the read fails, nothing is
 * reported. The returned function ends it.
 */
export function startLetterMetrics(
  places: () => readonly WorkedOn[],
  { meterProvider = metrics.getMeterProvider(), now = Date.now }: LetterMetricsOptions = {},
): () => void {
  const meter = meterProvider.getMeter(SCOPE);
  const count = gauge(meter, 'millrace.dead_letters');
  const age = gauge(meter, 'millrace.dead_letters.age');
  const observe = async (result: BatchObservableResult): Promise<void> => {
    const observeIn = async ({ shard, pipeline, place }: WorkedOn): Promise<void> => {
      const letters = await countLetters(place.state).catch(() => undefined);
      if (!letters) return;
      // Also while they have no dead letter.
      const declared = [...feedReaders(pipeline), ...pipeline.ingests].map(projectionId);
      for (const projection of new Set([...declared, ...letters.map((of) => of.projection)])) {
        const of = letters.find((one) => one.projection === projection);
        const about = { projection, ...(shard !== undefined && { shard }) };
        result.observe(count, of?.count ?? 0, about);
        result.observe(age, of ? Math.max(0, (now() - Date.parse(of.since)) / 1_000) : 0, about);
      }
    };
    await Promise.all(places().map(observeIn));
  };
  meter.addBatchObservableCallback(observe, [count, age]);
  return () => meter.removeBatchObservableCallback(observe, [count, age]);
}
