import { aggregate, copy, definePipeline, source } from 'millrace';
import { m } from './model.ts';

export default definePipeline({
  name: 'peers',
  model: m,
  sources: [source({ of: m.Orders.order, deleted: ({ cancelled }) => cancelled === true })],
  projections: [
    copy('summaries', {
      from: m.Orders.order,
      into: m.Summaries.summary,
      stable: true,
      map: ({ id, storeId, customer, status, cents, turn }) => ({
        id,
        customerId: customer.id,
        storeId,
        country: customer.country,
        status,
        cents,
        turn,
      }),
    }),
    aggregate('totals', {
      from: m.Orders.order,
      into: m.Totals.total,
      groupBy: ({ storeId, customer, status }) => ({ storeId, country: customer.country, status }),
      measures: { orders: (q) => q.count(), cents: (q) => q.sum(({ cents }) => cents) },
    }),
  ],
});
