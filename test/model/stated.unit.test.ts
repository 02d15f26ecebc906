// One container, in the forms in which documents state it without a section of its own: the same key, and the same query.
import { expect, test } from 'vitest';
import { parseDesign } from '../../src/model/reader/design.ts';
import { declaredIn } from '../../src/model/rules/declared.ts';
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
  ['labels after a sign', '## Setup\n✅ Container: `orders`  \n✅ Partition key: `/storeId`'],
  [
    'a tree in a fence',
    '## Setup\n```\nshop (Database)\n├── orders (Container)\n│   └── Partition Key: /storeId\n└── stores (Container)\n    └── Partition Key: /id\n```',
  ],
  [
    'a tree with notes',
    '## Setup\n```\nshop (Database)\n├── orders        # PK: storeId (a store)\n└── stores        # PK: id\n```',
  ],
  ['a heading with the key alone', '## Cosmos DB Containers\n### `orders` — partition key: `/storeId`\nAll orders.'],
  [
    'a table whose names have another title',
    '## Layout\n| Resource | Partition key |\n|---|---|\n| `orders` | `/storeId` |',
  ],
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
    'a table with other columns',
    '## Data\n| Collection | PK | Purpose |\n|---|---|---|\n| **orders** | `/storeId` | all |',
  ],
  ['a table in Spanish', '## Datos\n| Contenedor | Clave de partición |\n|---|---|\n| `orders` | `/storeId` |'],
  ['a heading with the key', '## Design\n### Shop `orders` Container (PK: `/storeId`)\nAll orders.'],
  ['an item with "pk"', '## Data Model (Cosmos DB)\n- `orders` (pk: `/storeId`) — all orders'],
  [
    'the command line with variables',
    '## Setup\n```bash\nexport COL="orders"\naz cosmosdb sql container create -a shop -d db -n $COL -p "/storeId" -g rg --ttl -1\n```',
  ],
  ['YAML', '## Setup\n```yaml\ncontainers:\n  - name: orders\n    partitionKey: /storeId\n```'],
  ['a map', "## Setup\n```ts\nconst all = { orders: { partitionKey: '/storeId' } };\n```"],
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

