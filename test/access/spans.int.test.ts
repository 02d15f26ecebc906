// Requests to sinks that aren't Cosmos DB, as spans below their projection: an event hub, and PostgreSQL (PGlite).
import { table } from 'millrace';
import { SpanKind, trace } from '@opentelemetry/api';
import { expect, it, onTestFinished } from 'vitest';
import { startTracing } from '../../src/base/telemetry/opentelemetry.ts';
import type { TableSpec } from '../../src/pipeline/specs.ts';
import { migrateTables } from '../../src/procedures/sql/migrate.ts';
import { layoutsOf, withTables } from '../../src/runtime/tables.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { EventHubSink } from '../../src/access/event-hub.ts';
import { m } from '../fixtures/shop/model.ts';
import { openHubs } from '../emulator/hubs.ts';
import { declaring } from '../verbs/projections/shelves.ts';
import { fast } from '../verbs/projections/versions.ts';
import { usePglite } from '../support/pglite-stage.ts';
import { recordedSpans } from '../support/spans.ts';
import { openStage } from '../support/stage.ts';

const { signal } = new AbortController();
const { database } = await usePglite();

it('each batch of events is a span, with the hub and the number of events', async () => {
  const { named } = recordedSpans();
  onTestFinished(startTracing());
  await using hubs = await openHubs();
  const producer = hubs.producer();
  const sink = new EventHubSink('telemetry', async () => producer);
  const fence = { kind: 'lease', tenure: {}, signal, assert: () => {} } as const;
  const events = ['keytext1', 'keytext2', 'keytext3'].map((partitionKey) => ({ partitionKey, event: { body: 1 } }));
  await trace.getTracer('test').startActiveSpan('projection', async (span) => {
    await sink.publish(events, fence);
    span.end();
  });
  const sent = named('send telemetry');
  expect(sent.reduce((sum, { attributes }) => sum + Number(attributes['messaging.batch.message_count']), 0)).toBe(3);
  for (const { kind, attributes } of sent) {
    expect(kind).toBe(SpanKind.PRODUCER);
    expect(attributes).toMatchObject({
      'messaging.system': 'eventhubs',
      'messaging.destination.name': 'telemetry',
      'messaging.destination.partition.id': expect.stringMatching(/^[01]$/),
    });
  }
  expect(JSON.stringify(sent.map(({ attributes }) => attributes))).not.toContain('keytext');
});

it('each transaction that writes rows is a span below its projection', async () => {
  await using stage = await openStage();
  const orders: TableSpec = table('orders', { from: m.Orders.order, into: 'orders' });
  const loaded = withTables(declaring(stage, { effects: [orders] }), database);
  await migrateTables(layoutsOf(loaded), database, signal);
  const { named, all } = recordedSpans();
  onTestFinished(startTracing());
  const order = { id: 'o1', type: 'order', storeId: 's1', customerId: 'c1', placedAt: '2026-01-01T10:00:00.000Z' };
  await stage.container('Orders').items.create({ ...order, cents: 1 });
  const app = await compose({ ...stage, ...fast, loaded, host: 'here' });
  await app.start();
  await app.drained(signal);
  await app.stop();
  const [transaction] = named('transaction orders');
  expect(transaction?.attributes).toEqual({
    'db.system.name': 'postgresql',
    'db.operation.name': 'transaction',
    'db.collection.name': 'orders',
  });
  const parent = all().find((span) => span.spanContext().spanId === transaction?.parentSpanContext?.spanId);
  expect(parent).toMatchObject({ name: 'millrace.projection', attributes: { 'millrace.projection': 'orders@1' } });
});
