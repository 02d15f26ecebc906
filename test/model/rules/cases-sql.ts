// Cases of SQL (C24, E5), and of what examples and names show (C12, D9, D11).
import type { Case, Edit } from './base.ts';

const container = (name: string, example: string, more = ''): Edit => [
  '### Customers Container',
  `### ${name} Container\n${example === '' ? '' : `\`\`\`json\n[\n  ${example}\n]\n\`\`\`\n`}- **Partition Key**: \`/customerId\` - 100,000 values\n${more}\n### Customers Container`,
];
const query = (condition: string): Edit => [
  'WHERE c.type = "summary" AND c.customerId = @c`',
  `WHERE c.type = "summary" AND c.customerId = @c${condition}\``,
];
const OTHER = container(
  'Sites',
  '{ "id": "s1", "type": "site", "customerId": "c1", "site_code": "4100", "owner_label": "North" }',
);

export const SQL_CASES: readonly Case[] = [
  {
    rule: 'C24',
    wrong: [query(' AND (CASE WHEN c.a THEN 1 ELSE 0 END) = 1')],
    at: 'CASE WHEN',
    says: 'condition ? a : b',
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
    rule: 'E5',
    wrong: [query(' AND LOWER(c.state) = @s')],
    at: 'LOWER(c.state)',
    severity: 'warning',
    says: 'LOWER of state',
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
