// The examples hold what their documents say, without anything running.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import flights from '../../examples/flights/pipeline.ts';
import { load as loadFlights, readFlights } from '../../examples/flights/input.ts';
import { load as loadStorefront, now } from '../../examples/storefront/workload.ts';
import storefront from '../../examples/storefront/pipeline.ts';
import tables from '../../examples/tables/pipeline.ts';
import { load as loadTables } from '../../examples/tables/workload.ts';
import telemetry from '../../examples/telemetry/pipeline.ts';
import { load as loadTelemetry } from '../../examples/telemetry/workload.ts';
import { checkPipeline } from '../../src/pipeline/check/check-pipeline.ts';
import { parseDate } from '../../src/pipeline/date.ts';
import type { Doc, SourceRef } from '../../src/pipeline/specs.ts';
import type { EventStep, Load, Step } from '../../src/pipeline/workload.ts';
import { recomputeEmbeds } from '../../src/pipeline/oracle/recompute-embeds.ts';
import { recompute, rowKey, visible } from '../../src/pipeline/oracle/recompute.ts';
import type { Model } from '../../src/model/model.ts';
import { readModel } from '../../src/model/reader/read.ts';
import { fromDocument, writeExamples, writeModel } from '../../src/model/code/write.ts';

const folder = (name: string): string => new URL(`../../examples/${name}`, import.meta.url).pathname;
const examples = [
  { name: 'flights', pipeline: flights, load: loadFlights satisfies Load },
  { name: 'storefront', pipeline: storefront, load: loadStorefront satisfies Load },
  { name: 'tables', pipeline: tables, load: loadTables satisfies Load },
  { name: 'telemetry', pipeline: telemetry, load: loadTelemetry satisfies Load },
];
const keyOf = (model: Model, container: string): readonly string[] => {
  const found = model.containers.find(({ name }) => name === container);
  if (!found) throw new Error(`no container ${container}`);
  return found.partitionKey;
};

test.each(examples)(
  '$name: the document is read without a finding, and the pipeline agrees with it',
  async ({ name, pipeline }) => {
    const model = await readModel(`${folder(name)}/cosmosdb_data_model.md`);
    expect(model.findings).toEqual([]);
    expect(checkPipeline(pipeline, model)).toEqual([]);
  },
);

test.each(examples)('$name: model.ts and its examples are what the document says', async ({ name }) => {
  const document = `${folder(name)}/cosmosdb_data_model.md`;
  const model = await readModel(document);
  const digest = createHash('sha256')
    .update(await readFile(document))
    .digest('hex');
  const written = (file: string): Promise<string> => readFile(`${folder(name)}/${file}`, 'utf8');
  expect(await written('model.ts')).toBe(writeModel(model, fromDocument('cosmosdb_data_model.md', digest)));
  expect(await written('model.examples.json')).toBe(writeExamples(model));
});

test.each(examples)(
  "$name: the examples of the sinks are what the projections make of the sources' examples",
  async ({ name, pipeline }) => {
    const model = await readModel(`${folder(name)}/cosmosdb_data_model.md`);
    const documents = ({ container, type }: SourceRef): readonly Doc[] =>
      model.containers
        .find((candidate) => candidate.name === container)
        ?.types.find((candidate) => candidate.name === type)?.examples ?? [];
    const made: Record<string, unknown> = {};
    const stated: Record<string, unknown> = {};
    for (const projection of pipeline.projections) {
      const keyPaths = keyOf(model, projection.into.container);
      made[projection.name] = Object.fromEntries(recompute(projection, documents, pipeline.sources, { keyPaths }));
      stated[projection.name] = Object.fromEntries(
        documents(projection.into).map((doc) => [rowKey(doc, keyPaths), visible(doc)]),
      );
    }
    expect(made).toEqual(stated);
  },
);

async function allOf(load: Load, seed: number): Promise<(Step | EventStep)[]> {
  const steps: (Step | EventStep)[] = [];
  for await (const step of load({ seed })) steps.push(step);
  return steps;
}

test.each(examples)(
  "$name: the examples of children have what the embeds make of their parents' examples",
  async ({ name, pipeline }) => {
    const model = await readModel(`${folder(name)}/cosmosdb_data_model.md`);
    const documents = ({ container, type }: SourceRef): readonly Doc[] =>
      model.containers
        .find((candidate) => candidate.name === container)
        ?.types.find((candidate) => candidate.name === type)?.examples ?? [];
    const refused: unknown[] = [];
    for (const spec of pipeline.embeds) {
      const children = [...recomputeEmbeds([spec], documents, pipeline.sources, (...of) => refused.push(of))];
      expect(children.map(({ found }) => found)).toEqual(children.map(({ expected }) => expected));
    }
    expect(refused).toEqual([]);
  },
);

const stepsOf = async (load: Load, seed: number): Promise<Step[]> =>
  (await allOf(load, seed)).filter((step): step is Step => !('hub' in step));

