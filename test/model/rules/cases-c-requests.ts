// Cases of C13 to C15: what requests name; and of B10: what a query costs that names no key.
import type { Case } from './base.ts';

export const C_REQUESTS: readonly Case[] = [
  {
    rule: 'C13',
    wrong: [['WHERE c.customerId = @c`', 'WHERE c.placedAt = @c`']],
    at: 'WHERE c.placedAt',
    severity: 'error',
    says: 'by placedAt',
  },
  {
    rule: 'C13',
    wrong: [['WHERE c.customerId = @c`', 'WHERE c.customerId = @c OR c.placedAt > @t`']],
    at: 'OR c.placedAt',
    severity: 'error',
  },
  {
    rule: 'C13',
    wrong: [['WHERE c.customerId = @c` | 3 RU', 'WHERE c.customerId = @c` | cross-partition, 3 RU']],
    at: 'cross-partition, 3 RU',
    severity: 'warning',
    says: 'names the key',
  },
  {
    rule: 'C13',
    wrong: [
      [
        '- **Purpose**: customers\n',
        '- **Purpose**: customers\n- **Queries**: by name\n\n```sql\n-- one customer\nSELECT * FROM c WHERE c.name = @name\n```\n',
      ],
    ],
    at: 'SELECT * FROM c WHERE c.name',
    severity: 'warning',
  },
  {
    rule: 'C14',
    given: [['| Customers | Point read (id + PK) |', '| Customers | Point read by `id` |']],
    wrong: [['`/id` - 100,000 values', '`/tier` - 100,000 values']],
    at: 'Point read by `id`',
    says: 'only the id',
  },
  {
    rule: 'C14',
    given: [['| Orders | Point read (id + PK) |', '| Orders | Point read by `id` and `customerId` |']],
    wrong: [['by `id` and `customerId`', 'by `customerId`']],
    at: 'Point read by `customerId`',
    says: 'another value',
  },
  {
    rule: 'C15',
    wrong: [['WHERE c.customerId = @c`', 'WHERE c.customerId = @c AND c.id = @id`']],
    at: 'c.id = @id',
  },
  {
    rule: 'B10',
    given: [
      [
        '| 6 | Rename a customer (source: support) | 5/1 | Write |',
        '| 7 | Customers of a tier (source: support) | 20/1 | Read | all | | | ✅ |\n| 6 | Rename a customer (source: support) | 5/1 | Write |',
      ],
      [
        '| 6 | Rename a customer | Customers |',
        '| 7 | Customers of a tier | Customers | Query: `SELECT * FROM c WHERE c.tier = @t` | 20 RU |\n| 6 | Rename a customer | Customers |',
      ],
      ['- **Purpose**: customers\n', '- **Purpose**: customers\n- **Size**: 1 GB\n'],
    ],
    wrong: [['- **Size**: 1 GB\n', '']],
    at: 'WHERE c.tier',
    severity: 'warning',
    says: 'size',
  },
];
