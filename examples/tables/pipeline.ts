// The shop's documents as tables of PostgreSQL. Section "Change Feed Projections" of the data model says the same in
// words, and queries.sql has what a dashboard asks.
import { definePipeline, source, table } from 'millrace';
import { m } from './model.ts';

export default definePipeline({
  name: 'tables',
  model: m,
  tenant: 'storeId',
  sources: [
    source({ of: m.Orders.order, deleted: (order) => order.deletedAt !== undefined }),
    source({ of: m.Customers.customer, deleted: (customer) => customer.deletedAt !== undefined }),
  ],
  projections: [
    table('stores', { from: m.Stores.store, into: 'stores', maxLag: '30 s' }),
    table('products', { from: m.Catalog.product, into: 'products', maxLag: '30 s' }),
    table('customers', { from: m.Customers.customer, into: 'customers', maxLag: '30 s' }),
    table('orders', {
      from: m.Orders.order,
      into: 'orders',
      maxLag: '30 s',
      children: { lines: { into: 'order_lines' } },
      references: { customer: { of: m.Customers.customer, on: { storeId: 'storeId', id: 'customerId' } } },
    }),
    table('countries', { from: m.Countries.country, into: 'countries', maxLag: '30 s' }),
  ],
});
