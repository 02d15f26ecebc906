import { expect, test } from 'vitest';
import { aggregate, copy, definePipeline, source } from 'millrace';
import { checkPipeline } from '../../../src/pipeline/check/check-pipeline.ts';
import type { Pipeline } from '../../../src/pipeline/specs.ts';
import { parseModel } from '../../../src/model/reader/read.ts';
import { namesOf } from '../../support/names-of.ts';

interface Shop {
  Orders: { order: { id: string; type: 'order'; storeId: string; customerId: string } };
  Customers: { customer: { id: string; type: 'customer'; storeId: string; name: string } };
  Sums: { sum: { id: string; type: 'sum'; customerId: string; n: number } };
}
const document = parseModel(
  `# Shop
## Container Designs
### Orders Container
\`\`\`json
[{ "id": "o", "type": "order", "storeId": "s", "customerId": "c" }]
\`\`\`
- **Partition Key**: \`/storeId\`, \`/id\`
### Customers Container
\`\`\`json
[{ "id": "c", "type": "customer", "storeId": "s", "name": "n" }]
\`\`\`
- **Partition Key**: \`/storeId\`, \`/id\`
### Sums Container
\`\`\`json
[{ "id": "s", "type": "sum", "customerId": "c", "n": 1 }]
\`\`\`
- **Partition Key**: \`/customerId\`
`,
  'm.md',
);
const m = namesOf<Shop>();
const sums = aggregate('sums', {
  from: m.Orders.order,
  into: m.Sums.sum,
  groupBy: (o) => ({ customerId: o.customerId }),
  measures: { n: (q) => q.count() },
});
const check = (...projections: Pipeline['projections'][number][]) =>
  checkPipeline(definePipeline({ model: m, projections }), document);

test('what is in the document passes', () => {
  const names = copy('names', {
    from: m.Orders.order,
    into: m.Sums.sum,
    with: { customer: { of: m.Customers.customer, on: { storeId: 'storeId', id: 'customerId' } } },
    map: (o) => ({ id: o.id, customerId: o.customerId, n: 1 }),
  });
  expect(check(sums, names)).toEqual([]);
});

test.each([
  [{ container: 'Order', type: 'order' }, 'container-unknown', 'Did you mean Orders?'],
  [{ container: 'Shipments', type: 'order' }, 'container-unknown', 'Name one of: Orders, Customers, Sums.'],
  [{ container: 'Orders', type: 'Order' }, 'type-unknown', 'Did you mean order?'],
  [{ container: 'Orders', type: 'refund' }, 'type-unknown', 'Name one of: order.'],
])('%j is not in the document', (from, code, hint) => {
  expect(check({ ...sums, from })).toMatchObject([{ code, severity: 'error', hint }]);
  expect(check({ ...sums, into: from })).toMatchObject([{ code, message: expect.stringContaining('m.md') }]);
});

test('a join must be a point read', () => {
  const join = {
    name: 'customer',
    of: { container: 'Customers', type: 'customer' },
    on: { id: 'customerId' },
    missing: 'null',
  } as const;
  const names = copy('names', {
    from: m.Orders.order,
    into: m.Sums.sum,
    map: (o) => ({ id: o.id, customerId: o.customerId, n: 1 }),
  });
  expect(check({ ...names, joins: [join] })).toMatchObject([
    { code: 'join-not-a-point-read', hint: expect.stringContaining("storeId: '…'") },
  ]);
  expect(check({ ...names, joins: [{ ...join, on: { storeId: 'storeId' } }] })).toMatchObject([
    { code: 'join-not-a-point-read', hint: expect.stringContaining("id: '…'") },
  ]);
});

test.each([
  [{ storeId: 'storeId', id: 'customer' }, 'by customer, which order doesn’t have: did you mean customerId?'],
  [{ storeId: 'storeId', id: 'customerId', nick: 'storeId' }, 'by nick, which customer doesn’t have'],
])('a join by a field that its type doesn’t have, %j, is refused', (on, why) => {
  const names = copy('names', {
    from: m.Orders.order,
    into: m.Sums.sum,
    map: (o) => ({ id: o.id, customerId: o.customerId, n: 1 }),
  });
  const join = { name: 'customer', of: { container: 'Customers', type: 'customer' }, on, missing: 'null' } as const;
  expect(check({ ...names, joins: [join] })).toMatchObject([
    {
      code: 'join-not-a-point-read',
      severity: 'error',
      message: `Projection names joins customer ${why.replaceAll('’', "'")}`,
    },
  ]);
});

test("a sink's examples must hold the sink's key", () => {
  const [orders, customers, target] = document.containers;
  if (!orders || !customers || !target) throw new Error('three containers');
  const changed = {
    ...document,
    containers: [orders, customers, { ...target, partitionKey: ['/customerId', '/at/day'] }],
  };
  expect(checkPipeline(definePipeline({ model: m, projections: [sums] }), changed)).toMatchObject([
    { code: 'sink-key-missing', message: expect.stringContaining('/at/day') },
  ]);
});

test("errors come first, the pipeline's own among them", () => {
  const pipeline = definePipeline({
    model: m,
    sources: [source({ of: m.Customers.customer })],
    projections: [sums, sums],
  });
  expect(checkPipeline(pipeline, document).map((finding) => finding.code)).toEqual([
    'projection-twice',
    'source-unread',
  ]);
  expect(check()).toMatchObject([{ code: 'no-projections', severity: 'warning' }]);
});
