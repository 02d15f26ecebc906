// Cases of the rules about the service (A16, B21, B22, F15), sums (A17), names (C21 to C23) and derived data (D10, D11, F16).
import type { Case, Edit } from './base.ts';

/** A container of its own, before Customers. */
const container = (name: string, fields: string, more = ''): Edit => [
  '### Customers Container',
  `### ${name} Container\n\`\`\`json\n[\n  { "id": "x1", ${fields} }\n]\n\`\`\`\n- **Partition Key**: \`/customerId\` - 100,000 values\n${more}\n### Customers Container`,
];
const SESSIONS = container('Sessions', '"customerId": "c1", "startedAt": "2026-01-01", "expiresAt": "2026-01-02"');
export const SERVICE_CASES: readonly Case[] = [
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
    rule: 'C21',
    wrong: [
      [
        'WHERE c.type = "summary" AND c.customerId = @c`',
        'WHERE c.type = "summary" AND c.customerId = @c AND c.PlacedAt > @t`',
      ],
    ],
    at: 'c.PlacedAt',
    severity: 'error',
    says: 'the documents have placedAt',
  },
  {
    rule: 'C21',
    wrong: [
      [
        'WHERE c.type = "summary" AND c.customerId = @c`',
        'WHERE c.type = "summary" AND c.customerId = @c AND c.courier = @x`',
      ],
    ],
    at: 'c.courier',
    severity: 'warning',
    says: 'which no document has',
  },
  {
    rule: 'C12',
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
    rule: 'E7',
    given: [[SESSIONS[0], SESSIONS[1].replace('100,000 values\n', '100,000 values\n- **TTL**: -1\n')]],
    wrong: [['100,000 values\n- **TTL**: -1\n\n### Customers', '100,000 values\n\n### Customers']],
    at: '"expiresAt"',
  },
];
