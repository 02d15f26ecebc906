import {
  aggregate,
  container,
  defineModel,
  definePipeline,
  document,
  int,
  list,
  moment,
  text,
  timeWindow,
} from 'millrace';

const m = defineModel({
  Orders: container('/storeId', {
    order: document({ id: text, storeId: text, customerId: text, placedAt: moment, cents: int }),
  }),
  Sales: container('/storeId', {
    day: document({
      id: text,
      storeId: text,
      day: text,
      orders: int,
      total: int,
      average: int,
      smallest: int,
      largest: int,
      customers: int,
      best: list({ order: text, cents: int }),
      bySize: list(int),
    }),
  }),
});

export default definePipeline({
  model: m,
  projections: [
    aggregate('days', {
      from: m.Orders.order,
      into: m.Sales.day,
      groupBy: (order) => ({ storeId: order.storeId, day: timeWindow(order.placedAt, 'day', 'Europe/Berlin') }),
      measures: {
        orders: (q) => q.count(),
        total: (q) => q.sum((order) => order.cents),
        average: (q) => q.avg((order) => order.cents),
        smallest: (q) => q.min((order) => order.cents),
        largest: (q) => q.max((order) => order.cents),
        customers: (q) => q.distinct((order) => order.customerId),
        best: (q) =>
          q.top(
            2,
            (order) => order.cents,
            ({ id, cents }) => ({ order: id, cents }),
          ),
        bySize: (q) => q.histogram([1000, 5000], (order) => order.cents),
      },
    }),
  ],
});
