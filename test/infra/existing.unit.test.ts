// What a company has already, and hosts in Container Apps: the parameters of main.bicep, and what they leave alone.
import { describe, expect, it } from 'vitest';
import { at, bicepFiles, declarations } from './bicep.ts';

const files = bicepFiles();
const main = files.find(({ file }) => file === 'main.bicep')!;
const textOf = (name: string): string => files.find(({ file }) => file === name)?.text ?? '';
const resources = files.flatMap((file) =>
  declarations(file, 'resource').map((resource) => ({ ...resource, file: file.file })),
);

describe('what exists already', () => {
  const moduleOf = (name: string) => declarations(main, 'module').find((of) => of.name === name)!;

  it('an account that exists gets a database and roles on it, and keeps how it is signed in to', () => {
    expect(moduleOf('cosmos').text).toMatch(/^module cosmos 'modules\/cosmos\.bicep' = if \(makesAccount\)/);
    const accounts = files.filter(({ text }) => /databaseAccounts@\S+' = /.test(text)).map(({ file }) => file);
    expect(accounts).toEqual(['modules/cosmos.bicep']);
    const inDatabase = resources.filter(({ file }) => file === 'modules/cosmos-database.bicep');
    expect(inDatabase.map(({ of, name }) => `${of.replace(/@.*/, '').split('/').at(-1)} ${name}`)).toEqual([
      'databaseAccounts account',
      'sqlDatabases database',
      'sqlRoleAssignments appWorks',
      'sqlRoleAssignments developerWorks',
      'sqlRoleAssignments routerReads',
      'roleAssignments applierShapes',
    ]);
    for (const name of ['cosmosDatabase', 'containers', 'shardPlaces'])
      expect(moduleOf(name).text).toContain('scope: resourceGroup(accountGroup)');
  });

  it.each([
    ['resourceGroupName', 'main.bicep', "resourceGroups@2024-03-01' = if (resourceGroupName == '')"],
    ['databaseName', 'modules/cosmos-database.bicep', "sqlDatabases@2025-10-15' = if (makesDatabase)"],
    ['workspaceId', 'modules/monitoring.bicep', "workspaces@2025-02-01' = if (workspaceId == '')"],
    ['planId', 'modules/function-app.bicep', "serverfarms@2025-03-01' = if (planId == '')"],
    ['endpointsSubnetId', 'main.bicep', "'modules/network.bicep' = if (makesNetwork)"],
  ])('what exists already is made where %s is empty, as before', (parameter, file, made) => {
    expect(textOf(file)).toContain(made);
    expect(main.text).toContain(`param ${parameter} string = ''`);
  });
});

describe('hosts in Container Apps', () => {
  const params = at(
    declarations(
      bicepFiles().find(({ file }) => file === 'main.bicep')!,
      'module',
    ).find(({ name }) => name === 'host')?.body,
    'params',
  );

  it('hosts in Container Apps run `run`, and job workers `jobs work`, each with its probes', () => {
    expect(at(params, 'arguments')).toEqual(['run', '--probes', '8081']);
    expect(main.text).toMatch(/service: 'jobs'\s+arguments: \[\s+'jobs'\s+'work'\s+'--probes'\s+'8081'/);
  });

  it('hosts in Container Apps are scaled by feed only where KEDA has the scaler, and to zero only where it sees all', () => {
    const off = '!scaleHosts || !containerEnvironment.outputs.scalesByFeed';
    expect(at(params, 'least')).toEqual({ raw: `${off} ? mostHosts : (empty(pipeline.awake) ? 0 : 1)` });
    const rules = (at(params, 'rules') as { raw: string }).raw;
    expect(rules.startsWith(`${off} ? []`)).toBe(true);
    // What the scaler asks for (ASM-F30), and an identity instead of its connection.
    const metadata = /metadata: \{([^}]*)\}/.exec(rules)?.[1] ?? '';
    expect([...metadata.matchAll(/^ +(\w+):/gm)].map(([, name]) => name)).toEqual([
      'endpoint',
      'databaseId',
      'containerId',
      'leaseDatabaseId',
      'leaseContainerId',
      'processorName',
    ]);
    expect(rules).toContain("type: 'azure-cosmosdb'");
    expect(rules).toContain('identity: identities.outputs.appId');
  });
});
