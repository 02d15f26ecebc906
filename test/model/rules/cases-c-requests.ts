// Cases of C13 to C18, and of keys and ids: what requests name, and what must be one; of B10: what a query costs that names no key;
// and of what rows state (B19, B20, C19, C20).
import type { Case, Edit } from './base.ts';

const LIKES = (id: string): Edit => [
  '### Customers Container',
  `### Likes Container\n\`\`\`json\n[\n  { "id": "${id}", "type": "like", "postId": "post1", "userId": "user7" }\n]\n\`\`\`\n- **Partition Key**: \`/postId\` - 100,000 values\n\n### Customers Container`,
];

export const C_REQUESTS: readonly Case[] = [
  {
    rule: 'C13',
    wrong: [['WHERE c.type = "summary" AND c.customerId = @c`', 'WHERE c.type = "summary" AND c.placedAt = @c`']],
    at: 'c.placedAt = @c',
    severity: 'error',
    says: 'placedAt',
  },
  {
    rule: 'C13',
    wrong: [
      [
        'WHERE c.type = "summary" AND c.customerId = @c`',
        'WHERE c.type = "summary" AND c.customerId = @c OR c.placedAt > @t`',
      ],
    ],
    at: 'OR c.placedAt',
    severity: 'error',
  },
  {
    rule: 'C13',
    wrong: [
      [
        'WHERE c.type = "summary" AND c.customerId = @c` | 3 RU',
        'WHERE c.type = "summary" AND c.customerId = @c` | cross-partition, 3 RU',
      ],
    ],
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
    rule: 'C14',
    wrong: [
      [
        'WHERE c.type = "summary" AND c.customerId = @c`',
        'WHERE c.type = "summary" AND c.customerId = @c AND c.id = @id`',
      ],
    ],
    at: 'c.id = @id',
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
    rule: 'C8',
    given: [
      [
        '- **Partition Key**: `/customerId` - 100,000 values\n- **Document Types**: `summary`',
        '- **Partition Key**: `/customerId`, `/placedAt` (hierarchical) - 100,000 values\n- **Document Types**: `summary`',
      ],
      [
        'WHERE c.type = "summary" AND c.customerId = @c` | 3 RU',
        'WHERE c.type = "summary" AND c.customerId = @c AND c.placedAt = @t` | one partition, 3 RU',
      ],
    ],
    wrong: [[' AND c.placedAt = @t', '']],
    at: 'one partition, 3 RU',
    severity: 'error',
    says: "doesn't name /placedAt",
  },
  {
    rule: 'C8',
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
        '| 7 | Customers of a tier | Customers | Query, cross-partition: `SELECT * FROM c WHERE c.tier = @t` | 20 RU |\n| 6 | Rename a customer | Customers |',
      ],
      ['- **Purpose**: customers\n', '- **Purpose**: customers\n- **Size**: 1 GB\n'],
    ],
    wrong: [['- **Size**: 1 GB\n', '']],
    at: 'WHERE c.tier',
    severity: 'warning',
    says: 'size',
  },
  {
    rule: 'C16',
    wrong: [['"id": "c2", "type": "customer"', '"id": "c1", "type": "customer"']],
    at: '"id": "c1", "type": "customer", "name": "Ben"',
    says: 'the same id "c1"',
  },
  {
    rule: 'C17',
    given: [LIKES('post1|user7')],
    wrong: [['post1|user7', '5f1c']],
    at: '"id": "5f1c"',
    says: 'postId and userId',
  },
  {
    rule: 'C17',
    given: [
      LIKES('5f1c'),
      ['- **Partition Key**: `/postId`', '- **Unique Key Policy**: `/userId`\n- **Partition Key**: `/postId`'],
    ],
    wrong: [['- **Unique Key Policy**: `/userId`\n', '']],
    at: '"id": "5f1c"',
    severity: 'warning',
  },
  {
    rule: 'C24',
    given: [
      ['- **Purpose**: customers\n', '- **Purpose**: customers\n\n```sql\nSELECT * FROM c WHERE c.id = @id\n```\n'],
    ],
    wrong: [['SELECT * FROM c WHERE c.id = @id', 'DELETE FROM c WHERE c.id = @id']],
    at: 'DELETE FROM c',
  },
  {
    rule: 'C8',
    given: [
      [
        '`/id` - 100,000 values\n- **Document Types**: `customer`',
        '`/id, /tier` - 100,000 values, hierarchical\n- **Document Types**: `customer`',
      ],
    ],
    wrong: [['`/id, /tier` - 100,000 values, hierarchical', '`/id` - 100,000 values, hierarchical']],
    at: 'hierarchical',
    says: 'one level',
  },
  {
    rule: 'C2',
    wrong: [
      ['"id": "c1", "type": "customer", "name": "Ada"', '"id": "c1", "type": "customer", "shop": "all", "name": "Ada"'],
      ['"id": "c2", "type": "customer", "name": "Ben"', '"id": "c2", "type": "customer", "shop": "all", "name": "Ben"'],
      [
        '`/id` - 100,000 values\n- **Document Types**: `customer`',
        '`/shop` - fixed value for one list\n- **Document Types**: `customer`',
      ],
    ],
    at: 'fixed value',
    says: 'one value',
    severity: 'error',
  },
  {
    rule: 'C1',
    given: [
      [
        '- **Purpose**: customers\n',
        '- **Purpose**: customers\n\n```ts\ninterface Order {\n  customerId: string;\n}\n```\n',
      ],
    ],
    wrong: [['  customerId: string;', '  customerId?: string;']],
    at: 'customerId?: string;',
    severity: 'warning',
  },
];
