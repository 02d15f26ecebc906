// One container, in the forms in which documents state it without a section of its own: the same key, and the same query.
import { expect, test } from 'vitest';
import { parseDesign } from '../../src/model/reader/design.ts';
import { checkDocuments } from '../../src/model/rules/index.ts';

const KEY = '- **Partition Key**: `/storeId`';
const FORMS: readonly (readonly [string, string])[] = [
  ['a plain heading', `## orders\n${KEY}`],
  [
    'a heading with a number',
    `## Collections\n\n### 1. \`orders\`\n**Partition Key:** \`/storeId\`  \n**TTL:** 30 days`,
  ],
  ['labels after one another', `## Setup\n- **Container Name**: \`orders\`\n${KEY}`],
  ['labels in a numbered list', '## Setup\n1. Create it:\n   - Container id: `orders`\n   - Partition key: `/storeId`'],
  [
    'labels of several containers',
    `## Setup\n- Container id: \`stores\`\n- Partition key: \`/id\`\n\n**Orders:**\n- Container id: \`orders\`\n- Partition key: \`/storeId\``,
  ],
  [
    'a title that names no container',
    '## Create Database and Container\n- Container id: `orders`\n- Partition key: `/storeId`',
  ],
  ['lines in a fence', '## The `orders` container\n\n```text\ncontainer: orders\npartition key: /storeId\n```'],
  ['an item with brackets', '## Containers\n- They are:\n  - `orders` (partition key: `/storeId`)'],
  ['an item with "partitioned by"', '## Containers\n- `orders` (partitioned by `/storeId`)'],
  ['an overview', '## Containers\n| Container | Partition Key |\n|---|---|\n| `orders` | `/storeId` |'],
  ['bold labels in one line', '## Container: `orders`\n**Partition Key:** `/storeId` | **Throughput:** 400 RU/s'],
  [
    'the command line',
    '## Setup\n```bash\naz cosmosdb sql container create \\\n  --account-name shop \\\n  --name orders \\\n  --partition-key-path "/storeId"\n```',
  ],
  [
    'Python',
    '## Setup\n```python\nNAME = "orders"\ndatabase.create_container(\n    id=NAME,\n    partition_key=PartitionKey(path="/storeId"),\n)\n```',
  ],
  [
    'JavaScript',
    "## Setup\n```js\nawait database.containers.create({ id: 'orders', partitionKey: { paths: ['/storeId'] } });\n```",
  ],
  ['C#', '## Setup\n```csharp\nnew ContainerProperties("orders", "/storeId")\n```'],
  [
    'a sentence',
    '## Design\n- **Partition Key**: The container uses a simple key (`/storeId`) so that a store is one partition\n\nThe `orders` container has all orders.',
  ],
];
const REST =
  '\n\n## Queries\n\n```sql\n-- orders\nSELECT * FROM c WHERE c.state = \'open\'\n```\n\n## Order Document\n\n```json\n{ "id": "o1", "type": "order", "storeId": "s1", "state": "open" }\n```\n';

test.each(FORMS)('%s', (_, form) => {
  const design = parseDesign(`# Shop\n\n${form}${REST}`, 'm.md');
  const orders = design.model.containers.find(({ name }) => name === 'orders');
  expect(orders?.partitionKey).toEqual(['/storeId']);
  expect(orders?.types.flatMap(({ examples }) => examples)).toHaveLength(1);
  const { findings } = checkDocuments({ requirements: undefined, design });
  expect(
    findings.filter(({ rule }) => rule === 'C13').map(({ message }) => message.replace(/^Line \d+/, 'Line')),
  ).toEqual(['Line queries orders by state; without the key /storeId it reads every partition']);
  expect(design.findings.filter(({ severity }) => severity === 'error')).toEqual([]);
});

test('environments of one container are one owner of examples and queries', () => {
  const table = '| Container | Partition Key |\n|---|---|\n| `dev-data` | `/id` |\n| `prod-data` | `/id` |';
  const design = parseDesign(`# Shop\n\n## Containers\n${table}${REST}`, 'm.md');
  expect(design.model.containers.map(({ types }) => types.length)).toEqual([1, 0]);
  expect(design.asked.map(({ container }) => container)).toEqual(['dev-data']);
});

test('documents with a field partitionKey are examples, and an example with an ellipsis may have more fields', () => {
  const design = parseDesign(
    '# Shop\n## orders\n- **Partition key**: `/storeId`\n```jsonc\n{ "id": "o1", "storeId": "s1", "partitionKey": "s1", ... }\n```\n```sql\nSELECT * FROM c WHERE c.storeId = @s AND c.at > @t\n```\n',
    'm.md',
  );
  expect(design.model.containers[0]?.partitionKey).toEqual(['/storeId']);
  const { findings } = checkDocuments({ requirements: undefined, design });
  expect(findings.map(({ rule }) => rule)).toEqual(['C2']);
});

test('a table under hot partitions is no mapping, whatever its columns are called', () => {
  const design = parseDesign(
    `# Shop\n## orders\n${KEY}\n## Hot Partition Analysis\n| Container | Pattern | Peak | Operation | Notes |\n|---|---|---|---|---|\n| orders | 1 | 500 RPS | reads | 80 % to one store |\n`,
    'm.md',
  );
  expect(design.mapping).toEqual([]);
  expect(design.containers[0]?.hot).not.toEqual([]);
});

const MORE: readonly (readonly [string, string])[] = [
  [
    'Bicep',
    "```bicep\nresource: {\n  id: 'orders'\n  partitionKey: {\n    paths: [\n      '/storeId'\n    ]\n  }\n}\n```",
  ],
  [
    'Terraform',
    '```hcl\nresource "azurerm_cosmosdb_sql_container" "o" {\n  name = "orders"\n  partition_key_paths = ["/storeId"]\n}\n```',
  ],
  ['PowerShell', '```powershell\nNew-AzCosmosDBSqlContainer `\n  -Name orders `\n  -PartitionKeyPath "/storeId"\n```'],
  ['Java', '```java\nnew CosmosContainerProperties("orders", "/storeId");\n```'],
  ['a sentence that creates it', 'Create the container "orders" with partition key "/storeId".'],
];

test.each(MORE)('%s states name and key', (_, form) => {
  const { model } = parseDesign(`# Shop\n\n## Setup\n\n${form}\n`, 'm.md');
  expect(model.containers.map(({ name, partitionKey }) => [name, partitionKey])).toEqual([['orders', ['/storeId']]]);
});

test('one key of a document is that of all its containers', () => {
  const section = (name: string): string =>
    `### ${name} Container\n\`\`\`json\n{ "id": "1", "storeId": "s" }\n\`\`\`\n`;
  const { model } = parseDesign(
    `# Shop\n\n## Container Structure\n\n${section('Orders')}${section('Stores')}\n## Partition Strategy\n- **Partition Key**: \`storeId\`\n`,
    'm.md',
  );
  expect(model.containers.map(({ name, partitionKey }) => [name, partitionKey])).toEqual([
    ['Orders', ['/storeId']],
    ['Stores', ['/storeId']],
  ]);
});
