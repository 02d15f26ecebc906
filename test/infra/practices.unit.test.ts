// The list of what a deployment must be, point by point.
import { describe, expect, it } from 'vitest';
import { SUPPORTED } from '../support/nodes.ts';
import { type Value, at, bicepFiles, declarations, isArray, members } from './bicep.ts';

const files = bicepFiles();
const resources = files.flatMap((file) =>
  declarations(file, 'resource').map((resource) => ({ ...resource, file: file.file })),
);
const ofType = (type: string) =>
  resources.filter(
    ({ of, text }) => of.toLowerCase().startsWith(`${type}@`.toLowerCase()) && !/'\s+existing\b/.test(text),
  );
const only = (type: string) => {
  const found = ofType(type);
  expect(found).toHaveLength(1);
  return found[0]?.body;
};

describe('identity instead of keys', () => {
  it('asks no resource for a key, and passes no connection string with one', () => {
    for (const { text } of files)
      expect(text).not.toMatch(/listKeys|listConnectionStrings|AccountKey=|SharedAccessKey=|adminUserEnabled: true/);
    const secure = files.flatMap(({ text }) => text.match(/@secure\(\)/g) ?? []);
    expect(secure).toEqual([]);
  });

  it.each([
    ['Microsoft.DocumentDB/databaseAccounts', 'properties.disableLocalAuth', true],
    ['Microsoft.DocumentDB/databaseAccounts', 'properties.disableKeyBasedMetadataWriteAccess', true],
    ['Microsoft.EventHub/namespaces', 'properties.disableLocalAuth', true],
    ['Microsoft.Insights/components', 'properties.DisableLocalAuth', true],
    ['Microsoft.OperationalInsights/workspaces', 'properties.features.disableLocalAuth', true],
    ['Microsoft.DBforPostgreSQL/flexibleServers', 'properties.authConfig.passwordAuth', 'Disabled'],
    ['Microsoft.Cache/redisEnterprise/databases', 'properties.accessKeysAuthentication', 'Disabled'],
    ['Microsoft.Cache/redisEnterprise/databases', 'properties.clientProtocol', 'Encrypted'],
    ['Microsoft.ContainerRegistry/registries', 'properties.adminUserEnabled', false],
  ])('%s: %s', (type, path, value) => {
    expect(at(only(type), path)).toBe(value);
  });

  it('takes no shared key on either storage account, and no password for deployments', () => {
    const accounts = ofType('Microsoft.Storage/storageAccounts');
    expect(accounts).toHaveLength(2);
    for (const { body } of accounts) {
      expect(at(body, 'properties.allowSharedKeyAccess')).toBe(false);
      expect(at(body, 'properties.allowBlobPublicAccess')).toBe(false);
      expect(at(body, 'properties.minimumTlsVersion')).toBe('TLS1_2');
    }
    const policies = ofType('Microsoft.Web/sites/basicPublishingCredentialsPolicies');
    expect(policies.map(({ body }) => [at(body, 'name'), at(body, 'properties.allow')])).toEqual([
      ['ftp', false],
      ['scm', false],
    ]);
  });

  it('has three identities: data for the app, schema for the applier, reading for the router', () => {
    expect(ofType('Microsoft.ManagedIdentity/userAssignedIdentities').map(({ name }) => name)).toEqual([
      'app',
      'applier',
      'router',
    ]);
    const data = ofType('Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments');
    expect(data.map(({ name, text }) => [name, /roleDefinitionId:.*\$\{(\w+)\}/.exec(text)?.[1]])).toEqual([
      ['appWorks', 'dataContributor'],
      ['developerWorks', 'dataContributor'],
      ['routerReads', 'dataReader'],
    ]);
    const cosmos = files.find(({ file }) => file === 'modules/cosmos.bicep');
    expect(cosmos?.text).toContain("var dataContributor = '00000000-0000-0000-0000-000000000002'");
    expect(cosmos?.text).toContain("var dataReader = '00000000-0000-0000-0000-000000000001'");
    for (const type of ['Microsoft.Web/sites', 'Microsoft.App/containerApps'])
      expect(at(only(type), 'identity.type')).toBe('UserAssigned');
  });
});

