// Forms of published documents: what is a container and what isn't, what its key is, and what its documents are.
import { expect, test } from 'vitest';
import type { Design } from '../../src/model/documents.ts';
import { parseDesign } from '../../src/model/reader/design.ts';
import { declaredIn } from '../../src/model/rules/declared.ts';
import { checkDocuments } from '../../src/model/rules/index.ts';
import type { RuleFinding } from '../../src/model/rules/rule.ts';

const design = (text: string): Design => parseDesign(text, 'm.md');
const containers = (text: string): (readonly [string, string])[] =>
  design(text).model.containers.map(({ name, partitionKey }) => [name, partitionKey.join(', ')]);
const found = (text: string, rule: string): readonly RuleFinding[] =>
  checkDocuments({ requirements: undefined, design: design(text) }).findings.filter((one) => one.rule === rule);

const MEMORY = `# Container Schema for the memory

## Container Overview
One container has all documents.

### Container Configuration
\`\`\`json
{ "container_name": "memory_store", "partition_key": "/sessionId" }
\`\`\`

## Document Types
\`\`\`json
{ "id": "m1", "sessionId": "s1", "type": "message", "at": "2026-01-01" }
\`\`\`

## Container Security and Access Patterns
\`\`\`json
{ "tokens": { "read": ["s1"] } }
\`\`\`

**Admin Queries (Cross-Session):**
\`\`\`sql
-- Messages of all
SELECT * FROM c WHERE c.type = 'message'
\`\`\`
`;

test('a heading that only speaks of containers names no container, and what stands below it is of the only one', () => {
  expect(containers(MEMORY)).toEqual([['memory_store', '/sessionId']]);
  const { asked, model } = design(MEMORY);
  expect(model.containers[0]?.types.map(({ name, examples }) => [name, examples.length])).toEqual([['message', 1]]);
  expect(asked.map(({ container, crossing }) => [container, crossing])).toEqual([['memory_store', true]]);
  expect(['C1', 'C13', 'E5'].flatMap((rule) => found(MEMORY, rule))).toEqual([]);
});

test('a heading without a key names a container by one word, by code, or before the word container', () => {
  const names = (heading: string): string[] =>
    containers(
      `# Shop\n## Container Designs\n### ${heading}\n\`\`\`json\n{ "id": "a" }\n\`\`\`\n### Stores Container\n- **Partition Key**: \`/id\`\n`,
    ).map(([name]) => name);
  const named = ['Orders', '`orders`', 'Order Lines Container', '2. Container: Order Lines', 'Orders 容器'];
  expect(named.filter((heading) => names(heading).length === 2)).toEqual(named);
  const general = ['Container Security', 'Schema Evolution', 'Overview', 'Cosmos DB Container Strategy'];
  expect(general.flatMap(names)).toEqual(general.map(() => 'Stores'));
});

test('an object without an id is an example if it has the key or a type', () => {
  const examples = (json: string): number =>
    design(`# Shop\n## Orders Container\n\`\`\`json\n${json}\n\`\`\`\n- **Partition Key**: \`/storeId\`\n`)
      .model.containers.flatMap(({ types }) => types)
      .reduce((sum, type) => sum + type.examples.length, 0);
  expect(examples('{ "storeId": "s", "cents": 1 }')).toBe(1);
  expect(examples('{ "type": "order", "cents": 1 }')).toBe(1);
  expect(examples('{ "read": ["s"], "write": ["s"] }')).toBe(0);
});

test('queries that no example of a container serves are one finding, with all their lines', () => {
  const text = (type: string): string => `# Shop
## Orders Container
- **Partition Key**: \`/storeId\`
\`\`\`json
{ "id": "o1", "type": "${type}", "storeId": "s", "state": "open" }
\`\`\`
\`\`\`sql
SELECT * FROM c WHERE c.storeId = @s AND c.type = 'order'

SELECT * FROM c WHERE c.storeId = @s AND c.type = 'order' AND c.state = @state
\`\`\`
`;
  expect(found(text('order'), 'E5')).toEqual([]);
  expect(found(text('sale'), 'E5')).toEqual([
    expect.objectContaining({
      message: 'Line 8 and 1 more query Orders for type order, which no example has',
      related: [expect.objectContaining({ line: 10 }), expect.objectContaining({ line: 2 })],
    }),
  ]);
});

test('CONTAINS is a function, and no operator', () => {
  const text = (where: string): string =>
    `# Shop\n## Orders Container\n- **Partition Key**: \`/storeId\`\n\n| Search | Cost |\n|---|---|\n| Text | \`WHERE ${where}\` |\n`;
  expect(found(text("CONTAINS(c.note, 'gift')"), 'C24')).toEqual([]);
  expect(found(text("note CONTAINS 'gift'"), 'C24')).toHaveLength(1);
});

