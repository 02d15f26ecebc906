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
    .map(({ message, at, severity }) => `${severity} ${at.line} ${message.replace(/^.*need one: /, '')}`);

test('without a section, what looks derived is listed with its line', () => {
  expect(told()).toEqual([
    'information 11 Customers (customer) and Orders (order) both have customerName',
    'information 17 Orders (order) and Board (tile) both have totalCents',
    'information 20 Board is described as derived: "materialized view of the day\'s orders"',
    'information 23 Denormalization: "totals are on the board"',
  ]);
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
