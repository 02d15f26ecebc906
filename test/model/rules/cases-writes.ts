// Cases of writes that lose or refuse something, and of limits that a document doesn't know.
import type { Case } from './base.ts';
import { document } from './short.ts';

const of = (...sentences: string[]): string =>
  document([['files', '/ownerId', '"ownerId": "u1"; "name": "a"']], ...sentences);

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
