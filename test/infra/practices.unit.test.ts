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
/** Built-in ones: "Azure built-in roles", "Data plane roles reference". */
const ROLES: Readonly<Record<string, string>> = {
  'b7e6dc6d-f1e8-4753-8033-0f276bb0955b': 'Storage Blob Data Owner',
  'ba92f5b4-2d11-453d-a403-e96b0029c9fe': 'Storage Blob Data Contributor',
  '2b629674-e913-4c01-ae53-ef4638d8f975': 'Azure Event Hubs Data Sender',
  'a638d3c7-ab3a-418d-83e6-5f17a39d4fde': 'Azure Event Hubs Data Receiver',
  '3913510d-42f4-4e42-8a64-420c390055eb': 'Monitoring Metrics Publisher',
  '7f951dda-4ed3-4680-a7ca-43fe172d538d': 'AcrPull',
  '230815da-be43-4aae-9cb4-875f7bd000aa': 'Cosmos DB Operator',
  '00000000-0000-0000-0000-000000000001': 'data reader',
  '00000000-0000-0000-0000-000000000002': 'data contributor',
};
const textOf = (name: string): string => files.find(({ file }) => file === name)?.text ?? '';
const only = (type: string) => {
  const found = ofType(type);
  expect(found).toHaveLength(1);
  return found[0]?.body;
};

