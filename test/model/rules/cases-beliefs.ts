// Cases of what is false of every account (A18, B22, F15), of SQL (C24, E10), of data for a time (F17), and of what
// addresses, examples and names show (C12, C22, D11).
import type { Case, Edit } from './base.ts';

const said = (sentence: string): Edit => [
  '## Trade-offs and Optimizations',
  `## Trade-offs and Optimizations\n- **Said**: ${sentence}`,
];
const container = (name: string, example: string, more = ''): Edit => [
  '### Customers Container',
  `### ${name} Container\n${example === '' ? '' : `\`\`\`json\n[\n  ${example}\n]\n\`\`\`\n`}- **Partition Key**: \`/customerId\` - 100,000 values\n${more}\n### Customers Container`,
];
const belief = (sentence: string, says: string): Case => ({
  rule: 'A18',
  given: [said(`No ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`)],
  wrong: [[`No ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`, sentence]],
  at: sentence,
  severity: 'error',
  says,
});
const query = (condition: string): Edit => ['WHERE c.customerId = @c`', `WHERE c.customerId = @c${condition}\``];
const OTHER = container(
  'Sites',
  '{ "id": "s1", "type": "site", "customerId": "c1", "site_code": "4100", "owner_label": "North" }',
);

export const BELIEF_CASES: readonly Case[] = [
  belief('A physical partition supports up to 20 GB of storage', '50 GB'),
  belief('A logical partition can hold at most 50 GB', '20 GB'),
  belief(
    'Each value is a logical partition, which is spread over multiple physical partitions',
    'one physical partition',
  ),
  belief('JOINs work within the same partition', 'one document'),
  belief('The model enables queries that join orders across containers', 'one document'),
  belief('Atomic updates across multiple containers are used at checkout', 'one partition key'),
  belief('A stored procedure updates orders across partitions', 'one logical partition'),
  belief('The change feed gives exactly-once delivery', 'at least once'),
  belief('The change feed has a global order', 'within a partition key'),
  belief('Autoscale scales down to zero at night', 'tenth'),
  belief('The partition key can be changed later', 'fixed'),
  belief('A document has a maximum of 16 MB', '2 MB'),
  belief('Storage per partition stays below the 50 GB limit', '20 GB'),
  belief('Unlimited storage for each tenant is given by the key', '20 GB'),
  belief('Parallel queries within a tenant are enabled by the key', 'one physical partition'),
  belief('A serverless account costs $0.25 per million RU/s', 'a rate'),
  belief('Reads: $0.25 per million operations', 'by their RU'),
  belief('Auto-pause saves money in development', 'doesn’t pause'),
  belief('Backup: default 7-day continuous', 'periodic'),
  belief('Session consistency is for strong data consistency', 'its own writes'),
  {
    rule: 'A18',
    given: [said('No ACID transactions across partitions')],
    wrong: [['No ACID transactions across partitions', 'No ACID transactions']],
    at: 'No ACID transactions',
    says: 'transactional batch',
  },
  {
    rule: 'A18',
    given: [said('RU cost for reads from replicas')],
    wrong: [['RU cost for reads from replicas', 'no additional RU cost for reads from replicas']],
    at: 'no additional RU',
    says: 'each region',
  },
  belief('Continuous backups are enabled by default', 'periodic'),
  belief('Alerts are sent for NormalizedRUConsumption > 5000', 'percentage'),
  {
    rule: 'C24',
    wrong: [query(' AND (CASE WHEN c.a THEN 1 ELSE 0 END) = 1')],
    at: 'CASE WHEN',
    says: 'condition ? a : b',
  },
  {
    rule: 'B22',
    given: [said('x\n\n## Production\n- **Mode**: Autoscale\n- **Minimum RU/s**: 400\n- **Maximum RU/s**: 4,000\n')],
    wrong: [['- **Maximum RU/s**: 4,000', '- **Maximum RU/s**: 10,000']],
    at: '- **Minimum RU/s**: 400',
    severity: 'warning',
    says: 'the least is 1,000, not 400',
  },
  {
    rule: 'F15',
    given: [said('TTL: each type may have its own')],
    wrong: [['TTL: each type may have its own', 'Shared TTL: we cannot set different time-to-live policies per type']],
    at: 'Shared TTL',
    severity: 'warning',
  },
  { rule: 'C24', wrong: [query(' LIMIT 50')], at: 'LIMIT 50', severity: 'error', says: 'OFFSET 0 LIMIT' },
  { rule: 'C24', given: [query(' OFFSET 0 LIMIT 50')], wrong: [['OFFSET 0 LIMIT 50', 'LIMIT 50']], at: 'LIMIT 50' },
  {
    rule: 'C24',
    wrong: [query(' GROUP BY c.state HAVING c.state > 1')],
    at: 'HAVING',
    severity: 'error',
    says: 'no HAVING',
  },
  {
    rule: 'E10',
    wrong: [query(' AND LOWER(c.state) = @s')],
    at: 'LOWER(c.state)',
    severity: 'warning',
    says: 'LOWER of state',
  },
  {
    rule: 'F17',
    given: [container('ProcessedEvents', '{ "id": "x1", "customerId": "c1" }', '- **TTL**: 7 days\n')],
    wrong: [['- **TTL**: 7 days\n', '']],
    at: '`/customerId` - 100,000 values',
    severity: 'warning',
    says: 'nothing ends them',
  },
  {
    rule: 'F17',
    given: [
      container('Seen', '{ "id": "x1", "customerId": "c1" }', '- **Purpose**: deduplication of events, kept by TTL\n'),
    ],
    wrong: [[', kept by TTL', '']],
    at: '`/customerId` - 100,000 values',
    says: 'Seen',
  },
  {
    rule: 'C25',
    given: [said('A friendship is two documents, one in each person’s partition, and an outbox completes them')],
    wrong: [[', and an outbox completes them', '']],
    at: 'one in each person’s partition',
    severity: 'warning',
  },
  {
    rule: 'F17',
    given: [
      container(
        'Invites',
        '{ "id": "x1", "customerId": "c1" }',
        '- **Purpose**: invite codes, which expire after a week\n',
      ),
    ],
    wrong: [[', which expire after a week', '']],
    at: '`/customerId` - 100,000 values',
    says: 'Invites',
  },
  {
    rule: 'D9',
    given: [
      container(
        'Reports',
        '{ "id": "x1", "customerId": "c1", "files": ["a.html"] }',
        '\n| Field | Type | Description |\n|---|---|---|\n| `files` | array of string | The last 12 reports |\n',
      ),
    ],
    wrong: [['The last 12 reports', 'Every report of this customer']],
    at: '"files": ["a.html"]',
    says: 'files grows',
  },
  {
    rule: 'C22',
    given: [said('x\n\n#### GET `/api/customers/:customerId`\n')],
    wrong: [['GET `/api/customers/:customerId`', 'GET `/api/customers/region/:regionCode`']],
    at: 'region/:regionCode',
    severity: 'warning',
    says: 'looked up by regionCode',
  },
  {
    rule: 'D11',
    given: [
      OTHER,
      container(
        'Visits',
        '{ "id": "v1", "customerId": "c1", "site_id": "s1", "lines": [{ "site_id": "s1", "hours": 2 }] }',
      ),
    ],
    wrong: [['"hours": 2 }', '"hours": 2, "site_code": "4100" }']],
    at: '"site_code": "4100" }',
    severity: 'warning',
    says: 'site_code is copied',
  },
  {
    rule: 'C12',
    given: [
      [
        '### Customers Container',
        '### user-profiles Container\n- **Partition Key**: `/regionId` - 100,000 values\n- **Unique Keys**: `/email`, `/phone`\n\n### Customers Container',
      ],
    ],
    wrong: [['`/regionId` - 100,000 values', '`/userId` - 100,000 values']],
    at: '- **Unique Keys**: `/email`, `/phone`',
    severity: 'error',
    says: '/email; /phone enforces nothing',
  },
];
