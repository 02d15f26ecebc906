// Cases of what a document leaves out or supposes: retention, indexes of large fields, numbers of the service, pages,
// and programs that create something else.
import type { Case, Edit } from './base.ts';
import { CREATE, document } from './short.ts';

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
    rule: 'E11',
    of: document(
      [['cases', '/caseId']],
      '```ts\ninterface CaseList {\n  page: number;\n  totalPages: number; // instead of an offset: the pages of the sitemap\n}\n```',
    ),
    wrong: [[' // instead of an offset: the pages of the sitemap', '']],
    at: 'totalPages: number',
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
  {
    rule: 'A17',
    of: document(
      [['jobs', '/jobId']],
      '- Users: 100 × 5 KB = 500 KB',
      '- Jobs: 50 MB/month, TTL of 90 days',
      '- Total: 150 MB',
    ),
    wrong: [['- Total: 150 MB', '- Total: 50 MB']],
    at: '- Total: 50 MB',
    says: 'add up to 150.5 MB',
  },
  {
    rule: 'D9',
    of: document([['jobs', '/jobId', '"retryAttempts": [1]']], 'retryAttempts has at most 5.'),
    wrong: [['retryAttempts has at most 5.', 'A job is run again.']],
    at: '"retryAttempts"',
  },
];
