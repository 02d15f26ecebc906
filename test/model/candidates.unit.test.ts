import { expect, test } from 'vitest';
import { parseDesign } from '../../src/model/reader/design.ts';

const told = (more = ''): string[] =>
  parseDesign(
    `# Shop: Data Model
## Container Designs
### Customers Container
\`\`\`json
[{ "id": "c1", "type": "customer", "name": "Ada", "createdAt": "2026-01-01" }]
\`\`\`
- **Partition Key**: \`/id\`

### Orders Container
\`\`\`json
[{ "id": "o1", "type": "order", "customerId": "c1", "customerName": "Ada", "totalCents": 5, "createdAt": "2026-01-01" }]
\`\`\`
- **Partition Key**: \`/customerId\`

### Board Container
\`\`\`json
[{ "id": "o1", "type": "tile", "customerId": "c1", "totalCents": 5 }]
\`\`\`
- **Partition Key**: \`/customerId\`
- **Purpose**: materialized view of the day's orders

## Trade-offs
- **Denormalization**: totals are on the board
${more}`,
    'model.md',
  )
    .findings.filter(({ code }) => code === 'projection-candidate')
    .map(({ message, at, severity }) => `${severity} ${at.line} ${message.replace(/^.*\? /, '')}`);

test('without a section, one question names what looks derived, with its lines', () => {
  expect(told()).toEqual([
    'information 11 customerName of Customers (customer), Orders (order) (line 11); totalCents of Orders (order), Board (tile) (line 17); Board is "materialized view of the day\'s orders" (line 20); "totals are on the board" (line 23)',
  ]);
});

test('a field that many containers have is one of them, and the sixth is counted', () => {
  const fields = Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`field${n}`, n]));
  const container = (name: string) =>
    `### ${name} Container\n\`\`\`json\n[${JSON.stringify({ id: '1', type: `of${name}`, ...fields })}]\n\`\`\`\n- **Partition Key**: \`/id\`\n\n`;
  const text = `# Shop: Data Model\n## Container Designs\n${['A', 'B', 'C', 'D'].map(container).join('')}`;
  const [found, ...more] = parseDesign(text, 'model.md').findings.filter(({ code }) => code === 'projection-candidate');
  expect(more).toEqual([]);
  expect(found?.message).toMatch(/\? field0 of A \(ofA\), B \(ofB\) and 2 more \(line \d+\); .*; and 1 more$/);
});

test('with one, nothing is guessed', () => {
  const row =
    '| board | copy | Orders (order) | Board (tile) | customerId | totalCents | #1 | 5 s | remove | backfill |';
  const head =
    '| Projection | Kind | Source (type) | Sink (type) | Key mapping | Fields | Serves | Max lag | Deletes | Start |';
  const section = `\n## Change Feed Projections\n${head}\n|---|---|---|---|---|---|---|---|---|---|\n`;
  expect(told(section + row)).toEqual([]);
  expect(told(section)).toEqual([]);
});