const KEYS = (table: string, ...more: string[]): string => `# Shop
| Container | Partition Key |
|---|---|
| \`Posts\` | \`${table}\` |
| \`Tags\` | \`/tag\` |

## Document Schema — \`Posts\` Container
\`\`\`json
{ "id": "p1", "userId": "u1", "at": "2026-01-01" }
\`\`\`

**Partition key choice: \`/id\`** (a GUID)

## Document Schema — \`Tags\` Container
\`\`\`json
{ "id": "t1", "tag": "t1", "postId": "p1" }
\`\`\`

${more.join('\n')}
`;

test('two keys of a container are one error, and no other rule uses either', () => {
  expect(['C31', 'C1'].flatMap((rule) => found(KEYS('/id'), rule))).toEqual([]);
  const wrong = KEYS('/partitionKey', '| Name | PK |', '|---|---|', '| `Posts` | `/id` |');
  expect(found(wrong, 'C31')).toEqual([
    expect.objectContaining({
      severity: 'error',
      at: { file: 'm.md', line: 4 },
      message: 'Posts has the key /id in lines 12, 21, and /partitionKey here',
    }),
  ]);
  expect(['C1', 'E5', 'C7'].flatMap((rule) => found(wrong, rule))).toEqual([]);
  expect(checkDocuments({ requirements: undefined, design: design(wrong) }).reading).not.toContainEqual(
    expect.objectContaining({ code: 'partition-key-twice' }),
  );
});

test('an overview without a key states none', () => {
  expect(containers('# Shop\n| Container | Partition Key |\n|---|---|\n| `a` | `/id` |\n| `b` | N/A |\n')).toEqual([
    ['a', '/id'],
  ]);
});

test('a field of the document’s own id is no copy', () => {
  const text = (id: string): string =>
    `# Shop\n## \`identity\` Container\n- **Partition Key**: \`/userId\`\n\`\`\`json\n{ "id": "${id}", "userId": "u1", "userName": "Ada", "at": 1 }\n\`\`\`\n`;
  expect(found(text('u1'), 'D11')).toEqual([]);
  expect(found(text('i7'), 'D11')).toHaveLength(1);
});

const DIAGRAM = `# Deep Dive

## 3. Partitioning Strategy (\`/cluster\`)
We partition by **Cluster**.

## 4. The \`migrations\` Schema

### Visual Structure
\`\`\`mermaid
classDiagram
    class WorkloadDocument {
        +String id
        +String cluster (Partition Key)
        +Array secrets
    }
\`\`\`

## 5. The \`namespaces\` Schema
A cache.
`;

test('a reader of forms names in code of headings, and a key in a class diagram, state containers', () => {
  expect(containers(DIAGRAM)).toEqual([
    ['migrations', '/cluster'],
    ['namespaces', ''],
  ]);
  expect(design(DIAGRAM).findings).toContainEqual(
    expect.objectContaining({ code: 'partition-key-missing', at: { file: 'm.md', line: 18 } }),
  );
  expect(declaredIn(design(DIAGRAM)).map(({ field, entity }) => [field, entity])).toEqual([
    ['id', 'WorkloadDocument'],
    ['cluster', 'WorkloadDocument'],
    ['secrets', 'WorkloadDocument'],
  ]);
  expect(
    containers('# Shop\n## `orders`\n```mermaid\nerDiagram\n  ORDER {\n    string storeId "partition key"\n  }\n```\n'),
  ).toEqual([['orders', '/storeId']]);
});

test('a document in a form that is not read is not said to have no containers', () => {
  expect(() => design('# Shop\n## Container Designs\nOrders lie by store.\n')).toThrow(
    'No container was found in m.md, so nothing was checked',
  );
});

const typesOf = (text: string): string[][] =>
  design(text).model.containers.map(({ name, types }) => [
    name,
    ...types.map((type) => `${type.name} ${type.examples.length}`),
  ]);

test('types in an overview, and beside the values of the key, are types of the container, and own their examples', () => {
  const example = '\n## Edge Entity\n```json\n{ "id": "e1", "type": "edge", "pk": "t1" }\n```\n';
  const overview =
    '# Design\n| Container | Partition Key | Document Types |\n|---|---|---|\n| `tenants` | `/pk` | `tenant`, `user` |\n| `graph` | `/pk` | `component`, `edge` |\n| `rest` | `/id` | any |\n';
  expect(typesOf(overview + example)).toEqual([
    ['tenants', 'tenant 0', 'user 0'],
    ['graph', 'component 0', 'edge 1'],
    ['rest'],
  ]);
  expect(design(overview).findings.map(({ code }) => code)).not.toContain('type-without-example');
  const values = (row: string): string =>
    `# Rune\n1. Create container \`rune\` with:\n   - Partition key: \`/pk\`\n\n| Document type | \`pk\` value |\n|---|---|\n| \`session\` | \`{session_id}\` |\n| \`job\` | ${row} |\n`;
  expect(typesOf(values('`job:{job_id}`'))).toEqual([['rune', 'session 0', 'job 0']]);
  // A path is a key, and its row no type.
  expect(typesOf(values('`/jobId`'))[0]).toEqual(['rune']);
});

