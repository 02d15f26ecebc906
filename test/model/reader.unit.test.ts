import { expect, test } from 'vitest';
import type { Container, Model } from '../../src/model/model.ts';
import { parseDesign } from '../../src/model/reader/design.ts';
import { parseModel, readModel } from '../../src/model/reader/read.ts';

const parse = (text: string): Model => parseModel(text, 'm.md');
/** A document of one container with this body. */
const body = (text: string): Model => parse(`# Shop\n\n## Container Designs\n\n### Orders Container\n${text}`);
const only = (model: Model): Container => {
  const [container] = model.containers;
  if (!container || model.containers.length > 1) throw new Error(`${model.containers.length} containers`);
  return container;
};
const codes = (model: Model): string[] => model.findings.map((finding) => `${finding.code}:${finding.at.line}`);

const EXAMPLES = `\`\`\`json
[
  { "id": "o1", "type": "order", "storeId": "s" },
  { "id": "l1", "type": "line", "storeId": "s", "n": 1 },
  { "id": "o2", "type": "order", "storeId": "s" }
]
\`\`\``;

test('the template: types, key, TTL, throughput and indexing, each with its line', () => {
  const model = parse(`# Shop - Azure Cosmos DB NoSQL Data Model

## Container Designs

### Orders Container
${EXAMPLES}
- **Purpose**: orders
- **Partition Key**: storeId - always known
- **TTL**: 2592000 (30 days)
- **Throughput Planning**: Autoscale 400-4,000 RU/s
- **Unique Key Policy**: \`/number\`; \`/storeId\`, \`/sku\`

### Indexing Strategy
- **Indexing Policy**: selective
- **Included Paths**: \`/storeId/?\`, \`/n\`, \`/lines/[]/sku/?\`
- **Excluded Paths**: \`/*\`
- **Composite Indexes**:
\`\`\`json
[[{ "path": "/storeId", "order": "ascending" }, { "path": "/n", "order": "descending" }]]
\`\`\`
`);
  expect(model.findings).toEqual([]);
  expect(model.title).toBe('Shop - Azure Cosmos DB NoSQL Data Model');
  expect(only(model)).toEqual({
    name: 'Orders',
    partitionKey: ['/storeId'],
    types: [
      {
        name: 'order',
        at: { file: 'm.md', line: 8 },
        fields: { id: { kind: 'text' }, type: { kind: 'text' }, storeId: { kind: 'text' } },
        examples: [
          { id: 'o1', type: 'order', storeId: 's' },
          { id: 'o2', type: 'order', storeId: 's' },
        ],
      },
      {
        name: 'line',
        at: { file: 'm.md', line: 9 },
        fields: { id: { kind: 'text' }, type: { kind: 'text' }, storeId: { kind: 'text' }, n: { kind: 'int' } },
        examples: [{ id: 'l1', type: 'line', storeId: 's', n: 1 }],
      },
    ],
    defaultTtl: 2_592_000,
    throughput: { kind: 'autoscale', max: 4000 },
    uniqueKeys: [{ paths: ['/number'] }, { paths: ['/storeId', '/sku'] }],
    indexingPolicy: {
      indexingMode: 'consistent',
      automatic: true,
      includedPaths: [{ path: '/storeId/?' }, { path: '/n/?' }, { path: '/lines/[]/sku/?' }],
      excludedPaths: [{ path: '/*' }],
      compositeIndexes: [
        [
          { path: '/storeId', order: 'ascending' },
          { path: '/n', order: 'descending' },
        ],
      ],
    },
    at: { file: 'm.md', line: 5 },
    places: {
      partitionKey: { file: 'm.md', line: 14 },
      defaultTtl: { file: 'm.md', line: 15 },
      throughput: { file: 'm.md', line: 16 },
      uniqueKeys: { file: 'm.md', line: 17 },
      indexingPolicy: { file: 'm.md', line: 21 },
    },
  });
});

test.each([
  ['### Orders Container', 'Orders'],
  ['### 1. `orders` Container', 'orders'],
  ['### 3.1 `orders` – All that was ever ordered', 'orders'],
  ['### Orders (Multi-Document: Order + Line)', 'Orders'],
  ['### Orders Container (Consolidated Order + Line)', 'Orders'],
  ['### Orders - the main one', 'Orders'],
  ['#### ✅ Orders Container', 'Orders'],
])('a container headed %s', (heading, name) => {
  const model = parse(`# T\n## 3. Container Designs ✅\n${heading}\n${EXAMPLES}\n- **Partition Key**: \`/storeId\`\n`);
  expect(model.containers.map((container) => container.name)).toEqual([name]);
});

