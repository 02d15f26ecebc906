// from cosmosdb_data_model.md, sha256 995f96638cd2ce82252a3554a7d350cdc43d4cc2a8e4b30e81ed181a1cbc057f

import {
  type Infer,
  autoscale,
  bool,
  container,
  defineModel,
  document,
  int,
  moment,
  nullable,
  optional,
  text,
} from 'millrace';

export const m = defineModel(
  {
    Orders: container(
      '/storeId, /id',
      {
        order: document({
          id: text,
          storeId: text,
          customerId: text,
          placedAt: moment,
          cents: int,
          cancelled: optional(bool),
        }),
      },
      { ttl: 'per document', throughput: autoscale(1_000) },
    ),
    Customers: container(
      '/storeId, /id',
      {
        customer: document({ id: text, storeId: text, name: text }),
      },
      { throughput: autoscale(1_000) },
    ),
    OrderLists: container(
      '/storeId',
      {
        listed: document({ id: text, storeId: text, customerName: nullable(text), placedAt: moment, cents: int }),
      },
      { ttl: 'per document', throughput: autoscale(1_000) },
    ),
    Days: container(
      '/storeId, /day',
      {
        day: document({ id: text, storeId: text, day: text, orders: int, cents: int }),
      },
      { ttl: 'per document', throughput: autoscale(1_000) },
    ),
  },
  { examples: './model.examples.json' },
);

export type Order = Infer<typeof m.Orders.order>;
export type Customer = Infer<typeof m.Customers.customer>;
export type Listed = Infer<typeof m.OrderLists.listed>;
export type Day = Infer<typeof m.Days.day>;
