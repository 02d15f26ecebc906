import { aggregate, archive, copy, definePipeline, embed, reference } from 'millrace';
import { m } from './model.ts';

/** One projection of each kind that stores documents. A bad order is parked, unless the process has UPGRADE_LENIENT. */
export default definePipeline({
  name: 'upgrades',
  model: m,
  tenant: 'storeId',
  projections: [
    copy('summaries', {
      from: m.Orders.order,
      into: m.Summaries.summary,
      with: { customer: { of: m.Customers.customer, on: { storeId: 'storeId', id: 'customerId' } } },
      map: (order, { customer }) => {
        if (order.bad && process.env['UPGRADE_LENIENT'] === undefined) throw new Error('A bad order');
        const { id, storeId, customerId, day, cents } = order;
        return { id, storeId, customerId, customerName: customer?.name ?? null, day, cents };
      },
    }),
    aggregate('days', {
      from: m.Orders.order,
      into: m.Days.day,
      groupBy: (order) => ({ storeId: order.storeId, day: order.day }),
      measures: {
        orders: (q) => q.count(),
        cents: (q) => q.sum((order) => order.cents),
        averageCents: (q) => q.avg((order) => order.cents),
        largestCents: (q) => q.max((order) => order.cents),
        customers: (q) => q.distinct((order) => order.customerId),
        best: (q) =>
          q.top(
            2,
            (order) => order.cents,
            (order) => ({ id: order.id, cents: order.cents }),
          ),
      },
    }),
    embed('currencies', {
      from: m.Stores.store,
      into: m.Customers.customer,
      on: { storeId: 'storeId', id: 'storeId' },
      set: { currency: (store) => store.currency },
    }),
    reference('store-countries', {
      from: m.Countries.country,
      into: m.StoreCountries.storeCountry,
      tenants: m.Stores.store,
      key: { storeId: 'storeId' },
      map: (country) => ({ id: country.id, name: country.name }),
    }),
    archive('orders-cold', { from: m.Orders.order, date: 'closedAt', before: '2026-01-01' }),
  ],
});