describe('the account', () => {
  const account = () => only('Microsoft.DocumentDB/databaseAccounts');
  it.each([
    ['properties.backupPolicy.type', 'Continuous'],
    ['properties.minimalTlsVersion', 'Tls12'],
    ['properties.enableMultipleWriteLocations', false],
    ['properties.consistencyPolicy.defaultConsistencyLevel', 'Session'],
  ])('%s', (path, value) => {
    expect(at(account(), path)).toBe(value);
  });
});

describe('the archive', () => {
  it('is versioned, deleted softly, and gets colder', () => {
    const archive = ofType('Microsoft.Storage/storageAccounts/blobServices').find(({ file }) =>
      file.includes('archive'),
    );
    expect(at(archive?.body, 'properties.isVersioningEnabled')).toBe(true);
    expect(at(archive?.body, 'properties.deleteRetentionPolicy.enabled')).toBe(true);
    const tiers = ofType('Microsoft.Storage/storageAccounts/managementPolicies')[0]?.text ?? '';
    for (const tier of ['tierToCool', 'tierToCold', 'tierToArchive']) expect(tiers).toContain(tier);
    // The Archive tier isn't offered with zones.
    expect(
      ofType('Microsoft.Storage/storageAccounts').find(({ file }) => file.includes('archive'))?.text,
    ).not.toContain('ZRS');
  });
});

describe('the jobs', () => {
  it('are kept where nothing evicts them, by addresses that the code signs in to without a password', async () => {
    const database = only('Microsoft.Cache/redisEnterprise/databases');
    expect(at(database, 'properties.evictionPolicy')).toBe('NoEviction');
    // Not the client of a cluster, and scripts over keys of several slots.
    expect(at(database, 'properties.clusteringPolicy')).toBe('NoCluster');
    const { redisByToken } = await import('../../src/jobs/redis-token.ts');
    const { postgresAddress } = await import('../../src/jobs/postgres-address.ts');
    const address = (file: string, names: Readonly<Record<string, string>>): string => {
      const text = files.find((of) => of.file === file)?.text ?? '';
      const [, url = ''] = /^output url string = '(.*)'$/m.exec(text) ?? [];
      return url.replaceAll(/\$\{([\w.]+)\}/g, (_, name: string) => names[name] ?? `no value for ${name}`);
    };
    const redis = { appPrincipalId: 'object-id', 'cluster.properties.hostName': 'r.westeurope.redis.azure.net' };
    expect(redisByToken(address('modules/jobs-redis.bicep', redis))?.options).toMatchObject({
      username: 'object-id',
      port: at(database, 'properties.port'),
    });
    const server = { 'server.properties.fullyQualifiedDomainName': 'p.postgres.database.azure.com' };
    const names = { ...server, appIdentityName: 'id-app', databaseName: 'jobs' };
    expect(postgresAddress(address('modules/jobs-postgres.bicep', names))).toMatchObject({
      user: 'id-app',
      database: 'jobs',
      password: expect.any(Function),
    });
  });
});

describe('the function app', () => {
  it('runs on Flex Consumption, over TLS 1.2, from a package it reads by identity', () => {
    expect(at(only('Microsoft.Web/serverfarms'), 'sku.tier')).toBe('FlexConsumption');
    const site = only('Microsoft.Web/sites');
    expect(at(site, 'properties.httpsOnly')).toBe(true);
    expect(at(site, 'properties.siteConfig.minTlsVersion')).toBe('1.2');
    expect(at(site, 'properties.functionAppConfig.deployment.storage.authentication.type')).toBe(
      'UserAssignedIdentity',
    );
    expect(at(site, 'properties.functionAppConfig.runtime.name')).toBe('node');
    // Not any Node: one that the tests run on.
    const lines = SUPPORTED.map((version) => version.split('.')[0]);
    expect(lines).toContain(at(site, 'properties.functionAppConfig.runtime.version'));
  });
});

