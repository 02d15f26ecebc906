// Cases of what a document leaves out or supposes: retention, indexes of large fields, numbers of the service, pages,
// and programs that create something else.
import type { Case } from './base.ts';
import { CREATE, document } from './short.ts';

export const LASTING_CASES: readonly Case[] = [
  {
    rule: 'C21',
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
    rule: 'B12',
    of: document([['jobs', '/jobId']], '| Container | Throughput |', '|---|---|', '| **jobs** | 400 RU/s |'),
    wrong: [['400 RU/s', '150 RU/s']],
    at: '150 RU/s',
    severity: 'error',
    says: 'not 150',
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
    rule: 'D9',
    of: document([['jobs', '/jobId', '"retryAttempts": [1]']], 'retryAttempts has at most 5.'),
    wrong: [['retryAttempts has at most 5.', 'A job is run again.']],
    at: '"retryAttempts"',
  },
];
