// What a run shows of itself to OpenTelemetry: pages, their projections, and the requests of each.
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { SamplingDecision } from '@opentelemetry/sdk-trace-base';
import { type Attributes, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { startTracing, traced } from '../../src/base/telemetry/opentelemetry.ts';
import { inChildSpan } from '../../src/base/telemetry/spans.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { triggerConsumer } from '../../src/runtime/hosts/trigger-host.ts';
import { fast } from '../verbs/projections/versions.ts';
import { recordedSpans } from '../support/spans.ts';
import { type Stage, openStage } from '../support/stage.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/observability.md'), 'utf8');
const { signal } = new AbortController();

let stage: Stage;
beforeEach(async () => {
  stage = await openStage();
});
afterEach(() => stage[Symbol.asyncDispose]());

const order = (n: number) => ({
  id: `idtext${n}`,
  type: 'order',
  storeId: 'keytext',
  customerId: 'customertext',
  placedAt: `2026-01-0${1 + (n % 5)}T10:00:00.000Z`,
  cents: 424_242,
});

async function drain(): Promise<void> {
  const app = await compose({ ...stage, ...fast, host: 'here' });
  await app.start();
  await app.drained(signal);
  await app.stop();
}

const sum = (all: readonly { readonly attributes: Attributes }[], name: string): number =>
  all.reduce((total, { attributes }) => total + Number(attributes[name] ?? 0), 0);

it('a trace shows each read, its page below it, the projections below that, and their requests below those', async () => {
  const { all, named, under } = recordedSpans();
  onTestFinished(startTracing());
  for (let n = 0; n < 20; n++) await stage.container('Orders').items.create(order(n));
  await drain();
  const pages = named('millrace.page').filter(({ attributes }) => attributes['millrace.container'] === 'Orders');
  expect(sum(pages, 'millrace.changes')).toBe(20);
  expect(pages.every(({ kind }) => kind === SpanKind.CONSUMER)).toBe(true);
  // What is read is all that pages have, and a read of nothing has no span.
  const reads = named('millrace.read');
  expect(new Set(reads.flatMap(under))).toEqual(new Set(named('millrace.page')));
  for (const { attributes, kind, parentSpanContext } of reads) {
    expect([kind, parentSpanContext, attributes['error.type']]).toEqual([SpanKind.CLIENT, undefined, undefined]);
    expect(attributes['millrace.changes']).toBeGreaterThan(0);
    expect(attributes['millrace.charge']).toBeGreaterThan(0);
  }
  for (const page of pages) {
    const projections = under(page).filter(({ name }) => name === 'millrace.projection');
    expect(new Set(projections.map(({ attributes }) => attributes['millrace.projection']))).toEqual(
      new Set(['days@1', 'summaries@1']),
    );
    expect(projections).toHaveLength(2);
    for (const projection of projections) {
      const requests = under(projection);
      expect(requests.length).toBeGreaterThan(0);
      expect(requests.every(({ kind }) => kind === SpanKind.CLIENT)).toBe(true);
      // What the requests cost is what the projection cost, without those for starts and dead letters, and for ranges.
      const own = requests.filter(({ name }) => !/^(read|create|query)_\w+ millrace$|_ranges/.test(name));
      const charge = Number(projection.attributes['millrace.charge']);
      expect(sum(own, 'azure.cosmosdb.operation.request_charge')).toBeCloseTo(charge, 6);
    }
  }
  const requests = all().filter(({ attributes }) => 'db.system.name' in attributes);
  for (const { name, attributes } of requests) {
    expect(attributes).toMatchObject({ 'db.system.name': 'azure.cosmosdb', 'db.namespace': 'shop' });
    expect(name).toBe([attributes['db.operation.name'], attributes['db.collection.name']].join(' '));
  }
  const operations = new Set(requests.map(({ attributes }) => attributes['db.operation.name']));
  expect([...operations]).toEqual(expect.arrayContaining(['execute_bulk', 'execute_batch', 'query_items']));
  // No id, key or value anywhere.
  const text = JSON.stringify(all().map(({ name, attributes, status, events }) => [name, attributes, status, events]));
  expect(text).not.toMatch(/idtext|keytext|customertext|424242/);
  // The page that documents them has each.
  for (const name of new Set(all().map((span) => span.name.replace(/ .*/, ''))))
    expect(PAGE).toContain(`\`${name.startsWith('millrace.') ? name : 'db.operation.name'}`);
  for (const name of new Set(all().flatMap(({ attributes }) => Object.keys(attributes))))
    expect(PAGE).toContain(`\`${name}\``);
});

it('a trace shows what a host does with its leases, with the requests below', async () => {
  const { named, under } = recordedSpans();
  onTestFinished(startTracing());
  await stage.container('Orders').items.create(order(1));
  await drain();
  const of = (operation: string) =>
    named('millrace.lease').filter(({ attributes }) => attributes['millrace.lease.operation'] === operation);
  for (const [operation, request] of [
    ['prepare', 'create_item leases'],
    ['acquire', 'replace_item leases'],
    ['checkpoint', 'replace_item leases'],
    ['release', 'replace_item leases'],
  ] as const) {
    const spans = of(operation).filter(({ attributes }) => attributes['millrace.container'] === 'Orders');
    expect({ operation, spans: spans.length }).not.toMatchObject({ spans: 0 });
    expect(spans.every(({ parentSpanContext }) => !parentSpanContext)).toBe(true);
    const requests = spans.flatMap(under).map(({ name }) => name);
    expect(requests).toContain(request);
  }
  // The list of `prepare` serves the first `list`.
  expect(of('list').length).toBeGreaterThan(0);
  const [taken] = of('acquire');
  expect(taken?.attributes['millrace.lease']).toMatch(/\.\.0$/);
});

