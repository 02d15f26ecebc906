import { channel } from 'node:diagnostics_channel';
import { type Attributes, SpanStatusCode, context } from '@opentelemetry/api';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { expect, it, onTestFinished, vi } from 'vitest';
import { emit } from '../../../src/base/telemetry/diagnostics.ts';
import { LagEstimator } from '../../../src/feed/processor/lag-estimator.ts';
import { type TelemetryOptions, startTelemetry } from '../../../src/feed/processor/telemetry.ts';
import { keepContexts } from '../../support/spans.ts';
import { leaseStage } from '../lease-stage.ts';
import { hostOf, numbers, write } from '../processor-stage.ts';

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

function telemetry(options: Pick<TelemetryOptions, 'lags' | 'ranges' | 'routers'> = {}) {
  const reader = new Reader();
  const exporter = new InMemorySpanExporter();
  const meterProvider = new MeterProvider({ readers: [reader] });
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const end = startTelemetry({ meterProvider, tracerProvider, ...options });
  onTestFinished(end);
  /** What a metric says for some attributes; undefined where it says nothing. */
  const metric = async (name: string, of: Attributes = {}): Promise<unknown> => {
    const { resourceMetrics } = await reader.collect();
    const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
    const points = all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
    return points.find(({ attributes }) => Object.entries(of).every(([key, value]) => attributes[key] === value))
      ?.value;
  };
  const tracer = tracerProvider.getTracer('client');
  return { metric, tracer, spans: () => exporter.getFinishedSpans(), end };
}

it('measures what a processor does, and makes a span of each page', async () => {
  const { store, monitored } = await leaseStage(2);
  const rid = (await monitored.read()).resource?._rid ?? '';
  const estimator = new LagEstimator({ container: monitored, rid, start: 'beginning' });
  const leases = store('a');
  const lags = async () =>
    Promise.all(
      (await leases.list()).map(async (lease) => ({
        container: 'c',
        lease: lease.token,
        lag: await estimator.lagOf(lease),
      })),
    );
  const { metric, spans, end } = telemetry({ lags });
  await write(monitored, numbers(0, 40));
  let failing = true;
  const host = await hostOf('a', monitored, leases, {
    pageSize: 10,
    handle: async () => {
      if (failing) throw new TypeError('not yet');
    },
  });
  await host.processor.start();
  await vi.waitFor(() => expect(spans().some(({ status }) => status.code === SpanStatusCode.ERROR)).toBe(true), 10_000);
  failing = false;
  await vi.waitFor(() => expect(host.pages.flat()).toHaveLength(40), 10_000);
  await vi.waitFor(async () => expect(await metric('millrace.changes.handled', { container: 'c' })).toBe(40), 10_000);
  expect(await metric('millrace.leases.owned', { container: 'c' })).toBe(2);
  expect(await metric('millrace.feed.charge')).toBeGreaterThan(1);
  expect(await metric('millrace.handler.duration', { outcome: 'handled' })).toMatchObject({ count: host.pages.length });
  expect(await metric('millrace.failures', { part: 'feed', 'error.type': 'TypeError' })).toBeGreaterThan(0);
  await vi.waitFor(async () => expect(await metric('millrace.lease.lag', { lease: '0' })).toBe(0), 10_000);
  await write(monitored, numbers(0, 40));
  await host.processor.stop();
  expect(await metric('millrace.leases.owned', { container: 'c' })).toBe(0);

  const failed = (name: string) =>
    spans().some((span) => span.name === name && span.status.code === SpanStatusCode.ERROR);
  expect([failed('millrace.page'), failed('millrace.read')]).toEqual([true, false]);
  const good = spans().filter(({ name, status }) => name === 'millrace.page' && status.code !== SpanStatusCode.ERROR);
  expect(good.reduce((sum, { attributes }) => sum + Number(attributes['millrace.changes']), 0)).toBe(
    host.pages.flat().length,
  );
  end();
  const before = await metric('millrace.feed.pages');
  emit('feed:page', { container: 'c', lease: 'x', changes: 1, charge: 1 });
  expect(await metric('millrace.feed.pages'), 'nothing more once it was ended').toEqual(before);
});

