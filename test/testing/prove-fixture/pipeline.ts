import { aggregate, copy, definePipeline, model, source } from 'millrace';

interface Order {
  id: string;
  type: 'order';
  storeId: string;
  status: string;
  day: string;
  cents: number;
  deletedAt?: string;
}
interface Listed {
  id: string;
  type: 'listed';
  storeId: string;
  status: string;
  cents: number;
}
interface Day {
  id: string;
  type: 'day';
  storeId: string;
  day: string;
  orders: number;
}
const m = model<{ Orders: { order: Order }; Lists: { listed: Listed }; Days: { day: Day } }>(
  './cosmosdb_data_model.md',
);

export default definePipeline({
  name: 'proof',
  model: m,
  sources: [source({ of: m.Orders.order, deleted: (order) => order.deletedAt !== undefined })],
  projections: [
    copy('lists', {
      from: m.Orders.order,
      into: m.Lists.listed,
      map: ({ id, storeId, status, cents }) => ({ id, storeId, status, cents }),
    }),
    aggregate('days', {
      from: m.Orders.order,
      into: m.Days.day,
      groupBy: ({ storeId, day }) => ({ storeId, day }),
      measures: { orders: (q) => q.count() },
    }),
  ],
});
