// Cases of what people's documents need (C26 to C29, D12, D13), of data without an end (B23, F18), of pages and searches (E11,
// E12), and of counters and copies that lists of fields show (D10, D11).
import type { Case, Edit } from './base.ts';

/** A container of its own, before Customers; its documents as one line of JSON, or none. */
const container = (name: string, key: string, fields = '', more = ''): Edit => [
  '### Customers Container',
  `### ${name} Container\n${fields === '' ? '' : `\`\`\`json\n[\n  { "id": "x1", ${fields} }\n]\n\`\`\`\n`}- **Partition Key**: \`${key}\` - 100,000 values\n${more}\n### Customers Container`,
];
const said = (sentence: string): Edit => ['', sentence];

export const PEOPLE_CASES: readonly Case[] = [
  {
    rule: 'C26',
    given: [container('Users', '/id', '"name": "Ada", "azureId": "x1"')],
    wrong: [['"azureId": "x1"', '"azureId": "a7"']],
    at: '"azureId": "a7"',
    severity: 'warning',
    says: 'a sign-in knows azureId',
  },
  {
    rule: 'C26',
    given: [
      container('Users', '/id'),
      said('- **User**: id, email, name, passwordHash\n- A cross-partition query finds the email.'),
    ],
    wrong: [['- A cross-partition query finds the email.', '- A query finds the email.']],
    at: '- **User**: id, email',
    says: 'without the key /id',
  },
  {
    rule: 'C27',
    given: [container('Visits', '/customerId', '"customerId": "c1"')],
    wrong: [['"id": "x1", "customerId": "c1"', '"id": "x1", "customerId": "c1", "partitionKey": "c1"']],
    at: '"partitionKey": "c1"',
    says: 'beside the key /customerId',
  },
  {
    rule: 'C28',
    given: [
      container(
        'Friendships',
        '/userId',
        '"userId": "u1", "friendId": "u2"',
        '- **Writes**: both documents, by a batch job\n',
      ),
    ],
    wrong: [['- **Writes**: both documents, by a batch job', '- **Writes**: one document']],
    at: '"friendId": "u2"',
    says: 'from the side of friendId',
  },
  {
    rule: 'C29',
    given: [
      said(
        'The service checks whether the address exists before it creates the account.\nThe address is reserved by a document of its own.',
      ),
    ],
    wrong: [['The address is reserved by a document of its own.', 'The address is shown.']],
    at: 'The service checks whether',
  },
  {
    rule: 'C29',
    given: [said('Only one open request per customer. Its id is the customer.')],
    wrong: [['Only one open request per customer. Its id is the customer.', 'Only one open request per customer.']],
    at: 'Only one open request',
  },
  {
    rule: 'B23',
    given: [container('AuditEvents', '/tenantId', '"tenantId": "t1"', '- **TTL**: 7776000\n')],
    wrong: [['- **TTL**: 7776000\n', '']],
    at: '`/tenantId`',
    says: '20 GB',
  },
  {
    rule: 'D12',
    given: [
      container(
        'Recipes',
        '/authorId',
        '"authorId": "u1", "isPublic": true',
        '- **Public list**: kept by the change feed\n',
      ),
    ],
    wrong: [['- **Public list**: kept by the change feed', '- **Public list**: newest first']],
    at: '"isPublic": true',
    says: 'every partition of /authorId',
  },
  {
    rule: 'D10',
    given: [
      container('Films', '/id', '"title": "M", "viewCount": 7'),
      said('viewCount is counted by the change feed.'),
    ],
    wrong: [['viewCount is counted by the change feed.', 'viewCount is shown.']],
    at: '"viewCount": 7',
  },
  {
    rule: 'D11',
    given: [
      container('SmsProviders', '/id', '"name": "N"'),
      said(
        '## Calls\n\n### Calls Container\n- **Partition Key**: `/customerId` - 100,000 values\n| Field | Type |\n|---|---|\n| `customerId` | string |\n| `providerName` | string, a snapshot |',
      ),
    ],
    wrong: [['string, a snapshot |', 'string |']],
    at: '`providerName`',
  },
  {
    rule: 'D9',
    given: [container('Carts', '/id', '"dayIds": ["d1"]'), said('dayIds: at most 20.')],
    wrong: [['dayIds: at most 20.', 'dayIds are shown.']],
    at: '"dayIds"',
  },
  {
    rule: 'D9',
    given: [container('Readers', '/id', '"savedFilms": ["f1"]'), said('savedFilms: at most 20.')],
    wrong: [['savedFilms: at most 20.', 'savedFilms are shown.']],
    at: '"savedFilms"',
  },
  {
    rule: 'D9',
    given: [container('Carts', '/id', '"dayIds": ["d1"]'), said('An add that would exceed 100 day IDs is refused.')],
    wrong: [['exceed 100 day IDs is', 'be late is']],
    at: '"dayIds"',
  },
  {
    // What is bounded is another thing, and a time is no bound.
    rule: 'D9',
    given: [container('Carts', '/id', '"history": []'), said('The history has the last 30 orders.')],
    wrong: [
      [
        'The history has the last 30 orders.',
        'The history of the last 30 days is shown. All data is small and bounded.',
      ],
    ],
    at: '"history": []',
  },
  {
    rule: 'D9',
    given: [
      container(
        'Carts',
        '/id',
        '',
        '\n```\nid       string\nimports  — { importId: Import }\nimports: at most 20\n```\n',
      ),
    ],
    wrong: [['imports: at most 20', 'all']],
    at: 'imports  —',
  },
  {
    rule: 'D13',
    given: [container('Photos', '/id', '"customerId": "c1"', '- **Lists**: cross-partition, by administrators\n')],
    wrong: [['- **Lists**: cross-partition, by administrators', '- **Lists**: newest first']],
    at: '"customerId": "c1"',
    says: 'Photos by customerId',
  },
  {
    rule: 'D13',
    given: [
      container(
        'Tickets',
        '/ticketNumber',
        '"ticketNumber": "T1", "reporterId": "c1"',
        '- **Lists**: cross-partition\n',
      ),
    ],
    wrong: [['- **Lists**: cross-partition\n', '']],
    at: '"reporterId": "c1"',
    says: 'Tickets by reporterId',
  },
  {
    rule: 'D14',
    given: [said('When an order changes, the program updates the metrics of its store. An ETag guards them.')],
    wrong: [[' An ETag guards them.', '']],
    at: 'updates the metrics',
  },
  {
    rule: 'C25',
    given: [said('Each transfer is a dual write. A job completes halves by retries.')],
    wrong: [[' A job completes halves by retries.', '']],
    at: 'dual write',
  },
  {
    rule: 'F15',
    given: [said('A TTL deletes old logs, which takes RU.')],
    wrong: [[', which takes RU.', ' for free.']],
    at: 'for free',
  },
  {
    rule: 'F17',
    given: [container('DeliveryLogs', '/customerId', '"customerId": "c1"', '- **Kept**: a cleanup job\n')],
    wrong: [['- **Kept**: a cleanup job', '- **Kept**: consider a TTL']],
    at: '`/customerId` - 100,000',
    says: 'DeliveryLogs',
  },
  {
    rule: 'E11',
    given: [said('| GET | `/films` | newest 12 |\n\nOffset-based pages are avoided.')],
    wrong: [['newest 12', '`?page=3&limit=12`']],
    at: '?page=3',
  },
  {
    rule: 'E11',
    given: [said('Offset-based pagination is avoided.')],
    wrong: [['Offset-based pagination is avoided.', 'Search results have offset-based pagination.']],
    at: 'offset-based',
  },
  {
    rule: 'E12',
    given: [said('Full-text search finds words in the `name`, by the full-text index of its container.')],
    wrong: [[', by the full-text index of its container.', '.']],
    at: 'Full-text search finds',
  },
  {
    rule: 'F18',
    given: [said('A soft delete sets deletedAt.')],
    wrong: [
      [', "deletedAt": "2026-01-03T10:00:00Z", "ttl": 2592000', ''],
      ['- **TTL**: -1\n- **Document Size**', '- **Document Size**'],
      ['- **Access Patterns Served**: 2\n- **TTL**: -1\n', '- **Access Patterns Served**: 2\n'],
      ['- **Access Patterns Served**: 4\n- **TTL**: -1\n', '- **Access Patterns Served**: 4\n'],
      [
        '| orders-cold | archive | Orders (order) | blob:orders-cold | yyyy/mm of placedAt; id = id | all; 400 d after placedAt | #1 | 1 d | keep | backfill |\n',
        '',
      ],
    ],
    at: 'A soft delete',
  },
];