it('telemetry makes a span of a read that fails, and none of a read that finds nothing', async () => {
  const { store, monitored } = await leaseStage();
  const { spans } = telemetry();
  let reads = 0;
  const host = await hostOf('a', monitored, store('a'), {
    through: (source) => ({
      prepare: (signal) => source.prepare(signal),
      resolve: (...given) => source.resolve(...given),
      read: (...given) => {
        reads += 1;
        return reads === 1 ? Promise.reject(new TypeError('the id of a document')) : source.read(...given);
      },
    }),
  });
  await host.processor.start();
  await vi.waitFor(() => expect(reads).toBeGreaterThan(3), 10_000);
  await host.processor.stop();
  const made = spans().filter(({ name }) => name === 'millrace.read');
  expect(made.map(({ attributes, status }) => [attributes['error.type'], status])).toEqual([
    ['TypeError', { code: SpanStatusCode.ERROR }],
  ]);
});

it('telemetry makes what the handler calls part of its page', async () => {
  const { store, monitored } = await leaseStage();
  keepContexts();
  onTestFinished(() => context.disable());
  const { spans, tracer } = telemetry();
  await write(monitored, ['a']);
  const host = await hostOf('a', monitored, store('a'), {
    handle: async () => {
      await Promise.resolve();
      tracer.startSpan('a request').end();
    },
  });
  await host.processor.start();
  const named = (of: string) => spans().find(({ name }) => name === of);
  await vi.waitFor(() => expect(named('millrace.page')).toBeDefined(), 10_000);
  const [request, page] = [named('a request'), named('millrace.page')];
  expect(request).toBeDefined();
  expect(request?.parentSpanContext?.spanId).toBe(page?.spanContext().spanId);
});

it('telemetry counts what was parked, and leaves a lag that is not known out', async () => {
  const lags = async () => [{ container: 'c', lease: '0', lag: { known: false, why: 'nobody knows' } as const }];
  const { metric } = telemetry({ lags });
  emit('engine:parked', { projection: 'days@1', container: 'Orders', id: 'o1', error: new Error('bad') });
  emit('balancer:failed', { container: 'Orders', error: 'text' });
  expect(await metric('millrace.changes.parked', { projection: 'days@1' })).toBe(1);
  expect(await metric('millrace.failures', { part: 'leases', 'error.type': 'unknown' })).toBe(1);
  expect(await metric('millrace.lease.lag')).toBeUndefined();
});

it('telemetry gives the speed of each lease, and no number for what is not known or never ends', async () => {
  const known = { container: 'c', handledPerSecond: 40, inPerSecond: 10, outPerSecond: 20, lag: 600 };
  const ranges = () => [
    { ...known, lease: '0', catchUp: 60, inHand: { seconds: 31, deliveries: 3 } },
    { ...known, lease: '1', inPerSecond: null, catchUp: 'never' as const, inHand: null },
  ];
  const { metric } = telemetry({ ranges });
  emit('feed:rejected', { container: 'c', lease: '0', position: '', changes: 7, deliveries: 3, error: 'text' });
  const of = async (lease: string) =>
    Promise.all(
      ['in', 'out', 'catch_up', 'page.age', 'page.deliveries'].map((name) =>
        metric(`millrace.lease.${name}`, { lease }),
      ),
    );
  expect(await of('0')).toEqual([10, 20, 60, 31, 3]);
  expect(await of('1')).toEqual([undefined, 20, undefined, 0, 0]);
  expect(await metric('millrace.feed.pages.rejected', { container: 'c', 'error.type': 'unknown' })).toBe(1);
});

it('telemetry gives what a router has done', async () => {
  const { metric } = telemetry({
    routers: () => [
      {
        map: 'tenants',
        mappings: 7,
        added: 9,
        removed: 2,
        hits: 500,
        misses: 8,
        lookups: 10,
        validations: 30,
        refusals: 1,
      },
    ],
  });
  const of = (name: string, attributes: Attributes = {}) =>
    metric(`millrace.router.${name}`, { map: 'tenants', ...attributes });
  expect(await of('mappings')).toBe(7);
  expect([await of('uses', { found: true }), await of('uses', { found: false })]).toEqual([500, 8]);
  expect([await of('changes', { change: 'added' }), await of('changes', { change: 'removed' })]).toEqual([9, 2]);
  expect([await of('lookups'), await of('validations'), await of('refusals')]).toEqual([10, 30, 1]);
});

it('telemetry costs nothing where no application has set telemetry up', () => {
  const end = startTelemetry({ lags: () => Promise.reject(new Error('nobody asks')) });
  emit('feed:page', { container: 'c', lease: 'x', changes: 1, charge: 1 });
  end();
  expect(channel('millrace:feed:page').hasSubscribers, 'nobody listens any more').toBe(false);
});
