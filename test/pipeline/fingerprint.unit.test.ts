import { expect, test } from 'vitest';
import { aggregate, copy, embed, reference, table } from 'millrace';
import { type FingerprintedSpec, fingerprintOf, incompatibilities } from '../../src/pipeline/fingerprint.ts';
import type { Doc } from '../../src/pipeline/specs.ts';
import { parseModel } from '../../src/model/reader/read.ts';
import { namesOf } from '../support/names-of.ts';

interface Shop {
  Orders: { order: { id: string; type: 'order'; storeId: string; day: string; cents: number; customerName?: string } };
  Stores: { store: { id: string; type: 'store'; storeId: string; name: string } };
  Days: {
    day: { id: string; type: 'day'; storeId: string; day: string; cents: number; orders: number };
    copied: { id: string; type: 'copied'; storeId: string; day: string; cents: number };
  };
}
const text = (extra = '') => `# Shop
## Container Designs
### Orders Container
\`\`\`json
[{ "id": "o1", "type": "order", "storeId": "s", "day": "d1", "cents": 5 }${extra}]
\`\`\`
- **Partition Key**: \`/storeId\`
### Stores Container
\`\`\`json
[{ "id": "s", "type": "store", "storeId": "s", "name": "n" }]
\`\`\`
- **Partition Key**: \`/storeId\`
### Days Container
\`\`\`json
[{ "id": "d", "type": "day", "storeId": "s", "day": "d1", "cents": 5, "orders": 1 },
 { "id": "o1", "type": "copied", "storeId": "s", "day": "d1", "cents": 5 }]
\`\`\`
- **Partition Key**: \`/storeId\`
`;
const document = parseModel(text(), 'm.md');
const m = namesOf<Shop>();
const days = aggregate('days', {
  from: m.Orders.order,
  into: m.Days.day,
  groupBy: (o) => ({ storeId: o.storeId, day: o.day }),
  measures: { cents: (q) => q.sum((o) => o.cents) },
});
const copies = copy('copies', {
  from: m.Orders.order,
  into: m.Days.copied,
  map: (o) => ({ id: o.id, storeId: o.storeId, day: o.day, cents: o.cents }),
});
const pipeline = { sources: [], tenant: 'storeId' };
const changed = (before: FingerprintedSpec, now: FingerprintedSpec, after = document): string[] =>
  incompatibilities(fingerprintOf(before, document, pipeline), fingerprintOf(now, after, pipeline));

test('the same declaration, written otherwise, is compatible', () => {
  const again = aggregate('days', {
    from: m.Orders.order,
    into: m.Days.day,
    maxLag: '5 s',
    groupBy: ({ day, storeId }) => {
      return { day, storeId };
    },
    measures: { cents: (q) => q.sum(({ cents }) => cents * 2) },
  });
  expect(changed(days, again)).toEqual([]);
});

test('other groups, measures, ids, and what no locator was kept for are not', () => {
  expect(changed(days, { ...days, groupBy: () => ({ storeId: 's', day: 'all' }) })).toEqual([
    expect.stringContaining('day|d1|s'),
  ]);
  expect(changed(days, { ...days, measures: { ...days.measures, orders: { kind: 'count' } } })).toEqual([
    'measures.orders was absent and is now ["count"]',
  ]);
  expect(
    changed(copies, { ...copies, map: (o: Doc) => ({ ...copies.map(o, {}), id: `x-${String(o['id'])}` }) }),
  ).toEqual([expect.stringContaining('x-o1')]);
  // What `where` left out before, or leaves out now, would stay as it is until it is written again.
  for (const spec of [days, copies]) {
    const none = { ...spec, where: () => false };
    expect(changed(spec, none)).toEqual([expect.stringMatching(/was at .* and is now nowhere$/)]);
    expect(changed(none, spec)).toEqual([expect.stringMatching(/was nowhere and is now at /)]);
  }
  expect(changed(copies, { ...copies, stable: true })).toEqual(['stable was false and is now true']);
  expect(changed(copies, { ...copies, into: { container: 'Days', type: 'other' } })).toHaveLength(1);
});

