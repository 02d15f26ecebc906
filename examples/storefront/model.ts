// from cosmosdb_data_model.md, sha256 df117579365921161ae223620c52f9fb2a76c1236975d27691750eba47cb0442

import {
  type Infer,
  autoscale,
  container,
  defineModel,
  document,
  indexed,
  int,
  list,
  moment,
  nullable,
  optional,
  ordered,
  text,
} from 'millrace';

export const m = defineModel(
  {
    Stores: container(
      '/storeId',
      {
        store: document({ id: text, storeId: text, name: text, currency: text, countryId: text }),
      },
      { throughput: autoscale(1_000) },
    ),
    Catalog: container(
      '/storeId, /productId',
      {
        product: document({ id: text, storeId: text, productId: text, name: text }),
        variant: document({
          id: text,
          storeId: text,
          productId: text,
          sku: text,
          name: text,
          priceCents: int,
          shelf: text,
          currency: optional(text),
          deletedAt: optional(moment),
          ttl: optional(int),
        }),
      },
      { ttl: 'per document', throughput: autoscale(2_000) },
    ),
    Customers: container(
      '/storeId, /id',
      {
        customer: document({
          id: text,
          storeId: text,
          name: text,
          email: text,
          countryId: text,
          registeredAt: moment,
          deletedAt: optional(moment),
          ttl: optional(int),
        }),
      },
      { ttl: 'per document', throughput: autoscale(1_000) },
    ),
    Orders: container(
      '/storeId, /id',
      {
        order: document({
          id: text,
          storeId: text,
          customerId: text,
          countryId: text,
          status: text,
          placedAt: moment,
          lines: list({
            productId: text,
            variantId: text,
            productName: text,
            quantity: int,
            priceCents: int,
            shelf: optional(text),
          }),
          totalCents: int,
          completedAt: optional(moment),
          deletedAt: optional(moment),
          ttl: optional(int),
        }),
      },
      { ttl: 'per document', index: indexed('/type', '/storeId', '/completedAt'), throughput: autoscale(4_000) },
    ),
    Countries: container(
      '/id',
      {
        country: document({ id: text, name: text }),
      },
      { reference: true, throughput: autoscale(1_000) },
    ),
    StoreCountries: container(
      '/storeId',
      {
        storeCountry: document({ id: text, storeId: text, name: text }),
      },
      { ttl: 'per document', throughput: autoscale(1_000) },
    ),
    Skus: container(
      '/storeId, /sku',
      {
        skuCard: document({
          id: text,
          storeId: text,
          sku: text,
          productId: text,
          productName: text,
          variantName: text,
          priceCents: int,
        }),
      },
      { ttl: 'per document', index: indexed('/type', '/storeId', '/sku'), throughput: autoscale(2_000) },
    ),
    CustomerOrders: container(
      '/storeId, /customerId',
      {
        orderSummary: document({
          id: text,
          storeId: text,
          customerId: text,
          customerName: nullable(text),
          countryName: nullable(text),
          status: text,
          placedAt: moment,
          lineCount: int,
          totalCents: int,
        }),
        customerTotal: document({
          id: text,
          storeId: text,
          customerId: text,
          orders: int,
          cents: int,
          averageCents: int,
          smallestCents: int,
          largestCents: int,
        }),
      },
      {
        ttl: 'per document',
        index: ordered(indexed('/type', '/storeId', '/customerId', '/placedAt'), '/type', '/placedAt desc'),
        throughput: autoscale(6_000),
      },
    ),
    OrdersByStatus: container(
      '/storeId, /status',
      {
        openOrder: document({
          id: text,
          storeId: text,
          status: text,
          placedAt: moment,
          units: int,
          lines: list({ variantId: text, productName: text, quantity: int }),
        }),
      },
      {
        ttl: 'per document',
        index: ordered(indexed('/type', '/storeId', '/status', '/placedAt'), '/type', '/placedAt'),
        throughput: autoscale(6_000),
      },
    ),
    Sales: container(
      '/storeId, /day',
      {
        productDay: document({
          id: text,
          storeId: text,
          day: text,
          productId: text,
          units: int,
          cents: int,
          lines: int,
        }),
        storeDay: document({
          id: text,
          storeId: text,
          day: text,
          orders: int,
          cents: int,
          averageCents: int,
          largestCents: int,
        }),
      },
      {
        ttl: 'per document',
        index: ordered(indexed('/type', '/storeId', '/day', '/units'), '/type', '/units desc'),
        throughput: autoscale(10_000),
      },
    ),
    Months: container(
      '/storeId',
      {
        storeMonth: document({
          id: text,
          storeId: text,
          month: text,
          days: int,
          orders: int,
          cents: int,
          largestCents: int,
          bestDays: list({ day: text, cents: int }),
        }),
      },
      { ttl: 'per document', index: indexed('/storeId'), throughput: autoscale(4_000) },
    ),
  },
  { examples: './model.examples.json' },
);

export type Store = Infer<typeof m.Stores.store>;
export type Product = Infer<typeof m.Catalog.product>;
export type Variant = Infer<typeof m.Catalog.variant>;
export type Customer = Infer<typeof m.Customers.customer>;
export type Order = Infer<typeof m.Orders.order>;
export type Country = Infer<typeof m.Countries.country>;
export type StoreCountry = Infer<typeof m.StoreCountries.storeCountry>;
export type SkuCard = Infer<typeof m.Skus.skuCard>;
export type OrderSummary = Infer<typeof m.CustomerOrders.orderSummary>;
export type CustomerTotal = Infer<typeof m.CustomerOrders.customerTotal>;
export type OpenOrder = Infer<typeof m.OrdersByStatus.openOrder>;
export type ProductDay = Infer<typeof m.Sales.productDay>;
export type StoreDay = Infer<typeof m.Sales.storeDay>;
export type StoreMonth = Infer<typeof m.Months.storeMonth>;
