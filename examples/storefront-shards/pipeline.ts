// The storefront over the shards of a shard map: each store is on one of them, and the totals of all stores are in one place.
import { aggregate, copy, definePipeline, global, reference, shardMap, source } from 'millrace';
import { type Order, m } from './model.ts';

const counts = (order: Order): boolean => order.status !== 'cancelled';
const day = (order: Order): string => order.placedAt.slice(0, 10);

export default definePipeline({
  name: 'storefront-shards',
  model: m,
  tenant: 'storeId',
  shards: shardMap('stores'),
  sources: [
    source({ of: m.Orders.order, deleted: (order) => order.deletedAt !== undefined }),
    source({ of: m.Customers.customer, deleted: (customer) => customer.deletedAt !== undefined }),
  ],
  projections: [
    copy('shard-countries', {
      from: m.Countries.country,
      into: m.ShardCountries.shardCountry,
      maxLag: '1 h',
      map: ({ id, name }) => ({ id, name }),
    }),
    reference('store-countries', {
      from: m.Countries.country,
      into: m.StoreCountries.storeCountry,
      maxLag: '1 h',
      tenants: m.Stores.store,
      key: { storeId: 'storeId' },
      map: ({ id, name }) => ({ id, name }),
    }),
    copy('order-summaries', {
      from: m.Orders.order,
      into: m.CustomerOrders.orderSummary,
      maxLag: '5 s',
      with: {
        customer: { of: m.Customers.customer, on: { storeId: 'storeId', id: 'customerId' } },
        country: { of: m.ShardCountries.shardCountry, on: { id: 'countryId' } },
      },
      map: (order, { customer, country }) => ({
        id: order.id,
        storeId: order.storeId,
        customerId: order.customerId,
        customerName: customer?.name ?? null,
        countryName: country?.name ?? null,
        status: order.status,
        totalCents: order.totalCents,
      }),
    }),
    aggregate('store-days', {
      from: m.Orders.order,
      into: m.Sales.storeDay,
      maxLag: '30 s',
      stable: true,
      where: counts,
      groupBy: (order) => ({ storeId: order.storeId, day: day(order) }),
      measures: { orders: (q) => q.count(), cents: (q) => q.sum((order) => order.totalCents) },
    }),
    // What all stores sold on a day, whichever shard they are on.
    aggregate('totals', {
      from: m.Orders.order,
      into: global(m.Totals.total),
      maxLag: '30 s',
      acrossTenants: true,
      where: counts,
      groupBy: (order) => ({ day: day(order) }),
      measures: {
        orders: (q) => q.count(),
        sold: (q) => q.sum((order) => order.totalCents),
        stores: (q) => q.distinct((order) => order.storeId),
      },
    }),
  ],
});