describe('identity instead of keys', () => {
  it('the infrastructure asks no resource for a key, and passes no connection string with one', () => {
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
    const found = ofType(type);
    expect(found).not.toEqual([]);
    for (const { body } of found) expect(at(body, path)).toBe(value);
  });

  it('the infrastructure takes no shared key on either storage account, and no password for deployments', () => {
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

  it('the infrastructure has three identities: data for the app, schema for the applier, reading for the router', () => {
    expect(ofType('Microsoft.ManagedIdentity/userAssignedIdentities').map(({ name }) => name)).toEqual([
      'app',
      'applier',
      'router',
    ]);
    const data = ofType('Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments').filter(
      ({ file }) => file === 'modules/cosmos-database.bicep',
    );
    expect(data.map(({ name, text }) => [name, /roleDefinitionId:.*\$\{(\w+)\}/.exec(text)?.[1]])).toEqual([
      ['appWorks', 'dataContributor'],
      ['developerWorks', 'dataContributor'],
      ['routerReads', 'dataReader'],
    ]);
    const cosmos = files.find(({ file }) => file === 'modules/cosmos-database.bicep');
    expect(cosmos?.text).toContain("var dataContributor = '00000000-0000-0000-0000-000000000002'");
    expect(cosmos?.text).toContain("var dataReader = '00000000-0000-0000-0000-000000000001'");
    // On the one database, not on the account.
    for (const { body } of data)
      expect(at(body, 'properties.scope')).toEqual({ raw: "'${account.id}/dbs/${databaseName}'" });
    for (const type of ['Microsoft.Web/sites', 'Microsoft.App/containerApps'])
      expect(at(only(type), 'identity.type')).toBe('UserAssigned');
  });
});

/** Roles on data that a file assigns: to what, and on what. */
const dataRoles = (of: string): string[] =>
  resources
    .filter(({ file }) => file === of)
    .flatMap(({ name, text }) => {
      const [, role] = /roleDefinitionId:.*\$\{(\w+)\}/.exec(text) ?? [];
      const [, scope] = /scope: '\$\{account.id\}(.*)'/.exec(text) ?? [];
      return role === undefined ? [] : [`${name}: ${role} on ${scope}`];
    });

describe('roles', () => {
  it('a role on shard maps lets a router write one container, and none of the application', () => {
    expect(dataRoles('shard-maps.bicep')).toEqual([
      'administratorWritesMaps: dataContributor on /dbs/${mapsDatabase}',
      'routerReadsMaps: dataReader on /dbs/${mapsDatabase}/colls/shardmaps',
      'routerRegisters: dataContributor on /dbs/${mapsDatabase}/colls/routers',
      'administratorReadsShards: dataReader on /dbs/${shard}',
      'administratorWritesLocalMaps: dataContributor on /dbs/${shard}/colls/shardmap',
      'routerReadsLocalMaps: dataReader on /dbs/${shard}/colls/shardmap',
    ]);
  });

  it('a role over shards lets the app write documents, and read maps', () => {
    expect(dataRoles('modules/shard-places.bicep')).toEqual([
      'readsMaps: dataReader on /dbs/${mapsDatabase}/colls/shardmaps',
      'registers: dataContributor on /dbs/${mapsDatabase}/colls/routers',
      'writesShards: dataContributor on /dbs/${shard}',
    ]);
  });

  it('roles are the least that the work needs', () => {
    const given = (file: string): string[] =>
      [
        ...(files.find((of) => of.file === `modules/${file}.bicep`)?.text ?? '').matchAll(
          /'([0-9a-f]{8}-[0-9a-f-]{27})'/g,
        ),
      ]
        .map(([, id = '']) => ROLES[id] ?? id)
        .toSorted();
    expect(given('host-storage')).toEqual(['Storage Blob Data Owner']);
    expect(given('archive')).toEqual(['Storage Blob Data Contributor']);
    expect(given('event-hubs')).toEqual(['Azure Event Hubs Data Receiver', 'Azure Event Hubs Data Sender']);
    expect(given('monitoring')).toEqual(['Monitoring Metrics Publisher']);
    expect(given('container-environment')).toEqual(['AcrPull']);
    expect(given('cosmos-database')).toEqual(['Cosmos DB Operator', 'data contributor', 'data reader']);
  });

  it('roles on data go to no workflow that deploys, and in production to no person', () => {
    const main = textOf('main.bicep');
    expect(main).toContain(`var developerId = production || principalType == 'ServicePrincipal' ? '' : principalId`);
    expect(main).not.toMatch(/^ +\w+: principalId$/m);
    expect(main.match(/developerPrincipalId: developerId/g)).toHaveLength(2);
    expect(textOf('modules/cosmos-database.bicep')).toContain(
      `sqlRoleAssignments@2025-10-15' = if (developerPrincipalId != '')`,
    );
  });

  it('roles of PostgreSQL: an administrator can be named, so that the app is none', () => {
    const found = ofType('Microsoft.DBforPostgreSQL/flexibleServers/administrators');
    expect(found).toHaveLength(2);
    for (const { body } of found) {
      expect(at(body, 'name')).toEqual({ raw: 'administratorId' });
      expect(at(body, 'properties.principalName')).toEqual({ raw: 'administratorName' });
    }
  });

  it('roles fit a person and a workflow', () => {
    const main = files.find(({ file }) => file === 'main.bicep');
    expect(main?.text).toContain('developerPrincipalType: principalType');
    const fixed = files.flatMap(({ text }) => text.match(/(principalType|type): 'User'/g) ?? []);
    expect(fixed).toEqual([]);
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

it('the account and the archive can’t be deleted in production before a lock is taken away', () => {
  const locks = ofType('Microsoft.Authorization/locks');
  expect(
    locks.map(({ file, body, text }) => [file, at(body, 'properties.level'), text.includes('= if (locked)')]),
  ).toEqual(['archive', 'cosmos'].map((file) => [`modules/${file}.bicep`, 'CanNotDelete', true]));
  for (const { body } of locks) expect(at(body, 'scope')).toEqual({ raw: 'account' });
  expect(textOf('main.bicep').match(/locked: production/g)).toHaveLength(2);
});

describe('the archive', () => {
  it('the archive is versioned, deleted softly, and gets colder', () => {
    const archive = ofType('Microsoft.Storage/storageAccounts/blobServices').find(({ file }) =>
      file.includes('archive'),
    );
    expect(at(archive?.body, 'properties.isVersioningEnabled')).toBe(true);
    expect(at(archive?.body, 'properties.deleteRetentionPolicy.enabled')).toBe(true);
    const text = files.find(({ file }) => file.includes('archive'))?.text ?? '';
    for (const tier of ['tierToCool', 'tierToCold']) expect(text).toContain(tier);
    // A policy can't tell blobs from manifests, which sweeps read and write.
    expect(text).not.toContain('tierToArchive');
    // The Archive tier isn't offered with zones.
    expect(
      ofType('Microsoft.Storage/storageAccounts').find(({ file }) => file.includes('archive'))?.text,
    ).not.toContain('ZRS');
  });

  it('the archive has no policy that forbids to overwrite a manifest', () => {
    expect(files.flatMap(({ text }) => text.match(/immutabilityPolic\w*|ImmutabilityPolic\w*/g) ?? [])).toEqual([]);
  });
});

describe('the jobs', () => {
  it('the jobs are kept where nothing evicts them, by addresses that the code signs in to without a password', async () => {
    const database = only('Microsoft.Cache/redisEnterprise/databases');
    expect(at(database, 'properties.evictionPolicy')).toBe('NoEviction');
    // Not the client of a cluster, and scripts over keys of several slots.
    expect(at(database, 'properties.clusteringPolicy')).toBe('NoCluster');
    const { redisByToken } = await import('../../src/jobs/redis-token.ts');
    const { postgresAddress } = await import('../../src/postgres/postgres-address.ts');
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

describe('the tables', () => {
  it('the tables are in a cluster that the code signs in to without a password, by the port that takes DDL', async () => {
    const cluster = ofType('Microsoft.DBforPostgreSQL/flexibleServers').find(({ file }) => file.includes('tables'))!;
    expect(at(cluster.body, 'properties.version')).toBe('17');
    // Clusters have neither.
    expect(at(cluster.body, 'properties.storage.autoGrow')).toBe('Disabled');
    expect(cluster.text).not.toContain('Burstable');
    const text = files.find(({ file }) => file === cluster.file)?.text ?? '';
    const [, url = ''] = /^output url string = '(.*)'$/m.exec(text) ?? [];
    const address = url
      .replace('${appIdentityName}', 'id-app')
      .replace('${server.properties.fullyQualifiedDomainName}', 'p.postgres.database.azure.com')
      .replace('${databaseName}', 'postgres');
    const { postgresAddress } = await import('../../src/postgres/postgres-address.ts');
    expect(postgresAddress(address)).toMatchObject({
      user: 'id-app',
      port: 5432,
      database: 'postgres',
      password: expect.any(Function),
    });
  });
});

describe('the function app', () => {
  it('the deployment has a function app for each shard, which differs from the other one in its place, its names and its code’s service', () => {
    const main = files.find(({ file }) => file === 'main.bicep')!;
    const [one, ofShard] = declarations(main, 'module')
      .filter(({ of }) => of === 'modules/function-app.bicep')
      .map(({ body }) => (body as { params: Record<string, Value> }).params);
    const differs = Object.keys(one ?? {}).filter(
      (name) => JSON.stringify(one?.[name]) !== JSON.stringify(ofShard?.[name]),
    );
    expect(Object.keys(ofShard ?? {})).toEqual(Object.keys(one ?? {}));
    expect(differs).toEqual(['suffix', 'service', 'place', 'placeRid', 'packagesUrl', 'alwaysReady']);
    // The Functions host tells apps apart by the first 32 characters of their names.
    const suffix = /var suffixes = map\(shards, shard => '-\$\{take\(uniqueString\(shard\), (\d+)\)\}'\)/.exec(
      main.text,
    );
    const name = /name: '(func-)\$\{token\}\$\{suffix\}'/.exec(textOf('modules/function-app.bicep'));
    const token = 13;
    expect((name?.[1]?.length ?? 99) + token + 1 + Number(suffix?.[1])).toBeLessThanOrEqual(32);
  });

  it('the function app runs on Flex Consumption, over TLS 1.2, from a package it reads by identity', () => {
    expect(at(only('Microsoft.Web/serverfarms'), 'sku.tier')).toBe('FlexConsumption');
    const site = only('Microsoft.Web/sites');
    expect(at(site, 'properties.httpsOnly')).toBe(true);
    expect(at(site, 'properties.siteConfig.minTlsVersion')).toBe('1.2');
    const file = files.find((of) => of.file === 'modules/function-app.bicep');
    const flex = declarations(file!, 'variable').find(({ name }) => name === 'flex')?.body;
    expect(at(flex, 'deployment.storage.authentication.type')).toBe('UserAssignedIdentity');
    expect(at(flex, 'runtime.name')).toBe('node');
    // Not any Node: one that the tests run on.
    const lines = SUPPORTED.map((version) => version.split('.')[0]);
    expect(lines).toContain(/^var nodeVersion = '(\d+)'$/m.exec(file!.text)?.[1]);
  });
});

describe('seeing what happens', () => {
  it('the monitoring sends the workspace what is needed, and a line for each request to data where it is asked for', () => {
    const sent = ofType('Microsoft.Insights/diagnosticSettings').map(({ file, body }) => {
      const logs = at(body, 'properties.logs');
      return [file, logs !== undefined && isArray(logs) ? logs.map((log) => at(log, 'category')) : []] as const;
    });
    // What is missing here has no log that is needed: the host's storage.
    expect(Object.fromEntries(sent)).toEqual({
      'modules/archive.bicep': ['StorageWrite', 'StorageDelete', 'StorageRead'],
      'modules/container-environment.bicep': ['ContainerAppConsoleLogs', 'ContainerAppSystemLogs'],
      'modules/cosmos.bicep': ['ControlPlaneRequests', 'PartitionKeyStatistics', 'DataPlaneRequests'],
      'modules/event-hubs.bicep': ['OperationalLogs', 'AutoScaleLogs'],
      'modules/function-app.bicep': ['FunctionAppLogs', 'AppServiceAuthenticationLogs'],
      'modules/jobs-postgres.bicep': ['PostgreSQLLogs'],
      'modules/jobs-redis.bicep': ['ConnectionEvents'],
      'modules/tables-cluster.bicep': ['PostgreSQLLogs'],
    });
    for (const { text } of files) expect(text).not.toContain('categoryGroup');
    for (const file of ['archive', 'cosmos'])
      expect(textOf(`modules/${file}.bicep`)).toMatch(
        /category: '(?:StorageRead|DataPlaneRequests)'\s+enabled: logsData/,
      );
  });

  it('the monitoring alerts of each busy partition by itself', () => {
    const alerts = files.find(({ file }) => file === 'modules/alerts.bicep');
    const dimensions = declarations(alerts!, 'variable').find(({ name }) => name === 'eachPartition');
    expect(dimensions?.text.match(/'\w+'/g)?.slice(0, 4)).toEqual([
      "'Region'",
      "'DatabaseName'",
      "'CollectionName'",
      "'PartitionKeyRangeId'",
    ]);
    const busy = ofType('Microsoft.Insights/metricAlerts').find(({ name }) => name === 'busy');
    expect(busy?.text).toMatch(/metricName: 'NormalizedRUConsumption'\s+dimensions: eachPartition/);
  });

  it('the monitoring alerts on throttling, RU, failures, leases, needs, timers, silence, dead letters, the archive and verifications', () => {
    expect(ofType('Microsoft.Insights/metricAlerts').map(({ name }) => name)).toEqual([
      'throttled',
      'busy',
      'failures',
    ]);
    const alerts = files.find(({ file }) => file === 'modules/alerts.bicep');
    const log = declarations(alerts!, 'variable').find(({ name }) => name === 'logAlerts')?.body as readonly Value[];
    expect(log.map((of) => at(of, 'name'))).toEqual([
      'leases',
      'doctor',
      'timers',
      'silence',
      'dead-letters',
      'dead-letters-old',
      'archive',
      'verification',
    ]);
  });

  it('the monitoring asks the log for lines that the timers leave', async () => {
    const { TIMERS } = await import('../../src/host/functions/timers.ts');
    const { record } = await import('../../src/host/http/audit.ts');
    const text = files.find(({ file }) => file === 'modules/alerts.bicep')?.text ?? '';
    const asked = [...text.matchAll(/line\.(operation|actor) == "([^"]+)"/g)].map(([, , name]) => name);
    expect(asked.length).toBeGreaterThan(2);
    const known = TIMERS.flatMap(({ operation, name }) => [operation, `timer:${name}`]);
    for (const name of asked) expect(known).toContain(name);
    expect(record('timer', {})).toContain('"millrace":"timer"');
    expect(text).toContain(String.raw`has "\\"millrace\\":\\"timer\\""`);
  });
});

describe('the network', () => {
  it('the network is shut by one parameter for everything that has a public side, with an endpoint and a name for each', () => {
    const shut = resources.filter(({ text }) => /publicNetworkAccess: isolated \? 'Disabled' : 'Enabled'/.test(text));
    expect(shut.map(({ of }) => of.slice(0, of.indexOf('@'))).toSorted()).toEqual(
      [
        'Microsoft.Cache/redisEnterprise',
        'Microsoft.DBforPostgreSQL/flexibleServers',
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
    for (const group of ['Sql', 'blob', 'namespace', 'postgresqlServer', 'redisEnterprise'])
      expect(targets).toContain(`group: '${group}'`);
  });
});

it('the infrastructure carries azd’s tags on everything that can have some', () => {
  for (const { file, name, body, text } of resources) {
    if (/'\s+existing\b/.test(text) || at(body, 'location') === undefined) continue;
    expect([file, name, at(body, 'tags') !== undefined || text.includes('tags: union(tags')]).toEqual([
      file,
      name,
      true,
    ]);
  }
});

it('the infrastructure names no machine, person or secret', () => {
  for (const { body } of resources) for (const [name] of members(body)) expect(name).not.toMatch(/password$|secret/i);
});
