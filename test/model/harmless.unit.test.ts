// What the check passes over: text that only looks like a fault, and one finding where a fault has many places.
import { expect, test } from 'vitest';
import { parseDesign } from '../../src/model/reader/design.ts';
import { parseRequirements } from '../../src/model/reader/requirements.ts';
import { checkDocuments } from '../../src/model/rules/index.ts';
import { parseModel } from '../../src/model/reader/read.ts';

const DESIGN = (rest: string, bullets = ''): string => `# Shop
## Container Designs
### Sales Container
- **Partition Key**: \`/storeId\` - 400 values
${bullets}
### SalesByDay Container
- **Partition Key**: \`/storeId\` - 400 values
${rest}
`;

const found = (rule: string, text: string, requirements?: string) =>
  checkDocuments({
    requirements: requirements === undefined ? undefined : parseRequirements(requirements, 'r.md'),
    design: parseDesign(text, 'm.md'),
  }).findings.filter((finding) => finding.rule === rule);

test('names are compared whole', () => {
  const { mapping } = parseDesign(
    DESIGN(
      '## Access Pattern Mapping\n| Pattern | Container | Operation |\n|---|---|---|\n| 1 | the SalesByDay view | Query |',
    ),
    'm.md',
  );
  expect(mapping.map(({ containers }) => containers)).toEqual([['SalesByDay']]);
});

test('a table of hot partitions is no mapping, and its rows are about their containers', () => {
  const design = parseDesign(
    DESIGN(
      '## Hot Partition Analysis\n| Container | Hottest Pattern | Share |\n|---|---|---|\n| Sales | 2 | one key has 34 GB |',
    ),
    'm.md',
  );
  expect(design.mapping).toEqual([]);
  expect(design.containers.map(({ hot }) => hot.length)).toEqual([2, 0]);
  expect(checkDocuments({ requirements: undefined, design }).findings).toContainEqual(
    expect.objectContaining({ rule: 'C3', severity: 'error' }),
  );
});

test('open items and missing sections are one finding each', () => {
  const text = DESIGN('## Design Philosophy\nSimple.\n## Validation Results\n- [ ] One\n- [ ] Two');
  expect(found('A9', text)).toHaveLength(2);
  // A document that doesn't follow the template owes none of its sections.
  expect(found('A9', DESIGN('## Queries\nBy the key.'))).toEqual([]);
});

test('a part of a document after the examples is no example, and a field that is only null may hold anything', () => {
  const json = (text: string): string => `\n\`\`\`json\n${text}\n\`\`\`\n`;
  const text = `# Shop\n## Container Designs\n### Sales Container\n- **Partition Key**: \`/storeId\`\n${json('{ "id": "a", "storeId": "s", "note": null }')}The note:\n${json('{ "segments": 3 }')}`;
  const model = parseModel(text, 'm.md');
  expect(model.containers[0]?.types.flatMap(({ examples }) => examples)).toHaveLength(1);
  expect(model.containers[0]?.types[0]?.fields['note']).toEqual({ kind: 'any' });
});

test('an overview gives the key that a section lacks, and a second key is an error', () => {
  const overview = (key: string): string =>
    `# Shop\n## Overview\n| Container | Initial Partition Key |\n|---|---|\n| \`Sales\` | ${key} |\n| Days | \`[tenantId, day]\` |\n`;
  const only = parseModel(overview('`/storeId`'), 'm.md');
  expect(only.containers.map(({ name, partitionKey }) => [name, partitionKey])).toEqual([
    ['Sales', ['/storeId']],
    ['Days', ['/tenantId', '/day']],
  ]);
  const section = '## Container: `Sales`\n- **Partition Key**: `/storeId`\n';
  const codes = (text: string): string[] => parseModel(text, 'm.md').findings.map(({ code }) => code);
  expect(codes(overview('`/storeId`') + section)).not.toContain('partition-key-twice');
  expect(codes(overview('`/shopId`') + section)).toContain('partition-key-twice');
});

test('a definition in JavaScript is read, with its policy once', () => {
  const definition =
    "\n```ts\n{\n  id: 'sales', // one a store\n  partitionKey: '/storeId',\n  defaultTtl: 7 * 24 * 3600,\n  uniqueKeys: [['/storeId', '/number']],\n  indexingPolicy: { includedPaths: [{ path: '/*' }] },\n}\n```\n";
  const text = `# Shop\n## Indexing Policies\n### Sales Container\n- **Partition Key**: \`/storeId\`\n${definition}`;
  expect(parseModel(text, 'm.md').containers[0]).toMatchObject({
    defaultTtl: 604_800,
    uniqueKeys: [{ paths: ['/storeId', '/number'] }],
    indexingPolicy: { includedPaths: [{ path: '/*' }] },
  });
  expect(found('E2', text)).toEqual([]);
});

test('a query of a row with two containers is asked of the one whose key it names', () => {
  const text = (where: string): string =>
    `# Shop\n## Container Designs\n### Sales Container\n- **Partition Key**: \`/storeId\`\n### Customers Container\n- **Partition Key**: \`/customerId\`\n## Access Pattern Mapping\n| Pattern | Container | Operation |\n|---|---|---|\n| 1 | Sales, Customers | Query \`SELECT * FROM c WHERE c.storeId = @s\`, then \`SELECT * FROM c WHERE ${where}\` |\n`;
  expect(found('C13', text('c.customerId = @c'))).toEqual([]);
  expect(found('C13', text('c.name = @n'))).toHaveLength(1);
});
