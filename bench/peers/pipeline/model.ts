import { bool, container, defineModel, document, int, object, optional, text } from 'millrace';

const group = { storeId: text, country: text, status: text };

export const m = defineModel(
  {
    Orders: container('/storeId', {
      order: document({
        id: text,
        storeId: text,
        customer: object({ id: text, country: text }),
        status: text,
        cents: int,
        turn: int,
        cancelled: optional(bool),
      }),
    }),
    Summaries: container(
      '/customerId',
      { summary: document({ id: text, customerId: text, ...group, cents: int, turn: int }) },
      { ttl: 'per document' },
    ),
    Totals: container(
      '/storeId',
      { total: document({ id: text, ...group, orders: int, cents: int }) },
      { ttl: 'per document' },
    ),
  },
  { examples: './model.examples.json' },
);
