// One container with key, policy, unique key and TTL, in the languages in which code declares it.
import { expect, test } from 'vitest';
import { parseDesign } from '../../src/model/reader/design.ts';
import { declaredIn } from '../../src/model/rules/declared.ts';
import { checkDocuments } from '../../src/model/rules/index.ts';

const BICEP = `param containerName string = 'orders'

resource orders 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2024-05-15' = {
  parent: database
  name: containerName
  properties: {
    resource: {
      id: containerName
      partitionKey: { // the store
        paths: [
          '/storeId'
        ]
        kind: 'Hash'
      }
      defaultTtl: 86400
      uniqueKeyPolicy: {
        uniqueKeys: [
          { paths: ['/number'] }
        ]
      }
      indexingPolicy: {
        indexingMode: 'consistent'
        includedPaths: [{ path: '/storeId/?' }]
        excludedPaths: [
          { path: '/*' }
        ]
        compositeIndexes: [
          [
            { path: '/storeId', order: 'ascending' }
            { path: '/lines', order: 'descending' }
          ]
        ]
      }
    }
    options: {
      autoscaleSettings: { maxThroughput: isProduction ? 4000 : 1000 }
    }
  }
}`;
const TERRAFORM = `resource "azurerm_cosmosdb_sql_container" "orders" {
  name                = "orders"
  resource_group_name = azurerm_resource_group.main.name
  partition_key_paths = ["/storeId"]
  default_ttl         = 86400

  unique_key {
    paths = ["/number"]
  }

  indexing_policy {
    indexing_mode = "consistent"

    included_path {
      path = "/storeId/?"
    }
    excluded_path {
      path = "/*"
    }
    composite_index {
      index {
        path  = "/storeId"
        order = "Ascending"
      }
      index {
        path  = "/lines"
        order = "Descending"
      }
    }
  }
}`;
const ARM = `{
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  "parameters": { "containerName": { "type": "string", "defaultValue": "orders" } },
  "resources": [
    {
      "type": "Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers",
      "apiVersion": "2024-05-15",
      "name": "[concat(parameters('account'), '/shop/', parameters('containerName'))]",
      "properties": {
        "resource": {
          "id": "[parameters('containerName')]",
          "partitionKey": { "paths": ["/storeId"], "kind": "Hash" },
          "defaultTtl": 86400,
          "uniqueKeyPolicy": { "uniqueKeys": [{ "paths": ["/number"] }] },
          "indexingPolicy": {
            "indexingMode": "consistent",
            "includedPaths": [{ "path": "/storeId/?" }],
            "excludedPaths": [{ "path": "/*" }],
            "compositeIndexes": [[{ "path": "/storeId", "order": "ascending" }, { "path": "/lines", "order": "descending" }]]
          }
        }
      }
    }
  ]
}`;
const REST = `

## Order Document

\`\`\`json
{ "id": "o1", "type": "order", "storeId": "s1", "number": 7, "lines": [{ "sku": "a" }] }
\`\`\`
`;
const read = (language: string, code: string, rest = REST) =>
  parseDesign(`# Shop\n\n## Infrastructure\n\n\`\`\`${language}\n${code}\n\`\`\`${rest}`, 'm.md');

test.each([
  ['bicep', BICEP],
  ['terraform', TERRAFORM],
  ['json', ARM],
])('%s: key, TTL, unique key and policy are read, and the rules see them', (language, code) => {
  const design = read(language, code);
  const [orders, ...others] = design.model.containers;
  expect(others).toEqual([]);
  expect(orders).toMatchObject({
    name: 'orders',
    partitionKey: ['/storeId'],
    defaultTtl: 86_400,
    uniqueKeys: [{ paths: ['/number'] }],
    indexingPolicy: {
      indexingMode: 'consistent',
      includedPaths: [{ path: '/storeId/?' }],
      excludedPaths: [{ path: '/*' }],
      compositeIndexes: [
        [
          { path: '/storeId', order: 'ascending' },
          { path: '/lines', order: 'descending' },
        ],
      ],
    },
  });
  expect(orders?.types.flatMap(({ examples }) => examples)).toHaveLength(1);
  expect(design.findings.filter(({ severity }) => severity !== 'information')).toEqual([]);
  const places = orders?.places;
  const lines = `# Shop\n\n## Infrastructure\n\n\`\`\`\n${code}`.split('\n');
  expect(lines[(places?.partitionKey?.line ?? 0) - 1]).toContain('/storeId');
  // A composite index into an array finds nothing.
  expect(checkDocuments({ requirements: undefined, design }).findings.map(({ rule }) => rule)).toContain('E3');
});