test.each([
  ['- **Partition Key**: `storeId` - why, and `customerId` not', ['/storeId']],
  ['- **Partition Key:** /storeId (high cardinality)', ['/storeId']],
  ['- Partition Key: storeId', ['/storeId']],
  ['**Partition Key**: `/storeId`\n**Purpose**: orders', ['/storeId']],
  ['- **Partition Key**: `/storeId`, `/customerId`', ['/storeId', '/customerId']],
  [
    '- **Partition Key**: Hierarchical: [`/storeId`, `/customerId`, `/id`] – one page each',
    ['/storeId', '/customerId', '/id'],
  ],
  ['- **Hierarchical Partition Key**: storeId + customerId', ['/storeId', '/customerId']],
  ['- **Partition Key**:\n  1. `/storeId` - tenant\n  2. `/customerId` - page', ['/storeId', '/customerId']],
  [
    '- **Partition Key**: hierarchical\n  - Level 1: /storeId\n  - Level 2: /address/city',
    ['/storeId', '/address/city'],
  ],
  [
    '- **Partition Key**:\n```json\n{ "paths": ["/storeId", "/id"], "kind": "MultiHash", "version": 2 }\n```',
    ['/storeId', '/id'],
  ],
  ['- **分区键**: `/storeId`', ['/storeId']],
])('the key in %j', (bullet, key) => {
  const model = body(`${EXAMPLES}\n\n${bullet}\n`);
  expect(only(model).partitionKey).toEqual(key);
  expect(model.findings.filter((finding) => finding.severity !== 'information')).toEqual([]);
});

test.each([
  ['-1', -1],
  ['`defaultTtl: -1`, items say so themselves', -1],
  ['on, per item', -1],
  ['86400', 86_400],
  ['2,592,000 seconds (30 days)', 2_592_000],
  ['30 days', 2_592_000],
  ['2 hours after the last write', 7200],
  ['6 months', 15_552_000],
  ['**On** with a default (e.g., 3600 seconds = 1 hour)', 3600],
  ['none', undefined],
  ['_Off_ by default', undefined],
  ['Not used', undefined],
])('the TTL %j', (text, seconds) => {
  const model = body(`${EXAMPLES}\n- **Partition Key**: storeId\n- **TTL**: ${text}\n`);
  expect(only(model).defaultTtl).toBe(seconds);
  expect(model.findings).toEqual([]);
});

test.each([
  ['Autoscale max 4,000 RU/s (peak 2,750 RU/s, 69 %)', { kind: 'autoscale', max: 4000 }],
  ['autoscale 1000–10000 RU/s', { kind: 'autoscale', max: 10_000 }],
  ['Auto-scale: 4k RU/s', { kind: 'autoscale', max: 4000 }],
  ['400 RU/s manual', { kind: 'manual', max: 400 }],
  ['Provisioned 600 RU/s', { kind: 'manual', max: 600 }],
  ['serverless', undefined],
])('the throughput %j', (text, throughput) => {
  const model = body(`${EXAMPLES}\n- **Partition Key**: storeId\n- **Throughput Planning**: ${text}\n`);
  expect(only(model).throughput).toEqual(throughput);
  expect(model.findings).toEqual([]);
});

test('values that are not understood are told, with their line', () => {
  const model = body(
    '- **Document Types**: `order`\n- **Partition Key**: to be decided\n- **TTL**: soon\n- **Throughput**: enough\n- **Unique Keys**: the number\n- **Mood**: good\n',
  );
  expect(codes(model)).toEqual([
    'partition-key-missing:5',
    'type-without-example:6',
    'value:7',
    'value:8',
    'value:9',
    'value:10',
    'label-not-read:11',
  ]);
  expect(model.findings.filter((finding) => finding.severity === 'error')).toHaveLength(1);
});

test('JSON is read as people write it, and what was forgiven is told', () => {
  const tolerated = body(`\`\`\`jsonc
// two of many
{ "id": "a", "type": "order" }
{
  "id": "b", /* second */
  "type": "refund",
  ...
}
\`\`\`
- **Partition Key**: id
`);
  expect(only(tolerated).types.map(({ name, at }) => `${name}:${at.line}`)).toEqual(['order:8', 'refund:9']);
  expect(codes(tolerated)).toEqual(['json-forgiven:7']);
  expect(tolerated.findings[0]?.message).toMatch(/ellipsis.*without brackets.*comments/);
});

