// Cases of the rules about the service (A16, B21, B22, F15), sums (A17), names (C21 to C23) and derived data (D10, D11, F16).
import type { Case, Edit } from './base.ts';

/** A container of its own, before Customers. */
const container = (name: string, fields: string, more = ''): Edit => [
  '### Customers Container',
  `### ${name} Container\n\`\`\`json\n[\n  { "id": "x1", ${fields} }\n]\n\`\`\`\n- **Partition Key**: \`/customerId\` - 100,000 values\n${more}\n### Customers Container`,
];
const SESSIONS = container('Sessions', '"customerId": "c1", "startedAt": "2026-01-01", "expiresAt": "2026-01-02"');
const manual = (ru: string): Edit => [
  '## Trade-offs and Optimizations',
  `## Free\n- The free tier covers the first 1,000 RU/s\n\n## Trade-offs and Optimizations\n- **Small**: ${ru} RU/s autoscale`,
];
const SERVERLESS: readonly Edit[] = [
  ['', 'The account is in serverless mode.'],
  ['- **Throughput Planning**: autoscale 400-4,000 RU/s, 10 RU a create and the change feed\n', ''],
  ['- **Throughput Planning**: manual 400 RU/s, the change feed included\n', ''],
  ['- **Throughput Planning**: autoscale max 10,000 RU/s\n', ''],
  ['- **Throughput Planning**: autoscale max 20,000 RU/s\n', ''],
];