describe('seeing what happens', () => {
  it('sends all logs of everything that has some to the workspace', () => {
    const settings = ofType('Microsoft.Insights/diagnosticSettings');
    for (const { body } of settings) {
      const logs = at(body, 'properties.logs');
      expect(logs !== undefined && isArray(logs) ? logs : []).toContainEqual({
        categoryGroup: 'allLogs',
        enabled: true,
      });
    }
    const scopes = settings.map(({ file, text }) => `${file}: ${/scope: (\w+)/.exec(text)?.[1]}`);
    expect(scopes.toSorted()).toEqual(
      [
        'modules/archive.bicep: blobs',
        'modules/cosmos.bicep: account',
        'modules/event-hubs.bicep: namespace',
        'modules/function-app.bicep: site',
        'modules/host-storage.bicep: blobs',
        'modules/jobs-postgres.bicep: server',
        'modules/jobs-redis.bicep: database',
        'modules/jobs.bicep: environment',
      ].toSorted(),
    );
  });

  it('alerts on throttling, RU, failures, leases, silence, dead letters and the archive', () => {
    expect(ofType('Microsoft.Insights/metricAlerts').map(({ name }) => name)).toEqual([
      'throttled',
      'busy',
      'failures',
    ]);
    const alerts = files.find(({ file }) => file === 'modules/alerts.bicep');
    const log = declarations(alerts!, 'variable').find(({ name }) => name === 'logAlerts')?.body as readonly Value[];
    expect(log.map((of) => at(of, 'name'))).toEqual([
      'leases',
      'silence',
      'dead-letters',
      'dead-letters-old',
      'archive',
    ]);
  });

  it('asks the log for lines that the timers leave', async () => {
    const { TIMERS } = await import('../../src/host/functions-app-timers.ts');
    const { record } = await import('../../src/host/http/audit.ts');
    const text = files.find(({ file }) => file === 'modules/alerts.bicep')?.text ?? '';
    const asked = [...text.matchAll(/line\.operation == "([^"]+)"/g)].map(([, name]) => name);
    expect(asked.length).toBeGreaterThan(2);
    for (const name of asked) expect(TIMERS.map(({ operation }) => operation)).toContain(name);
    expect(record('timer', {})).toContain('"millrace":"timer"');
    expect(text).toContain(String.raw`has "\\"millrace\\":\\"timer\\""`);
  });
});

describe('the network', () => {
  it('is shut by one parameter for everything that has a public side, with an endpoint and a name for each', () => {
    const shut = resources.filter(({ text }) => /publicNetworkAccess: isolated \? 'Disabled' : 'Enabled'/.test(text));
    expect(shut.map(({ of }) => of.slice(0, of.indexOf('@'))).toSorted()).toEqual(
      [
        'Microsoft.Cache/redisEnterprise',
        'Microsoft.DBforPostgreSQL/flexibleServers',
        'Microsoft.DocumentDB/databaseAccounts',
        'Microsoft.EventHub/namespaces',
        'Microsoft.Storage/storageAccounts',
        'Microsoft.Storage/storageAccounts',
      ].toSorted(),
    );
    const access = files.find(({ file }) => file === 'modules/private-access.bicep');
    const zones = declarations(access!, 'variable').find(({ name }) => name === 'zones')?.text ?? '';
    const targets = declarations(access!, 'variable').find(({ name }) => name === 'targets')?.text ?? '';
    for (const [, zone = ''] of targets.matchAll(/zone: ('[^\n]+')/g)) expect(zones).toContain(zone);
    for (const group of ['Sql', 'blob', 'queue', 'table', 'namespace', 'postgresqlServer', 'redisEnterprise'])
      expect(targets).toContain(`group: '${group}'`);
  });
});

it('carries azd’s tags on everything that can have some', () => {
  for (const { file, name, body, text } of resources) {
    if (/'\s+existing\b/.test(text) || at(body, 'location') === undefined) continue;
    expect([file, name, at(body, 'tags') !== undefined || text.includes('tags: union(tags')]).toEqual([
      file,
      name,
      true,
    ]);
  }
});

it('names no machine, person or secret', () => {
  for (const { body } of resources) for (const [name] of members(body)) expect(name).not.toMatch(/password$|secret/i);
});
