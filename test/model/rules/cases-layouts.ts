// Cases of documents in layouts of their own: false sentences whose subject stands in the lines around them (A18), paths that
// are called hierarchical (A21), methods of a repository (C22), functions in prose (E10); and of the rules A23 to A25, C37 to
// C39, F22 and F23.
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
  {
    rule: 'D9',
    of: [
      '# Data model\n## Container: Personas\n- **Partition Key**: `/userId`\n- Documents: `PersonaDocument`, `BuddyDocument`',
      '## PersonaDocument\n```json\n{ "id": "p1", "userId": "u1" }\n```',
      '## BuddyDocument\n```json\n{\n  "id": "b1",\n  "userId": "u1",\n  "data": { "history": [] }\n}\n```',
      '## Notes\nhistory: at most 20',
    ].join('\n'),
    wrong: [['history: at most 20', '']],
    at: '"history"',
    says: 'data.history',
  },
  either(
    'A23',
    'The identity has the Built-in Data Contributor role. A pipeline creates the container.',
    'The identity has the Built-in Data Contributor role. The app creates the container at its start.',
    { says: 'data only' },
  ),
  {
    rule: 'A24',
    of: document(
      [ORDERS],
      '- Documents: `Order`, `OrderNote`',
      '```ts\ninterface OrderNote {',
      '  id: string;\n}\n```',
    ),
    wrong: [['interface OrderNote {', 'interface Other {']],
    at: '`OrderNote`',
    says: 'OrderNote',
  },
  {
    rule: 'A25',
    of: document(
      [ORDERS],
      'The program uses azcosmos.',
      '| Route | Query |\n|---|---|\n| admin list | all, sorted in memory: `ORDER BY number` |',
    ),
    wrong: [[', sorted in memory: ', ': ']],
    at: '| admin list |',
    severity: 'warning',
    says: 'merge',
  },
  {
    rule: 'C37',
    of: document(
      [['jobs', '/customerId', '"customerId": "c1"; "active": true; "nextRunAt": "2026-01-01T10:00:00Z"']],
      'A scheduler reads the time buckets each minute.',
    ),
    wrong: [['reads the time buckets each minute', 'starts jobs each minute']],
    at: '"nextRunAt"',
    says: 'no customerId',
  },
  {
    rule: 'C38',
    of: document(
      [['tasks', '/userId', '"userId": "u1"; "priority": 2']],
      '```sql\nSELECT * FROM c WHERE c.userId = @u ORDER BY c.priority DESC\n```',
    ),
    wrong: [['"priority": 2', '"priority": "medium"']],
    at: 'SELECT * FROM c',
    says: 'letters',
  },
  {
    rule: 'C39',
    of: document(
      [['users', '/tenantId', '"tenantId": "t1"']],
      '```sql\nSELECT c.id, c.name FROM c WHERE c.tenantId = @t\n```',
      '```ts\ninterface User {\n  passwordHash: string;\n}\n```',
    ),
    wrong: [['SELECT c.id, c.name FROM', 'SELECT * FROM']],
    at: 'SELECT * FROM',
    says: 'passwordHash',
  },
  {
    rule: 'C39',
    of: document(
      [['sources', '/tenantId', '"tenantId": "t1"']],
      'All passwords and tokens are stored in Key Vault.',
      '| Field | Type |\n|---|---|\n| `ApiKeyVaultSecret` | string |',
    ),
    wrong: [['`ApiKeyVaultSecret`', '`UserOrApiKey`']],
    at: '`UserOrApiKey`',
    says: 'in a vault',
  },
  {
    rule: 'F22',
    of: document(
      [['hits', '/night', '"night": "n1"; "review": { "state": "open", "by": null }']],
      'A re-run upserts `hits` by a patch of only its own fields, and deletes what is left.',
    ),
    wrong: [[' by a patch of only its own fields, and deletes what is left', ' with the same id']],
    at: 'A re-run upserts',
    severity: 'error',
    says: 'review',
  },
  {
    rule: 'F22',
    of: document(
      [['hits', '/night', '"night": "n1"; "review": { "state": "open", "by": null }']],
      'A re-run upserts `hits` by a patch, and deletes what is left.',
    ),
    wrong: [[', and deletes what is left', '']],
    at: 'A re-run upserts',
    says: 'stays',
  },
  {
    rule: 'F23',
    of: document(
      [['logs', '/ticketId', '"ticketId": "t1"; "overriddenAt": null']],
      'The `logs` have one author.',
    ).replace('have one author', 'are immutable after the review'),
    wrong: [['are immutable after the review', 'are immutable']],
    at: 'are immutable',
    severity: 'error',
    says: 'overriddenAt',
  },
];
