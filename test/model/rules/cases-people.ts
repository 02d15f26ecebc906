// Cases of what people's documents need (C26 to C29, D12, D13), of data without an end (B23, F18), of pages and searches (E11,
// E12), and of counters and copies that lists of fields show (D10, D11).
import type { Case, Edit } from './base.ts';

/** A container of its own, before Customers; its documents as one line of JSON, or none. */
const container = (name: string, key: string, fields = '', more = ''): Edit => [
  '### Customers Container',
  `### ${name} Container\n${fields === '' ? '' : `\`\`\`json\n[\n  { "id": "x1", ${fields} }\n]\n\`\`\`\n`}- **Partition Key**: \`${key}\` - 100,000 values\n${more}\n### Customers Container`,
];
const said = (sentence: string): Edit => ['', sentence];

export const PEOPLE_CASES: readonly Case[] = [
  {
    rule: 'C26',
    given: [container('Users', '/id', '"name": "Ada", "azureId": "x1"')],
    wrong: [['"azureId": "x1"', '"azureId": "a7"']],
    at: '"azureId": "a7"',
    severity: 'warning',
    says: 'a sign-in knows azureId',
  },
  {
    rule: 'C27',
    given: [container('Visits', '/customerId', '"customerId": "c1"')],
    wrong: [['"id": "x1", "customerId": "c1"', '"id": "x1", "customerId": "c1", "partitionKey": "c1"']],
    at: '"partitionKey": "c1"',
    says: 'beside the key /customerId',
  },
  {
    rule: 'D10',
    given: [
      container('Films', '/id', '"title": "M", "viewCount": 7'),
      said('viewCount is counted by the change feed.'),
    ],
    wrong: [['viewCount is counted by the change feed.', 'viewCount is shown.']],
    at: '"viewCount": 7',
  },
  {
    rule: 'D11',
    given: [
      container('SmsProviders', '/id', '"name": "N"'),
      said(
        '## Calls\n\n### Calls Container\n- **Partition Key**: `/customerId` - 100,000 values\n| Field | Type |\n|---|---|\n| `customerId` | string |\n| `providerName` | string, a snapshot |',
      ),
    ],
    wrong: [['string, a snapshot |', 'string |']],
    at: '`providerName`',
  },
  {
    rule: 'D9',
    given: [container('Carts', '/id', '"dayIds": ["d1"]'), said('dayIds: at most 20.')],
    wrong: [['dayIds: at most 20.', 'dayIds are shown.']],
    at: '"dayIds"',
  },
  {
    rule: 'D9',
    given: [container('Readers', '/id', '"savedFilms": ["f1"]'), said('savedFilms: at most 20.')],
    wrong: [['savedFilms: at most 20.', 'savedFilms are shown.']],
    at: '"savedFilms"',
  },
  {
    rule: 'D9',
    given: [container('Carts', '/id', '"dayIds": ["d1"]'), said('An add that would exceed 100 day IDs is refused.')],
    wrong: [['exceed 100 day IDs is', 'be late is']],
    at: '"dayIds"',
  },
  {
    // What is bounded is another thing, and a time is no bound.
    rule: 'D9',
    given: [container('Carts', '/id', '"history": []'), said('The history has the last 30 orders.')],
    wrong: [
      [
        'The history has the last 30 orders.',
        'The history of the last 30 days is shown. All data is small and bounded.',
      ],
    ],
    at: '"history": []',
  },
  {
    rule: 'D9',
    given: [
      container(
        'Carts',
        '/id',
        '',
        '\n```\nid       string\nimports  — { importId: Import }\nimports: at most 20\n```\n',
      ),
    ],
    wrong: [['imports: at most 20', 'all']],
    at: 'imports  —',
  },
];
