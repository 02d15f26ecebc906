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
    rule: 'D8',
    of: document(
      [
        [
          'talks',
          '/talkId',
          '"talkId": "t1"; "createdAt": "2026-01-01"; "type": "talk"',
          '"talkId": "t1"; "createdAt": "2026-01-02"; "type": "message"',
        ],
      ],
      "```sql\nSELECT TOP 9 * FROM c WHERE c.talkId = @talk AND c.type = 'message' ORDER BY c.createdAt\n\nSELECT * FROM c WHERE c.talkId = @talk AND c.type = 'talk'\n```",
    ),
    wrong: [[" AND c.type = 'message'", '']],
    at: 'SELECT TOP 9 * FROM c',
    severity: 'error',
    says: 'names no type',
  },
  {
    rule: 'C17',
    of: document([['progress', '/userId', '"userId": "user-abc-123"']]).replace('"x1"', '"progress-user-abc-123"'),
    wrong: [['"progress-user-abc-123"', '"progress-user123"']],
    at: '"id": "progress-user123"',
    says: 'user123 for userId user-abc-123',
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
