// Writes the containers of a pipeline as Bicep, which is reviewed and deployed like the rest of infra/.
import type { ContainerDefinition } from './container-definitions.ts';

/** A JSON value as a literal of Bicep. */
function literal(value: unknown, indent: string): string {
  if (typeof value === 'string')
    return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('${', '\\${')}'`;
  if (value === null || typeof value !== 'object') return String(value);
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((item) => `${deeper}${literal(item, deeper)}\n`).join('')}${indent}]`;
  }
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  if (members.length === 0) return '{}';
  const name = (key: string): string => (/^[A-Za-z_]\w*$/.test(key) ? key : literal(key, ''));
  return `{\n${members.map(([key, member]) => `${deeper}${name(key)}: ${literal(member, deeper)}\n`).join('')}${indent}}`;
}

/** Symbols that Bicep accepts: letters, digits and underscores, with a number if two would be equal. */
function symbols(names: readonly string[]): Map<string, string> {
  const taken = new Set<string>();
  const found = new Map<string, string>();
  for (const name of names) {
    const plain = `container_${name.replaceAll(/\W/g, '_')}`;
    let symbol = plain;
    for (let n = 2; taken.has(symbol); n++) symbol = `${plain}_${n}`;
    taken.add(symbol);
    found.set(name, symbol);
  }
  return found;
}

/**
 * A module that creates the given containers in a database. A container with stated throughput has its own; the others
 * share the database's. `mostThroughput` limits it, so that a development environment costs little.
 */
export function containersModule(title: string, definitions: readonly ContainerDefinition[]): string {
  const names = symbols(definitions.map(({ id }) => id));
  const own: string[] = [];
  const resources = definitions.map(({ throughput, ...definition }) => {
    // The resource manager knows no change feed policy (ASM-F19); infra/all-versions-feed.mjs switches the feed on.
    const { changeFeedPolicy: _, ...resource } = definition;
    const options =
      throughput === undefined
        ? '{}'
        : throughput.kind === 'autoscale'
          ? `serverless ? {} : {\n      autoscaleSettings: {\n        maxThroughput: min(mostThroughput, ${throughput.max})\n      }\n    }`
          : `serverless ? {} : {\n      throughput: min(mostThroughput, ${throughput.max})\n    }`;
    if (throughput !== undefined)
      own.push(`  {\n    name: ${literal(resource.id, '')}\n    throughput: ${options}\n  }\n`);
    return `resource ${names.get(resource.id) ?? ''} 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: ${literal(resource.id, '')}
  properties: {
    resource: ${literal(resource, '    ')}
    options: ${options}
  }
}
`;
  });
  return `// Written by \`millrace model infra\` from ${title}; edit the model, not this file.
// Deploy it with infra/main.bicep or, if only the model has changed, separately (docs/deploy.md).
@description('The account that holds the database.')
param accountName string

@description('The database must exist already, also in a separate deployment.')
param databaseName string

@description('An account without provisioned throughput.')
param serverless bool = false

@description('Upper limit for the RU/s of each container, even if the model states more. Use a multiple of 1,000 for autoscale.')
param mostThroughput int = 1000000

@description('The throughput bucket of bulk work, 1 to 5; 0: none.')
param bulkBucket int = 0

@description('The percentage of its container that the bucket may take; 0: the bucket is not made here.')
param bulkPercentage int = 0

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-10-15' existing = {
  name: accountName
}

resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-10-15' existing = {
  parent: account
  name: databaseName
}

${resources.join('\n')}
var own = [
${own.join('')}]

// Only previews of the resource manager's API know buckets (ASM-A16).
resource buckets 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers/throughputSettings@2025-11-01-preview' = [for one in own: if (bulkBucket > 0 && bulkPercentage > 0 && !serverless) {
  name: '\${accountName}/\${databaseName}/\${one.name}/default'
  properties: {
    resource: union(one.throughput, {
      throughputBuckets: [
        {
          id: bulkBucket
          maxThroughputPercentage: bulkPercentage
        }
      ]
    })
  }
  dependsOn: [
${[...names.values()].map((symbol) => `    ${symbol}\n`).join('')}  ]
}]
`.replace(/\n+$/, '\n');
}
