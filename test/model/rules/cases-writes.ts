// Cases of what programs, policies and examples state.
import type { Case } from './base.ts';
import { CREATE, document } from './short.ts';

const of = (...sentences: string[]): string =>
  document([['files', '/ownerId', '"ownerId": "u1"; "name": "a"']], ...sentences);

export const WRITE_CASES: readonly Case[] = [
  {
    rule: 'D11',
    of: document(
      [
        ['products', '/ownerId', '"ownerId": "o1"; "name": "a"'],
        ['carts', '/userId', '"userId": "u1"; "items": [{ "productId": "x1", "productName": "a" }]'],
      ],
      'The change feed refreshes productName.',
    ),
    wrong: [['refreshes productName', 'is read']],
    at: '"productName"',
    severity: 'warning',
    says: 'carts: productName is copied',
  },
  {
    rule: 'E2',
    of: of(
      '```json',
      '{',
      '  "indexingMode": "consistent",',
      '  "excludedPaths": [{ "path": "/name/*" }, { "path": "/*" }]',
      '}',
      '```',
    ),
    wrong: [[', { "path": "/*" }', '']],
    at: '"excludedPaths"',
    severity: 'error',
    says: 'neither includes nor excludes /*',
  },
  {
    rule: 'E9',
    of: of(
      '```json',
      '{',
      '  "vectorEmbeddings": [{ "path": "/v", "dimensions": 1536 }],',
      '  "vectorIndexes": [',
      '    { "path": "/v", "type": "quantizedFlat" }',
      '  ]',
      '}',
      '```',
    ),
    wrong: [['quantizedFlat', 'flat']],
    at: '"type": "flat"',
    severity: 'error',
    says: 'at most 505 numbers, and these have 1,536',
  },
  {
    rule: 'E9',
    of: of(
      '```json',
      '{',
      '  "vectorEmbeddings": [{ "path": "/v" }],',
      '  "vectorIndexes": [{ "path": "/v", "type": "diskANN" }]',
      '}',
      '```',
    ),
    wrong: [['  "vectorEmbeddings": [{ "path": "/v" }],\n', '']],
    at: '"vectorIndexes"',
    says: 'no vector policy',
  },
  {
    rule: 'E9',
    of: document(
      [['files', '/ownerId', '"ownerId": "u1"; "embedding": [0.1, 0.2]']],
      '- **Vector policy**: /embedding, 2 dimensions',
      '- **Search of files**: `SELECT c.id FROM c WHERE c.ownerId = @o ORDER BY VectorDistance(c.embedding, @v)`',
    ),
    wrong: [['- **Vector policy**: /embedding, 2 dimensions\n', '']],
    at: 'VectorDistance',
    says: 'states no vector policy',
  },
  {
    rule: 'F12',
    of: of(
      '```ts',
      '// Reads the change feed.',
      'for (const change of page) await sendNotification(change, messageId);',
      '```',
    ),
    wrong: [[', messageId', '']],
    at: 'sendNotification(change)',
    severity: 'warning',
    says: 'twice',
  },
  {
    rule: 'E7',
    of: document([['codes', '/ownerId', '"ownerId": "u1"; "ttl": 600']]).replace(
      '`/ownerId`\n',
      '`/ownerId`\n- **TTL**: -1\n',
    ),
    wrong: [['"ttl"', '"timeToLive"']],
    at: '"timeToLive"',
    severity: 'error',
    says: 'has no effect',
  },
  {
    rule: 'E15',
    of: document(
      [
        ['users', '/tenantId'],
        ['jobs', '/jobId'],
      ],
      CREATE('users'),
      CREATE('jobs'),
    )
      .replace('`/tenantId`\n', '`/tenantId`\n- **Unique Keys**: `/email`\n')
      .replace('--name users', '--unique-key-policy @keys.json --name users'),
    wrong: [['--unique-key-policy @keys.json ', '']],
    at: 'az cosmosdb sql container create',
    says: 'users: created without the unique keys',
  },
  {
    rule: 'C12',
    of: document([['users', '/tenantId', '"tenantId": "t1"; "email": "a"']]).replace(
      '`/tenantId`\n',
      '`/tenantId`\n- **Attributes**: email as written\n',
    ),
    wrong: [['email as written', 'email (unique)']],
    at: 'email (unique)',
    severity: 'warning',
    says: 'only a word',
  },
  {
    rule: 'B18',
    of: document([['jobs', '/jobId']], '- **Capacity mode**: provisioned').replace(
      '`/jobId`\n',
      '`/jobId`\n- **Throughput**: manual 400 RU/s\n',
    ),
    wrong: [['provisioned', 'serverless']],
    at: 'manual 400 RU/s',
    says: "doesn't take",
  },
  {
    rule: 'D8',
    of: document([
      [
        'talks',
        '/talkId',
        '"talkId": "t1"; "document_type": "talk"; "title": "a"',
        '"talkId": "t1"; "document_type": "message"; "text": "b"; "by": "c"',
      ],
    ]),
    wrong: [['"document_type": "message"', '"said": "message"']],
    at: '{',
    severity: 'error',
    says: 'no field type',
  },
  {
    rule: 'D22',
    wrong: [['WHERE c.type = "day" AND c.day', 'WHERE c.day']],
    at: 'WHERE c.day = @day',
    severity: 'warning',
    says: 'that days keeps for itself',
  },
];
