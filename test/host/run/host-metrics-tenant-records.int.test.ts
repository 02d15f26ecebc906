// docs/SPEC-tenants.md, TEN-T5.
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { expect, test } from 'vitest';
import { startTenantRecordMetrics } from '../../../src/host/run/host-metrics.ts';
import { recordCounted } from '../../../src/procedures/tenants/tenant-counts.ts';
import { openStage } from '../../support/stage.ts';

test('the tenants with the most documents and dead letters are reported by name, and the others together', async () => {
  await using stage = await openStage();
  const { place } = stage.services;
  const { state } = place;
  const reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
    exportIntervalMillis: 3_600_000,
  });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const end = startTenantRecordMetrics(() => [{ pipeline: stage.loaded.pipeline, place }], { meterProvider });
  const collected = async () => {
    const { resourceMetrics } = await reader.collect();
    return resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => [descriptor.name, attributes['tenant'], value]),
      ),
    );
  };
  expect(await collected()).toEqual([]);

  const tenants = Array.from({ length: 12 }, (_, n) => ({
    tenant: `t${n}`,
    documents: 100 - n,
    bytes: 1,
    containers: [],
  }));
  await recordCounted(state, stage.loaded.pipeline.name, '2026-01-01T00:00:00.000Z', { documents: 2_000, tenants });
  for (const [id, tenant] of Object.entries({ a: 't0', b: 't0', c: 't9' }))
    await state.items.create({ id, pk: 'dead-letters|x', kind: 'dead-letter', tenant });
  expect(await collected()).toEqual([
    ...tenants.slice(0, 10).map(({ tenant, documents }) => ['millrace.tenant.documents', tenant, documents]),
    ['millrace.tenant.documents', '(others)', 2_000 - 955],
    ['millrace.tenant.dead_letters', 't0', 2],
    ['millrace.tenant.dead_letters', 't9', 1],
  ]);
  end();
  await meterProvider.shutdown();
});
