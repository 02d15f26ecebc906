// Cases of what the examples of a type show together (C41 to C44).
import type { Case, Edit } from './base.ts';
import { document } from './short.ts';

const order = (at: string, total: number, ...lines: (readonly [quantity: number, price: number])[]): string =>
  `"storeId": "s1"; "placedAt": "${at}"; "total": ${total}; "lines": ${JSON.stringify(lines.map(([quantity, price]) => ({ quantity, price })))}`;
const ORDERS = document([
  [
    'orders',
    '/storeId',
    order('2026-01-01T10:00:00Z', 700, [2, 100], [1, 500]),
    order('2026-01-02T10:00:00Z', 300, [3, 100]),
    order('2026-01-03T10:00:00Z', 500, [1, 500]),
  ],
]);
const RECIPE: Edit = [
  '| 4 | Totals of a day | Days | Query of all shards: `SELECT * FROM c WHERE c.day = @day` | merged, 4 RU |',
  '| 4 | Totals of a day | Days | Point read (id + PK) | id is `day` with day and orders, 1 RU |',
];
const DAY: Edit = ['"id": "day|2026-01-01"', '"id": "day|2026-01-01|1|x", "storeId": "x"'];

export const EXAMPLE_CASES: readonly Case[] = [
  {
    rule: 'C41',
    of: ORDERS,
    wrong: [['"2026-01-02T10:00:00Z"', '"2026-01-02T11:00:00+01:00"']],
    at: '2026-01-02T11:00:00+01:00',
    severity: 'warning',
    says: 'placedAt of orders is 2026-01-02T11:00:00+01:00 here and 2026-01-01T10:00:00Z in another example',
  },
  {
    rule: 'C41',
    of: ORDERS,
    wrong: [['"2026-01-02T10:00:00Z"', '"2026-01-02T10:00:00.250Z"']],
    at: '2026-01-02T10:00:00.250Z',
  },
  {
    rule: 'C42',
    of: ORDERS,
    wrong: [['"total": 500', '"total": 400']],
    at: '"total": 400',
    severity: 'warning',
    says: 'total of orders is the sum of quantity × price over lines in the other examples; here the sum is 500, and total 400',
  },
  {
    // The discount explains the difference; another number doesn't.
    rule: 'C42',
    of: ORDERS.replaceAll(/"total": [37]00/g, '"discount": 0,\n  $&'),
    given: [['"total": 500', '"discount": 100,\n  "total": 400']],
    wrong: [['"discount": 100', '"discount": 50']],
    at: '"total": 400',
  },
  {
    // One sum is a chance.
    rule: 'C42',
    of: ORDERS.replace('"total": 300', '"total": 310'),
    given: [['"total": 500', '"total": 400']],
    wrong: [
      ['"total": 310', '"total": 300'],
      ['"total": 400', '"total": 450'],
    ],
    at: '"total": 450',
  },
  {
    // Two numbers explain it together; of three orders all have them.
    rule: 'C42',
    of: ORDERS.replaceAll('"lines"', '"fee": 60,\n  "tax": 40,\n  "lines"'),
    given: [['"total": 500', '"total": 600']],
    wrong: [['"total": 600', '"total": 650']],
    at: '"total": 650',
  },
  {
    // So may a number that only this one has.
    rule: 'C42',
    of: ORDERS,
    given: [['"total": 500', '"paidBefore": 50,\n  "total": 400']],
    wrong: [['"paidBefore": 50,', '"paidBefore": "2026",']],
    at: '"total": 400',
  },
  {
    rule: 'C42',
    of: ORDERS,
    given: [['"total": 500', '"status": "cancelled",\n  "total": 0']],
    wrong: [['"cancelled"', '"paid"']],
    at: '"total": 0',
  },
  {
    rule: 'C43',
    given: [
      RECIPE,
      ['"id": "day|2026-01-01"', '"id": "day|2026-01-01|7"'],
      ['"orders": 1, "cents"', '"orders": 7, "cents"'],
    ],
    wrong: [['with day and orders', 'with orders and day']],
    at: 'Totals of a day',
    severity: 'error',
    says: 'The id is said to have orders, day, but day|2026-01-01|7 has day, orders',
  },
  {
    // A value that the id hasn't shows no order.
    rule: 'C43',
    given: [RECIPE, DAY, ['with day and orders', 'with cents and day']],
    wrong: [['with cents and day', 'with store and day']],
    at: 'Totals of a day',
    says: 'The id is said to have store, day',
  },
  {
    rule: 'C44',
    wrong: [['| 10/2 | Read | orders, cents |', '| 10/2 | Read | orders, cents, largestOrder |']],
    at: 'Totals of a day (source',
    severity: 'warning',
    says: 'Pattern 4 needs largestOrder, which no example of Days has',
  },
  {
    // A name that the query gives is no field of documents.
    rule: 'C44',
    given: [
      ['| 10/2 | Read | orders, cents |', '| 10/2 | Read | orders, allCents |'],
      ['`SELECT * FROM c WHERE c.day = @day`', '`SELECT c.cents AS allCents FROM c WHERE c.day = @day`'],
    ],
    wrong: [['c.cents AS allCents', 'c.cents AS sum']],
    at: 'Totals of a day (source',
  },
  {
    // Nor is what it computes, or what a request has.
    rule: 'C44',
    given: [
      ['| 10/2 | Read | orders, cents |', '| 10/2 | Read | allCents, pageSize |'],
      ['`SELECT * FROM c WHERE c.day = @day`', '`SELECT VALUE SUM(c.cents) FROM c WHERE c.day = @day`'],
    ],
    wrong: [['VALUE SUM(c.cents)', 'VALUE c.cents']],
    at: 'Totals of a day (source',
    says: 'needs allCents, which',
  },
  {
    // Parameters of the query, keys against repeats and the ends of a range come with the request.
    rule: 'C44',
    given: [
      ['| 10/2 | Read | orders, cents |', '| 10/2 | Read | orders, wantedDay, idempotencyKey, fromDate, priceMax |'],
      ['c.day = @day`', 'c.day = @wantedDay`'],
    ],
    wrong: [['c.day = @wantedDay`', 'c.day = @day`']],
    at: 'Totals of a day (source',
    says: 'Pattern 4 needs wantedDay, which',
  },
];
