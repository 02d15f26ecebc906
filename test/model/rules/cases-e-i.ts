// Cases of the groups E to I.
import type { Case, Edit } from './base.ts';

const RU = (rows: string): Edit => [
  '| 6 | Rename a customer | Customers |',
  `${rows}\n| 6 | Rename a customer | Customers |`,
];
const PATTERN7 = '| 7 | Find orders by tier (source: support) | 20/1 | Read | all | | | ✅ |';
// The table ends with a blank line: the row goes before it.
const ADD7: Edit = [
  '| 6 | Rename a customer (source: support) | 5/1 | Write | name | | replace | ✅ |',
  `| 6 | Rename a customer (source: support) | 5/1 | Write | name | | replace | ✅ |\n${PATTERN7}`,
];

export const E_TO_I: readonly Case[] = [
  { rule: 'E2', wrong: [['- **Excluded Paths**: `/*`\n', '']], at: '- **Included Paths**' },
  { rule: 'E3', wrong: [['`/placedAt/?`', '`/lines/*/sku/?`']], at: '/lines/*/sku' },
  { rule: 'E3', wrong: [['`/placedAt/?`', '`/placedAt`']], at: '`/placedAt`', severity: 'error' },
  { rule: 'E3', wrong: [['`/placedAt/?`', '`/placedAt/*`']], at: '`/placedAt/*`', severity: 'warning' },
  {
    rule: 'E5',
    given: [
      ADD7,
      RU('| 7 | Find | Orders | Query: `SELECT * FROM c WHERE c.customerId = @c AND c.placedAt > @a` | 3 RU |'),
    ],
    wrong: [['c.placedAt > @a', 'c.cents > @a']],
    at: '| 7 | Find | Orders',
    says: 'cents',
  },
  {
    rule: 'E5',
    wrong: [['- **Included Paths**: `/customerId/?`, `/placedAt/?`', '- **Included Paths**: `/placedAt/?`']],
    at: '- **Included Paths**: `/placedAt/?`',
    says: 'of the partition key',
  },
  {
    rule: 'E5',
    wrong: [['WHERE c.type = "day" AND c.day = @day', 'WHERE c.type = "day" AND c.dya = @day']],
    at: 'c.dya',
    says: 'no example',
  },
  {
    rule: 'E6',
    given: [
      ADD7,
      RU(
        '| 7 | Find | Orders | Query: `SELECT * FROM c WHERE c.customerId = @c ORDER BY c.customerId, c.placedAt DESC` | 3 RU |',
      ),
    ],
    wrong: [['c.placedAt DESC', 'c.placedAt']],
    at: '| 7 | Find | Orders',
  },
  {
    rule: 'E7',
    wrong: [['"ttl": 2592000', '"ttl": "2026-02-01"']],
    at: '"id": "o2", "type": "order"',
    says: '2026-02-01',
  },
  {
    rule: 'E7',
    wrong: [['- **TTL**: -1\n- **Document Size**', '- **Document Size**']],
    at: '"id": "o2", "type": "order"',
    says: 'no default',
  },

  { rule: 'F1', wrong: [['"ttl": 2592000', '"ttl": 3600']], at: '| summaries |', severity: 'error' },
  { rule: 'F1', wrong: [['"ttl": 2592000', '"ttl": 130000']], at: '| summaries |', severity: 'warning' },
  {
    rule: 'F1',
    given: [ADD7, RU('| 7 | Find | Orders | Delete | 6 RU |')],
    wrong: [[', "deletedAt": "2026-01-03T10:00:00Z", "ttl": 2592000', '']],
    at: '| 7 | Find | Orders',
  },
  { rule: 'F12', wrong: [['orders = count; cents = sum(cents)', 'orders = count; cents += cents']], at: '| days |' },

  {
    rule: 'F12',
    given: [
      ['', "### Change Feed\nEach change replaces a contribution.\n\n```ts\n{ op: 'set', path: '/orders' }\n```"],
    ],
    wrong: [["{ op: 'set', path", "{ op: 'incr', path"]],
    at: "op: 'incr'",
  },
  {
    rule: 'E3',
    given: [
      ['"tier": "gold" }', '"tier": "gold", "tags": ["a"] }'],
      [
        '- **Purpose**: customers\n',
        '- **Purpose**: customers\n- **Composite Indexes**: `[(name, ASC), (tier, DESC)]`\n',
      ],
    ],
    wrong: [['(tier, DESC)', '(tags, DESC)']],
    at: '(tags, DESC)',
    says: '/tags is an array',
  },
  {
    rule: 'E3',
    given: [
      [
        '- **Purpose**: customers\n',
        '- **Purpose**: customers\n- **Composite Indexes**: `[(name, ASC), (tier, DESC)]`\n',
      ],
    ],
    wrong: [['(name, ASC), (tier, DESC)', '(name, ASC)']],
    at: '(name, ASC)',
    severity: 'error',
  },
  {
    rule: 'E7',
    given: [
      ['- **Purpose**: orders\n', '- **Purpose**: orders\n\n```ts\ninterface Order {\n  ttl?: number;\n}\n```\n'],
    ],
    wrong: [['- **TTL**: -1\n- **Document Size**', '- **Document Size**']],
    at: 'ttl?: number;',
    says: 'declared ttl',
  },
  {
    rule: 'E7',
    wrong: [['- **TTL**: -1\n- **Document Size**', '- **TTL**: never expires (0)\n- **Document Size**']],
    at: 'never expires',
    severity: 'error',
  },
];
