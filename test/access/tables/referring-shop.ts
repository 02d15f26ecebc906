// Customers with unique addresses, orders that name a customer and have unique numbers, shipments that name an order.
import { table } from 'millrace';
import { entryId } from '../../../src/pipeline/derived-ids.ts';
import type { Doc, Pipeline, TableEntry, TableSpec } from '../../../src/pipeline/specs.ts';
import { type TableLayout, layoutOf } from '../../../src/pipeline/tables/layout.ts';
import { rowsOf } from '../../../src/pipeline/tables/rows.ts';
import type { Model } from '../../../src/model/model.ts';
import { typeOfExamples } from '../../support/type-of-examples.ts';
import { namesOf } from '../../support/names-of.ts';

interface Customer {
  id: string;
  tenant: string;
  type: 'customer';
  address: string | null;
}
interface Order {
  id: string;
  tenant: string;
  type: 'order';
  customerId: string | null;
  number: number;
  lines: { sku: string }[];
}
interface Shipment {
  id: string;
  tenant: string;
  type: 'shipment';
  orderId: string;
}

const at = { file: 'm.md', line: 1 };
const EXAMPLES = {
  customer: [{ id: 'c', tenant: 't', type: 'customer', address: 'a' }],
  order: [{ id: 'o', tenant: 't', type: 'order', customerId: 'c', number: 1, lines: [{ sku: 'a' }] }],
  shipment: [{ id: 's', tenant: 't', type: 'shipment', orderId: 'o' }],
};
const MODEL: Model = {
  title: 'Shop',
  file: 'm.md',
  findings: [],
  containers: [
    {
      name: 'Shop',
      partitionKey: ['/tenant'],
      types: Object.entries(EXAMPLES).map(([name, examples]) => typeOfExamples(name, examples, at)),
      at,
      places: {},
    },
  ],
};
const m = namesOf<{ Shop: { customer: Customer; order: Order; shipment: Shipment } }>();
const EFFECTS: TableSpec[] = [
  table('shipments', {
    from: m.Shop.shipment,
    into: 'shipments',
    references: { order: { of: m.Shop.order, on: { tenant: 'tenant', id: 'orderId' } } },
  }),
  table('orders', {
    from: m.Shop.order,
    into: 'orders',
    children: { lines: { into: 'order_lines' } },
    references: { customer: { of: m.Shop.customer, on: { id: 'customerId' } } },
    unique: [['number']],
  }),
  table('customers', { from: m.Shop.customer, into: 'customers', unique: [['address']] }),
];
const PIPELINE: Pick<Pipeline, 'tenant' | 'sources' | 'effects'> = { tenant: 'tenant', sources: [], effects: EFFECTS };
export const LAYOUTS = EFFECTS.map((spec) => layoutOf(spec, PIPELINE, MODEL));
export const [SHIPMENTS, ORDERS, CUSTOMERS] = LAYOUTS as [TableLayout, TableLayout, TableLayout];
/** A version of a document; null: it was deleted. */
export interface Written {
  readonly layout: TableLayout;
  readonly id: string;
  readonly lsn: number;
  readonly doc: Doc | null;
}

export const entryOf = ({ layout, id, lsn, doc }: Written, tenant: string): TableEntry => ({
  id: entryId([tenant], id),
  version: `00000001-${String(lsn).padStart(16, '0')}-1`,
  etag: `e${lsn}`,
  row: doc && rowsOf(layout, doc),
  place: { key: [tenant], id, tenant },
});
