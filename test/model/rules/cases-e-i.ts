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
const TENANT: readonly Edit[] = [
  [
    '- **Geographic Distribution**: one region',
    '- **Geographic Distribution**: one region\n- **Tenancy**: customerId, but reference data is exempt',
  ],
];
const NOT_REFERENCE: Edit = ['- **Purpose**: customers\n', '- **Purpose**: customers, reference data\n'];
const DAYS_REFERENCE: Edit = [
  '- **Purpose**: totals of a day; derived',
  '- **Purpose**: totals of a day, reference data; derived',
];
const TENANTED = [...TENANT, NOT_REFERENCE, DAYS_REFERENCE];
const sqlOf = (text: string): Edit => ['', `## Relational copy\n\`\`\`sql\n${text}\n\`\`\``];
const map = (...rows: string[]): Edit => [
  '',
  `## Shard map\n| Key | Shard location |\n|---|---|\n${rows.map((row) => `| ${row} |`).join('\n')}`,
];
const typed = (type: string, ...rows: string[]): Edit => [
  '',
  `## Shard map\n- **Key type**: ${type}\n\n| Key | Shard location |\n|---|---|\n${rows.map((row) => `| ${row} |`).join('\n')}`,
];
const GUID = '5c0f6a0e-3b1c-4e0a-9d53-0c9a4b1a7f11';
const steps = (...list: string[]): Edit => [
  '',
  `## Shard map change plan\n${list.map((step, index) => `${index + 1}. ${step}`).join('\n')}`,
];
const RANGES = map('[1,50) | shard A', '[50,100) | shard B', '[100,150) | shard B');

