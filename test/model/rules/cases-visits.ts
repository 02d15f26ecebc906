// Cases of keys that change or are stated twice (C30, C31), of what everyone asks (B24, D15), of containers without a design
// (A19), of what the feed sends (F19), and of sums, counters, copies and maps that these documents show (A16, A18, B6, C7,
// C14, D9, D10, D11, E2).
import type { Case, Edit } from './base.ts';

/** A container of its own, before Customers; its documents as one line of JSON, or none. */
const container = (name: string, key: string, fields = '', more = ''): Edit => [
  '### Customers Container',
  `### ${name} Container\n${fields === '' ? '' : `\`\`\`json\n[\n  { "id": "x1", ${fields} }\n]\n\`\`\`\n`}- **Partition Key**: \`${key}\` - 100,000 values\n${more}\n### Customers Container`,
];
const said = (sentence: string): Edit => ['', sentence];

export const VISIT_CASES: readonly Case[] = [
  {
    rule: 'C31',
    given: [said('| Container | Partition Key |\n|---|---|\n| `Customers` | `/id` |')],
    wrong: [['| `Customers` | `/id` |', '| `Customers` | `/name` |']],
    at: '| `Customers` | `/name` |',
    says: 'Customers has the key /id in line',
  },
  {
    rule: 'C14',
    given: [said('```sql\n-- A customer’s orders (point read)\nSELECT * FROM c WHERE c.id = "o1"\n```'), said('')],
    wrong: [['WHERE c.id = "o1"', 'WHERE c.customerId = "c1"']],
    at: '(point read)',
    severity: 'warning',
    says: 'called a point read',
  },
  {
    rule: 'D9',
    given: [container('Photos', '/id', '"stars": { "user-1": 5, "user-2": 4 }'), said('stars: at most 20.')],
    wrong: [['stars: at most 20.', 'stars are shown.']],
    at: '"stars"',
  },
  {
    rule: 'D10',
    given: [container('Questions', '/id', '"upvotes": 7'), said('upvotes is an aggregate of the votes.')],
    wrong: [['upvotes is an aggregate of the votes.', 'upvotes are shown.']],
    at: '"upvotes": 7',
  },
  {
    rule: 'D11',
    given: [
      container('Photos', '/id', '"creatorId": "u1", "creatorName": "Ada"'),
      said('creatorName: a snapshot of that day.'),
    ],
    wrong: [['creatorName: a snapshot of that day.', 'creatorName is shown.']],
    at: '"creatorName": "Ada"',
  },
  {
    rule: 'F12',
    given: [said('```ts\nreadChangeFeed();\nupdateMetrics(change); // idempotent\n```')],
    wrong: [['updateMetrics(change); // idempotent', 'updateMetrics(change);']],
    at: 'updateMetrics(change)',
  },
  {
    rule: 'E2',
    given: [
      said(
        '```python\npolicy = {\n  "includedPaths": [\n    {"path": "/name/?"}\n  ],\n  "excludedPaths": [{"path": "/*"}]\n}\n```',
      ),
    ],
    wrong: [['  "excludedPaths": [{"path": "/*"}]', '  "excludedPaths": [{"path": "/xml/?"}]']],
    at: '"includedPaths": [',
    says: 'neither includes nor excludes',
  },
];