test('a template is read under the heading of its container too', () => {
  const design = parseDesign(
    `# Shop\n\n## Container Designs\n\n### Orders Container\n\n\`\`\`bicep\n${BICEP.replace("= 'orders'", "= 'Orders'")}\n\`\`\``,
    'm.md',
  );
  expect(design.model.containers).toMatchObject([{ name: 'Orders', partitionKey: ['/storeId'], defaultTtl: 86_400 }]);
  expect(design.model.containers[0]?.indexingPolicy?.excludedPaths).toEqual([{ path: '/*' }]);
});

test('a resource whose key isn’t known isn’t read', () => {
  expect(() => read('bicep', BICEP.replace("'/storeId'\n", 'keyPath\n'), '')).toThrow(
    'none of the headings of a data-model document',
  );
  expect(
    read('bicep', `var keyPath = '/shopId'\n${BICEP.replace("'/storeId'\n", 'keyPath\n')}`).model.containers[0]
      ?.partitionKey,
  ).toEqual(['/shopId']);
});

test('annotations of Java', () => {
  const design = read(
    'java',
    `@Container(containerName = "orders", timeToLive = 86400)
@CosmosUniqueKeyPolicy(uniqueKeys = { @CosmosUniqueKey(paths = { "/number" }) })
@CosmosIndexingPolicy(includePaths = { "/storeId/?" }, excludePaths = { "/*" })
public class Order {
    @Id
    private String id;
    @PartitionKey
    private String storeId;
}

@Container(containerName = "carts", hierarchicalPartitionKeyPaths = {"/tenantId", "/userId"})
public class Cart {
    @Id
    private String id;
}`,
  );
  expect(design.model.containers).toMatchObject([
    {
      name: 'orders',
      partitionKey: ['/storeId'],
      defaultTtl: 86_400,
      uniqueKeys: [{ paths: ['/number'] }],
      indexingPolicy: { includedPaths: [{ path: '/storeId/?' }], excludedPaths: [{ path: '/*' }] },
    },
    { name: 'carts', partitionKey: ['/tenantId', '/userId'] },
  ]);
  expect(design.model.containers[1]?.indexingPolicy).toBeUndefined();
});

test('entities of EF Core, and a key that no document has', () => {
  const design = read(
    'csharp',
    `modelBuilder.Entity<Order>()
    .ToContainer("orders")
    .HasPartitionKey(o => o.StoreId)
    .HasDefaultTimeToLive(86400);
modelBuilder.Entity<Cart>(b =>
{
    b.ToContainer("carts");
    b.HasPartitionKey(c => new { c.TenantId, c.UserId });
    b.Property(c => c.TenantId).ToJsonProperty("tenantId");
});`,
  );
  expect(design.model.containers).toMatchObject([
    { name: 'orders', partitionKey: ['/StoreId'], defaultTtl: 86_400 },
    { name: 'carts', partitionKey: ['/tenantId', '/UserId'] },
  ]);
  const { findings } = checkDocuments({ requirements: undefined, design });
  expect(findings.filter(({ rule }) => rule === 'C1').map(({ message }) => message)).toEqual([
    expect.stringContaining('StoreId'),
  ]);
});

