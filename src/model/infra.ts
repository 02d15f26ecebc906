// The containers of a pipeline as Bicep: text that is reviewed, checked and deployed like the rest of infra/.
import type { ContainerDefinition } from './apply.ts';

/** A literal of Bicep. Anything that JSON can say. */
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

/** Names that Bicep takes for a symbol: letters, digits and underscores, told apart by a number where they would clash. */
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
 * A module that creates the given containers in a database. Throughput a container states is its own; the others share
 * the database's. `mostThroughput` caps it, so that a development environment costs little.
 */
export function containersModule(title: string, definitions: readonly ContainerDefinition[]): string {
  const names = symbols(definitions.map(({ id }) => id));
  const resources = definitions.map(({ throughput, ...resource }) => {
    const options =
      throughput === undefined
        ? '{}'
        : throughput.kind === 'autoscale'
          ? `serverless ? {} : {\n      autoscaleSettings: {\n        maxThroughput: min(mostThroughput, ${throughput.max})\n      }\n    }`
          : `serverless ? {} : {\n      throughput: min(mostThroughput, ${throughput.max})\n    }`;
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
// In a deployment of infra/main.bicep and, where only the model has changed, in one of its own (docs/deploy.md).
@description('The account that holds the database.')
param accountName string

@description('Also in a deployment of its own this database must be there.')
param databaseName string

@description('An account without provisioned throughput.')
param serverless bool = false

@description('Most RU/s of a container, whatever the model asks for: autoscale maxima are multiples of 1,000.')
param mostThroughput int = 1000000

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-10-15' existing = {
  name: accountName
}

resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-10-15' existing = {
  parent: account
  name: databaseName
}

${resources.join('\n')}`.replace(/\n+$/, '\n');
}
