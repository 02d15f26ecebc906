import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { aboutOf } from '../../../src/verbs/model/about.ts';
import { loadPipeline } from '../../../src/runtime/pipeline/load-pipeline.ts';
import { designOfCode, graphOf } from '../../../src/verbs/model/graph.ts';

const designOf = (name: string) =>
  parseDesign(
    readFileSync(new URL(`../../../examples/${name}/cosmosdb_data_model.md`, import.meta.url), 'utf8'),
    'cosmosdb_data_model.md',
  );
const example = (name: string) => graphOf(designOf(name));
const flights = example('flights');

test('the graph has every container, and what projections write outside of them', () => {
  expect(flights.boxes.map(({ name, key, derived, column }) => [name, key, derived, column])).toEqual([
    ['Flights', '/origin', false, 0],
    ['Airports', '/id', false, 0],
    ['FlightsByDestination', '/destination', true, 1],
    ['OriginDays', '/origin', true, 1],
    ['Routes', '/origin', true, 1],
    ['blob:flights-cold', undefined, true, 1],
  ]);
  expect(flights.lines.map(({ from, to, name, joined }) => [from, to, name, joined])).toEqual([
    ['Flights', 'FlightsByDestination', 'arrivals', false],
    ['Airports', 'FlightsByDestination', 'arrivals', true],
    ['Flights', 'OriginDays', 'origin-days', false],
    ['Flights', 'Routes', 'routes', false],
    ['Flights', 'blob:flights-cold', 'flights-cold', false],
  ]);
});

test('a model as code has the graph of its document', async () => {
  const { model, pipeline } = await loadPipeline(new URL('../../../examples/flights', import.meta.url).pathname);
  const { title, ...code } = graphOf(designOfCode(model, pipeline));
  expect({ title, ...code }).toEqual({ ...flights, title: 'model.ts' });
});

test('a chain takes one column for each step, and a circle ends', () => {
  const row = (from: string, to: string) => ({
    name: `${from}-${to}`,
    kind: 'copy',
    source: { container: from },
    joins: [],
    sink: { container: to },
    sinkText: to,
  });
  const columns = (...rows: ReturnType<typeof row>[]) =>
    graphOf({ title: '', containers: [], projections: rows }).boxes.map(({ name, column }) => [name, column]);
  expect(columns(row('B', 'C'), row('A', 'B'), row('A', 'C'))).toEqual([
    ['B', 1],
    ['C', 2],
    ['A', 0],
  ]);
  for (const [, column] of columns(row('A', 'B'), row('B', 'A'))) expect(column).toBeLessThan(2);
});

test('a finding is about the container or the projection at whose lines it is', () => {
  const design = designOf('storefront');
  const about = aboutOf(design);
  const { file } = design;
  const at = (line: number) => ({ at: { file, line } });
  const orders = design.containers.find(({ container }) => container.name === 'Orders')!;
  expect(about(at(orders.container.at.line + 3))).toEqual({ container: 'Orders' });
  expect(about(at(orders.container.types[0]!.at.line))).toEqual({ container: 'Orders' });
  const row = design.projections.find(({ name }) => name === 'store-days')!;
  expect(about(at(row.at.line))).toEqual({ projection: 'store-days' });
  expect(about(at(1))).toEqual({});
  // A row of the mapping is about the container that it asks.
  const asked = design.mapping.find(({ ids }) => ids.includes('3'))!;
  expect(about(at(asked.at.line))).toEqual({ container: 'Skus' });
  // Elsewhere: by the first place that is in a container.
  expect(about({ ...at(1), related: [{ file: 'other.md', line: 3 }, orders.container.at] })).toEqual({
    container: 'Orders',
  });
  // The last container ends where its section does.
  const last = design.containers.at(-1)!.container;
  expect(about(at(last.at.line))).toEqual({ container: last.name });
  expect(about(at(design.projections[0]!.at.line - 2))).toEqual({});
});

test('a container into which only embeds write is the application’s', () => {
  const derived = example('storefront').boxes.filter((box) => box.derived);
  expect(derived.map(({ name }) => name)).not.toContain('Catalog');
  expect(derived.map(({ name }) => name)).toContain('Skus');
});
