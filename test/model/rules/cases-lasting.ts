// Cases of what a document leaves out or supposes: retention, indexes of large fields, lists, derived figures, numbers of
// the service, and places that disagree.
import type { Case, Edit } from './base.ts';

/** A container with its key and its documents: the fields of each, as JSON, with `;` between them. */
type Told = readonly [name: string, key: string, ...documents: string[]];

/** A short document with containers, and sentences below. */
const document = (containers: readonly Told[], ...sentences: string[]): string =>
  [
    '# Data model',
    ...containers.flatMap(([name, key, ...documents]) => [
      `## Container: ${name}\n`,
      `- **Partition Key**: \`${key}\`\n`,
      ...documents.map(
        (fields, index) =>
          `\`\`\`json\n{\n  "id": "x${index + 1}",\n  ${fields.replaceAll('; ', ',\n  ')}\n}\n\`\`\`\n`,
      ),
    ]),
    '## Notes\n',
    ...sentences,
  ].join('\n');

const CREATE = (name: string, throughput?: number): string =>
  `\`\`\`bash\naz cosmosdb sql container create \\\n  --name ${name} \\\n  --partition-key-path /x${throughput === undefined ? '' : ` --throughput ${throughput}`}\n\`\`\`\n`;

const said = (sentence: string): Edit => ['', sentence];