test.each([
  ['[{ “id”: “a” }]', /curly/],
  ['[{ "id": "a" "type": "b" }]', /CommaExpected/],
  ['[{ "id": ', /ValueExpected/],
])('broken JSON %s is an error at its line', (json, why) => {
  const model = body(`- **Partition Key**: id\n- **Document Types**: \`order\`\n\n\`\`\`json\n${json}\n\`\`\`\n`);
  expect(model.findings.find((finding) => finding.code === 'json')).toMatchObject({
    severity: 'error',
    at: { line: 10 },
    message: expect.stringMatching(why),
  });
});

test('other fences are no examples, and headings in fences are no headings', () => {
  const model = body(
    `${EXAMPLES}\n- **Partition Key**: storeId\n\n\`\`\`sql\nSELECT * FROM c\n### Nope Container\n\`\`\`\n\n\`\`\`json\n["not a document"]\n\`\`\`\n`,
  );
  expect(model.containers.map(({ name }) => name)).toEqual(['Orders']);
  expect(codes(model)).toEqual(['example:21']);
});

test('examples without a type are of the type of their container; without an id they are told', () => {
  const model = body('```json\n[{ "sku": 1 }]\n```\n- **Partition Key**: sku\n');
  expect(only(model).types).toMatchObject([{ name: 'orders', examples: [{ sku: 1 }] }]);
  expect(codes(model)).toEqual(['example-id:7']);
});

test('a whole policy as JSON, and a root path that no text states', () => {
  const policy = body(`${EXAMPLES}\n- **Partition Key**: storeId\n\n#### Indexing Policy\n\`\`\`json
{ "indexingMode": "consistent", "automatic": true, "includedPaths": [{ "path": "/*" }], "excludedPaths": [{ "path": "/blob/*" }], "compositeIndexes": [] }
\`\`\`\n`);
  expect(only(policy).indexingPolicy).toEqual({
    indexingMode: 'consistent',
    automatic: true,
    includedPaths: [{ path: '/*' }],
    excludedPaths: [{ path: '/blob/*' }],
  });
  const selective = body(`${EXAMPLES}\n- **Partition Key**: storeId\n- **Included Paths**: \`/n/?\`\n`);
  expect(only(selective).indexingPolicy).toMatchObject({
    includedPaths: [{ path: '/n/?' }],
    excludedPaths: [{ path: '/*' }],
  });
  expect(codes(selective)).toEqual(['index-rest-excluded:14']);
  const rest = body(
    `${EXAMPLES}\n- **Partition Key**: storeId\n- **Excluded Paths**: \`/blob/*\`\n- **Composite Indexes**: \`[(storeId ASC, n DESC)]\`\n`,
  );
  expect(only(rest).indexingPolicy).toMatchObject({
    includedPaths: [{ path: '/*' }],
    excludedPaths: [{ path: '/blob/*' }],
    compositeIndexes: [[{ path: '/storeId' }, { path: '/n', order: 'descending' }]],
  });
});

const TWO = `# T\n## Container Designs\n### Orders Container\n${EXAMPLES}\n- **Partition Key**: storeId\n### Users Container\n${EXAMPLES}\n- **Partition Key**: storeId\n`;

test('indexing in a section of its own belongs to whom it names', () => {
  const named = parse(
    `${TWO}## Indexing Strategy\n### Users\n- **Included Paths**: \`/*\`\n### Second\n- **Container**: Orders\n- **Excluded Paths**: \`/a/*\`\n`,
  );
  expect(named.containers.map(({ indexingPolicy }) => indexingPolicy?.excludedPaths)).toEqual([[{ path: '/a/*' }], []]);
  const nobody = parse(`${TWO}## Indexing Strategy\n- **Included Paths**: \`/*\`\n`);
  expect(codes(nobody)).toEqual(['indexing-owner:21']);
  expect(nobody.containers.every(({ indexingPolicy }) => indexingPolicy === undefined)).toBe(true);
});

