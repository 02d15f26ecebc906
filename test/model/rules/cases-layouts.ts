// Cases of documents in layouts of their own.
import type { Case } from './base.ts';
import { document } from './short.ts';

export const LAYOUT_CASES: readonly Case[] = [
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
];
