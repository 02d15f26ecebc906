// from cosmosdb_data_model.md, sha256 91ca23c6043f5de9f9e0c65b0c41c27d461ddd187958738e079c025529a4ec52

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
  optional,
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
      { ttl: 'per document', index: indexed('/type', '/storeId'), throughput: autoscale(4_000) },
    ),
    Countries: container(
      '/id',
      {
        country: document({ id: text, name: text }),
      },
      { reference: true, throughput: autoscale(1_000) },
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
