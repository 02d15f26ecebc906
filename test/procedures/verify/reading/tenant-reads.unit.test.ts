// docs/SPEC-tenants.md, TEN-T9: which containers a comparison for one tenant reads in part.
import { expect, test } from 'vitest';
import { aggregate, copy, definePipeline, source } from 'millrace';
import type { EmbedSpec, Pipeline, ProjectionSpec, SendSpec } from '../../../../src/pipeline/specs.ts';
import { parseModel } from '../../../../src/model/reader/read.ts';
import { TenantReads } from '../../../../src/procedures/verify/reading/tenant-reads.ts';
import { askedTenant } from '../../../../src/procedures/tenants/tenant-flag.ts';
import { namesOf } from '../../../support/names-of.ts';

interface Doc {
  readonly id: string;
  readonly type: 'order' | 'listed' | 'day' | 'customer' | 'country';
  readonly storeId: string;
  readonly customerId: string;
  readonly country: string;
  readonly day: string;
}
interface Stored<T extends Doc['type']> extends Doc {
  readonly type: T;
}
const m = namesOf<{
  Orders: { order: Stored<'order'> };
  Customers: { customer: Stored<'customer'> };
  Countries: { country: Stored<'country'> };
  Lists: { listed: Stored<'listed'> };
  Days: { day: Stored<'day'> };
}>();

const container = (name: string, key: string, type: string, purpose = 'documents'): string => `### ${name} Container
\`\`\`json
[{ "id": "1", "type": "${type}", "storeId": "s1" }]
\`\`\`
- **Purpose**: ${purpose}
- **Partition Key**: \`${key}\`
`;
const designed = (customers = '/storeId') =>
  parseModel(
    `# Shop
## Container Designs
${container('Orders', '/storeId, /customerId', 'order')}
${container('Customers', customers, 'customer')}
${container('Countries', '/id', 'country', 'reference data')}
${container('Lists', '/storeId', 'listed')}
${container('Days', '/day', 'day')}
`,
    'm.md',
  );

const lists = copy('lists', {
  from: m.Orders.order,
  into: m.Lists.listed,
  with: {
    customer: { of: m.Customers.customer, on: { storeId: 'storeId', id: 'customerId' } },
    country: { of: m.Countries.country, on: { id: 'country' } },
  },
  map: (order) => order,
});
const days = aggregate('days', {
  from: m.Orders.order,
  into: m.Days.day,
  groupBy: ({ storeId, day }) => ({ storeId, day }),
  measures: {},
});
const pipeline = (projections: readonly unknown[], sources: readonly unknown[] = []): Pipeline =>
  definePipeline({ model: m, tenant: 'storeId', sources: sources as never, projections: projections as never });

/** The containers that are read in part. */
function parted(
  declared: Pipeline,
  customers?: string,
  specs: readonly (ProjectionSpec | EmbedSpec | SendSpec)[] = declared.projections,
): string[] {
  const loaded = { pipeline: declared, model: designed(customers) };
  const reads = new TenantReads(askedTenant(loaded, 's1'), loaded, specs);
  return loaded.model.containers
    .map(({ name }) => name)
    .filter((name) => !reads.has(name, { storeId: 's2' }) && reads.of(name).query.query.includes('@tenant'));
}

test('a projection between keys that have the tenant reads the tenant’s documents, and all reference data', () => {
  expect(parted(pipeline([lists]))).toEqual(['Orders', 'Customers', 'Lists']);
});

test.each([
  ['combines tenants', pipeline([{ ...lists, acrossTenants: true }])],
  ['writes to a container whose key lacks the tenant', pipeline([days])],
  ['reads a container together with such a one', pipeline([lists, days]), undefined, ['Customers', 'Lists']],
  ['joins documents whose key lacks the tenant', pipeline([lists]), '/customerId'],
  ['upgrades what it reads', pipeline([lists], [source({ of: m.Customers.customer, upcast: (doc) => doc as never })])],
])('all documents are read for a projection that %s', (_, declared, customers = '/storeId', left: string[] = []) => {
  expect(parted(declared, customers)).toEqual(left);
});

test('the children of an embed are read in part with their parents, and no source of an outside sink is', () => {
  const names = { from: { container: 'Customers', type: 'customer' }, into: { container: 'Orders', type: 'order' } };
  const named = { kind: 'embed', name: 'names', version: 1, ...names } as unknown as EmbedSpec;
  const out = { kind: 'send', name: 'out', version: 1, from: names.from } as unknown as SendSpec;
  expect(parted(pipeline([]), undefined, [named])).toEqual(['Orders', 'Customers']);
  expect(parted(pipeline([]), '/customerId', [named])).toEqual([]);
  expect(parted(pipeline([]), undefined, [named, out])).toEqual(['Orders']);
});

test('one partition is named only where the tenant is the whole key', () => {
  const loaded = { pipeline: pipeline([lists]), model: designed() };
  const reads = new TenantReads(askedTenant(loaded, 's1'), loaded, loaded.pipeline.projections);
  expect(reads.of('Lists').options).toEqual({ partitionKey: 's1' });
  expect(reads.of('Orders')).toEqual({
    query: { query: 'SELECT * FROM c WHERE c["storeId"] = @tenant', parameters: [{ name: '@tenant', value: 's1' }] },
    options: {},
  });
  const condition = { where: 'c.a = @a', parameters: [{ name: '@a', value: 1 }] };
  expect(reads.of('Countries', condition).query).toEqual({
    query: 'SELECT * FROM c WHERE c.a = @a',
    parameters: condition.parameters,
  });
});
