// Cases of references, of what is written in one way, and of what there is one of (C32 to C36, A20 to A22, F20, F21).
import type { Case, Edit } from './base.ts';

/** A container of its own, before Customers; its documents as one line of JSON, or none. */
const container = (name: string, key: string, document = '', more = ''): Edit => [
  '### Customers Container',
  `### ${name} Container\n${document === '' ? '' : `\`\`\`json\n[\n  ${document}\n]\n\`\`\`\n`}- **Partition Key**: \`${key}\` - 100,000 values\n${more}\n### Customers Container`,
];
export const REFERENCE_CASES: readonly Case[] = [
  {
    rule: 'C26',
    given: [container('app_identities', '/uid', '{ "id": "m1", "uid": "m1", "provider": "x" }')],
    wrong: [['"provider": "x"', '"providerSubject": "s1"']],
    at: '"providerSubject"',
    says: 'a sign-in knows providerSubject',
  },
];
