// Cases of the groups A to D.
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
const CROSS = (ru: number): Edit =>
  RU(`| 7 | Find orders by tier | Orders | Query, cross-partition: \`SELECT * FROM c WHERE c.cents > 1\` | ${ru} RU |`);
const SERVERLESS: Edit = [
  '- **Throughput Planning**: manual 400 RU/s, the change feed included',
  '- **Throughput Planning**: serverless, the change feed included',
];
const HIERARCHICAL: Edit = [
  '- **Partition Key**: `/customerId` - 100,000 values\n- **Document Types**: `order`',
  '- **Partition Key**: `/customerId, /id` - 100,000 values\n- **Document Types**: `order`',
];
export const A_TO_D: readonly Case[] = [
  { rule: 'A2', wrong: [['| 40/10 |', '| TBD |']], at: '| TBD |' },
  { rule: 'A2', wrong: [['| 40/10 |', '| |']], at: "| 2 | A customer's orders (source" },
  { rule: 'A2', wrong: [['| 40/10 |', '| [X] RPS |']], at: '[X] RPS' },
  {
    rule: 'A2',
    wrong: [['| 6 | Rename a customer | Customers |', '| 9 | Rename a customer | Customers |']],
    at: '| 9 | Rename',
    says: 'pattern 9',
  },
  {
    rule: 'A2',
    wrong: [['| 3 | Read a customer (source', '| 2 | Read a customer (source']],
    at: '| 2 | Read a customer (source',
    says: 'occurs twice',
  },
  {
    rule: 'A2',
    wrong: [['| 3 | Read a customer | Customers |', '\n| 3 | Read a customer | Customers |']],
    at: '| 3 | Read a customer (source',
    says: 'no row',
  },
  { rule: 'A2', wrong: [['Served**: 3, 6', 'Served**: 3']], at: 'Served**: 3', severity: 'warning' },
  {
    rule: 'A3',
    wrong: [['| 5 | Place an order | Orders |', '| 5 | Place an order | Order |']],
    at: '| 5 | Place an order | Order |',
    says: 'Order',
  },
  {
    rule: 'A4',
    wrong: [['| 6 | Rename a customer | Customers | Replace | 12 RU |\n', '']],
    at: '### Customers Container',
    says: 'nothing writes it',
  },
  {
    rule: 'A6',
    wrong: [['Customer only 30 %', 'Customer only 55 %']],
    at: '20 % of the queries need both',
    says: '125',
  },
  {
    rule: 'A6',
    wrong: [['- **Access Correlation**: 20 %', '- **Access Correlation**: 40 %']],
    at: 'Correlation**: 40 %',
  },
  {
    rule: 'A9',
    wrong: [['## Global Distribution Strategy\n- **Multi-Region Setup**: one region\n', '']],
    at: '# Shop',
    severity: 'warning',
  },
  { rule: 'A9', wrong: [['- [x] Loads are', '- [ ] Loads are']], at: '- [ ] Loads', severity: 'warning' },

  { rule: 'C3', wrong: [['1 KB, max 40 KB', '1 KB, max 2.4 MB']], at: 'max 2.4 MB', severity: 'error' },
  { rule: 'C3', wrong: [['1 KB, max 40 KB', '1 KB, max 1.4 MB']], at: 'max 1.4 MB', severity: 'warning' },
  {
    rule: 'B4',
    wrong: [['- **Document Size**: 1 KB, max 40 KB', '- **Document Size**: avg 124 KB, max 304 KB']],
    at: '| 1 | Read an order | Orders',
    says: '12',
  },
  { rule: 'B4', wrong: [['| Create | 10 RU |', '| Create | 2 RU |']], at: '| Create | 2 RU |' },
  { rule: 'B4', wrong: [['| Replace | 12 RU |', '| Replace | 4 RU |']], at: '| Replace | 4 RU |' },
  {
    rule: 'B4',
    given: [ADD7, RU('| 7 | Find | Customers | Delete | 6 RU |')],
    wrong: [['| Delete | 6 RU |', '| Delete | 1 RU |']],
    at: '| Delete | 1 RU |',
  },
  { rule: 'B4', wrong: [['| 3 RU |', '| 1.5 RU |']], at: '| 1.5 RU |' },
  {
    rule: 'B4',
    given: [ADD7, CROSS(30)],
    wrong: [['| 30 RU |', '| 4 RU |']],
    at: '| 4 RU |',
    says: '2 partitions cost at least 5 RU',
  },
  {
    rule: 'B9',
    given: [['- **Size**: 100 GB', '- **Size**: 100 GB on 2 physical partitions']],
    wrong: [['100 GB on 2 physical', '100 GB on 5 physical']],
    at: '5 physical partitions',
  },
  {
    rule: 'B10',
    given: [ADD7, CROSS(30), ['| 20/1 | Read |', '| 2/1 | Read |']],
    wrong: [['| 2/1 | Read |', '| 20/1 | Read |']],
    at: '| 7 | Find orders by tier | Orders',
    severity: 'warning',
  },
  {
    rule: 'B10',
    given: [
      ADD7,
      CROSS(30),
      ['| 20/1 | Read |', '| 2/1 | Read |'],
      ['100 GB of orders', '6,000 GB of orders'],
      ['- **Size**: 100 GB', '- **Size**: 4,000 GB'],
    ],
    wrong: [['- **Size**: 4,000 GB', '- **Size**: 6,000 GB']],
    at: '| 7 | Find orders by tier | Orders',
    severity: 'error',
  },
  {
    rule: 'B11',
    wrong: [['autoscale max 10,000 RU/s', 'autoscale max 100 RU/s']],
    at: 'autoscale max 100 RU/s',
    severity: 'error',
  },
  {
    rule: 'B11',
    wrong: [['autoscale max 10,000 RU/s', 'autoscale max 900 RU/s']],
    at: 'autoscale max 900 RU/s',
    severity: 'warning',
  },
  { rule: 'B12', wrong: [['autoscale 400-4,000', 'autoscale 1,000-4,000']], at: 'autoscale 1,000-4,000' },
  { rule: 'B12', wrong: [['autoscale max 10,000', 'autoscale max 900']], at: 'autoscale max 900' },
  { rule: 'B12', wrong: [['- **Size**: 100 GB', '- **Size**: 500 GB']], at: 'autoscale 400-4,000', says: '500 GB' },
  { rule: 'B12', wrong: [['manual 400 RU/s', 'manual 350 RU/s']], at: 'manual 350 RU/s' },
  {
    rule: 'B18',
    given: [SERVERLESS],
    wrong: [['serverless, the change', 'serverless, 4,000 RU/s provisioned, the change']],
    at: '4,000 RU/s provisioned',
  },

  {
    rule: 'C1',
    wrong: [
      [
        '"customerId": "c1", "placedAt": "2026-01-01T10:00:00Z", "cents": 100',
        '"partitionKey": "c1", "placedAt": "2026-01-01T10:00:00Z", "cents": 100',
      ],
    ],
    at: '"partitionKey": "c1"',
    says: 'partitionKey',
  },
  {
    rule: 'C2',
    wrong: [
      [
        '- **Partition Key**: `/customerId` - 100,000 values\n- **Document Types**: `summary`',
        '- **Partition Key**: `/customerId` - 900,000 values\n- **Document Types**: `summary`',
      ],
    ],
    at: '900,000 values',
    severity: 'warning',
    says: '100,000 in Orders',
  },
  {
    rule: 'C2',
    given: [['`/id` - 100,000 values', '`/id` - 12,000 bikes']],
    wrong: [['12,000 bikes', '12 bikes']],
    at: '12 bikes',
  },
  { rule: 'C2', wrong: [['`/id` - 100,000 values', '`/id` - 40 values']], at: '40 values', severity: 'error' },
  { rule: 'C2', wrong: [['`/id` - 100,000 values', '`/tier` - read by tier']], at: 'read by tier', says: 'few values' },
  {
    rule: 'C3',
    wrong: [['the largest customer has 2 MB in one key', 'the largest customer has 34 GB in one key']],
    at: '34 GB',
    severity: 'error',
  },
  {
    rule: 'C3',
    wrong: [['max 40)', 'max 30,000,000)']],
    at: '- **Partition Key**: `/customerId` - 100,000 values',
    says: '30 GB',
  },
  { rule: 'C3', wrong: [['2 MB in one key, 1 % of the load', '2 MB in one key, 12,000 RU/s']], at: '12,000 RU/s' },
  { rule: 'C5', wrong: [['15,000 RU/s, over 2 shards', '45,000 RU/s, over 2 shards']], at: '45,000 RU/s', says: '5' },
  {
    rule: 'C5',
    wrong: [
      ['Query of all shards:', 'Query:'],
      ['merged, 4 RU', '4 RU'],
    ],
    at: '| 4 | Totals of a day | Days',
  },
  {
    rule: 'C5',
    wrong: [['15,000 RU/s, over 2 shards', '150 RU/s, over 2 shards']],
    at: '150 RU/s',
    severity: 'warning',
  },
  {
    rule: 'C6',
    wrong: [
      ['- **Current Design**: key of the customer', '- **Current Design**: cross-partition queries by customer'],
      [
        '- **Partition Key**: `/customerId` - 100,000 values\n- **Document Types**: `order`',
        '- **Partition Key**: `/id` - 100,000 values\n- **Document Types**: `order`',
      ],
    ],
    at: 'Child Independence',
    says: '/customerId',
  },
  {
    rule: 'C7',
    wrong: [
      [', written in shards 0-1 of a random suffix', ''],
      ['15,000 RU/s, over 2 shards', '1,500 RU/s'],
    ],
    at: '`/day` - 3,650 values',
  },
  {
    rule: 'C12',
    wrong: [
      [
        '`/id` - 100,000 values\n- **Document Types**: `customer`',
        '`/id` - 100,000 values\n- **Unique Key Policy**: `/name`\n- **Document Types**: `customer`',
      ],
    ],
    at: 'Unique Key Policy',
    says: 'enforces nothing',
  },
  {
    rule: 'C8',
    given: [HIERARCHICAL, ADD7, RU('| 7 | Find | Orders | Query: `SELECT * FROM c WHERE c.customerId = @c` | 3 RU |')],
    wrong: [
      ['`SELECT * FROM c WHERE c.customerId = @c` | 3 RU |\n| 6', '`SELECT * FROM c WHERE c.id = @c` | 3 RU |\n| 6'],
    ],
    at: '| 7 | Find | Orders',
  },
  {
    rule: 'B18',
    given: [HIERARCHICAL],
    wrong: [['autoscale 400-4,000 RU/s, 10 RU a create and the change feed', 'serverless, with the change feed']],
    at: 'serverless',
  },
  {
    rule: 'C10',
    wrong: [['`/id` - 100,000 values', '`/store_user` - 100,000 values, a synthetic key']],
    at: '/store_user',
  },
  { rule: 'C11', wrong: [['"id": "c1", "type": "customer"', '"id": "c/1", "type": "customer"']], at: '"id": "c/1"' },

  {
    rule: 'D1',
    wrong: [['- **Decision**: lines embedded in the order', '- **Decision**: separate containers']],
    at: '- **Decision**: separate containers',
    says: '95 %',
  },
  { rule: 'D2', wrong: [['| 20 % | Separate |', '| 20 % | Consolidate |']], at: '| Consolidate |' },
  {
    rule: 'D8',
    wrong: [
      ['"id": "c2", "type": "customer", "name"', '"id": "c2", "name"'],
      ['- **Document Types**: `customer`', '- **Document Types**: `customer`, `address`'],
    ],
    at: '"id": "c2", "name"',
  },
  {
    rule: 'D9',
    given: [
      ['"name": "Ada", "tier": "gold" }', '"name": "Ada", "tier": "gold", "messages": [] }'],
      ['- **Purpose**: customers\n', '- **Purpose**: customers; messages: at most 50\n'],
    ],
    wrong: [['; messages: at most 50', '']],
    at: '"messages": []',
  },
  {
    rule: 'D9',
    given: [
      [
        '- **Purpose**: customers\n',
        '- **Purpose**: customers\n\n```ts\ninterface Customer {\n  history: string[]; // the last 20\n}\n```\n',
      ],
    ],
    wrong: [['; // the last 20', ';']],
    at: 'history: string[]',
    severity: 'warning',
  },
];
