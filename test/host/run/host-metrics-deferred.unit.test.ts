// docs/SPEC-tenants.md, TEN-F20.
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { expect, test } from 'vitest';
import { startDeferredMetrics } from '../../../src/host/run/host-metrics.ts';

test('the tenants with the largest queues are reported by name, and the others together', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const waits = { changes: 300, since: '2026-01-01T00:00:00.000Z', drained: null, emptyIn: null };
  const found = {
    tenants: [{ tenant: 's1', container: 'Orders', ...waits }],
    others: { ...waits, changes: 900, since: null, count: 2 },
  };
  const now = Date.parse(waits.since) + 5_000;
  const end = startDeferredMetrics(() => [{ shard: 'west', waiting: Promise.resolve(found) }], {
    meterProvider,
    now: () => now,
  });
  const { resourceMetrics } = await reader.collect();
  const points = resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
    metrics.flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(({ attributes, value }) => [descriptor.name, attributes['tenant'], attributes['shard'], value]),
    ),
  );
  expect(points).toEqual([
    ['millrace.deferred.changes', 's1', 'west', 300],
    ['millrace.deferred.changes', '(others)', 'west', 900],
    ['millrace.deferred.age', 's1', 'west', 5],
  ]);
  end();
  await meterProvider.shutdown();
});