it('a page that is not sampled costs the questions for it and its read, and no request has a span', async () => {
  const asked: string[] = [];
  const { all } = recordedSpans({
    shouldSample: (_context, _trace, name) => {
      if (name !== 'millrace.lease') asked.push(name);
      return { decision: SamplingDecision.NOT_RECORD };
    },
    toString: () => 'none',
  });
  onTestFinished(startTracing());
  await stage.container('Orders').items.create(order(1));
  await drain();
  expect(all()).toEqual([]);
  expect(asked).toEqual(['millrace.read', 'millrace.page']);
});

it('without an SDK nothing is asked for, and what is made is not recorded', async () => {
  expect(traced()).toBe(false);
  onTestFinished(startTracing());
  let built = 0;
  const made = await inChildSpan(
    () => ({ name: 'x', attributes: { built: (built += 1) } }),
    async (span) => {
      span.set({ a: 1 });
      return trace.getActiveSpan();
    },
  );
  expect([built, made]).toEqual([0, undefined]);
  recordedSpans();
  expect(traced()).toBe(true);
});

it('a batch of the Functions host is a page within the span of its invocation', async () => {
  const { named, under } = recordedSpans();
  onTestFinished(startTracing());
  await stage.container('Orders').items.create(order(1));
  const { resource } = await stage.container('Orders').item('idtext1', 'keytext').read<object>();
  const consume = triggerConsumer({ ...stage, readLagMs: 0 });
  const tracer = trace.getTracer('functions');
  await tracer.startActiveSpan('invocation', async (span) => {
    await consume({ container: 'Orders', documents: [{ ...resource, _lsn: 1 }], again: false, signal });
    span.end();
  });
  const [invocation] = named('invocation');
  const [page] = invocation ? under(invocation) : [];
  expect(page).toMatchObject({ name: 'millrace.page', attributes: { 'millrace.container': 'Orders' } });
  expect(page && under(page).map(({ name }) => name)).toContain('millrace.projection');
});

it('a request that fails is an error of its span; an answer that is expected is not', async () => {
  const { named, all } = recordedSpans();
  onTestFinished(startTracing());
  const tracer = trace.getTracer('test');
  const { database } = stage.services.place;
  await tracer.startActiveSpan('work', async (span) => {
    await database.container('Orders').item('idtext', 'keytext').read();
    await expect(database.container('Orders').items.query('SELEC idtext').fetchAll()).rejects.toMatchObject({
      code: 400,
    });
    span.end();
  });
  const [read] = named('read_item Orders');
  expect(read?.attributes).toMatchObject({ 'db.response.status_code': '404', 'server.address': expect.any(String) });
  expect(read?.status.code).toBe(SpanStatusCode.UNSET);
  const [query] = named('query_items Orders');
  expect(query?.attributes).toMatchObject({ 'db.response.status_code': '400', 'error.type': '400' });
  expect(query?.status).toEqual({ code: SpanStatusCode.ERROR });
  expect(JSON.stringify(all().map(({ attributes }) => attributes))).not.toContain('idtext');
});

it('requests of one operation to one container that are in flight together share a span, but for one that is refused', async () => {
  const { named } = recordedSpans();
  onTestFinished(startTracing());
  const { database } = stage.services.place;
  const read = (container: string, id: string) => database.container(container).item(id, 'keytext').read();
  for (const n of [1, 2, 3]) await stage.container('Orders').items.create(order(n));
  await trace.getTracer('test').startActiveSpan('work', async (span) => {
    // The client asks for the key of a container once.
    await read('Orders', 'idtext1');
    await read('Orders', 'idtext1');
    await Promise.all(['idtext1', 'idtext2', 'none', 'idtext3'].map((id) => read('Orders', id)));
    await Promise.all(['none1', 'none2'].map((id) => read('Orders', id)));
    span.end();
  });
  const of = (spans: readonly { readonly attributes: Attributes }[]) =>
    spans.map(({ attributes }) => [attributes['millrace.requests'], attributes['db.response.status_code']]);
  const reads = named('read_item Orders');
  expect(of(reads.slice(0, 2))).toEqual([
    [undefined, '200'],
    [undefined, '200'],
  ]);
  const [one, , ...together] = reads;
  expect(new Set(of(together))).toEqual(
    new Set([
      [3, '200'],
      [undefined, '404'],
      [undefined, '404'],
      [undefined, '404'],
      [0, undefined],
    ]),
  );
  expect(together).toHaveLength(5);
  const charge = (all: readonly { readonly attributes: Attributes }[]) =>
    sum(all, 'azure.cosmosdb.operation.request_charge');
  const shared = together.filter(({ attributes }) => attributes['millrace.requests'] === 3);
  expect(charge(shared)).toBeCloseTo(3 * charge(one ? [one] : []), 6);
  expect(new Set(reads.map(({ parentSpanContext }) => parentSpanContext?.spanId))).toEqual(
    new Set(named('work').map((span) => span.spanContext().spanId)),
  );
  expect(reads.every(({ status }) => status.code === SpanStatusCode.UNSET)).toBe(true);
  expect(reads.every(({ ended, duration }) => ended && duration[0] >= 0)).toBe(true);
});
