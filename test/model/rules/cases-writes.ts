// Cases of writes that lose or refuse something, and of limits that a document doesn't know.
import type { Case } from './base.ts';
import { document } from './short.ts';

const of = (...sentences: string[]): string =>
  document([['files', '/ownerId', '"ownerId": "u1"; "name": "a"']], ...sentences);

/** A program in a fence, below the sentence about it. */
const program = (...lines: string[]): string =>
  ['A materialized view by the change feed:', '```js', ...lines, '```'].join('\n');

export const WRITE_CASES: readonly Case[] = [
  {
    rule: 'C36',
    of: of('The id is `{file_path}:{part}` (hashed).', 'Parts have numbers.'),
    wrong: [[' (hashed)', '']],
    at: 'The id is',
    severity: 'warning',
    says: 'file_path has slashes',
  },
  {
    rule: 'E9',
    of: of('Vector policy: 1,536 dimensions.'.replace(',', ''), 'Vector index of the type `quantizedFlat`.'),
    wrong: [['quantizedFlat', 'flat']],
    at: 'Vector index',
    severity: 'error',
    says: 'at most 505 numbers, and these have 1,536',
  },
  {
    rule: 'A18',
    of: of('Cosmos DB has full-text search with a policy.'),
    wrong: [['Cosmos DB has', 'Cosmos DB has no built-in']],
    at: 'full-text search',
    severity: 'error',
    says: 'FULLTEXTSCORE',
  },
  {
    rule: 'A18',
    of: of('A failed update is retried by the change feed: the function throws, with a retry policy.'),
    wrong: [
      [
        'A failed update is retried by the change feed: the function throws, with a retry policy.',
        'A failed update is logged, with automatic retry by the change feed.',
      ],
    ],
    at: 'A failed update',
    says: 'goes on with the next page',
  },
  {
    rule: 'A18',
    of: of('The limit of 30 days is checked by every program.'),
    wrong: [['checked by every program', 'enforced at the data layer']],
    at: 'The limit of 30 days',
    says: 'checks no values',
  },
  {
    rule: 'A18',
    of: of('Update a file: 6 RU (replace)'),
    wrong: [['6 RU', '1 RU']],
    at: 'Update a file',
    says: '1 RU is a point read',
  },
  {
    rule: 'D20',
    of: document(
      [['files', '/ownerId', '"ownerId": "u1"; "notes": [{ "text": "a" }]']],
      'A request adds to notes of the file: a replace with If-Match.',
    ),
    wrong: [[': a replace with If-Match', '']],
    at: 'A request adds',
    severity: 'warning',
    says: 'notes of files',
  },
  {
    rule: 'D20',
    of: document(
      [['talks', '/ownerId', '"ownerId": "u1"; "messages": ["a"]']],
      'All messages are saved by a patch.',
      'The header is `"_etag"`.',
    ),
    wrong: [[' by a patch', '']],
    at: 'All messages',
    says: 'messages of talks',
  },
  {
    rule: 'D21',
    of: of(
      program(
        'for (const file of changes) {',
        '  await view.items.upsert(row(file));',
        '  await view.item(old).delete();',
        '}',
      ),
    ),
    wrong: [['  await view.item(old).delete();\n', '']],
    at: 'view.items.upsert',
    severity: 'warning',
    says: 'only adds rows',
  },
  {
    rule: 'E10',
    of: of('The search is `CONTAINS(c.name, @part, true)` or `LOWER(c.name) = @name` (avoid this).'),
    wrong: [[' (avoid this)', '']],
    at: 'The search is',
    severity: 'warning',
    says: 'LOWER or UPPER',
  },
  {
    rule: 'E12',
    of: of(
      '| `GET /api/files?q=` | full-text search |',
      '',
      'The query is `CONTAINS(c.name, @q)`, with a full-text index.',
    ),
    wrong: [
      ['full-text search', 'search in files'],
      ['The query is `CONTAINS(c.name, @q)`, with a full-text index.', 'Files have names.'],
    ],
    at: '/api/files?q=',
    severity: 'warning',
    says: 'no service answers a search',
  },
  {
    rule: 'C29',
    of: of('A notice has a `coalesceKey`, which is its id.', 'The id is the `coalesceKey`.'),
    wrong: [
      [', which is its id', ''],
      ['The id is the `coalesceKey`.', 'Notices are sent.'],
    ],
    at: 'coalesceKey',
    severity: 'warning',
    says: 'nothing refuses the second',
  },
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
    rule: 'F12',
    of: of('```json', '{ "totalOrders": 150 // updated via change feed', '}', '```', 'Handlers are idempotent.'),
    wrong: [['Handlers are idempotent.', 'Handlers are short.']],
    at: '"totalOrders"',
    severity: 'warning',
    says: 'how it counts once',
  },
  {
    rule: 'F20',
    of: of('Deleting a file deletes its parts and comments; a job resumes it.'),
    wrong: [['; a job resumes it', '']],
    at: 'Deleting a file',
    severity: 'warning',
    says: 'no transaction has them all',
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
];