test.each(examples)(
  '$name: the input is the same for a seed, another for another, and every document has its key',
  async ({ name, pipeline, load }) => {
    const model = await readModel(`${folder(name)}/cosmosdb_data_model.md`);
    const derived = new Set(pipeline.projections.map(({ into }) => into.container));
    const steps = await allOf(load, 1);
    expect(isDeepStrictEqual(steps, await allOf(load, 1))).toBe(true);
    expect(isDeepStrictEqual(steps, await allOf(load, 2))).toBe(false);
    const hubs = pipeline.ingests.map(({ from }) => from);
    const types = new Set(model.containers.flatMap((of) => of.types.map((type) => `${of.name} ${type.name}`)));
    for (const step of steps) {
      if ('hub' in step) {
        if (!hubs.includes(step.hub)) throw new Error(`nothing reads ${step.hub}`);
        continue;
      }
      if (!('upsert' in step)) throw new Error('a hard delete, which the change feed does not show');
      const what = `${step.container} ${String(step.upsert.type)}`;
      if (derived.has(step.container)) throw new Error(`${step.container} is derived`);
      if (!types.has(what)) throw new Error(`the model has no ${what}`);
      const key = JSON.parse(rowKey(step.upsert, keyOf(model, step.container))) as unknown[];
      if (key.includes(null)) throw new Error(`${what} lacks its key`);
    }
  },
);

test('flights: the whole of both files', async () => {
  const counts = new Map<string, number>();
  for (const step of await stepsOf(loadFlights, 7)) counts.set(step.container, (counts.get(step.container) ?? 0) + 1);
  expect(Object.fromEntries(counts)).toEqual({ Airports: 3_376, Flights: 20_000 });
});

test('flights: January leaves, 6,937 of 20,000', async () => {
  const [cold] = flights.archives;
  const dates = (await readFlights()).map((flight) => parseDate(flight.date) ?? Number.NaN);
  expect(cold?.rule).toMatchObject({ kind: 'before', ms: Date.UTC(2001, 1, 1) });
  expect(dates.filter((date) => date < Date.UTC(2001, 1, 1))).toHaveLength(6_937);
  expect(dates.filter((date) => date >= Date.UTC(2001, 1, 1))).toHaveLength(13_063);
});

test('storefront: at its date some of the completed orders have been so for 90 days, others not', async () => {
  const orders = new Map<string, Doc>();
  for (const step of await stepsOf(loadStorefront, 1))
    if ('upsert' in step && step.container === 'Orders') orders.set(rowKey(step.upsert, ['/storeId']), step.upsert);
  const completed = [...orders.values()].filter((order) => order['completedAt'] && !order['deletedAt']);
  const due = Date.parse(now) - 90 * 86_400_000;
  expect(completed).toHaveLength(241);
  expect(completed.filter((order) => (parseDate(order['completedAt']) ?? Number.NaN) <= due)).toHaveLength(70);
});

test('storefront: the history has every kind of change', async () => {
  const steps = await stepsOf(loadStorefront, 1);
  const versions = Map.groupBy(
    steps.flatMap((step) => ('upsert' in step ? [{ ...step.upsert, container: step.container }] : [])),
    ({ container, storeId, productId, id }: Doc) => JSON.stringify([container, storeId, productId, id]),
  );
  const changes = new Set<string>();
  for (const history of versions.values()) {
    for (const [at, after] of history.entries()) {
      const before: Doc | undefined = history[at - 1];
      if (!before) continue;
      for (const [field, value] of Object.entries<unknown>(after)) {
        if (JSON.stringify(before[field]) !== JSON.stringify(value)) changes.add(`${String(before['type'])}.${field}`);
      }
    }
  }
  expect([...changes].toSorted()).toEqual([
    'country.name',
    'customer.deletedAt',
    'customer.email',
    'customer.name',
    'customer.ttl',
    'order.completedAt',
    'order.deletedAt',
    'order.lines',
    'order.status',
    'order.totalCents',
    'order.ttl',
    'product.name',
    'store.currency',
    'variant.deletedAt',
    'variant.priceCents',
    'variant.shelf',
    'variant.sku',
    'variant.ttl',
  ]);
});

test('telemetry: what is ingested is what devices mean, twice sent or not, and nonsense is nothing', async () => {
  const [ingest] = telemetry.ingests;
  const readings = new Map<string, unknown>();
  let nonsense = 0;
  let twice = 0;
  for (const step of await allOf(loadTelemetry, 1)) {
    if (!('hub' in step)) throw new Error('devices write no documents');
    const event = { properties: {}, partition: '0', sequence: 0, offset: '0', enqueuedAt: new Date(0) };
    try {
      const doc = ingest?.map({ ...event, body: step.send.body });
      const key = JSON.stringify([doc?.['tenantId'], doc?.['siteId'], doc?.['deviceId'], doc?.['id']]);
      if (readings.has(key)) twice += 1;
      readings.set(key, doc);
    } catch {
      nonsense += 1;
    }
  }
  expect([readings.size + nonsense, nonsense > 0, twice > 100]).toEqual([36 * 288, true, true]);
});
