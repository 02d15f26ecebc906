// Cases of what a document states twice: totals with their parts, values, marks, paths and vectors (A26, A27, C40, D11, E9, E14).
import type { Case } from './base.ts';
import { document } from './short.ts';

const sql = (query: string): string => `\`\`\`sql\n-- orders\n${query}\n\`\`\``;

export const VALUE_CASES: readonly Case[] = [
  {
    rule: 'A26',
    of: document([['graphs', '/id', '"totalEdges": 42; "edgeCounts": { "calls": 30, "uses": 12 }']]),
    wrong: [['"totalEdges": 42', '"totalEdges": 67']],
    at: '"totalEdges"',
    severity: 'warning',
    says: 'totalEdges of graphs is 67, and edgeCounts add up to 42',
  },
  {
    // Values of other units aren't parts of it.
    rule: 'A26',
    of: document([
      ['graphs', '/id', '"totalEdges": 42; "edgeCounts": { "calls": 30, "uses": 12 }'],
      ['sales', '/id', '"totalCents": 5; "storeCounts": { "a": 1, "b": 1 }'],
    ]),
    wrong: [['"uses": 12', '"uses": 13']],
    at: '"totalEdges"',
  },
  {
    rule: 'A27',
    of: document(
      [['orders', '/storeId', '"storeId": "s1"; "state": "OPEN"']],
      sql("SELECT * FROM c WHERE c.storeId = @s AND c.state = 'OPEN'"),
    ),
    wrong: [["c.state = 'OPEN'", "c.state = 'Open'"]],
    at: 'SELECT * FROM c',
    severity: 'warning',
    says: 'OPEN is also written Open',
  },
  {
    rule: 'A27',
    of: document(
      [['orders', '/storeId', '"storeId": "s1"; "state": "open|paid"']],
      sql("SELECT * FROM c WHERE c.storeId = @s AND c.state IN ('open', 'paid')"),
    ),
    wrong: [["'paid')", "'Paid')"]],
    at: 'SELECT * FROM c',
    says: 'paid is also written Paid',
  },
  {
    // One word may be a slip of the language; two are values.
    rule: 'A27',
    of: document(
      [['orders', '/storeId']],
      '```mermaid\nclassDiagram\n  class StateEnum {\n    PENDING\n    MIGRATED\n  }\n```',
      "Orders wait as 'PENDING', and end as 'Migrated'.",
    ),
    wrong: [["'PENDING', and", "'Pending', and"]],
    at: 'Orders wait as',
    says: 'PENDING is also written Pending, MIGRATED is also written Migrated',
  },
  {
    rule: 'C40',
    of: document(
      [['orders', '/storeId', '"storeId": "s1"; "isDeleted": false']],
      sql('SELECT * FROM c WHERE c.storeId = @s AND c.isDeleted = false'),
    ),
    wrong: [[' AND c.isDeleted = false', '']],
    at: 'SELECT * FROM c',
    severity: 'warning',
    says: 'orders: a list without a condition on isDeleted',
  },
  {
    // A time of deletion is a mark too, also where only some documents have it.
    rule: 'C40',
    of: document(
      [
        [
          'orders',
          '/storeId',
          '"storeId": "s1"',
          '"storeId": "s1"; "deletedAt": "2026-01-01T00:00:00Z"; "ttl": 604800',
        ],
      ],
      sql('SELECT * FROM c WHERE c.storeId = @s AND NOT IS_DEFINED(c.deletedAt)'),
    ),
    wrong: [[' AND NOT IS_DEFINED(c.deletedAt)', '']],
    at: 'SELECT * FROM c',
    says: 'NOT IS_DEFINED(c.deletedAt)',
  },
  {
    // A read by the id, and a query of another type, find none that was deleted.
    rule: 'C40',
    of: document(
      [
        [
          'orders',
          '/storeId',
          '"type": "order"; "storeId": "s1"; "isDeleted": false',
          '"type": "store"; "storeId": "s1"',
        ],
      ],
      sql("SELECT * FROM c WHERE c.storeId = @s AND c.type = 'store'"),
      sql("SELECT * FROM c WHERE c.storeId = @s AND c.type = 'order' AND c.id = @id"),
    ),
    wrong: [[' AND c.id = @id', '']],
    at: "c.type = 'order'",
  },
  {
    rule: 'D11',
    of: document([
      ['teams', '/teamId', '"teamId": "t1"; "identityUserId": "x1"; "email": "ada@work.org"'],
      ['identity', '/userId', '"type": "identity-user"; "userId": "x1"; "email": "ada@home.org"'],
    ]),
    wrong: [['ada@work.org', 'ada@home.org']],
    at: '"email"',
    severity: 'warning',
    says: 'teams: email is copied',
  },
  {
    rule: 'E9',
    of: document(
      [['memories', '/userId', '"userId": "u1"; "embedding": [0.1, 0.2]']],
      'Semantic search. A vector index comes later. The vectors have 1536 dimensions.',
      '```json\n{ "indexingMode": "consistent", "includedPaths": [{ "path": "/*" }], "vectorIndexes": [] }\n```',
      'The vectorEmbeddingPolicy has the path.',
    ),
    wrong: [['The vectorEmbeddingPolicy has the path.', '']],
    at: '"vectorIndexes"',
    severity: 'error',
    says: 'lists no vector index',
  },
  {
    rule: 'E14',
    of: document([['matches', '/puuid', '"puuid": "p1"; "raw_payload": {}']]).replace(
      '## Notes',
      'Indexing: `raw_payload/*` excluded.\n\n## Notes',
    ),
    wrong: [['"raw_payload": {}', '"kills": 8']],
    at: 'Indexing: `raw_payload/*`',
    severity: 'warning',
    says: 'matches: the policy excludes raw_payload',
  },
];