test('a comment beside a field of an example calls it the key', () => {
  const design = parseDesign(
    '# Shop\n\n## Setup\n- `COSMOS_CONTAINER_NAME`: the container (default: "orders")\n\n```json\n{\n  "id": "o1",\n  "storeId": "s1", // Partition key\n  "cents": 1\n}\n```\n',
    'm.md',
  );
  expect(design.model.containers.map(({ name, partitionKey }) => [name, partitionKey])).toEqual([
    ['orders', ['/storeId']],
  ]);
  expect(design.model.containers[0]?.types[0]?.examples).toHaveLength(1);
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
  expect(findings.map(({ rule }) => rule)).toEqual(['C27']);
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

const DATA = '# Shop\n\n## Data\n| Container | PK | TTL | Unique keys | RU/s |\n|---|---|---|---|---|\n';

test('further columns of an overview are read, if they hold values', () => {
  const row = (cells: string) =>
    parseDesign(`${DATA}| \`orders\` *(new)* | \`/storeId\` | ${cells} |`, 'm.md').model.containers[0];
  expect(row('48h | `/number` | 400 RU/s')).toMatchObject({
    defaultTtl: 172_800,
    uniqueKeys: [{ paths: ['/number'] }],
    throughput: { kind: 'manual', max: 400 },
  });
  const bare = row('— | no idea | ask');
  expect(bare).toMatchObject({ name: 'orders', partitionKey: ['/storeId'] });
  expect(bare).not.toHaveProperty('defaultTtl');
  expect(bare).not.toHaveProperty('throughput');
});

test.each([
  'If `orders` were partitioned by `/storeId`, reads would fan out.',
  'We rejected a container `orders` with partition key `/storeId`.',
  'The `email` field says nothing of the partition key `/storeId`.',
  '- **Partition Key**: `/storeId`',
])('no container: %s', (sentence) => {
  const design = parseDesign(`${DATA}| \`stores\` | \`/id\` |  |  |  |\n\n## More\n${sentence}\n`, 'm.md');
  expect(design.model.containers.map(({ name }) => name)).toEqual(['stores']);
});

test('a sentence contests no key, and adds no container to a document with sections for containers', () => {
  const text = '# Shop\n## Container: orders\n- **Partition Key**: `/storeId`\n\n## More\n';
  const design = parseDesign(
    `${text}The orders container is partitioned by \`/day\`. Also \`days\` (pk: \`/day\`).\n`,
    'm.md',
  );
  expect(design.model.containers.map(({ name, partitionKey }) => [name, partitionKey])).toEqual([
    ['orders', ['/storeId']],
  ]);
  expect(design.findings.filter(({ severity }) => severity === 'error')).toEqual([]);
});

const TWO = `${DATA}| \`orders\` | \`/storeId\` |  |  |  |\n| \`stores\` | \`/id\` |  |  |  |\n\n## Code\n`;
const asked = (text: string) =>
  parseDesign(TWO + text, 'm.md').asked.map(({ container, scoped }) => [container, scoped]);

test('a query in code is of the container that is named before it, and its call may name the partition', () => {
  const fence = (code: string) => `\`\`\`ts\n${code}\n\`\`\`\n`;
  const sql = '"SELECT * FROM c WHERE c.state = @s"';
  expect(asked(fence(`const a = db.container("orders");\nawait a.items.query(${sql}).fetchAll();`))).toEqual([
    ['orders', undefined],
  ]);
  expect(asked(fence(`const a = db.container("orders");\nawait a.items.query(${sql}, { partitionKey: id });`))).toEqual(
    [['orders', true]],
  );
  expect(asked(fence(`const a = db.container("orders");\nawait a.query_items(${sql}, partition_key=None)`))).toEqual([
    ['orders', undefined],
  ]);
  expect(asked('```sql\nSELECT * FROM stores s WHERE s.city = @c\n```\n')).toEqual([['stores', undefined]]);
});

test('a query of another database reads no container', () => {
  expect(asked('**Before (SQLite):**\n```sql\nSELECT * FROM stores s WHERE s.city = ?\n```\n')).toEqual([]);
});

test('sums of fields in a section about composite indexes are composite indexes', () => {
  const text =
    '# Shop\n## The `orders` container\n- **Partition Key**: `/storeId`\n\n## Indexing Strategy\nIt has composite indexes:\n\n### Orders\n- `storeId + state + placedAt` (descending)\n- sums of money + tax\n';
  const [orders] = parseDesign(text, 'm.md').model.containers;
  expect(orders?.indexingPolicy?.compositeIndexes).toEqual([
    [
      { path: '/storeId', order: 'ascending' },
      { path: '/state', order: 'ascending' },
      { path: '/placedAt', order: 'descending' },
    ],
  ]);
});

test('a variable with a unit and a default is a TTL, and "unique keys" in backticks are several', () => {
  const text =
    '# Shop\n## The `orders` container\n- **Partition Key**: `/storeId`\n- **TTL**: set by `ORDERS_TTL_DAYS` (default 90)\n- **Unique Keys**: `/number`, `/token`\n';
  expect(parseDesign(text, 'm.md').model.containers[0]).toMatchObject({
    defaultTtl: 7_776_000,
    uniqueKeys: [{ paths: ['/number'] }, { paths: ['/token'] }],
  });
});

test('headings that group containers are none, and a heading states key and TTL', () => {
  const { model } = parseDesign(
    '# Plant\n\n## Container Definitions\n\n### Core Data\n\n#### 1. Machines (partition key: `/line`)\n\n#### 2. Telemetry (partition key: `/machineId`, TTL: 30 days)\n\n### At Runtime\n\n#### 3. Orders (partition key: `/id`)\n\n#### 4. Parts (partition key: `/id`)\n',
    'm.md',
  );
  expect(
    model.containers.map(({ name, partitionKey, defaultTtl }) => [name, partitionKey.join(), defaultTtl ?? 'none']),
  ).toEqual([
    ['Machines', '/line', 'none'],
    ['Telemetry', '/machineId', 2_592_000],
    ['Orders', '/id', 'none'],
    ['Parts', '/id', 'none'],
  ]);
});

test('a list of fields declares them, and a list of words does not', () => {
  const design = parseDesign(
    '# App\n\n## Containers\n| Container | Partition Key |\n|---|---|\n| `users` | `/id` |\n| `notes` | `/userId` |\n\n- **User**: id, email, photos[] (at most 3, newest first), passwordHash (reference), nickname?\n- **Goals**: fast, cheap, safe, simple\n',
    'm.md',
  );
  const declared = declaredIn(design);
  expect(declared.map(({ field, array, optional, entity }) => [field, array, optional, entity])).toEqual([
    ['id', false, false, 'User'],
    ['email', false, false, 'User'],
    ['photos', true, false, 'User'],
    ['passwordHash', false, false, 'User'],
    ['nickname', false, true, 'User'],
  ]);
});

test('with tables of a relational database, a query that names no container is of none', () => {
  const text = (table: string): string =>
    `# Data\n\n## Audit Container\n- **Partition Key**: \`/userId\`\n\n## Reports\n${table}\n\`\`\`sql\nSELECT * FROM users WHERE id = 1\n\`\`\`\n`;
  expect(parseDesign(text(''), 'm.md').asked).toHaveLength(1);
  expect(parseDesign(text('`CREATE TABLE users (id int)`'), 'm.md').asked).toEqual([]);
});

test('what a program prints names the container, and a heading "Users Collection" is of its example', () => {
  const { model } = parseDesign(
    '# Setup\n\n```\ncontainer_id: users\npartition_key: [\'/team\']\n```\n\n## Data\n\n### Users Collection\n```json\n{ "id": "1", "team": "a" }\n```\n\n### Notes Collection\n```json\n{ "id": "2", "text": "b" }\n```\n\n- `notes` (partition key: `/id`)\n',
    'm.md',
  );
  expect(model.containers.map(({ name, partitionKey }) => [name, partitionKey.join()])).toEqual([
    ['users', '/team'],
    ['notes', '/id'],
  ]);
  expect(model.containers.map(({ types }) => types.flatMap(({ examples }) => examples.map(({ id }) => id)))).toEqual([
    ['1'],
    ['2'],
  ]);
});

test('a heading is that of a container whose key stands elsewhere, and what stands below is of it', () => {
  const { model } = parseDesign(
    '# Data\n\n## Container: orders\n```json\n{ "id": "o1", "storeId": "s1" }\n```\n\n## Rules\n### Order\n- id: given\n\n## Setup\n```python\nawait database.create_container_if_not_exists(\n    id="orders",\n    partition_key=PartitionKey(path="/storeId"),\n)\nawait database.create_container_if_not_exists(\n    id="audit",\n    partition_key=PartitionKey(path="/day"),\n    default_ttl=86400,\n)\n```\n',
    'm.md',
  );
  expect(model.containers.map(({ name, at, defaultTtl, types }) => [name, at.line, defaultTtl, types.length])).toEqual([
    ['orders', 3, undefined, 1],
    ['audit', 20, 86_400, 0],
  ]);
});

test('sections beside one that says "container" are containers too, if they state a key and a name of their own', () => {
  const { model } = parseDesign(
    '# Data\n\n## All\n### `orders` — pool\n- **Partition key**: `/storeId`\n### `days` — rollup container\n- **Partition key**: `/storeId`\n### `cache` — in memory\nNot here.\n',
    'm.md',
  );
  expect(model.containers.map(({ name }) => name)).toEqual(['days', 'orders']);
});

test('an example is of the container that the sentence above it names', () => {
  const { model } = parseDesign(
    '# Data\n\n| Container | Partition Key |\n|---|---|\n| `orders` | `/storeId` |\n| `stores` | `/id` |\n\n## Envelope\nEvery `orders` document has:\n```json\n{ "id": "o1", "storeId": "s1" }\n```\n',
    'm.md',
  );
  expect(model.containers.map(({ types }) => types.length)).toEqual([1, 0]);
});

test('a lone condition needs no alias', () => {
  const { asked: all } = parseDesign(
    '# Data\n\n## `orders` container\n- **Partition key**: `/storeId`\n- `WHERE storeId = X` - all\n- `WHERE day = X AND total >= T` - large ones\n',
    'm.md',
  );
  expect(all.flatMap(({ queries }) => queries.map(({ equal }) => equal))).toEqual([['storeId'], ['day']]);
});