test('the stored form of a measure is its kind and its options, without its functions', () => {
  const of = (): number => 1;
  const { parts } = fingerprintOf(
    {
      ...days,
      measures: {
        best: { kind: 'top', n: 3, by: of, keep: () => ({}) },
        sizes: { kind: 'histogram', bounds: [10, 20], of },
        cents: { kind: 'sum', of },
      },
    },
    document,
    pipeline,
  );
  expect(parts).toMatchObject({ measures: { best: ['top', 3], sizes: ['histogram', 10, 20], cents: ['sum'] } });
});

test('a new example says nothing of what the others were', () => {
  const more = parseModel(text(', { "id": "o2", "type": "order", "storeId": "s", "day": "d2", "cents": 5 }'), 'm.md');
  expect(changed(days, days, more)).toEqual([]);
});

test('what an embed and reference data are matched by counts, their functions do not', () => {
  const names = embed('names', {
    from: m.Stores.store,
    into: m.Orders.order,
    on: { storeId: 'storeId', id: 'storeId' },
    set: { customerName: (store) => store.name },
  });
  expect(changed(names, { ...names, set: { customerName: () => 'other' } })).toEqual([]);
  expect(changed(names, { ...names, set: { other: () => 'other' } })).toHaveLength(1);
  expect(changed(names, { ...names, on: { id: 'storeId' } })).toHaveLength(1);
  const everywhere = reference('everywhere', {
    from: m.Orders.order,
    into: m.Days.copied,
    tenants: m.Stores.store,
    key: { storeId: 'storeId' },
    map: (o) => ({ id: o.id, day: o.day, cents: o.cents }),
  });
  expect(changed(everywhere, { ...everywhere, key: { storeId: 'id' } })).toHaveLength(1);
});

test('of a table more columns and lists are compatible; other names, types, keys and conditions are not', () => {
  const orders = (more: object = {}): FingerprintedSpec =>
    table('orders', { from: m.Orders.order, into: 'orders', ...more } as never) as FingerprintedSpec;
  expect(changed(orders(), orders({ maxLag: '5 s' }))).toEqual([]);
  const another = parseModel(
    text(', { "id": "o2", "type": "order", "storeId": "s", "day": "d1", "note": "n" }'),
    'm.md',
  );
  expect(changed(orders(), orders(), another)).toEqual([]);
  expect(changed(orders(), orders({ columns: { note: { type: 'text' } } }))).toEqual([]);
  const listed = { children: { lines: { into: 'order_lines' } } };
  expect(changed(orders(), orders(listed))).toEqual([]);
  expect(changed(orders(listed), orders(listed))).toEqual([]);

  expect(changed(orders(listed), orders())).toEqual([expect.stringContaining('children.order_lines')]);
  expect(changed(orders({ columns: { note: { type: 'text' } } }), orders())).toEqual([
    'columns.note was ["note","text"] and is now absent',
  ]);
  expect(changed(orders(), orders({ columns: { cents: 'numeric' } }))).toEqual([
    'columns.cents was ["cents","bigint"] and is now ["cents","numeric"]',
  ]);
  expect(changed(orders(), orders({ columns: { cents: { name: 'amount' } } }))).toEqual([
    'columns.cents was ["cents","bigint"] and is now absent',
  ]);
  expect(changed(orders(), orders({ unique: [['cents']] }))).toEqual(['unique was absent and is now [["cents"]]']);
  expect(changed(orders(), orders({ references: { o: { of: m.Orders.order, on: { id: 'note' } } } }))).toEqual([]);
  expect(changed(orders(), orders({ into: 'sales' }))).toEqual(['name was "orders" and is now "sales"']);
  expect(changed(orders(), orders({ where: () => false }))).toEqual([
    'the document of an example was at a row and is now at no row',
  ]);
  // What the tenant is decides the key.
  const without = fingerprintOf(orders(), document, { sources: [] });
  const days2 = fingerprintOf(table('orders', { from: m.Days.copied, into: 'orders' }), document, pipeline);
  expect(incompatibilities(days2, without)).not.toEqual([]);
});
