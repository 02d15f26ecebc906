// What must and must not compile of embeds, reference data, reactions and sinks: `tsc` is the judge, by @ts-expect-error.
import { expect, test } from 'vitest';
import { type Sink, custom, definePipeline, embed, embedEach, react, reference, send, source } from 'millrace';
import { namesOf } from '../support/names-of.ts';

interface Line {
  productId: string;
  variantId: string;
  productName: string;
  quantity: number;
  locked?: boolean;
}
interface Order {
  id: string;
  type: 'order';
  storeId: string;
  customerId: string;
  status: string;
  lines: Line[];
  totalCents: number;
  customerName?: string;
}
interface Customer {
  id: string;
  type: 'customer';
  storeId: string;
  name: string;
}
interface Variant {
  id: string;
  type: 'variant';
  storeId: string;
  productId: string;
  name: string;
}
interface Rate {
  id: string;
  type: 'rate';
  percent: number;
}
interface StoreRate {
  id: string;
  type: 'storeRate';
  storeId: string;
  percent: number;
}
interface Storefront {
  Orders: { order: Order };
  Customers: { customer: Customer };
  Catalog: { variant: Variant };
  Rates: { rate: Rate };
  StoreRates: { storeRate: StoreRate };
}
const m = namesOf<Storefront>();
const index: Sink<{ readonly name: string }> = { write: async () => undefined };
const on = { storeId: 'storeId', id: 'customerId' } as const;

test('the kinds are inferred from the model', () => {
  const pipeline = definePipeline({
    model: m,
    sources: [
      source({ of: m.Orders.order, discriminator: 'kind' }),
      source({ of: m.Rates.rate, discriminator: () => true }),
    ],
    projections: [
      embed('customer-names', {
        from: m.Customers.customer,
        into: m.Orders.order,
        on,
        when: (order) => order.status !== 'shipped',
        set: { customerName: (customer) => customer.name },
      }),
      embedEach('variant-names', {
        from: m.Catalog.variant,
        into: m.Orders.order,
        each: 'lines',
        on: { storeId: 'storeId' },
        onEach: { productId: 'productId', id: 'variantId' },
        when: (line, order) => !line.locked && order.status === 'placed',
        set: { productName: (variant, line) => `${variant.name} × ${line.quantity}` },
      }),
      reference('rates', {
        from: m.Rates.rate,
        into: m.StoreRates.storeRate,
        tenants: m.Customers.customer,
        key: { storeId: 'storeId' },
        map: (rate) => ({ id: rate.id, percent: rate.percent }),
      }),
      react('mail', {
        from: m.Orders.order,
        when: (order) => order.status === 'shipped',
        run: async (order, effect) => {
          await fetch(order.id, { headers: { 'idempotency-key': effect.key }, signal: effect.signal });
        },
      }),
      send('search', { from: m.Catalog.variant, to: index, map: (variant) => ({ name: variant.name }) }),
      custom('own', { sources: [m.Orders.order], apply: async () => undefined }),
    ],
  });
  expect(pipeline.findings).toEqual([]);
  expect(pipeline.embeds.map(({ name, each }) => [name, each?.field])).toEqual([
    ['customer-names', undefined],
    ['variant-names', 'lines'],
  ]);
  expect(pipeline.effects.map(({ kind }) => kind)).toEqual(['react', 'send', 'custom']);
  expect(pipeline.projections.map(({ kind }) => kind)).toEqual(['reference']);
});

test('what contradicts the model does not compile', () => {
  const variants = { from: m.Catalog.variant, into: m.Orders.order } as const;
  const rates = { from: m.Rates.rate, into: m.StoreRates.storeRate, tenants: m.Customers.customer } as const;
  const wrong = [
    () =>
      embedEach('x', {
        ...variants,
        each: 'lines',
        on: { storeId: 'storeId' },
        // @ts-expect-error no such element field
        onEach: { id: 'variant' },
        set: { productName: (variant) => variant.name },
      }),
    () =>
      embedEach('x', {
        ...variants,
        // @ts-expect-error not a list
        each: 'status',
        on: {},
        onEach: {},
        set: {},
      }),
    () =>
      embed('x', {
        from: m.Customers.customer,
        into: m.Orders.order,
        on,
        // @ts-expect-error no such field of the child
        set: { nope: (customer) => customer.name },
      }),
    () =>
      embed('x', {
        from: m.Customers.customer,
        into: m.Orders.order,
        on,
        // @ts-expect-error a field of another type
        set: { totalCents: (customer) => customer.name },
      }),
    () =>
      embed('x', {
        from: m.Customers.customer,
        into: m.Orders.order,
        // @ts-expect-error number field matched with a string
        on: { id: 'totalCents' },
        set: { customerName: (customer) => customer.name },
      }),
    () =>
      reference('x', {
        ...rates,
        key: { storeId: 'storeId' },
        // @ts-expect-error a sink field is missing
        map: (rate) => ({ id: rate.id }),
      }),
    () =>
      reference('x', {
        ...rates,
        // @ts-expect-error no such field of the tenant
        key: { storeId: 'shop' },
        map: (rate: Rate) => ({ id: rate.id, percent: rate.percent }),
      }),
    () =>
      react('x', {
        from: m.Orders.order,
        // @ts-expect-error no such field of the document
        when: (order) => order.shipped,
        run: async () => undefined,
      }),
    // @ts-expect-error it must be waited for
    () => react('x', { from: m.Orders.order, run: (order) => order.id }),
    // @ts-expect-error not the sink's row
    () => send('x', { from: m.Catalog.variant, to: index, map: (variant) => ({ title: variant.name }) }),
  ];
  expect(wrong).toHaveLength(10);
});

test.each([
  ['nothing to set', { set: {} }, 'embed-set'],
  ['another onDelete', { onDelete: 'forget' as never }, 'on-delete'],
  ['a lag that isn’t valid', { maxLag: 'soon' }, 'max-lag'],
])('%s is a finding', (_what, more, code) => {
  const spec = { from: m.Customers.customer, into: m.Orders.order, on, set: { customerName: () => 'n' }, ...more };
  expect(embed('x', spec).findings).toMatchObject([{ code }]);
});

test('a reaction’s bounds are findings', () => {
  const spec = {
    from: m.Orders.order,
    timeout: '2 min',
    attempts: 0,
    order: 'random' as never,
    run: async () => undefined,
  };
  expect(react('x', spec).findings.map(({ code }) => code)).toEqual(['react-timeout', 'react-attempts', 'react-order']);
});

test('a container is read by one feed', () => {
  const sources = [source({ of: m.Orders.order, feed: 'all-versions' }), source({ of: m.Orders.order })];
  expect(definePipeline({ model: m, sources, projections: [] }).findings.map(({ code }) => code)).toContain(
    'source-feeds',
  );
});