test('a struck container is taken back, one without a design is elsewhere, one designed twice is an error', () => {
  const model = parse(
    `${TWO}### ~~Old Container~~\n${EXAMPLES}\n- **Partition Key**: id\n### Carts Container\nUnchanged, see last year's document.\n### Orders Container\n${EXAMPLES}\n- **Partition Key**: id\n### Overview\nAll of them.\n`,
  );
  expect(model.containers.map(({ name }) => name)).toEqual(['Orders', 'Users']);
  expect(codes(model)).toEqual(['design-elsewhere:30', 'container-twice:32']);
});

test('schemas by number, one object each, with the facts before and the example under a heading of its own', () => {
  const model = parse(`# Agenda – Azure Cosmos DB NoSQL Data Model
## 2. Containers Overview
| Container ID | Partition Key |
|---|---|
| \`runs\` | \`/runId\` |
## 3. Container Schemas
### 3.1 \`runs\` – What was run
- **Container ID**: \`runs\`
- **Partition key**: \`/runId\`
- **TTL**: _Off_ by default (kept for audit).

Each document is one run:
- its task,
- its result.

#### 3.1.1 Example document
\`\`\`json
{ "id": "r", "runId": "r", "task": { "input": "x" } }
\`\`\`
#### 3.1.2 Indexing guidance
- Leave **default indexing** on.
### 3.2 \`parts\` (Optional) – Overflow
- **Partition key**: \`/runId\`
#### 3.2.1 Example document
\`\`\`json
{ "id": "p", "runId": "r" }
\`\`\`
`);
  expect(
    model.containers.map(({ name, partitionKey, types }) => [
      name,
      partitionKey,
      types.map((type) => type.examples.length),
    ]),
  ).toEqual([
    ['runs', ['/runId'], [1]],
    ['parts', ['/runId'], [1]],
  ]);
  expect(codes(model)).toEqual(['section-skipped:2']);
});

test('a key stated twice and differently is an error; unknown sections are listed', () => {
  const model = body(
    `${EXAMPLES}\n- **Partition Key**: storeId\n- **PK**: id\n\n## Cost Table\nMuch.\n## Global Distribution Strategy\nOne.\n`,
  );
  expect(codes(model)).toEqual(['partition-key-twice:14', 'section-skipped:16']);
  expect(model.findings[0]?.message).toContain('line 13');
});

test.each([
  ['# Readme\n\n## Install\nnpm install\n', 'model-without-containers'],
  ['', 'model-without-containers'],
  ['# Shop\n## Container Designs\nNone yet.\n', 'model-without-containers'],
  ['# Shop\n## Validation Results\n- [x] all\n', 'model-without-containers'],
])('%j is refused', (text, code) => {
  expect(() => parse(text)).toThrow(
    expect.objectContaining({
      name: 'UsageError',
      code,
      hint: expect.any(String),
      message: expect.stringContaining('m.md'),
    }),
  );
});

test('a file that is not there is named', async () => {
  await expect(readModel('/nowhere/cosmosdb_data_model.md')).rejects.toMatchObject({
    name: 'UsageError',
    code: 'unreadable',
    message: expect.stringContaining('/nowhere/'),
  });
});

test('line ends and byte order marks of other systems change nothing', () => {
  const text = `${TWO}**TTL**: 60\n**Throughput**: 400 RU/s\n`;
  const { containers } = parse(text);
  expect(containers.at(-1)).toMatchObject({ defaultTtl: 60, throughput: { max: 400 } });
  expect(parse(`\uFEFF${text}`).containers).toEqual(containers);
  expect(parse(text.replaceAll('\n', '\r\n')).containers).toEqual(containers);
});

test.each([
  ['Query, cross-partition', ['cross-partition']],
  ['Cross-partition query', ['cross-partition']],
  ['Cross-partition `SELECT * FROM c WHERE c.state = @state`', ['cross-partition']],
  ['Query of a store, then a cross-partition query', ['query', 'cross-partition']],
  ['Point read, then a cross-partition query', ['point-read', 'cross-partition']],
  ['Query, single partition', ['query']],
])('a read of all partitions counts once: %s', (operation, operations) => {
  const design = parseDesign(
    `# Shop\n\n## Container Designs\n\n### Orders Container\n- **Partition Key**: \`/storeId\`\n\n## Access Pattern Mapping\n\n| Pattern | Description | Containers/Indexes | Cosmos DB Operations | Implementation Notes |\n|---|---|---|---|---|\n| #1 | open orders | Orders | ${operation} | 9 RU |\n`,
    'm.md',
  );
  expect(design.mapping.map((row) => row.operations)).toEqual([operations]);
});
