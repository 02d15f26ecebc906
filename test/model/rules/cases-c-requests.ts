// Cases of C13 to C15: what requests name; of B10: what a query costs that names no key; and of what rows state (B19, B20, C19, C20).
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
  { rule: 'B19', wrong: [['| Create | 10 RU |', '| Create | 100 RU |']], at: '| Create | 100 RU |', says: 'about' },
  {
    rule: 'B19',
    wrong: [['| Orders | Point read (id + PK) | 1 RU |', '| Orders | Point read (id + PK) | 10 RU |']],
    at: '| 10 RU |',
  },
  {
    rule: 'B19',
    given: [['@c` | 3 RU |', '@c` | at most 40 rows, 3 RU |']],
    wrong: [['at most 40 rows, 3 RU', 'at most 40 rows, 90 RU']],
    at: 'at most 40 rows, 90 RU',
  },
  {
    rule: 'B20',
    given: [['the change feed included', 'the change feed included; together 80 RU/s']],
    wrong: [['together 80 RU/s', 'together 380 RU/s']],
    at: 'together 380 RU/s',
    severity: 'warning',
    says: '380',
  },
  {
    rule: 'C19',
    given: [
      [
        '`SELECT * FROM c WHERE c.customerId = @c` | 3 RU |',
        '`SELECT TOP 20 * FROM c WHERE c.customerId = @c` | at most 20 rows, 3 RU |',
      ],
    ],
    wrong: [['SELECT TOP 20', 'SELECT TOP 21']],
    at: 'SELECT TOP 21',
    severity: 'warning',
    says: 'at most 21',
  },
  {
    rule: 'C19',
    given: [['WHERE c.customerId = @c` |', 'WHERE c.customerId = @c ORDER BY c.placedAt DESC` |']],
    wrong: [['ORDER BY c.placedAt', 'ORDER BY c.customerId']],
    at: 'ORDER BY c.customerId',
  },
  {
    rule: 'C20',
    given: [
      [
        '- **Partition Key**: `/customerId` - 100,000 values\n- **Document Types**: `summary`',
        '- **Partition Key**: `/customerId`, `/placedAt` (hierarchical) - 100,000 values\n- **Document Types**: `summary`',
      ],
      ['WHERE c.customerId = @c` | 3 RU', 'WHERE c.customerId = @c AND c.placedAt = @t` | one partition, 3 RU'],
    ],
    wrong: [[' AND c.placedAt = @t', '']],
    at: 'one partition, 3 RU',
    severity: 'error',
    says: "doesn't name /placedAt",
  },
  {
    rule: 'C20',
    given: [
      [
        '- **Partition Key**: `/customerId` - 100,000 values\n- **Document Types**: `summary`',
        '- **Partition Key**: `/customerId`, `/placedAt` (hierarchical) - 100,000 values\n- **Document Types**: `summary`',
      ],
    ],
    wrong: [['`/customerId`, `/placedAt`', '`/customerId`, `/placedAt`, `/placedAt`']],
    at: '`/customerId`, `/placedAt`, `/placedAt`',
    severity: 'error',
    says: 'names /placedAt twice',
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
