// What a pipeline that declares its tenant may not do. docs/SPEC-tenants.md, TEN-T3.
import { expect, test } from 'vitest';
import { aggregate, copy, definePipeline, embed, reference, source } from 'millrace';
import { checkPipeline } from '../../../src/pipeline/check/check-pipeline.ts';
import type { Pipeline } from '../../../src/pipeline/specs.ts';
import { tenantOf, tenantRule, tenantRuleOf, tenantValue } from '../../../src/pipeline/tenant.ts';
import { parseModel } from '../../../src/model/reader/read.ts';
import { namesOf } from '../../support/names-of.ts';

interface Order {
  id: string;
  type: 'order';
  storeId: string;
  customerId: string;
  customerName?: string;
}
interface Shop {
  Orders: { order: Order };
  Customers: { customer: { id: string; type: 'customer'; storeId: string; name: string } };
  Countries: { country: { id: string; type: 'country'; name: string } };
  Sums: {
    sum: { id: string; type: 'sum'; storeId: string; n: number };
    place: { id: string; type: 'place'; storeId: string; name: string };
  };
  Totals: { total: { id: string; type: 'total'; day: string; n: number } };
}
const TEXT = `# Shop
## Container Designs
### Orders Container
\`\`\`json
[{ "id": "o1", "type": "order", "storeId": "s1", "customerId": "c" }, { "id": "o2", "type": "order", "storeId": "s2", "customerId": "c", "customerName": "n" }]
\`\`\`
- **Partition Key**: \`/id\`
### Customers Container
\`\`\`json
[{ "id": "c", "type": "customer", "storeId": "s1", "name": "n" }]
\`\`\`
- **Partition Key**: \`/storeId\`
### Countries Container
\`\`\`json
[{ "id": "AT", "type": "country", "name": "Austria" }]
\`\`\`
- **Purpose**: reference data
- **Partition Key**: \`/id\`
### Sums Container
\`\`\`json
[{ "id": "s", "type": "sum", "storeId": "s1", "n": 1 }, { "id": "p", "type": "place", "storeId": "s1", "name": "n" }]
\`\`\`
- **Partition Key**: \`/storeId\`
### Totals Container
\`\`\`json
[{ "id": "t", "type": "total", "day": "d", "n": 1 }]
\`\`\`
- **Purpose**: totals; shared by all tenants
- **Partition Key**: \`/day\`
`;
const m = namesOf<Shop>();
const check = (
  projections: readonly Pipeline['projections'][number][] | readonly Pipeline['embeds'][number][],
  text = TEXT,
  tenant: string | null = 'storeId',
) =>
  checkPipeline(
    definePipeline({ model: m, ...(tenant !== null && { tenant }), projections }),
    parseModel(text, 'm.md'),
  ).map(({ code, of, message }) => `${of ?? ''} ${code}: ${message}`);

const sums = (group: (order: Order) => { storeId: string }, acrossTenants?: boolean) =>
  aggregate('sums', {
    from: m.Orders.order,
    into: m.Sums.sum,
    ...(acrossTenants !== undefined && { acrossTenants }),
    groupBy: group,
    measures: { n: (q) => q.count() },
  });
const totals = (acrossTenants: boolean) =>
  aggregate('totals', {
    from: m.Orders.order,
    into: m.Totals.total,
    acrossTenants,
    groupBy: () => ({ day: 'd' }),
    measures: { n: (q) => q.count() },
  });

test('a group of its own tenant passes; a group of all tenants must be declared', () => {
  expect(check([sums(({ storeId }) => ({ storeId }))])).toEqual([]);
  const all = [
    'sums tenant-crossed: Projection sums makes a document of tenant "all" from one of tenant "s1" (example o1)',
  ];
  expect(check([sums(() => ({ storeId: 'all' }))])).toEqual(all);
  expect(check([sums(() => ({ storeId: 'all' }), false)])).toEqual(all);
  expect(check([sums(() => ({ storeId: 'all' }), true)])).toEqual([]);
  expect(check([sums(() => ({ storeId: 'all' }))], TEXT, null)).toEqual([]);
});

test('a group that is right for the first example only is refused for the second', () => {
  expect(check([sums(() => ({ storeId: 's1' }))])).toEqual([
    'sums tenant-crossed: Projection sums makes a document of tenant "s1" from one of tenant "s2" (example o2)',
  ]);
});

test('a document without a tenant must be declared', () => {
  expect(check([totals(false)])).toEqual([
    'totals tenant-crossed: Projection totals makes a document without storeId from one of tenant "s1" (example o1)',
  ]);
  expect(check([totals(true)])).toEqual([]);
});

const places = (acrossTenants = false) =>
  copy('places', {
    from: m.Orders.order,
    into: m.Sums.place,
    acrossTenants,
    with: { customer: { of: m.Customers.customer, on: { storeId: 'storeId', id: 'customerId' } } },
    map: (order, { customer }) => ({ id: order.id, storeId: order.storeId, name: customer?.name ?? '' }),
  });

