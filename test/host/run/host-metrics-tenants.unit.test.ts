// docs/SPEC-tenants.md, TEN-T5.
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { expect, test } from 'vitest';
import { startTenantMetrics } from '../../../src/host/run/host-metrics.ts';

test('the costliest tenants are reported by name, and the others together', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const work = { changes: 3, parked: 1, charge: 7.5, delayMs: 1_500 };
  let asked = 0;
  const tenants = () => ({
    asked: (asked += 1),
    tenants: [{ tenant: 'store-1', ...work }],
    others: { ...work, changes: 9 },
  });
  const end = startTenantMetrics({ tenants }, { meterProvider });
  const { resourceMetrics } = await reader.collect();
  const points = resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
    metrics.flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(({ attributes, value }) => [descriptor.name, attributes['tenant'], value]),
    ),
  );
  expect(points).toEqual([
    ['millrace.tenant.changes', 'store-1', 3],
    ['millrace.tenant.changes', '(others)', 9],
    ['millrace.tenant.charge', 'store-1', 7.5],
    ['millrace.tenant.charge', '(others)', 7.5],
    ['millrace.tenant.delay', 'store-1', 1.5],
    ['millrace.tenant.delay', '(others)', 1.5],
  ]);
  end();
  await reader.collect();
  expect(asked).toBe(1);
  await meterProvider.shutdown();
});
