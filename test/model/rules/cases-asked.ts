// Cases of writes that the requirements ask for in another way (F24 to F26), or in another order (F3).
import type { Case, Edit } from './base.ts';

const CONDITION: Edit = ['| 5/1 | Write | name | | replace |', '| 5/1 | Write | name | | replace with If-Match |'];
const ROW: Edit = ['| Customers | Replace | 12 RU |', '| Customers | Replace with If-Match | 12 RU |'];
const MARK: Edit = ['| 5/1 | Write | name | | replace |', '| 5/1 | Write | deletedAt, ttl | | soft delete |'];
const MARKED: Edit = ['| Customers | Replace | 12 RU |', '| Customers | Replace with deletedAt and ttl | 12 RU |'];
const ERASED: readonly Edit[] = [
  [
    '"name": "Ben", "tier": "none"',
    '"name": "erased", "mail": "erased", "tier": "none", "deletedAt": "2026-01-03T10:00:00Z"',
  ],
  [
    '- **Purpose**: customers\n',
    '- **Purpose**: customers\n- **Attributes**: deletedAt marks an erased customer, whose name and mail are overwritten\n',
  ],
];

export const ASKED_CASES: readonly Case[] = [
  {
    rule: 'F3',
    given: [
      [
        '| orders-cold | archive |',
        '| orders-out | publish | Orders (order) | eventhub:orders | customerId | all | #1 | 5 s | keep | backfill |\n| orders-cold | archive |',
      ],
      ['| all of Order | < 10 ms |', '| all of Order | < 10 ms; in order for each customer |'],
    ],
    wrong: [['eventhub:orders | customerId |', 'eventhub:orders | customerId, id |']],
    at: '| orders-out |',
    severity: 'error',
    says: 'Pattern 1 asks for the order of a customer, but the events of orders-out are keyed by id too',
  },
  {
    rule: 'F24',
    given: [CONDITION, ROW],
    wrong: [['| Replace with If-Match | 12 RU |', '| Upsert | 12 RU |']],
    at: 'Rename a customer',
    severity: 'error',
    says: 'Pattern 6 asks for a condition, but row 6 writes without one: Upsert',
  },
  {
    // A patch under a predicate is conditional too.
    rule: 'F24',
    given: [CONDITION, ['| Customers | Replace | 12 RU |', '| Customers | Patch with a filter predicate | 12 RU |']],
    wrong: [['Patch with a filter predicate', 'Patch']],
    at: 'Rename a customer',
  },
  {
    // What is said of all writes is said of this one.
    rule: 'F24',
    given: [CONDITION, ['- **Load**:', '- **Writes**: every replace has If-Match\n- **Load**:']],
    wrong: [['every replace has If-Match', 'a replace is written back']],
    at: 'Rename a customer',
  },
  {
    rule: 'F24',
    wrong: [['| Place an order | Orders | Create |', '| Place an order | Orders | Upsert |']],
    at: '| 5 | Place an order | Orders',
    severity: 'warning',
    says: 'Pattern 5 asks for "create", but row 5 does: Upsert',
  },
  {
    // A condition that isn't needed isn't asked for.
    rule: 'F24',
    given: [['| 5/1 | Write | name | | replace |', '| 5/1 | Write | name | | replace; If-Match is unnecessary here |']],
    wrong: [['If-Match is unnecessary here', 'If-Match is needed here']],
    at: 'Rename a customer',
    says: 'asks for a condition',
  },
  {
    // The notes' "createdAt" is no create, and an ETag in answers is no condition of writes.
    rule: 'F24',
    given: [CONDITION, ROW, ['- **Load**:', '- **Answers**: every answer has an ETag\n- **Load**:']],
    wrong: [['| Replace with If-Match | 12 RU |', '| Replace | createdAt stays, 12 RU |']],
    at: 'Rename a customer',
    says: 'asks for a condition',
  },
  {
    rule: 'F25',
    given: [MARK, MARKED],
    wrong: [['Replace with deletedAt and ttl', 'Delete']],
    at: 'Rename a customer',
    severity: 'error',
    says: 'Pattern 6 marks the document as deleted, but row 6 deletes it',
  },
  {
    // What is purged was marked before.
    rule: 'F25',
    given: [
      [
        '| Read a customer (source: analytics) | 10/2 | Read | all',
        '| Read a customer (source: analytics) | 10/2 | Read | deletedAt, all',
      ],
      ['| 6 | Rename a customer (source', '| 6 | Purge a customer (source'],
      MARK,
      ['| Customers | Replace | 12 RU |', '| Customers | Delete | 12 RU |'],
    ],
    wrong: [['| 6 | Purge a customer (source', '| 6 | Rename a customer (source']],
    at: '| Delete |',
  },
  {
    rule: 'F26',
    given: ERASED,
    wrong: [['"mail": "erased"', '"mail": "ben@example.com"']],
    at: 'ben@example.com',
    severity: 'error',
    says: 'mail of Customers is said to be overwritten, but a marked example has ben@example.com',
  },
  {
    // A field's name may have any sign.
    rule: 'F26',
    given: [...ERASED, ['"mail": "erased"', '"*": 1, "a(b": 2, "mail": "erased"']],
    wrong: [['"mail": "erased"', '"mail": "ben@example.com"']],
    at: 'ben@example.com',
  },
  {
    // A field that stays isn't overwritten.
    rule: 'F26',
    given: [
      ...ERASED,
      ['"mail": "erased"', '"mail": "ben@example.com"'],
      ['whose name and mail are overwritten', 'whose mail stays, only the name is overwritten'],
    ],
    wrong: [['whose mail stays, only the name is', 'whose tier, mail and name are']],
    at: 'ben@example.com',
  },
  {
    // Nor is one that must not be.
    rule: 'F26',
    given: [
      ...ERASED,
      ['"mail": "erased"', '"mail": "ben@example.com"'],
      ['mail are overwritten', 'tier are overwritten. The mail must not be erased, and may never be masked'],
    ],
    wrong: [['The mail must not be erased', 'The mail must be erased']],
    at: 'ben@example.com',
  },
];
