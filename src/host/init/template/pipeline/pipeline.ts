// The projections of the pipeline. `npx millrace model types` writes model.ts from the document.
import { aggregate, copy, definePipeline, source } from 'millrace';
import { m } from './model.ts';

export default definePipeline({
  name: 'shop',
  model: m,
  tenant: 'storeId',
  sources: [source({ of: m.Orders.order, deleted: (order) => order.cancelled === true })],
  projections: [
    copy('order-lists', {
      from: m.Orders.order,
      into: m.OrderLists.listed,
      with: { customer: { of: m.Customers.customer, on: { storeId: 'storeId', id: 'customerId' } } },
      map: (order, { customer }) => ({
        id: order.id,
        storeId: order.storeId,
        customerName: customer?.name ?? null,
        placedAt: order.placedAt,
        cents: order.cents,
      }),
    }),
    aggregate('days', {
      from: m.Orders.order,
      into: m.Days.day,
      groupBy: (order) => ({ storeId: order.storeId, day: order.placedAt.slice(0, 10) }),
      measures: { orders: (q) => q.count(), cents: (q) => q.sum((order) => order.cents) },
    }),
  ],
});
