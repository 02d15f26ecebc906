import { definePipeline, table } from 'millrace';
import { describe, expect, it } from 'vitest';
import { checkPipeline } from '../../../src/pipeline/check/check-pipeline.ts';
import type { TableSpec } from '../../../src/pipeline/specs.ts';
import { layoutOf } from '../../../src/pipeline/tables/layout.ts';
import { unfit } from '../../../src/pipeline/tables/names.ts';
import type { Model } from '../../../src/model/model.ts';
import { typeOfExamples } from '../../support/type-of-examples.ts';
import { namesOf } from '../../support/names-of.ts';

interface Order {
  id: string;
  storeId: string;
  group: string;
  orderDate: string;
  order_date: string;
  lines: { sku: string }[];
  odd: { a: number }[];
}
const at = { file: 'm.md', line: 1 };
const example = { id: 'o', type: 'order', storeId: 's', name: 'n', lines: [{ sku: 'a' }] };
const modelOf = (more: object): Model => ({
  title: 'Shop',
  file: 'm.md',
  findings: [],
  containers: [
    {
      name: 'Orders',
      partitionKey: ['/storeId'],
      types: [typeOfExamples('order', [{ ...example, ...more }], at)],
      at,
      places: {},
    },
  ],
});
interface Customer {
  id: string;
  storeId: string;
}
const m = namesOf<{ Orders: { order: Order }; Customers: { customer: Customer } }>();
const codes = (options: object, more: object = {}, others: object[] = []): string[] => {
  const from = m.Orders.order;
  const projections = [options, ...others].map((one, n) =>
    table(n === 0 ? 'orders' : `other-${n}`, { from, into: 'orders', ...one } as never),
  );
  return checkPipeline(definePipeline({ model: m, tenant: 'storeId', projections }), modelOf(more)).map(
    ({ code }) => code,
  );
};

describe('tables against the model', () => {
  it('the check of tables takes a plain one', () => expect(codes({ children: { lines: {} } })).toEqual([]));

  it.each([
    ['a reserved word as a table', { into: 'order' }, {}],
    ['a name with capitals', { into: 'Orders' }, {}],
    ['a table’s name that its endings would make too long', { into: 'a'.repeat(50) }, {}],
    ['a field whose column is a reserved word', {}, { group: 'g' }],
    ['a field whose column is a system column', {}, { xmin: 'g' }],
    ['a child’s name', { children: { lines: { into: 'select' } } }, {}],
  ])('the check of tables refuses names: %s', (_, options, more) =>
    expect(codes(options, more)).toEqual(['table-name']),
  );

  it('the check of tables takes another name for a column', () =>
    expect(codes({ columns: { group: { name: 'order_group' } } }, { group: 'g' })).toEqual([]));

  it.each([
    ['two fields with one column', {}, { orderDate: 'a', order_date: 'b' }, 'table-column-twice'],
    ['a field called extra', {}, { extra: 'a' }, 'table-column-twice'],
    ['a type that there isn’t', { columns: { name: 'varchar' } }, {}, 'table-column-type'],
    ['a list that no example has', { children: { name: {} } }, {}, 'table-child-unknown'],
    ['a key that no element has', { children: { lines: { key: 'none' } } }, {}, 'table-child-key'],
    [
      'a reference to what no table has',
      { references: { c: { of: { container: 'X', type: 'x' }, on: { id: 'name' } } } },
      {},
      'table-reference-unknown',
    ],
    ['unique values of a list', { unique: [['odd']] }, { odd: [{ a: 1 }] }, 'table-unique'],
    ['unique values of no field', { unique: [[]] }, {}, 'table-unique'],
    ['unique values of a field that no column has', { unique: [['none']] }, {}, 'table-unique'],
    ['a key of its own', { key: ['name'] }, {}, 'table-key'],
    ['a start', { start: 'now' }, {}, 'start-later'],
    ['an example that doesn’t fit', { columns: { name: 'bigint' } }, {}, 'example-refused'],
  ])('the check of tables refuses %s', (_, options, more, code) => expect(codes(options, more)).toContain(code));

  const keysOf = (on: object, more: object = {}): unknown => {
    const parent = table('customers', { from: m.Customers.customer, into: 'customers' });
    const of = { of: m.Customers.customer, on };
    const child = table('orders', { from: m.Orders.order, into: 'orders', references: { of }, ...more } as never);
    const shop = modelOf({ customerId: 'c', number: 1 });
    const customer = { id: 'c', type: 'customer', storeId: 's', name: 'n' };
    const customers = {
      ...shop.containers[0],
      name: 'Customers',
      types: [typeOfExamples('customer', [customer], at)],
    };
    const both = { ...shop, containers: [...shop.containers, customers] } as Model;
    const pipeline = definePipeline({ model: m, tenant: 'storeId', projections: [parent, child] });
    expect(checkPipeline(pipeline, both)).toEqual([]);
    const spec = pipeline.effects.find(({ name }) => name === 'orders') as TableSpec;
    return layoutOf(spec, pipeline, both).foreignKeys.map(({ table: to, columns }) => [to, columns]);
  };

  it('the check of tables takes a reference to the whole key of another table for a foreign key, by the tenant or without it', () => {
    const key = [['customers', ['store_id', 'customer_id']]];
    expect(keysOf({ storeId: 'storeId', id: 'customerId' })).toEqual(key);
    expect(keysOf({ id: 'customerId' }, { unique: [['number', 'name']] })).toEqual(key);
  });

  it.each([
    ['a part of the key alone', { storeId: 'storeId' }],
    ['another field than the key', { id: 'customerId', name: 'name' }],
    ['a column of another type', { id: 'number' }],
    ['another field for the tenant', { storeId: 'name', id: 'customerId' }],
  ])('a table has no foreign key by %s', (_, on) => expect(keysOf(on)).toEqual([]));

  it('the check of tables refuses two projections with one table', () =>
    expect(codes({}, {}, [{}])).toEqual(['table-taken']));

  it('the check of tables knows which names need quotes', () => {
    expect(['orders', 'a1', 'order_lines'].map((name) => unfit(name, 'table'))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    for (const name of ['user', '1a', 'ä', 'a b', '']) expect(unfit(name, 'column')).toBeDefined();
  });
});
