// One container with the same faults in the layouts that people use: the same findings in each.
import { expect, test } from 'vitest';
import { parseDesign } from '../../src/model/reader/design.ts';
import { checkDocuments } from '../../src/model/rules/index.ts';

const HEADS = [
  '## Container Designs\n\n### Orders Container',
  '## Containers\n\n### Container: Orders',
  '## Container: `Orders`',
  '## 2. Cosmos DB Container Schemas ✅\n\n### 2.1 `Orders` – every order of every store',
  '## Data Model\n\n### 1. Orders Container (Multi-Document)',
];

const FACTS: readonly (readonly [string, string])[] = [
  ['Partition Key', '`/storeId` - 40 values'],
  ['TTL', '30 days'],
  ['Throughput', 'Autoscale 400–2,000 RU/s at first; max 10,000 later'],
  ['Unique Key Policy', '`/number`'],
  ['Included Paths', '`/storeId/?`, `/lines/*/sku/?`'],
];
const STYLES: readonly ((facts: typeof FACTS) => string)[] = [
  (facts) => facts.map(([label, value]) => `- **${label}**: ${value}`).join('\n'),
  (facts) => facts.map(([label, value]) => `- **${label}:** ${value}`).join('\n'),
  (facts) => facts.map(([label, value]) => `**${label}:** ${value}  `).join('\n'),
  (facts) => facts.map(([label, value]) => `- **${label}**:\n  - ${value}`).join('\n'),
  (facts) =>
    `| Property | Value |\n|---|---|\n${facts.map(([label, value]) => `| **${label}** | ${value} |`).join('\n')}`,
  (facts) => facts.map(([label, value]) => `#### ${label}\n\n- **${label}**: ${value}\n`).join('\n'),
];

const SQL = "SELECT * FROM c WHERE c.state = 'open' ORDER BY c.at DESC";
const QUERIES = [
  `\`\`\`sql\n${SQL}\n\`\`\``,
  `- Open orders: \`${SQL}\``,
  `| Operation | Query |\n|---|---|\n| Open orders | \`${SQL}\` |`,
  `| Operation | Query |\n|---|---|\n| Open orders | ${SQL} |`,
  `\`\`\`ts\n// open orders\nconst open = "${SQL}";\n\`\`\``,
  `\`\`\`python\nquery = """\n${SQL}\n"""\n\`\`\``,
];
const EXAMPLE =
  '```json\n{ "id": "o1", "type": "order", "storeId": "s1", "number": 7, "state": "open", "at": "2026-01-01", "lines": [{ "sku": "a" }] }\n```';

const LAYOUTS = HEADS.flatMap((head, h) =>
  STYLES.map((style, s) => {
    const query = QUERIES[(h + s) % QUERIES.length] ?? '';
    return `# Shop\n\n${head}\n\n${EXAMPLE}\n\n${style(FACTS)}\n\n${query}\n`;
  }),
);

const findings = (text: string): string[] =>
  checkDocuments({ requirements: undefined, design: parseDesign(text, 'm.md') }).findings.map(
    ({ rule, severity, message }) => `${rule} ${severity} ${message.replace(/^Line \d+/, 'Line')}`,
  );

test('there are 30 layouts', () => expect(new Set(LAYOUTS).size).toBe(30));

test.each(LAYOUTS.map((text, index) => [index, text] as const))('layout %i of 30 has the same findings', (_, text) => {
  expect(findings(text)).toEqual([
    "B12 error Orders: autoscale 400–2,000 isn't possible; with a maximum of 2,000 the lowest value is 200",
    'C2 error Orders: the key has 40 values; it needs at least 100 to spread the load',
    'C13 warning Line queries Orders by state; without the key /storeId it reads every partition',
    'E2 error Orders: the policy neither includes nor excludes /*',
    "E3 error Orders: /lines/*/sku/? isn't a valid index path",
    "E5 warning Line queries Orders by state, at, which its policy doesn't index",
  ]);
});
