// Cases of documents in layouts of their own: false sentences whose subject stands in the lines around them (A18), paths that
// are called hierarchical (A21), methods of a repository (C22), functions in prose (E10).
import type { Case, Edit } from './base.ts';
import { document } from './short.ts';

const ORDERS = ['orders', '/storeId', '"storeId": "s1"; "number": "7"'] as const;

/** A rule that finds one sentence of a short document, and not the other. */
export const either = (
  rule: Case['rule'],
  right: string,
  wrong: string,
  more: { readonly says?: string; readonly of?: string } = {},
): Case => ({
  rule,
  of: more.of?.replace('SENTENCE', right) ?? document([ORDERS], right),
  wrong: [[right, wrong]] satisfies Edit[],
  at: wrong,
  ...(more.says !== undefined && { says: more.says }),
});

const LEVELS = (key: string): string =>
  document([['files', 'KEY', '"clientId": "c1"; "folderId": "f1"']]).replace('`KEY`', key);

export const LAYOUT_CASES: readonly Case[] = [
  either('A18', 'indexing: "consistent"', 'indexing: "lazy"', { says: 'lazy' }),
  either(
    'A18',
    'Partitioning by store supports reads; the account’s regions ensure residency.',
    'Partitioning by store supports data residency.',
    { says: 'region' },
  ),
  either('A18', 'Use point reads (id and partition key).', 'Use point reads (query by partition key).', {
    says: 'a query',
  }),
  either(
    'A18',
    'A composite index serves `ORDER BY number DESC, total ASC`.',
    'It needs a composite index to `ORDER BY number DESC`.',
    { says: 'range index' },
  ),
  either(
    'A18',
    '"metric": "NormalizedRUConsumption", "threshold": 80',
    '"metric": "TotalRequestUnits", "threshold": 3200 // 80 % of 4000 max',
    { says: 'sum' },
  ),
  {
    rule: 'A21',
    of: LEVELS('`/clientId`, `/folderId` (hierarchical)'),
    wrong: [['`/clientId`, `/folderId` (hierarchical)', '`/clientId/folderId` (hierarchical)']],
    at: '/clientId/folderId',
    says: 'several paths',
  },
  {
    rule: 'C22',
    of: document([['books', '/id']], '- Operations: GetByIdAsync, GetAllAsync'),
    wrong: [['GetAllAsync', 'GetByIsbnAsync']],
    at: 'GetByIsbnAsync',
    says: 'Isbn',
  },
  either(
    'E10',
    'A search compares the stored name in lower case, never `LOWER()` of it.',
    'Text search uses `LOWER()` and `LIKE`.',
    { says: 'no index' },
  ),
];
