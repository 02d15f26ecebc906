// Cases of ids that are made of others, lists, and figures and summaries that follow from other documents.
import type { Case } from './base.ts';
import { document } from './short.ts';

export const DERIVED_CASES: readonly Case[] = [
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
      '```ts\nconst hall = name.toLowerCase();\nconst item = { id: $"{date}_{hall}" };\n```\n',
      '```python\nhall = names[place]\nitem = {"id": f"{date}_{hall}"}\n```',
    ),
    wrong: [['hall = names[place]', 'hall = place.lower()']],
    at: 'const item = { id:',
    says: 'Two programs make the id {}_{}',
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
    rule: 'C27',
    of: document(
      [
        ['seats', '/date'],
        ['users', '/userId'],
      ],
      '```ts\nconst item = {\n  id,\n  partitionKey: hall,\n  date: date,\n};\n```',
    ),
    wrong: [['partitionKey: hall', 'partitionKey: date']],
    at: 'partitionKey: date',
    says: 'a second time',
  },
];
