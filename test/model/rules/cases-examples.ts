// Cases of what the examples of a type show together (C41 to C44).
import type { Case } from './base.ts';

export const EXAMPLE_CASES: readonly Case[] = [
  {
    rule: 'C21',
    wrong: [['| 10/2 | Read | orders, cents |', '| 10/2 | Read | orders, cents, largestOrder |']],
    at: 'Totals of a day (source',
    severity: 'warning',
    says: 'Pattern 4 needs largestOrder, which no example of Days has',
  },
  {
    // A name that the query gives is no field of documents.
    rule: 'C21',
    given: [
      ['| 10/2 | Read | orders, cents |', '| 10/2 | Read | orders, allCents |'],
      [
        '`SELECT * FROM c WHERE c.type = "day" AND c.day = @day`',
        '`SELECT c.cents AS allCents FROM c WHERE c.type = "day" AND c.day = @day`',
      ],
    ],
    wrong: [['c.cents AS allCents', 'c.cents AS sum']],
    at: 'Totals of a day (source',
  },
  {
    // Nor is what it computes, or what a request has.
    rule: 'C21',
    given: [
      ['| 10/2 | Read | orders, cents |', '| 10/2 | Read | allCents, pageSize |'],
      [
        '`SELECT * FROM c WHERE c.type = "day" AND c.day = @day`',
        '`SELECT VALUE SUM(c.cents) FROM c WHERE c.type = "day" AND c.day = @day`',
      ],
    ],
    wrong: [['VALUE SUM(c.cents)', 'VALUE c.cents']],
    at: 'Totals of a day (source',
    says: 'needs allCents, which',
  },
  {
    // Parameters of the query, keys against repeats and the ends of a range come with the request.
    rule: 'C21',
    given: [
      ['| 10/2 | Read | orders, cents |', '| 10/2 | Read | orders, wantedDay, idempotencyKey, fromDate, priceMax |'],
      ['c.day = @day`', 'c.day = @wantedDay`'],
    ],
    wrong: [['c.day = @wantedDay`', 'c.day = @day`']],
    at: 'Totals of a day (source',
    says: 'Pattern 4 needs wantedDay, which',
  },
];
