// from cosmosdb_data_model.md, sha256 124c60bd732bd32d53133a4c7f8bd6deac7263cbc00804bfa80f26b040c587f1

import {
  type Infer,
  bool,
  container,
  defineModel,
  document,
  int,
  list,
  moment,
  nullable,
  optional,
  text,
} from 'millrace';

export const m = defineModel(
  {
    Orders: container(
      '/storeId',
      {
        order: document({
          id: text,
          storeId: text,
          customerId: text,
          day: text,
          cents: int,
          version: int,
          closedAt: optional(moment),
          bad: optional(bool),
        }),
      },
      { ttl: 'per document' },
    ),
    Customers: container(
      '/storeId',
      {
        customer: document({ id: text, storeId: text, name: text, currency: optional(text) }),
      },
      { ttl: 'per document' },
    ),
    Stores: container(
      '/storeId',
      {
        store: document({ id: text, storeId: text, currency: text }),
      },
      { ttl: 'per document' },
    ),
    Countries: container(
      '/id',
      {
        country: document({ id: text, name: text }),
      },
      { ttl: 'per document', reference: true },
    ),
    Summaries: container(
      '/customerId',
      {
        summary: document({
          id: text,
          storeId: text,
          customerId: text,
          customerName: nullable(text),
          day: text,
          cents: int,
        }),
      },
      { ttl: 'per document' },
    ),
    Days: container(
      '/storeId',
      {
        day: document({
          id: text,
          storeId: text,
          day: text,
          orders: int,
          cents: int,
          averageCents: int,
          largestCents: int,
          customers: int,
          best: list({ id: text, cents: int }),
        }),
      },
      { ttl: 'per document' },
    ),
    StoreCountries: container(
      '/storeId',
      {
        storeCountry: document({ id: text, storeId: text, name: text }),
      },
      { ttl: 'per document' },
    ),
  },
  { examples: './model.examples.json' },
);

export type Order = Infer<typeof m.Orders.order>;
export type Customer = Infer<typeof m.Customers.customer>;
export type Store = Infer<typeof m.Stores.store>;
export type Country = Infer<typeof m.Countries.country>;
export type Summary = Infer<typeof m.Summaries.summary>;
export type Day = Infer<typeof m.Days.day>;
export type StoreCountry = Infer<typeof m.StoreCountries.storeCountry>;
