import { expect, test } from 'vitest';
import { aggregate, copy, source } from 'millrace';
import { isObject } from '../../../src/base/json.ts';
import type { Doc, ProjectionSpec, SourceRef } from '../../../src/pipeline/specs.ts';
import { recompute, rowKey, visible } from '../../../src/pipeline/oracle/recompute.ts';
import { namesOf } from '../../support/names-of.ts';

interface Shop {
  Orders: { order: Order };
  Customers: { customer: { id: string; type: 'customer'; storeId: string; name: string; gone?: boolean } };
  ByCustomer: { summary: { id: string; type: 'summary'; customerId: string; name: string | null } };
  Sales: {
    day: { id: string; type: 'day'; day: string; n: number; units: number; mean: number; least: number; most: number };
  };
}
interface Order {
  id: string;
  type: 'order';
  storeId: string;
  customerId: string;
  day: string;
  lines: { units: number }[];
  status: string;
  gone?: boolean;
}
const m = namesOf<Shop>();
const rules = [
  source({ of: m.Orders.order, deleted: (o) => o.gone === true }),
  source({ of: m.Customers.customer, deleted: (c) => c.gone === true }),
];
const order = (id: string, more: Partial<Order> = {}): Order => ({
  id,
  type: 'order',
  storeId: 's',
  customerId: 'c1',
  day: 'd1',
  lines: [{ units: 1 }],
  status: 'placed',
  ...more,
});
const customer = (id: string, name: string, more: Doc = {}) => ({ id, type: 'customer', storeId: 's', name, ...more });
const from = (documents: Record<string, readonly object[]>) => (of: SourceRef) =>
  (documents[of.container] ?? []).map((doc) => ({ ...doc }));
const rows = (spec: ProjectionSpec, documents: Record<string, readonly object[]>) => [
  ...recompute(spec, from(documents), rules).values(),
];

const summaries = (options: { missing?: 'wait' | 'null'; onDelete?: 'remove' | 'keep' } = {}) =>
  copy('summaries', {
    from: m.Orders.order,
    into: m.ByCustomer.summary,
    onDelete: options.onDelete ?? 'remove',
    with: {
      customer: {
        of: m.Customers.customer,
        on: { id: 'customerId', storeId: 'storeId' },
        missing: options.missing ?? 'null',
      },
    },
    where: (o) => o.status !== 'draft',
    map: (o, joined) => ({ id: o.id, customerId: o.customerId, name: joined.customer?.name ?? null }),
  });
const days = (onDelete: 'remove' | 'keep' = 'remove') =>
  aggregate('days', {
    from: m.Orders.order,
    into: m.Sales.day,
    onDelete,
    where: (o) => o.status !== 'draft',
    each: (o) => o.lines,
    groupBy: (_line, o) => ({ day: o.day }),
    measures: {
      n: (q) => q.count(),
      units: (q) => q.sum((l) => l.units),
      mean: (q) => q.avg((l) => l.units),
      least: (q) => q.min((l) => l.units),
      most: (q) => q.max((l) => l.units),
    },
  });

test('a copy holds the joined document by equality, or null', () => {
  const documents = {
    Orders: [order('o1'), order('o2', { customerId: 'c2' }), order('o3', { status: 'draft' })],
    Customers: [customer('c1', 'Ann'), customer('c2', 'Bob', { storeId: 'other' })],
  };
  expect(rows(summaries(), documents)).toEqual([
    { id: 'o1', type: 'summary', customerId: 'c1', name: 'Ann' },
    { id: 'o2', type: 'summary', customerId: 'c2', name: null },
  ]);
  expect(rows(summaries({ missing: 'wait' }), documents).map((row) => row['id'])).toEqual(['o1']);
});

test('a marked document is gone, as source and as joined one, unless its deletion is kept', () => {
  const documents = {
    Orders: [order('o1', { gone: true }), order('o2')],
    Customers: [customer('c1', 'Ann', { gone: true })],
  };
  expect(rows(summaries(), documents)).toEqual([{ id: 'o2', type: 'summary', customerId: 'c1', name: null }]);
  expect(rows(summaries({ onDelete: 'keep' }), documents)).toHaveLength(2);
  expect(rows(days(), documents)).toMatchObject([{ n: 1 }]);
  expect(rows(days('keep'), documents)).toMatchObject([{ n: 2 }]);
});