export const LASTING_CASES: readonly Case[] = [
  {
    rule: 'B24',
    given: [said('Each sign-in with the key /email would be a cross-partition query.')],
    wrong: [['would be', 'is']],
    at: 'Each sign-in',
  },
  {
    rule: 'B25',
    of: document([['jobs', '/jobId']], 'A timer deletes jobs after 90 days.'),
    wrong: [['deletes jobs after 90 days', 'runs the jobs']],
    at: '`/jobId`',
    severity: 'warning',
    says: 'jobs: no sentence says how long',
  },
  {
    rule: 'B25',
    of: document([['seats', '/date']], 'Seats of past days go to an archive.'),
    wrong: [['Seats of past days go to an archive.', 'Backups have a retention of 8 hours.']],
    at: '`/date`',
  },
  {
    rule: 'B25',
    of: document(
      [['cases', '/caseId', '"caseId": "k1"; "deleted_at": null']],
      'Cases older than ten years are removed.',
    ),
    wrong: [['Cases older than ten years are removed.', 'Cases have a name.']],
    at: '`/caseId`',
  },
  {
    rule: 'B25',
    of: document(
      [
        ['events', '/ownerId'],
        ['jobs', '/jobId', '"jobId": "j1"; "ttl": 60'],
      ],
      'All events are logged.',
    ),
    wrong: [['; "ttl": 60'.replace('; ', ',\n  '), '']],
    at: '`/ownerId`',
    says: 'events, jobs',
  },
  {
    rule: 'E13',
    of: document(
      [['posts', '/ownerId', '"ownerId": "u1"; "rawContent": "…"']],
      'Excluded from the index: the indexing policy has it.',
    ),
    wrong: [['Excluded from the index: the indexing policy has it.', 'Posts are long.']],
    at: '"rawContent"',
    severity: 'warning',
    says: 'posts (rawContent)',
  },
  {
    rule: 'E13',
    of: document(
      [['posts', '/ownerId', '"ownerId": "u1"; "analysis": { "mood": "good" }']],
      '```sql\nSELECT * FROM c WHERE c.ownerId = @owner AND c.analysis = @analysis\n```',
    ),
    wrong: [[' AND c.analysis = @analysis', '']],
    at: '"analysis"',
  },
  {
    rule: 'E14',
    of: document(
      [['posts', '/ownerId', '"ownerId": "u1"; "content": "…"']],
      "```ts\nawait database.containers.createIfNotExists({\n  id: 'posts',\n  indexingPolicy: {\n    excludedPaths: [{ path: '/content/?' }],\n  },\n});\n```",
    ),
    wrong: [["'/content/?'", "'/body/?'"]],
    at: "'/body/?'",
    severity: 'warning',
    says: 'posts: the policy excludes body',
  },
  {
    rule: 'E15',
    of: document(
      [
        ['posts', '/ownerId'],
        ['likes', '/postId'],
        ['users', '/userId'],
      ],
      CREATE('posts'),
      CREATE('likes'),
      CREATE('users'),
    ),
    wrong: [[CREATE('users'), '']],
    at: '`/userId`',
    severity: 'warning',
    says: 'users: designed',
  },
  {
    rule: 'E15',
    of: document(
      [
        ['posts', '/ownerId'],
        ['codes', '/codeId'],
      ],
      CREATE('posts'),
      CREATE('codes'),
    )
      .replace('`/codeId`\n', '`/codeId`\n- **TTL**: 600\n')
      .replace('codes \\\n', 'codes --ttl 600 \\\n'),
    wrong: [[' --ttl 600', '']],
    at: 'az cosmosdb sql container create',
    says: 'codes: created without the TTL',
  },
  {
    rule: 'D10',
    of: document(
      [
        ['courses', '/id', '"enrollment": { "enrolledCount": 4 }'],
        ['users', '/id', '"profile": { "xp": 5 }'],
      ],
      'The change feed counts enrolledCount again, and xp with it.',
    ),
    wrong: [[', and xp with it', '']],
    at: '"xp"',
    says: 'xp of users',
  },
  {
    rule: 'D10',
    of: document(
      [
        ['tenants', '/id', '"usage": { "currentUsers": 4 }'],
        ['users', '/id'],
      ],
      'A projection keeps currentUsers.',
    ),
    wrong: [['A projection keeps currentUsers.', 'A page shows currentUsers.']],
    at: '"currentUsers"',
  },
  {
    rule: 'D16',
    of: document(
      [
        [
          'talks',
          '/talkId',
          '"talkId": "t1"; "createdAt": "2026-01-01"; "type": "talk"',
          '"talkId": "t1"; "createdAt": "2026-01-02"; "content": "…"',
        ],
      ],
      "```sql\nSELECT * FROM c WHERE c.talkId = @talk AND c.type = 'message' ORDER BY c.createdAt\n```",
    ),
    wrong: [[" AND c.type = 'message'", '']],
    at: 'SELECT * FROM c',
    severity: 'error',
    says: 'names no type',
  },
  {
    rule: 'D17',
    of: document(
      [
        ['talks', '/id', '"lastMessage": "…"'],
        ['messages', '/talkId'],
      ],
      'A trigger writes lastMessage.',
    ),
    wrong: [['A trigger writes lastMessage.', 'A page shows lastMessage.']],
    at: '"lastMessage"',
    severity: 'warning',
    says: 'lastMessage of talks: nothing is said to renew it',
  },
  {
    rule: 'D17',
    of: document(
      [
        ['cases', '/id', '"case_summary": "…"'],
        ['overviews', '/userId'],
      ],
      'A job writes overviews and each case_summary.',
    ),
    wrong: [['A job writes overviews and each case_summary.', 'A page shows overviews.']],
    at: '`/userId`',
    says: 'overviews, case_summary of cases',
  },
  {
    rule: 'D17',
    of: document([['rooms', '/userId']], 'The change feed fills rooms.').replace(
      '`/userId`\n',
      '`/userId`\n- **Purpose:** views for each user\n',
    ),
    wrong: [['The change feed fills rooms.', 'People open rooms.']],
    at: '`/userId`',
  },
  {
    rule: 'D18',
    of: document(
      [['cases', '/case_id', '"case_id": "k1"; "status": "open"; "client_name": "Ada"; "document_count": 3']],
      '```python\nclass CaseSummaryResponse(BaseModel):\n    case_id: str\n    client_name: str\n    status: str\n    document_count: int\n```',
    ),
    wrong: [[',\n  "document_count": 3', '']],
    at: 'document_count: int',
    severity: 'warning',
    says: 'document_count: shown for each of cases',
  },
  {
    rule: 'E11',
    of: document(
      [['cases', '/caseId']],
      '```ts\ninterface CaseList {\n  page: number;\n  totalPages: number; // instead of an offset: the pages of the sitemap\n}\n```',
    ),
    wrong: [[' // instead of an offset: the pages of the sitemap', '']],
    at: 'totalPages: number',
  },
  {
    rule: 'D19',
    of: document([['jobs', '/jobId']], 'The dashboard has counts of jobs, and is cached for a minute.'),
    wrong: [[', and is cached for a minute', '']],
    at: 'The dashboard has counts',
    severity: 'warning',
    says: 'counted over all documents',
  },
  {
    rule: 'C22',
    of: document(
      [
        ['jobs', '/id'],
        ['posts', '/ownerId'],
      ],
      '| Method | Path |',
      '|---|---|',
      '| `GET` | `/api/posts` |',
    ),
    wrong: [['`/api/posts`', '`/api/jobs`']],
    at: '`/api/jobs`',
    says: 'jobs is listed as a whole',
  },
  {
    rule: 'C22',
    of: document(
      [['cases', '/case_id']],
      '```python\nclass CaseListResponse(BaseModel):\n    page: int # cross-partition, by an admin\n```',
    ).replace('BaseModel):', 'BaseModel): # admin'),
    wrong: [
      [
        'class CaseListResponse(BaseModel): # admin\n    page: int # cross-partition, by an admin',
        'class CaseListResponse(BaseModel):\n    page: int',
      ],
    ],
    at: 'class CaseListResponse',
  },
  {
    rule: 'C22',
    of: document(
      [['seats', '/date']],
      "```ts\nconst seats = getContainer('seats');\nconst { resources } = await seats.items.readAll().fetchAll(); // export\n```",
    ),
    wrong: [[' // export', '']],
    at: 'readAll()',
  },
  {
    rule: 'E11',
    of: document(
      [['jobs', '/jobId']],
      '```ts\n// OFFSET 10 LIMIT 5 is never used\nconst query = items.query(text, { maxItemCount: limit });\nconst { resources } = await query.fetchNext();\n```',
    ),
    wrong: [['query.fetchNext()', 'query.fetchAll()']],
    at: 'query.fetchAll()',
    says: 'fetchAll reads all pages',
  },
  ...[
    ['Serverless costs $0.25 per million request units.', 'Serverless costs $0.25 por millón de operaciones.'],
    ['The change feed takes request units.', 'The change feed is free.'],
    ['updatedAt: Date.now() / 1000,', '_ts: Date.now() / 1000,'],
    ['The key is /id (one read).', 'The key is /id (single partition).'],
    ['Backups of the account.', 'Independent backups per tenant.'],
  ].map(([right = '', wrong = '']): Case => ({
    rule: 'A18',
    of: document([['jobs', '/jobId']], right),
    wrong: [[right, wrong]],
    at: wrong,
  })),
  {
    rule: 'A16',
    of: document(
      [['jobs', '/jobId']],
      'The account is in serverless mode.\n',
      'The first 1000 RU/s cost nothing to try.',
    ),
    wrong: [['The first 1000 RU/s cost nothing to try.', 'Los primeros 1000 RU/s gratis.']],
    at: 'gratis',
    says: 'free tier',
  },
  {
    rule: 'B26',
    of: document(
      [
        ['users', '/userId'],
        ['jobs', '/jobId'],
      ],
      'There is a database per tenant.\n',
      'There will be 150 tenants.',
    ),
    wrong: [['150 tenants', '200 tenants']],
    at: 'a database per tenant',
    severity: 'error',
    says: 'are 600, and an account has at most 500',
  },
  {
    rule: 'B27',
    of: document([['users', '/userId']], 'There is a database per tenant.'),
    wrong: [['`/userId`', '`/tenantId`']],
    at: '`/tenantId`',
    severity: 'error',
    says: 'has one value',
  },
  {
    rule: 'B28',
    of: document([['jobs', '/jobId']], '| Container | Throughput |', '|---|---|', '| **jobs** | 400 RU/s |'),
    wrong: [['400 RU/s', '150 RU/s']],
    at: '150 RU/s',
    severity: 'error',
    says: 'jobs 150 RU/s',
  },
  {
    rule: 'B29',
    of: document(
      ['a', 'b', 'c', 'd'].map((name) => [name, '/x'] as const),
      ...['a', 'b', 'c', 'd'].map((name) => CREATE(name, name === 'd' ? 4000 : 400)),
    ),
    wrong: [['--throughput 4000', '--throughput 400']],
    at: '--throughput 400',
    severity: 'warning',
    says: 'a and 3 more have 400 RU/s each, 1,600 in all',
  },
  {
    rule: 'B25',
    of: document([
      ['talks', '/talkId', '"talkId": "x1"; "type": "talk"; "ttl": 60', '"talkId": "x1"; "type": "message"; "ttl": 60'],
      ['jobs', '/jobId'],
    ]),
    wrong: [['"type": "talk",\n  "ttl": 60', '"type": "talk",\n  "ttl": -1']],
    at: '"ttl": -1',
    says: 'stays without them',
  },
  {
    rule: 'B25',
    of: document([['jobs', '/jobId']], 'Jobs have a retention of 30 days.', 'A timer deletes them.'),
    wrong: [['A timer deletes them.', 'They are short.']],
    at: 'a retention of 30 days',
    says: 'A retention is stated',
  },
  {
    rule: 'C17',
    of: document([['progress', '/userId', '"userId": "user-abc-123"']]).replace('"x1"', '"progress-user-abc-123"'),
    wrong: [['"progress-user-abc-123"', '"progress-user123"']],
    at: '"id": "progress-user123"',
    says: 'user123 for userId user-abc-123',
  },
  {
    rule: 'C17',
    of: document(
      [['seats', '/date']],
      '```ts\nconst hall = name.toLowerCase();\nconst item = { id: `$' + '{date}_$' + '{hall}` };\n```\n',
      '```python\nhall = names[place]\nitem = {"id": f"{date}_{hall}"}\n```',
    ),
    wrong: [['hall = names[place]', 'hall = place.lower()']],
    at: 'const item = { id:',
    says: 'Two programs make the id {}_{}',
  },
  {
    rule: 'B22',
    of: document(
      [['jobs', '/jobId']],
      '| Mode | Price a month |',
      '|---|---|',
      '| Provisioned (400 RU/s) | ~$24 |',
      '| Autoscale (400-4000) | ~$36-360 |',
    ),
    wrong: [['~$36-360', '~$24-240']],
    at: '~$24-240',
    says: '1.5 times a manual one',
  },
  {
    rule: 'B22',
    of: document([['jobs', '/jobId']], 'Use Manual or Autoscale (minimum 1,000 RU/s).'),
    wrong: [['minimum 1,000', 'minimum 400']],
    at: 'minimum 400',
  },
  {
    rule: 'D14',
    of: document(
      [['counters', '/counterId', '"counterId": "cases"; "currentValue": 7']],
      'The number is written with If-Match and its ETag.',
    ),
    wrong: [['with If-Match and its ETag', 'atomically']],
    at: '`/counterId`',
    says: 'take the same number',
  },
  {
    rule: 'A19',
    of: document(
      [
        ['users', '/id'],
        ['jobs', '/id'],
      ],
      '```\nDatabase: shop\n├── Container: users\n└── Container: jobs\n```',
    ),
    wrong: [['└── Container: jobs', '└── Container: badges']],
    at: 'Container: badges',
    says: 'badges has no design',
  },
  {
    rule: 'E15',
    of: document(
      [
        ['users', '/id'],
        ['jobs', '/id'],
      ],
      'The containers share the throughput of the database: 1000 RU/s.\n',
      "```ts\nawait client.databases.createIfNotExists({ id: 'shop', throughput: 1000 });\nawait database.containers.createIfNotExists({ id: 'users' });\nawait database.containers.createIfNotExists({ id: 'jobs' });\n```",
    ),
    wrong: [[', throughput: 1000 }', ' }']],
    at: 'client.databases.createIfNotExists',
    says: 'without the throughput',
  },
  {
    rule: 'B25',
    of: document(
      [
        ['codes', '/codeId'],
        ['jobs', '/jobId'],
      ],
      'The jobs stay, and are kept.',
    ).replace('`/codeId`\n', '`/codeId`\n- **TTL**: 600\n'),
    wrong: [['The jobs stay, and are kept.', 'The jobs run.']],
    at: '`/jobId`',
  },
  {
    rule: 'E15',
    of: document(
      [
        ['users', '/id'],
        ['jobs', '/jobId'],
      ],
      CREATE('users'),
      CREATE('jobs'),
    )
      .replace(
        '`/jobId`\n',
        '`/jobId`\n\n```json\n{\n  "indexingMode": "consistent",\n  "includedPaths": [{ "path": "/*" }],\n  "excludedPaths": [{ "path": "/text/?" }]\n}\n```\n',
      )
      .replace('--name jobs', '--idx @policy.json --name jobs'),
    wrong: [['--idx @policy.json ', '']],
    at: 'az cosmosdb sql container create',
    says: 'jobs: created without the indexing policy',
  },
];
