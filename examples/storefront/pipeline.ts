// What is derived in the shop. Section "Change Feed Projections" of the data model says the same in words.
import { aggregate, archive, copy, definePipeline, embed, embedEach, react, reference, send, source } from 'millrace';
import { tellShipped } from './mail.ts';
import { type Order, m } from './model.ts';
import { searchIndex } from './search/sink.ts';

const OPEN = ['placed', 'paid', 'packed'];
const counts = (order: Order): boolean => order.status !== 'cancelled';
/** A search service is no part of a first look: without its address the products aren't sent anywhere. */
const SEARCH = process.env['SEARCH_URL'];
const day = (order: Order): string => order.placedAt.slice(0, 10);

export default definePipeline({
  name: 'storefront',
  model: m,
  tenant: 'storeId',
  sources: [
    source({ of: m.Orders.order, deleted: (order) => order.deletedAt !== undefined }),
    source({ of: m.Customers.customer, deleted: (customer) => customer.deletedAt !== undefined }),
    source({ of: m.Catalog.variant, deleted: (variant) => variant.deletedAt !== undefined }),
  ],
  projections: [
    copy('sku-cards', {
      from: m.Catalog.variant,
      into: m.Skus.skuCard,
      maxLag: '5 s',
      with: {
        product: {
          of: m.Catalog.product,
          on: { storeId: 'storeId', productId: 'productId', id: 'productId' },
          missing: 'wait',
        },
      },
      map: (variant, { product }) => ({
        id: variant.id,
        storeId: variant.storeId,
        sku: variant.sku,
        productId: variant.productId,
        productName: product.name,
        variantName: variant.name,
        priceCents: variant.priceCents,
      }),
    }),
    copy('order-summaries', {
      from: m.Orders.order,
      into: m.CustomerOrders.orderSummary,
      maxLag: '5 s',
      with: {
        customer: { of: m.Customers.customer, on: { storeId: 'storeId', id: 'customerId' } },
        country: { of: m.Countries.country, on: { id: 'countryId' } },
      },
      map: (order, { customer, country }) => ({
        id: order.id,
        storeId: order.storeId,
        customerId: order.customerId,
        customerName: customer?.name ?? null,
        countryName: country?.name ?? null,
        status: order.status,
        placedAt: order.placedAt,
        lineCount: order.lines.length,
        totalCents: order.totalCents,
      }),
    }),
    copy('open-orders', {
      from: m.Orders.order,
      into: m.OrdersByStatus.openOrder,
      maxLag: '5 s',
      where: (order) => OPEN.includes(order.status),
      map: (order) => ({
        id: order.id,
        storeId: order.storeId,
        status: order.status,
        placedAt: order.placedAt,
        units: order.lines.reduce((units, line) => units + line.quantity, 0),
        lines: order.lines.map(({ variantId, productName, quantity }) => ({ variantId, productName, quantity })),
      }),
    }),
    aggregate('product-days', {
      from: m.Orders.order,
      into: m.Sales.productDay,
      maxLag: '30 s',
      where: counts,
      each: (order) => order.lines,
      groupBy: (line, order) => ({ storeId: order.storeId, day: day(order), productId: line.productId }),
      measures: {
        units: (q) => q.sum((line) => line.quantity),
        cents: (q) => q.sum((line) => line.quantity * line.priceCents),
        lines: (q) => q.count(),
      },
    }),
    aggregate('store-days', {
      from: m.Orders.order,
      into: m.Sales.storeDay,
      maxLag: '30 s',
      // When an order was placed never changes.
      stable: true,
      where: counts,
      groupBy: (order) => ({ storeId: order.storeId, day: day(order) }),
      measures: {
        orders: (q) => q.count(),
        cents: (q) => q.sum((order) => order.totalCents),
        averageCents: (q) => q.avg((order) => order.totalCents),
        largestCents: (q) => q.max((order) => order.totalCents),
      },
    }),
    // A month is made of its days, so that the best of them are days' sums.
    aggregate('store-months', {
      from: m.Sales.storeDay,
      into: m.Months.storeMonth,
      maxLag: '1 min',
      stable: true,
      groupBy: (sales) => ({ storeId: sales.storeId, month: sales.day.slice(0, 7) }),
      measures: {
        days: (q) => q.count(),
        orders: (q) => q.sum((sales) => sales.orders),
        cents: (q) => q.sum((sales) => sales.cents),
        largestCents: (q) => q.max((sales) => sales.largestCents),
        bestDays: (q) =>
          q.top(
            3,
            (sales) => sales.cents,
            (sales) => ({ day: sales.day, cents: sales.cents }),
          ),
      },
    }),
    aggregate('customer-totals', {
      from: m.Orders.order,
      into: m.CustomerOrders.customerTotal,
      maxLag: '30 s',
      // Nor does who placed it.
      stable: true,
      where: counts,
      groupBy: (order) => ({ storeId: order.storeId, customerId: order.customerId }),
      measures: {
        orders: (q) => q.count(),
        cents: (q) => q.sum((order) => order.totalCents),
        averageCents: (q) => q.avg((order) => order.totalCents),
        smallestCents: (q) => q.min((order) => order.totalCents),
        largestCents: (q) => q.max((order) => order.totalCents),
      },
    }),
    embed('variant-currencies', {
      from: m.Stores.store,
      into: m.Catalog.variant,
      maxLag: '30 s',
      on: { storeId: 'storeId', id: 'storeId' },
      set: { currency: (store) => store.currency },
    }),
    embedEach('line-shelves', {
      from: m.Catalog.variant,
      into: m.Orders.order,
      maxLag: '30 s',
      each: 'lines',
      on: { storeId: 'storeId' },
      onEach: { productId: 'productId', id: 'variantId' },
      // What has left the house is on no shelf.
      when: (_line, order) => OPEN.includes(order.status),
      set: { shelf: (variant) => variant.shelf },
    }),
    reference('store-countries', {
      from: m.Countries.country,
      into: m.StoreCountries.storeCountry,
      maxLag: '1 h',
      tenants: m.Stores.store,
      key: { storeId: 'storeId' },
      map: (country) => ({ id: country.id, name: country.name }),
    }),
    react('shipped-mail', {
      from: m.Orders.order,
      maxLag: '1 min',
      when: (order) => order.status === 'shipped',
      run: tellShipped,
    }),
    ...(SEARCH === undefined
      ? []
      : [
          send('product-search', {
            from: m.Catalog.product,
            to: searchIndex(SEARCH),
            map: ({ storeId, name }) => ({ storeId, name }),
          }),
        ]),
    archive('orders-cold', { from: m.Orders.order, date: 'completedAt', after: '90d' }),
  ],
});