test('attributes of C#', () => {
  const design = read(
    'csharp',
    `[Container("orders")]
[PartitionKeyPath("/storeId")]
public class Order : Item { }

[CosmosCollection("carts")]
public class Cart
{
    public string Id { get; set; }

    [CosmosPartitionKey]
    [JsonProperty("userId")]
    public string UserId { get; set; }
}`,
  );
  expect(design.model.containers).toMatchObject([
    { name: 'orders', partitionKey: ['/storeId'] },
    { name: 'carts', partitionKey: ['/userId'] },
  ]);
});

/** The findings of E7: a field that says when a document ends, in a container without TTL. */
const endings = (text: string) => {
  const design = parseDesign(`# Shop\n\n## Container Designs\n\n${text}`, 'm.md');
  return checkDocuments({ requirements: undefined, design }).findings.flatMap(({ rule, at }) =>
    rule === 'E7' ? [at.line] : [],
  );
};
const SESSIONS = '### Sessions Container\n- **Partition Key**: `/userId`\n';
const CARTS = '### Carts Container\n- **Partition Key**: `/userId`\n';

test('a diagram of entities declares the fields of containers', () => {
  const diagram = (entity: string): string =>
    `${SESSIONS}\n${CARTS}\n## Entities\n\n\`\`\`mermaid\nerDiagram\n    USER ||--o{ SESSION : has\n    ${entity} {\n        string userId FK "the owner"\n        datetime expiresAt\n    }\n\`\`\`\n`;
  expect(endings(diagram('SESSION'))).toHaveLength(1);
  expect(endings(diagram('PAYMENT'))).toEqual([]);
});

test.each([
  ['csharp', '    [JsonProperty("expiresAt")]\n    public DateTime End { get; set; }'],
  ['csharp', '    [JsonPropertyName("expiresAt")] public DateTime End { get; set; }'],
  ['java', '    @JsonProperty("expiresAt")\n    private Instant end;'],
])('%s: a property has the name that its attribute gives it in JSON: %s', (language, property) => {
  const fenced = (code: string): string =>
    `${SESSIONS}\n\`\`\`${language}\npublic class Session {\n${code}\n}\n\`\`\`\n\n${CARTS}`;
  expect(endings(fenced(property))).toHaveLength(1);
  expect(endings(fenced(property.replace('expiresAt', 'begin')))).toEqual([]);
});

test('an attribute names one property', () => {
  const code =
    '    [JsonProperty("a")] public string A { get; set; }\n    public string B { get; set; }\n    [JsonProperty("c")]\n    [Required]\n    public string C { get; set; }\n    public string D { get; set; }';
  const design = parseDesign(`# Shop\n\n## Container Designs\n\n${SESSIONS}\n\`\`\`csharp\n${code}\n\`\`\``, 'm.md');
  expect(declaredIn(design).map(({ field }) => field)).toEqual(['a', 'B', 'c', 'D']);
});

test('a map of containers states them, and an object below its interface is an example', () => {
  const { model } = parseDesign(
    [
      '# Data model',
      '## Container Structure',
      '```javascript',
      'const CONTAINERS = {',
      '  users: {',
      "    partitionKey: '/tenantId',",
      '    defaultTTL: 86400,',
      "    uniqueKeys: [['/email']] // in a tenant",
      '  },',
      "  logs: { partitionKey: '/tenantId', indexing: 'none' }",
      '};',
      '```',
      '## Users Collection',
      '```typescript',
      'interface User {',
      '  id: string;',
      '  tenantId: string;',
      '}',
      '// Example',
      'const one: User = {',
      "  id: 'u1',",
      '  tenantId: "the owner\'s",',
      '  scores: { 1: 4.5 }',
      '};',
      '```',
    ].join('\n'),
    'model.md',
  );
  expect(model.containers.map(({ name }) => name)).toEqual(['users', 'logs']);
  expect(model.containers[0]).toMatchObject({
    partitionKey: ['/tenantId'],
    defaultTtl: 86_400,
    uniqueKeys: [{ paths: ['/email'] }],
    types: [{ examples: [{ id: 'u1', tenantId: "the owner's", scores: { '1': 4.5 } }], at: { line: 20 } }],
  });
  expect(model.containers[1]?.indexingPolicy?.indexingMode).toBe('none');
});