export const SERVICE_CASES: readonly Case[] = [
  {
    rule: 'A16',
    given: SERVERLESS,
    wrong: [['- **Multi-Region Setup**: one region', '- **Regions**: active-active in two of them']],
    at: 'active-active',
    says: 'one region',
  },
  {
    rule: 'A16',
    given: SERVERLESS,
    wrong: [['### CustomerOrders Container', '- **Throughput**: manual 400 RU/s\n\n### CustomerOrders Container']],
    at: '- **Throughput**: manual 400',
    says: 'has a throughput',
  },
  {
    rule: 'A16',
    given: [['', 'Cost: serverless tier, paid by the request.'], ...SERVERLESS.slice(1)],
    wrong: [['- **Multi-Region Setup**: one region', '- **Regions**: read replicas near the users']],
    at: 'read replicas',
    says: 'one region',
  },
  {
    rule: 'A16',
    given: SERVERLESS,
    wrong: [['- **Multi-Region Setup**: one region', '- **Storage**: first 25 GB free']],
    at: 'first 25 GB free',
    says: 'isn’t offered',
  },
  {
    rule: 'A16',
    given: SERVERLESS,
    wrong: [['- **Multi-Region Setup**: one region', '- **Price**: the free tier']],
    at: 'the free tier',
    says: 'isn’t offered',
  },
  {
    rule: 'A16',
    given: [...SERVERLESS, ['', '| Mode | Cost |\n|---|---|\n| **Serverless** | a request |\n| Free tier | none |']],
    wrong: [['| **Serverless** | a request |\n| Free tier | none |', '| Price | nothing, by the free tier |']],
    at: 'by the free tier',
  },
  {
    rule: 'B18',
    given: [
      [
        '- **Throughput Planning**: manual 400 RU/s, the change feed included',
        '- **Throughput Planning**: autoscale or serverless, the change feed included',
      ],
    ],
    wrong: [['autoscale or serverless, the change', 'serverless, autoscale max 4,000 RU/s, the change']],
    at: 'serverless, autoscale max',
    says: "can't be provisioned",
  },
  {
    rule: 'B22',
    given: [['', '- Throughput: 1,000 RU/s (autoscale) or serverless']],
    wrong: [['1,000 RU/s (autoscale) or serverless', '400 RU/s (autoscale) or serverless']],
    at: '400 RU/s (autoscale)',
  },
  {
    rule: 'A17',
    given: [
      [
        '',
        '| Part | Cost |\n|---|---|\n| reads | $10 |\n| writes | $15/month |\n| **Total** | $26 |\n\n| Part | Cost |\n|---|---|\n| reads | $10 |\n| writes | $15 |\n| **Total** | $26 |',
      ],
    ],
    wrong: [['| writes | $15 |\n| **Total** | $26 |', '| writes | $15 |\n| **Total** | ~$40-50 |']],
    at: '~$40-50',
    says: 'add up to 25',
  },
  {
    rule: 'B21',
    given: [
      ['', 'The free tier covers the first 1,000 RU/s; the containers share the throughput of the database.'],
      ['autoscale max 20,000 RU/s', 'autoscale max 2,000 RU/s'],
    ],
    wrong: [['; the containers share the throughput of the database.', '.']],
    at: 'free tier',
    says: 'the containers have 16,400',
  },
  {
    rule: 'B22',
    given: [manual('4000')],
    wrong: [['4000 RU/s autoscale', '400 RU/s autoscale']],
    at: '400 RU/s autoscale',
  },
  {
    rule: 'C21',
    wrong: [['WHERE c.customerId = @c`', 'WHERE c.customerId = @c AND c.PlacedAt > @t`']],
    at: 'c.PlacedAt',
    severity: 'error',
    says: 'the documents have placedAt',
  },
  {
    rule: 'C21',
    wrong: [['WHERE c.customerId = @c`', 'WHERE c.customerId = @c AND c.courier = @x`']],
    at: 'c.courier',
    severity: 'warning',
    says: 'which no document has',
  },
  {
    rule: 'C22',
    given: [
      ['', 'The repository has `getCustomerByName` (cross-partition), `getCustomerById` and `getOrderByCustomerId`.'],
    ],
    wrong: [[' (cross-partition), `getCustomerById`', ', `getCustomerById`']],
    at: 'getCustomerByName',
    says: 'looked up by name',
  },
  {
    rule: 'C22',
    given: [['', '- `GET /customers/c1/orders` - Get all orders of a customer\n- Get all customers on this page']],
    wrong: [['- Get all customers on this page', '- `GET /customers` - Get all customers']],
    at: 'Get all customers',
    says: 'listed as a whole',
  },
  {
    rule: 'C23',
    given: [
      [
        '- **Purpose**: customers\n',
        '- **Purpose**: customers\n\n| Field | Type | Meaning |\n|---|---|---|\n| id | string | unique identifier |\n| email | string | address |\n\n',
      ],
    ],
    wrong: [['| email | string | address |', '| email | string | address, unique |']],
    at: 'address, unique',
  },
  {
    rule: 'D10',
    given: [
      ['"name": "Ada", "tier": "gold"', '"name": "Ada", "tier": "gold", "orderCount": 3'],
      ['', 'orderCount is kept by an aggregate.'],
    ],
    wrong: [['orderCount is kept by an aggregate.', 'orderCount is shown first.']],
    at: '"orderCount": 3',
  },
  {
    rule: 'D11',
    given: [container('Visits', '"customerId": "c1", "customerTier": "gold"'), ['', 'customerTier is a snapshot.']],
    wrong: [['customerTier is a snapshot.', 'customerTier is shown first.']],
    at: '"id": "x1"',
    says: 'nothing is said to refresh it',
  },
  {
    rule: 'F15',
    given: [['', 'The change feed shows no TTL. TTL takes RU.']],
    wrong: [['The change feed shows no TTL.', 'The change feed captures TTL deletions.']],
    at: 'captures TTL deletions',
    severity: 'error',
  },
  {
    rule: 'F15',
    given: [['', 'The TTL counts for all documents.']],
    wrong: [['The TTL counts for all documents.', 'The TTL only applies to new writes.']],
    at: 'only applies to new',
    says: 'documents that exist',
  },
  {
    rule: 'F16',
    given: [[SESSIONS[0], SESSIONS[1].replace('100,000 values\n', '100,000 values\n- **TTL**: -1\n')]],
    wrong: [['100,000 values\n- **TTL**: -1\n\n### Customers', '100,000 values\n\n### Customers']],
    at: '"expiresAt"',
  },
];
