import { aggregate, definePipeline, timeWindow } from 'millrace';
import { namesOf } from '../../../test/support/names-of.ts';

interface Order {
  id: string;
  type: 'order';
  storeId: string;
  customerId: string;
  placedAt: string;
  cents: number;
}
interface Day {
  id: string;
  type: 'day';
  storeId: string;
  day: string;
  orders: number;
  total: number;
  average: number;
  smallest: number;
  largest: number;
  customers: number;
  best: { order: string; cents: number }[];
  bySize: number[];
}
const m = namesOf<{ Orders: { order: Order }; Sales: { day: Day } }>();

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
