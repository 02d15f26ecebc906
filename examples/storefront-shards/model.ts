// from cosmosdb_data_model.md, sha256 1d9ba2b067ceac957bba6e665cc0d2473ccd804b6ff194638d3b1b739573cd0c

import { type Infer, container, defineModel, document, int, list, moment, nullable, optional, text } from 'millrace';

export const m = defineModel(
  {
    Stores: container(
      '/storeId',
      {
        store: document({ id: text, storeId: text, name: text, currency: text, countryId: text }),
      },
      { shards: 'spread' },
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
      { ttl: 'per document', shards: 'spread' },
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
      { ttl: 'per document', shards: 'spread' },
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
          totalCents: int,
        }),
      },
      { ttl: 'per document', shards: 'spread' },
    ),
    Sales: container(
      '/storeId',
      {
        storeDay: document({ id: text, storeId: text, day: text, orders: int, cents: int }),
      },
      { ttl: 'per document', shards: 'spread' },
    ),
    StoreCountries: container(
      '/storeId',
      {
        storeCountry: document({ id: text, storeId: text, name: text }),
      },
      { ttl: 'per document', shards: 'spread' },
    ),
    ShardCountries: container(
      '/id',
      {
        shardCountry: document({ id: text, name: text }),
      },
      { ttl: 'per document', reference: true, shards: 'every' },
    ),
    Countries: container(
      '/id',
      {
        country: document({ id: text, name: text }),
      },
      { reference: true },
    ),
    Totals: container(
      '/day',
      {
        total: document({ id: text, day: text, orders: int, sold: int, stores: int }),
      },
      { ttl: 'per document', reference: true },
    ),
  },
  { examples: './model.examples.json' },
);

export type Store = Infer<typeof m.Stores.store>;
export type Customer = Infer<typeof m.Customers.customer>;
export type Order = Infer<typeof m.Orders.order>;
export type OrderSummary = Infer<typeof m.CustomerOrders.orderSummary>;
export type StoreDay = Infer<typeof m.Sales.storeDay>;
export type StoreCountry = Infer<typeof m.StoreCountries.storeCountry>;
export type ShardCountry = Infer<typeof m.ShardCountries.shardCountry>;
export type Country = Infer<typeof m.Countries.country>;
export type Total = Infer<typeof m.Totals.total>;