test('a key that usually has few values is named by its level', () => {
  const text = `# Shop\n| Container | Partition Key |\n|---|---|\n| \`orders\` | \`/region\` |\n`;
  expect(found(text, 'C2').map(({ message }) => message)).toContain('orders: the key /region usually has few values');
  expect(found(text.replace('`/region`', '`/region`, `/storeId`'), 'C2').map(({ message }) => message)).toContain(
    'orders: the first level of the key, /region, usually has few values',
  );
});

test('the same slip in the definitions of several containers is one finding, and its fields are still of a key', () => {
  const one = (name: string, definition: string): string =>
    `## \`${name}\` Container\n- **Partition Key**: \`/storeId\`\n\n\`\`\`ts\ninterface Sale {\n  id: string;\n  storeId?: string;\n}\n\`\`\`\n\`\`\`ts\n{ id: '${name}', partitionKey: { paths: ['${definition}'] } }\n\`\`\`\n`;
  const text = (key: string): string => `# Shop\n${one('orders', key)}${one('returns', key)}`;
  expect(found(text('/storeId'), 'C31')).toEqual([]);
  expect(found(text('/partitionKey/0'), 'C31')).toEqual([
    expect.objectContaining({ message: 'orders and 1 more have the key /storeId in line 3, and /partitionKey/0 here' }),
  ]);
  expect(found(text('/partitionKey/0'), 'C1').map(({ message }) => message)).toContain(
    'orders: storeId is of a key, but it is declared as optional',
  );
});

test('a key of several levels is read from the command line and from JavaScript', () => {
  const cli =
    'az cosmosdb sql container create \\\n  --name invoices \\\n  --partition-key-path /tenantId /year \\\n  --throughput 400';
  expect(containers(`# Shop\n\`\`\`bash\n${cli}\n\`\`\`\n`)).toEqual([['invoices', '/tenantId, /year']]);
  const js = "await db.containers.create({ id: 'invoices', partitionKey: { paths: ['/tenantId', '/year'] } });";
  expect(containers(`# Shop\n\`\`\`js\n${js}\n\`\`\`\n`)).toEqual([['invoices', '/tenantId, /year']]);
});

test('a call whose result is called container names none', () => {
  const program = 'container = get_container("orders")\nawait container.create_item(body=o, partition_key=store_id)';
  expect(
    containers(
      `# Shop\n## \`orders\`\n- **Partition Key**: \`/storeId\`\n\n## Code\n\`\`\`python\n${program}\n\`\`\`\n`,
    ),
  ).toEqual([['orders', '/storeId']]);
});

test('items with a name and a list of labels are containers, each with its own key', () => {
  const text = `# Setup\n## Containers Module\n1. **threads** - Chat threads\n   - Partition key: \`/orderId\` (one for an order)\n2. **messages** - Chat messages\n   - Partition key: \`/threadId\`\n\n- [x] \`reports\` container added\n  - Partition key: \`/type\`\n`;
  expect(containers(text)).toEqual([
    ['threads', '/orderId'],
    ['messages', '/threadId'],
    ['reports', '/type'],
  ]);
});

test('two tables with two keys are a warning, and two keys of a container without a name are none', () => {
  const table = (key: string): string => `| Container | Partition Key |\n|---|---|\n| \`posts\` | \`${key}\` |\n`;
  expect(found(`# Asked\n${table('/authorId')}\n## Stored\n${table('/id')}`, 'C31')).toEqual([
    expect.objectContaining({ severity: 'warning', at: { file: 'm.md', line: 9 } }),
  ]);
  const unnamed = '# Setup\n## Events\n- **Partition Key**: `/id`\n\n## Registrations\n- **Partition Key**: `/code`\n';
  expect(found(unnamed, 'C31')).toEqual([]);
});

test('a path behind a heading is a key where the heading is a name', () => {
  const text = (heading: string): string =>
    `# App\n## ${heading}\nAll of it, by partition.\n\n## \`orders\` (\`/storeId\`)\nOrders.\n`;
  expect(containers(text('stores (`/id`)'))).toEqual([
    ['stores', '/id'],
    ['orders', '/storeId'],
  ]);
  for (const heading of ['Login Page (`/login`)', 'Documentation (`/docs`)'])
    expect(containers(text(heading))).toEqual([['orders', '/storeId']]);
});

test('a general word names a container before that word, or with a key', () => {
  const text = (section: string): string =>
    `# App\n## Container Designs\n### Stores Container\n- **Partition Key**: \`/id\`\n\n${section}`;
  const json = '\n```json\n{ "id": "a" }\n```\n';
  expect(containers(text(`### Settings Container${json}`))).toEqual([
    ['Stores', '/id'],
    ['Settings', ''],
  ]);
  expect(containers(text('### Settings\n- **Partition Key**: `/userId`\n'))).toEqual([
    ['Stores', '/id'],
    ['Settings', '/userId'],
  ]);
  expect(containers(text('### User Profile Data\n- **Partition Key**: `/userId`\n'))).toHaveLength(2);
  // A strategy states again what a container has, and is none.
  expect(containers(text('### Partitioning Strategy\n- **Partition Key**: `/id`\n'))).toEqual([['Stores', '/id']]);
  expect(containers(text(`### Settings${json}`))).toEqual([['Stores', '/id']]);
});