test('an aggregate folds the rows of each group, and a group without rows is not there', () => {
  const documents = {
    Orders: [
      order('o1', { lines: [{ units: 2 }, { units: 5 }] }),
      order('o2', { lines: [{ units: 1 }] }),
      order('o3', { day: 'd2', lines: [{ units: -3 }] }),
      order('o4', { day: 'd3', lines: [] }),
      order('o5', { day: 'd4', status: 'draft' }),
    ],
  };
  expect(rows(days(), documents)).toEqual([
    { id: 'day|d1', type: 'day', day: 'd1', n: 3, units: 8, mean: 8 / 3, least: 1, most: 5 },
    { id: 'day|d2', type: 'day', day: 'd2', n: 1, units: -3, mean: -3, least: -3, most: -3 },
  ]);
});

test('older shapes are upcast before anything else looks at them', () => {
  const upcasting = [
    source({
      of: m.Orders.order,
      upcast: (old) => order('x', { day: isObject(old) ? String(old['date']) : '' }),
      deleted: (o) => o.gone === true,
    }),
  ];
  const result = recompute(days(), from({ Orders: [{ id: 'o1', type: 'order', date: 'd9' }] }), upcasting);
  expect([...result.values()]).toMatchObject([{ day: 'd9', n: 1 }]);
});

test('a document that the projection cannot take contributes nothing, and is told', () => {
  const documents = from({ Orders: [order('o1', { lines: [{ units: 4 }, { units: Number.NaN }] }), order('o2')] });
  const refused: unknown[] = [];
  const result = recompute(days(), documents, rules, { refused: (doc) => refused.push(doc['id']) });
  expect([...result.values()]).toMatchObject([{ n: 1, units: 1 }]);
  expect(refused).toEqual(['o1']);
  expect(() => recompute(days(), documents, rules)).toThrow(expect.objectContaining({ code: 'value-invalid' }));
});

test('two copies of one identity are a collision; under different keys they are two', () => {
  const documents = from({ Orders: [order('o1'), order('o1', { customerId: 'c2' })] });
  expect(() => recompute(summaries(), documents, rules)).toThrow(expect.objectContaining({ code: 'collision' }));
  const keyed = recompute(summaries(), documents, rules, { keyPaths: ['/customerId'] });
  expect([...keyed.keys()]).toEqual(['["c1","o1"]', '["c2","o1"]']);
});

test('rows are told by their key and id, without the fields that others add', () => {
  expect(rowKey({ id: 'a', at: { city: 'X' } }, ['/at/city', '/at/none'])).toBe('["X",{},"a"]');
  expect(visible({ id: 'a', _etag: 'e', _src: {}, _mr: {}, own: { _ts: 1 }, none: undefined })).toEqual({
    id: 'a',
    own: { _ts: 1 },
  });
});

test('a function that changes what it is given leaves the stored document as it is', () => {
  const stored = JSON.parse(
    '{"id":"a","type":"order","lines":[{"units":2},{"units":1}],"__proto__":{"of":"it"}}',
  ) as Order;
  const before = JSON.stringify(stored);
  const sorted = copy('sorted', {
    from: m.Orders.order,
    into: m.ByCustomer.summary,
    map: ({ lines, ...rest }) => ({ ...rest, id: 'x', customerId: 'c', name: String(lines.pop()?.units) }),
  });
  const [row] = recompute(sorted, () => [stored as unknown as Doc], rules).values();
  expect(row).toMatchObject({ name: '1' });
  expect(Object.getOwnPropertyDescriptor(row, '__proto__')?.value).toEqual({ of: 'it' });
  expect(JSON.stringify(stored)).toBe(before);
});

test('a row is what JSON makes of it', () => {
  class Money {
    readonly #cents = 5;
    toJSON(): string {
      return `${this.#cents} ct`;
    }
  }
  const mapped = {
    id: 'x',
    at: new Date(0),
    in: [{ at: new Date(1), price: new Money() }],
    no: undefined,
    odd: Number.NaN,
  };
  expect(visible(mapped)).toEqual({
    id: 'x',
    at: '1970-01-01T00:00:00.000Z',
    in: [{ at: '1970-01-01T00:00:00.001Z', price: '5 ct' }],
    odd: null,
  });
});
