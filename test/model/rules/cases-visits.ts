// Cases of keys that change or are stated twice (C30, C31), of what everyone asks (B24, D15), of containers without a design
// (A19), of what the feed sends (F19), and of sums, counters, copies and maps that these documents show (A16, A18, B6, C7,
// C14, D9, D10, D11, E2).
import type { Case, Edit } from './base.ts';

/** A container of its own, before Customers; its documents as one line of JSON, or none. */
const container = (name: string, key: string, fields = '', more = ''): Edit => [
  '### Customers Container',
  `### ${name} Container\n${fields === '' ? '' : `\`\`\`json\n[\n  { "id": "x1", ${fields} }\n]\n\`\`\`\n`}- **Partition Key**: \`${key}\` - 100,000 values\n${more}\n### Customers Container`,
];
const said = (sentence: string): Edit => ['', sentence];

export const VISIT_CASES: readonly Case[] = [
  {
    rule: 'A19',
    given: [said('Old orders stay in the `Orders` container.')],
    wrong: [['Old orders stay in the `Orders` container.', 'Old orders go to the `graveyard` container.']],
    at: 'the `graveyard` container',
    severity: 'warning',
    says: 'graveyard has no design',
  },
  {
    rule: 'A19',
    given: [said('- **Containers**:\n  - `Orders` - what is bought\n  - `Customers` - who buys')],
    wrong: [['`Customers` - who buys', '`Parcels` - what is sent']],
    at: '`Parcels` - what is sent',
    says: 'Parcels has no design',
  },
  {
    rule: 'A19',
    given: [said('Old orders go to the `graveyard` container (PK: `/customerId`).')],
    wrong: [[' (PK: `/customerId`)', '']],
    at: 'the `graveyard` container',
  },
  {
    rule: 'B24',
    given: [said('The administrators’ email lookup is cross-partition.')],
    wrong: [['The administrators’ email lookup', 'The email lookup']],
    at: 'The email lookup is cross-partition',
    says: 'reads every partition',
  },
  {
    rule: 'B24',
    given: [said('List the stores of a town: cross-partition.')],
    wrong: [['List the stores of a town', "List a user's orders"]],
    at: "List a user's orders",
  },
  {
    rule: 'C30',
    given: [container('Accounts', '/personId', '"personId": "p1"')],
    wrong: [['"personId": "p1"', '"personId": "ada@example.com"']],
    at: '"personId": "ada@example.com"',
    says: 'can’t change its partition',
  },
  {
    rule: 'C30',
    given: [container('Tasks', '/assigneeId', '', '- **Assignee**: the value never changes\n')],
    wrong: [['the value never changes', 'set by the team']],
    at: '`/assigneeId`',
    says: 'Tasks: the value of the key /assigneeId',
  },
  {
    rule: 'C31',
    given: [said('| Container | Partition Key |\n|---|---|\n| `Customers` | `/id` |')],
    wrong: [['| `Customers` | `/id` |', '| `Customers` | `/name` |']],
    at: '| `Customers` | `/name` |',
    says: 'Customers has the key /id in line',
  },
  {
    rule: 'C31',
    given: [said('The container `Customers`, and each with partition key `/id`.')],
    wrong: [['each with partition key `/id`', 'each with partition key `/pk`']],
    at: 'each with partition key `/pk`',
    says: 'and /pk here',
  },
  {
    rule: 'D15',
    given: [
      ['`/day`', '`/customerId`'],
      said('The leaderboard has the best customers.\nThe change feed keeps the leaderboard.'),
    ],
    wrong: [['The change feed keeps the leaderboard.', 'People like it.']],
    at: 'The leaderboard has',
    says: 'nothing keeps it',
  },
  {
    rule: 'F19',
    given: [
      said(
        'A reader of the change feed:\n\n```ts\nfor (const change of page) await sendNotification(change);\n```\n\nThe receiver knows the message id.',
      ),
    ],
    wrong: [['The receiver knows the message id.', 'The receiver is a phone.']],
    at: 'sendNotification(change)',
    says: 'twice',
  },
  {
    rule: 'F19',
    given: [said('The change feed triggers email notifications, and duplicates are dropped.')],
    wrong: [[', and duplicates are dropped', '']],
    at: 'The change feed triggers',
  },
  {
    rule: 'B6',
    given: [said('**Cost**: 3 RU per query')],
    wrong: [['3 RU per query', '1 RU per query']],
    at: '1 RU per query',
    says: 'at least 2 RU',
  },
  {
    rule: 'C14',
    given: [said('```sql\n-- A customer’s orders (point read)\nSELECT * FROM c WHERE c.id = "o1"\n```'), said('')],
    wrong: [['WHERE c.id = "o1"', 'WHERE c.customerId = "c1"']],
    at: '(point read)',
    severity: 'warning',
    says: 'called a point read',
  },
  {
    rule: 'C7',
    given: [container('Bookings', '/bucket', '', '- **Key value**: `/bucket` is the customer\n')],
    wrong: [['`/bucket` is the customer', '`/bucket` has the form YYYY-MM']],
    at: '`/bucket` - 100,000',
    says: 'grows with time',
  },
  {
    rule: 'D9',
    given: [container('Photos', '/id', '"stars": { "user-1": 5, "user-2": 4 }'), said('stars: at most 20.')],
    wrong: [['stars: at most 20.', 'stars are shown.']],
    at: '"stars"',
  },
  {
    rule: 'D10',
    given: [container('Questions', '/id', '"upvotes": 7'), said('upvotes is an aggregate of the votes.')],
    wrong: [['upvotes is an aggregate of the votes.', 'upvotes are shown.']],
    at: '"upvotes": 7',
  },
  {
    rule: 'D11',
    given: [
      container('Photos', '/id', '"creatorId": "u1", "creatorName": "Ada"'),
      said('creatorName: a snapshot of that day.'),
    ],
    wrong: [['creatorName: a snapshot of that day.', 'creatorName is shown.']],
    at: '"creatorName": "Ada"',
  },
  {
    rule: 'C26',
    given: [container('Users', '/familyId', '"familyId": "f1"', '- **Sign-in**: the token names the family\n')],
    wrong: [['the token names the family', 'with a password']],
    at: '`/familyId`',
    says: 'and not familyId',
  },
  {
    rule: 'C26',
    given: [container('Users', '/id', '"email": "a@b.com"'), said('People log in with Entra.')],
    wrong: [['People log in with Entra.', 'People log in.']],
    at: '"email": "a@b.com"',
    says: 'a sign-in knows email',
  },
  {
    rule: 'B23',
    given: [container('AuditEvents', '/tenantId', '"tenantId": "t1"', '- **TTL**: 7776000\n')],
    wrong: [['- **TTL**: 7776000\n', '- **TTL**: -1\n']],
    at: '`/tenantId`',
    says: '20 GB',
  },
  {
    rule: 'F19',
    given: [said('```ts\nreadChangeFeed();\nupdateMetrics(change); // idempotent\n```')],
    wrong: [['updateMetrics(change); // idempotent', 'updateMetrics(change);']],
    at: 'updateMetrics(change)',
  },
  {
    rule: 'C22',
    given: [said('The program calls getAllCustomers() across partitions (cross-partition).')],
    wrong: [['getAllCustomers() across partitions (cross-partition)', 'getAllCustomers()']],
    at: 'getAllCustomers()',
    says: 'listed as a whole',
  },
  {
    rule: 'E2',
    given: [
      said(
        '```python\npolicy = {\n  "includedPaths": [\n    {"path": "/name/?"}\n  ],\n  "excludedPaths": [{"path": "/*"}]\n}\n```',
      ),
    ],
    wrong: [['  "excludedPaths": [{"path": "/*"}]', '  "excludedPaths": [{"path": "/xml/?"}]']],
    at: '"includedPaths": [',
    says: 'neither includes nor excludes',
  },
  {
    rule: 'A16',
    given: [
      ['', 'The account is in serverless mode.'],
      ['- **Throughput Planning**: autoscale 400-4,000 RU/s, 10 RU a create and the change feed\n', ''],
      ['- **Throughput Planning**: manual 400 RU/s, the change feed included\n', ''],
      ['- **Throughput Planning**: autoscale max 10,000 RU/s\n', ''],
      ['- **Throughput Planning**: autoscale max 20,000 RU/s\n', ''],
    ],
    wrong: [['- **Multi-Region Setup**: one region', '- **Availability**: 99.999%']],
    at: '99.999%',
    says: 'several regions',
  },
];
