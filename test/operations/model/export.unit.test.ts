import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { parseRequirements } from '../../../src/model/reader/requirements.ts';
import { exportOf } from '../../../src/operations/model/export.operation.ts';
import { exported } from '../../../src/operations/model/export-schema.ts';

const EXAMPLES = ['flights', 'storefront', 'telemetry', 'tables'];

function exportedFrom(example: string) {
  const read = (name: string): string =>
    readFileSync(new URL(`../../../examples/${example}/${name}`, import.meta.url), 'utf8');
  const documents = {
    design: parseDesign(read('cosmosdb_data_model.md'), 'cosmosdb_data_model.md'),
    requirements: parseRequirements(read('cosmosdb_requirements.md'), 'cosmosdb_requirements.md'),
  };
  return exportOf(documents, (place) => place);
}

test.each(EXAMPLES)('the export of %s is what the JSON Schema describes', (example) => {
  const written = JSON.parse(JSON.stringify(exportedFrom(example))) as unknown;
  // The schema alone, as another program has it.
  const schema = z.fromJSONSchema(JSON.parse(JSON.stringify(z.toJSONSchema(exported))) as never);
  expect(schema.safeParse(written).error).toBeUndefined();
  expect(schema.safeParse({ ...(written as object), containers: [{ name: 'Orders' }] }).success).toBe(false);
});

test('it has what the documents state', () => {
  const { containers, patterns, accesses, projections } = exportedFrom('flights');
  expect(containers.map(({ name, partitionKey, derived }) => [name, partitionKey, derived])).toContainEqual([
    'FlightsByDestination',
    ['/destination'],
    true,
  ]);
  expect(containers[0]?.types[0]?.examples[0]).toMatchObject({ id: '1', origin: 'DTW', delay: 66 });
  expect(patterns.find(({ id }) => id === '3')).toMatchObject({ type: 'read' });
  expect(accesses.find(({ patterns: ids }) => ids.includes('3'))).toMatchObject({
    containers: ['FlightsByDestination'],
    operations: ['query'],
    queries: [{ equal: expect.arrayContaining(['destination']) as string[] }],
    ru: 3,
  });
  expect(projections[0]).toMatchObject({
    name: 'arrivals',
    source: { container: 'Flights', type: 'flight' },
    joins: [{ container: 'Airports', type: 'airport' }],
    serves: ['3'],
    maxLagMs: 5000,
  });
});