export const E_TO_I: readonly Case[] = [
  {
    rule: 'E1',
    given: [
      [
        '"name": "Ada", "tier": "gold"',
        '"name": "Ada", "tier": "gold", "a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1',
      ],
      [
        '- **Composite Indexes**',
        '- **Access Patterns Served**: 1\n\n### Customers Container\n- **Included Paths**: `/tier/?`\n- **Excluded Paths**: `/*`\n\n### Orders Container\n- **Composite Indexes**',
      ],
    ],
    wrong: [['- **Included Paths**: `/tier/?`\n- **Excluded Paths**: `/*`\n', '- **Included Paths**: `/*`\n']],
    at: '- **Included Paths**: `/*`',
  },
  { rule: 'E2', wrong: [['- **Excluded Paths**: `/*`\n', '']], at: '- **Included Paths**' },
  {
    rule: 'E9',
    given: [['- **Purpose**: orders\n', '- **Purpose**: orders; a vector index with 4 dimensions\n']],
    wrong: [['orders; a vector index with 4 dimensions', 'orders; a vector index']],
    at: 'orders; a vector index',
  },
  { rule: 'E3', wrong: [['`/placedAt/?`', '`/lines/*/sku/?`']], at: '/lines/*/sku' },
  { rule: 'E4', wrong: [['`/placedAt/?`', '`/placedAt`']], at: '`/placedAt`', severity: 'error' },
  { rule: 'E4', wrong: [['`/placedAt/?`', '`/placedAt/*`']], at: '`/placedAt/*`', severity: 'warning' },
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
  { rule: 'E5', wrong: [['WHERE c.day = @day', 'WHERE c.dya = @day']], at: 'c.dya', says: 'no example' },
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
  {
    rule: 'E8',
    wrong: [['- **Load**: 25', '- **Privacy**: an expired order is deleted within seconds\n- **Load**: 25']],
    at: 'within seconds',
  },

  { rule: 'F1', wrong: [['"ttl": 2592000', '"ttl": 3600']], at: '| summaries |', severity: 'error' },
  { rule: 'F1', wrong: [['"ttl": 2592000', '"ttl": 130000']], at: '| summaries |', severity: 'warning' },
  {
    rule: 'F2',
    given: [ADD7, RU('| 7 | Find | Orders | Delete | 6 RU |')],
    wrong: [[', "deletedAt": "2026-01-03T10:00:00Z", "ttl": 2592000', '']],
    at: '| 7 | Find | Orders',
  },
  {
    rule: 'F3',
    wrong: [['orders = count; cents = sum(cents)', 'orders = count; cents = last(cents)']],
    at: '| days |',
  },
  {
    rule: 'F4',
    wrong: [['orders = count; cents = sum(cents)', 'orders = count; cents = delta of cents']],
    at: '| days |',
  },
  { rule: 'F5', wrong: [['orders = count; cents = sum(cents)', 'orders = count; cents += cents']], at: '| days |' },
  {
    rule: 'F6',
    given: [
      ['| Deletes | Start |\n|---|---|', '| Deletes | Start | Lease |\n|---|---|---|'],
      ['| #2 | 5 s | remove | backfill |', '| #2 | 5 s | remove | backfill | a |'],
      ['| #4 | 30 s | subtract | backfill |', '| #4 | 30 s | subtract | backfill | b |'],
    ],
    wrong: [['| backfill | b |', '| backfill | a |']],
    at: '| days |',
  },
  {
    rule: 'F7',
    given: [['- **Load**: 25', '- **Hosts**: 2 workers read the feed\n- **Load**: 25']],
    wrong: [['2 workers', '9 workers']],
    at: '9 workers',
  },
  { rule: 'F8', wrong: [[', the change feed included', '']], at: 'manual 400 RU/s' },
  { rule: 'F9', wrong: [['| #4 | 30 s | subtract | backfill |', '| #4 | 30 s | subtract | now |']], at: '| days |' },
  {
    rule: 'F10',
    wrong: [['orders = count; cents = sum(cents)', 'orders = count; cents = max by _ts']],
    at: '| days |',
  },
  {
    rule: 'F11',
    wrong: [['- **Multi-Region Setup**: one region', '- **Multi-Region Setup**: multi-region writes in two regions']],
    at: 'multi-region writes',
  },

  {
    rule: 'F12',
    given: [
      ['', "### Change Feed\nEach change replaces a contribution.\n\n```ts\n{ op: 'set', path: '/orders' }\n```"],
    ],
    wrong: [["{ op: 'set', path", "{ op: 'incr', path"]],
    at: "op: 'incr'",
  },
  {
    rule: 'F12',
    given: [
      ['- **Load**: 25', '- **Totals**: the change feed replaces the contribution of each order\n- **Load**: 25'],
    ],
    wrong: [
      ['the change feed replaces the contribution of each order', 'the change feed increments the counters of a day'],
    ],
    at: 'increments the counters',
  },
  {
    rule: 'F13',
    wrong: [['- **Purpose**: customers\n', '- **Purpose**: customers; TTL of a year archives them\n']],
    at: 'archives them',
  },
  {
    rule: 'F14',
    given: [
      [
        '',
        '### Change Feed\n\n```ts\nitems.readChangeFeed({ startTime: new Date(), continuationToken: stored });\n```',
      ],
    ],
    wrong: [[', continuationToken: stored', '']],
    at: 'startTime: new Date()',
  },
  {
    rule: 'E4',
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
    rule: 'E4',
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
  {
    rule: 'H1',
    given: TENANTED,
    wrong: [
      [
        '- **Partition Key**: `/customerId` - 100,000 values\n- **Document Types**: `summary`',
        '- **Partition Key**: `/placedAt` - 100,000 values\n- **Document Types**: `summary`',
      ],
    ],
    at: '`/placedAt` - 100,000',
  },
  {
    rule: 'H1',
    given: [
      ...TENANTED,
      sqlOf(
        "CREATE TABLE orders (customer_id text, id text, PRIMARY KEY (customer_id, id));\nSELECT create_distributed_table('orders', 'customer_id');",
      ),
    ],
    wrong: [["'orders', 'customer_id'", "'orders', 'id'"]],
    at: 'CREATE TABLE orders',
  },
  {
    rule: 'H2',
    given: TENANTED,
    wrong: [['"type": "summary", "customerId": "c1"', '"type": "summary"']],
    at: '"type": "summary"',
  },
  { rule: 'H3', given: TENANTED, wrong: [['| 5/1 | Write |', '| 50/1 | Write |']], at: '### Customers Container' },
  {
    rule: 'H4',
    given: [...TENANTED, sqlOf('CREATE TABLE orders (customer_id text, id text, PRIMARY KEY (customer_id, id));')],
    wrong: [['PRIMARY KEY (customer_id, id)', 'PRIMARY KEY (id)']],
    at: 'CREATE TABLE orders',
  },
  {
    rule: 'H5',
    given: TENANTED,
    wrong: [['WHERE c.customerId = @c` | 3 RU', 'WHERE c.id = @c` | 3 RU']],
    at: "| 2 | A customer's orders | CustomerOrders",
  },
  {
    rule: 'H6',
    given: [...TENANTED, sqlOf('SELECT * FROM a JOIN b ON a.id = b.id AND a.customer_id = b.customer_id;')],
    wrong: [[' AND a.customer_id = b.customer_id', '']],
    at: 'SELECT * FROM a',
  },
  {
    rule: 'H7',
    given: [
      ...TENANTED,
      sqlOf('ALTER TABLE orders ADD COLUMN customer_id text;\nUPDATE orders SET customer_id = owner;'),
    ],
    wrong: [['UPDATE orders SET customer_id = owner;', '']],
    at: 'ALTER TABLE',
  },
  {
    rule: 'H8',
    given: [
      ...TENANTED,
      ['| [day] |', '| [customerId, day] |'],
      ['| yyyy/mm of placedAt; id = id |', '| customerId, yyyy/mm of placedAt; id = id |'],
    ],
    wrong: [['| [customerId, day] |', '| [day] |']],
    at: '| days |',
  },

  { rule: 'I1', given: [RANGES], wrong: [['[1,50)', '[1,50]']], at: '[1,50]' },
  { rule: 'I1', given: [RANGES], wrong: [['[1,50)', '[50,1)']], at: '[50,1)' },
  { rule: 'I2', given: [RANGES], wrong: [['[50,100)', '[40,100)']], at: '[40,100)', severity: 'error' },
  { rule: 'I2', given: [RANGES], wrong: [['[100,150)', '[120,150)']], at: '[120,150)', severity: 'information' },
  {
    rule: 'I3',
    given: [map('1 | shard A', '2 | shard A')],
    wrong: [['| 2 | shard A', '| 1 | shard A']],
    at: '| 1 | shard A',
  },
  { rule: 'I4', given: [RANGES], wrong: [['[100,150) | shard B', '7 | shard B']], at: '| 7 | shard B' },
  {
    rule: 'I2',
    given: [map(`[min,${GUID}) | shard A`, `[${GUID},max) | shard B`)],
    wrong: [[`[${GUID},max)`, '[1c0f6a0e-3b1c-4e0a-9d53-0c9a4b1a7f11,max)']],
    at: '[1c0f6a0e',
    severity: 'error',
  },
  {
    rule: 'I2',
    given: [map('[9007199254740992,9007199254740993) | shard A', '[9007199254740993,max) | shard B')],
    wrong: [['[9007199254740993,max)', '[9007199254740992,max)']],
    at: '[9007199254740992,max)',
    severity: 'error',
  },
  {
    rule: 'I2',
    given: [
      RANGES,
      ['', '### months\n| Key | Shard location |\n|---|---|\n| [1,50) | shard C |\n| [50,60) | shard C |'],
    ],
    wrong: [['| [50,60) |', '| [40,60) |']],
    at: '[40,60)',
    severity: 'error',
  },
  { rule: 'I4', given: [typed('guid', `${GUID} | shard A`)], wrong: [[`| ${GUID} |`, '| 7 |']], at: '| 7 |' },
  { rule: 'I4', given: [typed('text', '7 | shard A', 'acme | shard B')], wrong: [['text', 'int64']], at: '| acme |' },
  { rule: 'I5', given: [typed('text', 'acme | shard A')], wrong: [['text', 'colour']], at: 'Key type' },
  {
    rule: 'I5',
    given: [map('acme | shard A', 'zeta | shard A')],
    wrong: [['| acme | shard A', '| [acme,zeta) | shard A']],
    at: '[acme,zeta)',
  },
  {
    rule: 'I6',
    given: [
      RANGES,
      steps(
        'drain the writers',
        'take [1,50) offline',
        'copy the data of [1,50) to shard B',
        'update the mapping',
        'bring it online',
      ),
    ],
    wrong: [['2. take [1,50) offline\n', '']],
    at: 'update the mapping',
  },
  {
    rule: 'I7',
    given: [RANGES, steps('drain the writers', 'take [1,50) offline')],
    wrong: [['1. drain the writers\n', '']],
    at: 'take [1,50) offline',
  },
  {
    rule: 'I8',
    given: [RANGES, steps('split [1,50) at 20')],
    wrong: [['split [1,50) at 20', 'split [1,50) at 20, the second half to shard B from shard A']],
    at: 'split [1,50)',
  },
  {
    rule: 'I9',
    given: [RANGES, steps('merge [50,100) and [100,150)')],
    wrong: [['merge [50,100)', 'merge [1,50)']],
    at: 'merge [1,50)',
  },
  {
    rule: 'I10',
    given: [RANGES, steps('copy the data of [1,50)', 'update the mapping')],
    wrong: [['1. copy the data of [1,50)\n', '']],
    at: 'update the mapping',
  },
  {
    rule: 'I11',
    given: [RANGES, steps('update mapping v1, which gives v2', 'bring v2 online')],
    wrong: [['bring v2 online', 'bring v1 online']],
    at: 'bring v1 online',
  },
  {
    rule: 'I12',
    given: [RANGES, steps('create database db-c', 'add shard C')],
    wrong: [['1. create database db-c\n2. add shard C', '1. add shard C\n2. create database db-c']],
    at: 'add shard C',
  },
  {
    rule: 'I13',
    given: [RANGES, ['', '- **Shard map store**: a database of its own, one manager a process']],
    wrong: [['a database of its own, one manager a process', 'the shard map lies in the same database as the orders']],
    at: 'same database',
  },
  {
    rule: 'I13',
    given: [RANGES, ['', '- **Shard map store**: the database of the shard map also holds `routers`.']],
    wrong: [['`routers`', '`orders`']],
    at: 'also holds',
  },
  {
    rule: 'I14',
    given: [['', '## Shard map\n- **Routing credentials**: `router`\n- **Administration credentials**: `admin`']],
    wrong: [['`router`', '`admin`']],
    at: 'Routing credentials',
  },
];
