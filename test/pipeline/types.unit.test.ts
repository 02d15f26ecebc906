// What must and must not compile: `tsc` is the judge of the second half, by @ts-expect-error.
import { expect, test } from 'vitest';
import { aggregate, copy, definePipeline, source } from 'millrace';
import { namesOf } from '../support/names-of.ts';

interface Line {
  productId: string;
  variantId: string;
  productName: string;
  quantity: number;
  cents: number;
  locked?: boolean;
}
interface Order {
  id: string;
  type: 'order';
  storeId: string;
  customerId: string;
  status: string;
  placedAt: string;
  lines: Line[];
  totalCents: number;
  discount?: number | null;
  former: null;
  deletedAt?: string;
}
interface Customer {
  id: string;
  type: 'customer';
  storeId: string;
  name: string;
  tier: string;
}
interface Summary {
  id: string;
  type: 'orderSummary';
  storeId: string;
  customerId: string;
  customerName: string | null;
  totalCents: number;
}
interface ProductDay {
  id: string;
  type: 'productDay';
  storeId: string;
  productId: string;
  day: string;
  units: number;
  cents: number;
  orders: number;
}
interface StoreDay {
  id: string;
  type: 'storeDay';
  storeId: string;
  day: string;
  cents: number;
  largest: number | null;
  smallest?: number;
  buyers?: number;
  sizes?: number[];
  best?: { productId: string; cents: number }[];
  note: string;
}
interface Storefront {
  Orders: { order: Order };
  Customers: { customer: Customer };
  CustomerOrders: { orderSummary: Summary };
  Sales: { productDay: ProductDay; storeDay: StoreDay };
}
const m = namesOf<Storefront>();
const summary = (o: Order, customerName: string | null) => ({
  id: o.id,
  storeId: o.storeId,
  customerId: o.customerId,
  customerName,
  totalCents: o.totalCents,
});
const storeDay = (o: Order) => ({ storeId: o.storeId, day: o.placedAt.slice(0, 10) });

test('a pipeline of copies and aggregates is inferred from its model', () => {
  const pipeline = definePipeline({
    model: m,
    tenant: 'storeId',
    sources: [source({ of: m.Orders.order, deleted: (o) => o.deletedAt !== undefined })],
    projections: [
      aggregate('product-days', {
        from: m.Orders.order,
        into: m.Sales.productDay,
        each: (o) => o.lines,
        groupBy: (l, o) => ({ storeId: o.storeId, productId: l.productId, day: o.placedAt.slice(0, 10) }),
        measures: { units: (q) => q.sum((l) => l.quantity), cents: (q) => q.sum((l) => l.quantity * l.cents) },
      }),
      aggregate('store-days', {
        from: m.Orders.order,
        into: m.Sales.storeDay,
        stable: true,
        groupBy: storeDay,
        // A field of number, of number | null and an optional one each take any measure.
        measures: {
          cents: (q) => q.avg((o) => o.totalCents),
          largest: (q) => q.max((o) => o.totalCents),
          smallest: (q) => q.min((o) => o.totalCents),
          buyers: (q) => q.distinct((o) => o.customerId),
          sizes: (q) => q.histogram([1_000, 10_000], (o) => o.totalCents),
        },
      }),
      // Two levels: the best products by a sum.
      aggregate('best-products', {
        from: m.Sales.productDay,
        into: m.Sales.storeDay,
        groupBy: ({ storeId, day }) => ({ storeId, day }),
        measures: {
          best: (q) =>
            q.top(
              5,
              (p) => p.cents,
              ({ productId, cents }) => ({ productId, cents }),
            ),
        },
      }),
      copy('summaries', {
        from: m.Orders.order,
        into: m.CustomerOrders.orderSummary,
        with: { customer: { of: m.Customers.customer, on: { storeId: 'storeId', id: 'customerId' } } },
        where: (o) => o.status !== 'draft',
        map: (o, { customer }) => summary(o, customer?.name ?? null),
      }),
    ],
  });
  expect(pipeline.findings).toEqual([]);
  expect(pipeline.projections.map((p) => `${p.kind} ${p.name}@${p.version}`)).toEqual([
    'aggregate product-days@1',
    'aggregate store-days@1',
    'aggregate best-products@1',
    'copy summaries@1',
  ]);
});

test('what contradicts the model does not compile', () => {
  const wrong = [
    // @ts-expect-error unknown container
    () => m.Nope,
    // @ts-expect-error unknown type
    () => m.Orders.nope,
    () =>
      aggregate('x', {
        from: m.Orders.order,
        into: m.Sales.storeDay,
        groupBy: storeDay,
        // @ts-expect-error measure not in the sink type
        measures: { nope: (q) => q.count() },
      }),
    () =>
      aggregate('x', {
        from: m.Orders.order,
        into: m.Sales.storeDay,
        groupBy: storeDay,
        // @ts-expect-error wrong measure type
        measures: { note: (q) => q.count() },
      }),
    () =>
      aggregate('x', {
        from: m.Sales.productDay,
        into: m.Sales.storeDay,
        groupBy: ({ storeId, day }) => ({ storeId, day }),
        // @ts-expect-error what is kept isn't what the sink holds
        measures: { best: (q) => q.top(5, Number, ({ productId }) => ({ productId })) },
      }),
    () =>
      aggregate('x', {
        from: m.Orders.order,
        into: m.Sales.storeDay,
        groupBy: storeDay,
        // @ts-expect-error a sum needs a number
        measures: { cents: (q) => q.sum((o) => o.status) },
      }),
    () =>
      aggregate('x', {
        from: m.Orders.order,
        into: m.Sales.storeDay,
        // @ts-expect-error group field of the wrong type
        groupBy: (o) => ({ storeId: o.totalCents }),
        measures: { cents: (q) => q.count() },
      }),
    () =>
      copy('x', {
        from: m.Orders.order,
        into: m.CustomerOrders.orderSummary,
        with: {
          customer: {
            of: m.Customers.customer,
            // @ts-expect-error number field joined to a string
            on: { id: 'totalCents' },
          },
        },
        map: (o, { customer }) => summary(o, customer?.name ?? null),
      }),
    () =>
      copy('x', {
        from: m.Orders.order,
        into: m.CustomerOrders.orderSummary,
        with: {
          customer: {
            of: m.Customers.customer,
            // @ts-expect-error a field that may be null names a document, but one of numbers no string
            on: { id: 'discount' },
          },
        },
        map: (o, { customer }) => summary(o, customer?.name ?? null),
      }),
    () =>
      copy('x', {
        from: m.Orders.order,
        into: m.CustomerOrders.orderSummary,
        with: {
          customer: {
            of: m.Customers.customer,
            // @ts-expect-error a field that is always null names none
            on: { id: 'former' },
          },
        },
        map: (o, { customer }) => summary(o, customer?.name ?? null),
      }),
    () =>
      copy('x', {
        from: m.Orders.order,
        into: m.CustomerOrders.orderSummary,
        with: { customer: { of: m.Customers.customer, on: { id: 'customerId' } } },
        // @ts-expect-error a joined document may be missing
        map: (o, { customer }) => summary(o, customer.name),
      }),
    // @ts-expect-error sink field missing
    () => copy('x', { from: m.Orders.order, into: m.CustomerOrders.orderSummary, map: (o) => ({ id: o.id }) }),
    // @ts-expect-error the predicate is about the source's own fields
    () => source({ of: m.Customers.customer, deleted: (c) => c.deletedAt !== undefined }),
  ];
  expect(wrong).toHaveLength(13);
});