test('a join compares the tenant, or joins reference data', () => {
  expect(check([places()])).toEqual([]);
  const loose = places();
  const [join] = loose.joins;
  const other = { ...loose, joins: [{ ...join!, on: { id: 'customerId', storeId: 'customerId' } }] };
  expect(check([other])).toEqual([
    'places tenant-join: Projection places joins customer (Customers (customer)) without comparing storeId, so a copy could hold data of another tenant',
  ]);
  expect(check([{ ...other, acrossTenants: true }])).toEqual([]);
});

test('an embed compares the tenant', () => {
  const names = (storeId: 'storeId' | 'customerId') =>
    embed('names', {
      from: m.Customers.customer,
      into: m.Orders.order,
      on: { id: 'customerId', storeId },
      set: { customerName: (customer) => customer.name },
    });
  expect(check([names('storeId')])).toEqual([]);
  expect(check([names('customerId')])).toEqual([
    'names tenant-join: Projection names embeds fields of Customers (customer) without comparing storeId, so a document could hold data of another tenant',
  ]);
  expect(check([{ ...names('customerId'), acrossTenants: true }])).toEqual([]);
});

test('reference data has no tenant, and each copy takes its tenant’s', () => {
  const countries = reference('countries', {
    from: m.Countries.country,
    into: m.Sums.place,
    tenants: m.Customers.customer,
    key: { storeId: 'storeId' },
    map: (country) => ({ id: country.id, name: country.name }),
  });
  expect(check([countries])).toEqual([]);
  const ofOrders = { ...countries, from: { container: 'Orders', type: 'order' } };
  expect(check([ofOrders])).toEqual([expect.stringContaining('countries tenant-crossed')]);
});

test('examples without a tenant, and a tenant that no container has', () => {
  const without = TEXT.replace('"type": "order", "storeId": "s2"', '"type": "order", "storeId": null');
  expect(check([totals(true)], without)).toEqual([
    " tenant-missing: The example o2 of Orders (order) can't be given to a tenant: The document names no tenant: storeId is null",
  ]);
  expect(check([totals(true)], TEXT, 'shopId')).toEqual([
    " tenant-unknown-field: The pipeline's tenant is shopId, which no container of m.md has",
  ]);
});

test('the tenant is read after `upcast`', () => {
  const old = TEXT.replace('"type": "order", "storeId": "s1"', '"type": "order", "shop": "s1"');
  const pipeline = definePipeline({
    model: m,
    tenant: 'storeId',
    sources: [
      source({
        of: m.Orders.order,
        upcast: (doc) => ({ ...(doc as Order), storeId: (doc as { shop?: string }).shop ?? (doc as Order).storeId }),
      }),
    ],
    projections: [sums(({ storeId }) => ({ storeId }))],
  });
  expect(checkPipeline(pipeline, parseModel(old, 'm.md'))).toEqual([]);
});

const rule = { field: 'storeId', kind: 'string' } as const;

test.each([
  [undefined, 'tenant-missing'],
  [null, 'tenant-missing'],
  ['', 'tenant-missing'],
  ['  ', 'tenant-invalid'],
  [7, 'tenant-invalid'],
  [true, 'tenant-invalid'],
  [['s1'], 'tenant-invalid'],
])('%j is no tenant where the examples have texts', (storeId, code) => {
  expect(() => tenantOf(rule, { storeId })).toThrow(expect.objectContaining({ code }));
});

test('a tenant may be long, and ids that differ by case are two tenants', () => {
  expect(tenantOf(rule, { storeId: 'x'.repeat(1000) })).toHaveLength(1000);
  expect(new Set(['Acme', 'acme'].map((storeId) => tenantOf(rule, { storeId }))).size).toBe(2);
});

test('where every example has a number, tenants are numbers, and a text isn’t a tenant', () => {
  const numbers = parseModel(TEXT.replaceAll(/"s([12])"/g, '$1'), 'm.md');
  expect(tenantRuleOf({ tenant: 'storeId' }, numbers, 'Orders')).toEqual({ field: 'storeId', kind: 'number' });
  expect(tenantRuleOf({ tenant: 'storeId' }, numbers, 'Countries')).toBeUndefined();
  const number = tenantRule({ tenant: 'storeId' }, numbers)!;
  expect(tenantOf(number, { storeId: 7 })).toBe('7');
  expect(() => tenantOf(number, { storeId: '7' })).toThrow(expect.objectContaining({ code: 'tenant-invalid' }));
  expect(() => tenantOf(number, { storeId: NaN })).toThrow(expect.objectContaining({ code: 'tenant-invalid' }));
  expect([tenantValue(number, '7'), tenantValue(rule, '7')]).toEqual([7, '7']);
  expect(() => tenantValue(number, 'seven')).toThrow(expect.objectContaining({ code: 'tenant-invalid' }));
  expect(() => tenantValue(number, ' ')).toThrow(expect.objectContaining({ code: 'tenant-invalid' }));
});
