// Everything that a pipeline needs in Azure: `azd up`. `millrace model infra` writes the parts that depend on model and pipeline.
targetScope = 'subscription'

@minLength(1)
@maxLength(40)
@description('Name of the azd environment; part of every name.')
param environmentName string

@description('Region of everything.')
param location string

@allowed([
  'development'
  'production'
])
@description('development: serverless, small, no zones. production: autoscale, zones for data, longer retention, an HTTP instance always ready.')
param profile string = 'development'

@description('Close the public network of everything except the function app: a virtual network, private endpoints and their DNS.')
param isolateNetwork bool = false

@description('Spread the function app over the zones of the region. The platform then keeps two instances always ready for each trigger, and bills them.')
param appZones bool = false

@description('Maximum RU/s of one container, even if the model asks for more. Not used while serverless.')
param mostThroughput int = 10000

@description('Maximum RU/s that the containers without RU/s of their own share. Not used while serverless.')
param sharedThroughput int = 1000

@description('A second region for reads and for failover; empty: none. It is never a write region at the same time.')
param secondaryLocation string = ''

@description('Let `millrace archive hold add` keep blobs: version-level immutability. It can only be chosen when the container is created.')
param legalHolds bool = false

@description('E-mail address for alerts; empty: they are only shown in the portal.')
param alertEmail string = ''

@description('Client id of an Entra application. Callers then need its role Millrace.Reader or Millrace.Operator beside the key; empty: only the key.')
param entraClientId string = ''

@description('Address of the PostgreSQL database of the tables, without a password: the app signs in with its identity. Empty: no tables, or those of tablesNodes.')
param postgresUrl string = ''

@minValue(0)
@maxValue(20)
@description('Nodes of an elastic cluster of PostgreSQL for the tables. It can grow and not shrink. 0: none.')
param tablesNodes int = 0

@description('Run jobs (rebuilds, replays, redrives) in a Container App of their own.')
param deployJobs bool = false

@allowed([
  'postgres'
  'redis'
])
@description('Where jobs are stored: Azure Database for PostgreSQL, or Azure Managed Redis.')
param jobsStore string = 'postgres'

@description('Image of the job worker; azd fills it in at deployment.')
param workerImage string = ''

@description('GitHub repository, as owner/name, whose environment may sign in as the applier; empty: none.')
param githubRepository string = ''

@description('Prefix of leases that may start from the beginning (LEASES_START_ANEW); empty: a renamed pipeline is refused.')
param startAnew string = ''

@description('RU/s that all instances and workers together may spend of each physical partition; 0: no limit.')
param ruBudget int = 0

@description('When hosts verify a sample of all projections: off, or a cron expression in UTC.')
param verifySample string = '30 3 * * *'

@description('When hosts verify all documents: off, or a cron expression in UTC.')
param verifyFull string = '0 4 * * 0'

@description('The throughput bucket of bulk work, 1 to 5 (BULK_THROUGHPUT_BUCKET); 0: none.')
param bulkBucket int = 0

@description('Database of the shard maps, for a pipeline over shards (SHARD_MAPS_DATABASE); empty: none.')
param shardMapsDatabase string = ''

@description('Databases of the shards in this account, with commas: each gets a function app of its own. Empty: none, or `millrace run` works on the shards.')
param shardApps string = ''

@description('preview: the function app may read all-versions feeds by its triggers (TRIGGER_ALL_VERSIONS); empty: it refuses such a pipeline.')
@allowed([
  ''
  'preview'
])
param triggerAllVersions string = ''

@allowed([
  'User'
  'Group'
  'ServicePrincipal'
])
@description('Type of principalId: ServicePrincipal if a workflow deploys.')
param principalType string = 'User'

@description('Object id of a person or group that gets the rights of the app on data, to work from their machine; azd fills in the person who runs it.')
param principalId string = ''

var pipeline = loadJsonContent('pipeline.json')
var token = toLower(uniqueString(subscription().id, environmentName, location))
var tags = {
  'azd-env-name': environmentName
  pipeline: pipeline.name
}
var production = profile == 'production'
var usesEventHubs = length(pipeline.eventHubs) > 0
// Ingests store checkpoints in blobs, and archives store documents in blobs.
var usesStorage = pipeline.archives || usesEventHubs
var keepsInPostgres = deployJobs && jobsStore == 'postgres'
var makesCluster = tablesNodes > 0
var shards = shardApps == '' ? [] : map(split(shardApps, ','), shard => trim(shard))
// Of the names of a shard's app: the Functions host tells apps apart by 32 characters.
var suffixes = map(shards, shard => '-${take(uniqueString(shard), 8)}')
var keepsInRedis = deployJobs && jobsStore == 'redis'

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: 'rg-${environmentName}'
  location: location
  tags: tags
}

module identities 'modules/identities.bicep' = {
  name: 'identities'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    githubRepository: githubRepository
    githubEnvironment: environmentName
  }
}

module monitoring 'modules/monitoring.bicep' = {
  name: 'monitoring'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    retentionDays: production ? 90 : 30
    publisherPrincipalId: identities.outputs.appPrincipalId
  }
}

module network 'modules/network.bicep' = if (isolateNetwork) {
  name: 'network'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
  }
}

module cosmos 'modules/cosmos.bicep' = {
  name: 'cosmos'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    serverless: !production
    zoneRedundant: production
    secondaryLocation: secondaryLocation
    sharedThroughput: sharedThroughput
    longBackup: production
    isolated: isolateNetwork
    databaseName: pipeline.name
    appPrincipalId: identities.outputs.appPrincipalId
    applierPrincipalId: identities.outputs.applierPrincipalId
    routerPrincipalId: identities.outputs.routerPrincipalId
    developerPrincipalId: principalId
    workspaceId: monitoring.outputs.workspaceId
  }
}

module containers 'modules/containers.bicep' = {
  name: 'containers'
  scope: group
  params: {
    accountName: cosmos.outputs.accountName
    databaseName: cosmos.outputs.databaseName
    serverless: !production
    mostThroughput: mostThroughput
  }
}

module hostStorage 'modules/host-storage.bicep' = {
  name: 'host-storage'
  scope: group
  params: {
    suffixes: suffixes
    token: token
    location: location
    tags: tags
    zoneRedundant: production
    isolated: isolateNetwork
    appPrincipalId: identities.outputs.appPrincipalId
  }
}

module archive 'modules/archive.bicep' = if (usesStorage) {
  name: 'archive'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    geoRedundant: production
    tiers: pipeline.tiers
    legalHolds: legalHolds
    isolated: isolateNetwork
    appPrincipalId: identities.outputs.appPrincipalId
    developerPrincipalId: principalId
    developerPrincipalType: principalType
    workspaceId: monitoring.outputs.workspaceId
  }
}

module eventHubs 'modules/event-hubs.bicep' = if (usesEventHubs) {
  name: 'event-hubs'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    hubs: pipeline.eventHubs
    partitions: production ? 16 : 4
    mostUnits: production ? 10 : 2
    isolated: isolateNetwork
    appPrincipalId: identities.outputs.appPrincipalId
    workspaceId: monitoring.outputs.workspaceId
  }
}

module tablesCluster 'modules/tables-cluster.bicep' = if (makesCluster) {
  name: 'tables-cluster'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    nodes: tablesNodes
    zoneRedundant: production
    isolated: isolateNetwork
    appIdentityName: identities.outputs.appName
    appPrincipalId: identities.outputs.appPrincipalId
    workspaceId: monitoring.outputs.workspaceId
  }
}

module jobsPostgres 'modules/jobs-postgres.bicep' = if (keepsInPostgres) {
  name: 'jobs-postgres'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    zoneRedundant: production
    isolated: isolateNetwork
    appIdentityName: identities.outputs.appName
    appPrincipalId: identities.outputs.appPrincipalId
    workspaceId: monitoring.outputs.workspaceId
  }
}

module jobsRedis 'modules/jobs-redis.bicep' = if (keepsInRedis) {
  name: 'jobs-redis'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    highlyAvailable: production
    isolated: isolateNetwork
    appPrincipalId: identities.outputs.appPrincipalId
    workspaceId: monitoring.outputs.workspaceId
  }
}

module jobs 'modules/jobs.bicep' = if (deployJobs) {
  name: 'jobs'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    zoneRedundant: production
    url: keepsInRedis ? jobsRedis.outputs.url : jobsPostgres.outputs.url
    image: workerImage
    subnetId: isolateNetwork ? network.outputs.jobsSubnetId : ''
    appIdentityId: identities.outputs.appId
    appPrincipalId: identities.outputs.appPrincipalId
    settings: settings.outputs.shared
    workspaceId: monitoring.outputs.workspaceId
  }
}

// Settings of both the function app and the job worker.
module settings 'modules/settings.bicep' = {
  name: 'settings'
  scope: group
  params: {
    appClientId: identities.outputs.appClientId
    cosmosEndpoint: cosmos.outputs.endpoint
    databaseName: cosmos.outputs.databaseName
    regions: secondaryLocation == '' ? location : '${location},${secondaryLocation}'
    blobEndpoint: usesStorage ? archive.outputs.blobEndpoint : ''
    eventHubsHost: usesEventHubs ? eventHubs.outputs.host : ''
    postgresUrl: makesCluster ? tablesCluster.outputs.url : postgresUrl
    startAnew: startAnew
    ruBudget: ruBudget
    verifySample: verifySample
    verifyFull: verifyFull
    bulkBucket: bulkBucket
    shardMapsDatabase: shardMapsDatabase
    triggerAllVersions: triggerAllVersions
  }
}

// Of a pipeline over shards: the rights of the app there, and what its triggers must know of each shard.
module shardPlaces 'modules/shard-places.bicep' = if (shardMapsDatabase != '') {
  name: 'shard-places'
  scope: group
  params: {
    accountName: cosmos.outputs.accountName
    mapsDatabase: shardMapsDatabase
    shards: shards
    appPrincipalId: identities.outputs.appPrincipalId
    routes: usesEventHubs
  }
}

module functionApp 'modules/function-app.bicep' = {
  name: 'function-app'
  scope: group
  params: {
    token: token
    suffix: ''
    service: 'app'
    place: shardMapsDatabase == '' ? '' : cosmos.outputs.databaseName
    placeRid: ''
    location: location
    tags: tags
    identityId: identities.outputs.appId
    identityClientId: identities.outputs.appClientId
    hostStorageName: hostStorage.outputs.accountName
    packagesUrl: hostStorage.outputs.packagesUrl
    insightsConnectionString: monitoring.outputs.connectionString
    settings: settings.outputs.shared
    jobsUrl: keepsInRedis ? jobsRedis.outputs.url : (keepsInPostgres ? jobsPostgres.outputs.url : '')
    entraClientId: entraClientId
    subnetId: isolateNetwork ? network.outputs.appSubnetId : ''
    alwaysReady: production ? 1 : 0
    zoneRedundant: appZones
    workspaceId: monitoring.outputs.workspaceId
  }
  // The Functions host reads its leases as soon as it starts.
  dependsOn: [
    containers
  ]
}

module shardFunctionApps 'modules/function-app.bicep' = [for at in range(0, length(shards)): {
  name: 'function-app${suffixes[at]}'
  scope: group
  params: {
    token: token
    suffix: suffixes[at]
    service: 'app-${shards[at]}'
    place: shards[at]
    placeRid: shardPlaces.outputs.rids[at]
    location: location
    tags: tags
    identityId: identities.outputs.appId
    identityClientId: identities.outputs.appClientId
    hostStorageName: hostStorage.outputs.accountName
    packagesUrl: '${hostStorage.outputs.packagesUrl}${suffixes[at]}'
    insightsConnectionString: monitoring.outputs.connectionString
    settings: settings.outputs.shared
    jobsUrl: keepsInRedis ? jobsRedis.outputs.url : (keepsInPostgres ? jobsPostgres.outputs.url : '')
    entraClientId: entraClientId
    subnetId: isolateNetwork ? network.outputs.appSubnetId : ''
    alwaysReady: 0
    zoneRedundant: appZones
    workspaceId: monitoring.outputs.workspaceId
  }
  dependsOn: [
    containers
  ]
}]

module privateAccess 'modules/private-access.bicep' = if (isolateNetwork) {
  name: 'private-access'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    networkId: network.outputs.networkId
    subnetId: network.outputs.endpointsSubnetId
    cosmosId: cosmos.outputs.accountId
    hostStorageId: hostStorage.outputs.accountId
    archiveId: usesStorage ? archive.outputs.accountId : ''
    eventHubsId: usesEventHubs ? eventHubs.outputs.namespaceId : ''
    postgresId: keepsInPostgres ? jobsPostgres.outputs.serverId : ''
    tablesId: makesCluster ? tablesCluster.outputs.serverId : ''
    redisId: keepsInRedis ? jobsRedis.outputs.clusterId : ''
  }
}

module alerts 'modules/alerts.bicep' = {
  name: 'alerts'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    email: alertEmail
    cosmosId: cosmos.outputs.accountId
    insightsId: monitoring.outputs.insightsId
    workspaceId: monitoring.outputs.workspaceId
    serverless: !production
  }
}

module workbook 'modules/workbook.bicep' = {
  name: 'workbook'
  scope: group
  params: {
    location: location
    tags: tags
    workspaceId: monitoring.outputs.workspaceId
  }
}

// azd stores these in its environment; infra/post-provision.mjs writes them into local.settings.json.
output AZURE_LOCATION string = location
output AZURE_RESOURCE_GROUP string = group.name
output AZURE_CONTAINER_REGISTRY_ENDPOINT string = deployJobs ? jobs.outputs.registryHost : ''
output COSMOS__accountEndpoint string = cosmos.outputs.endpoint
output COSMOS_DATABASE string = cosmos.outputs.databaseName
output LEASES__accountEndpoint string = cosmos.outputs.endpoint
output LEASES_DATABASE string = cosmos.outputs.databaseName
output LEASES_CONTAINER string = settings.outputs.shared.LEASES_CONTAINER
output STORAGE__blobServiceUri string = usesStorage ? archive.outputs.blobEndpoint : ''
output EVENTHUBS__fullyQualifiedNamespace string = usesEventHubs ? eventHubs.outputs.host : ''
output FUNCTION_APP_NAME string = functionApp.outputs.name
output FUNCTION_APP_URL string = functionApp.outputs.url
output SHARD_FUNCTION_APP_URLS array = [for at in range(0, length(shards)): shardFunctionApps[at].outputs.url]
output COSMOS_ACCOUNT_NAME string = cosmos.outputs.accountName
output APPLIER_CLIENT_ID string = identities.outputs.applierClientId
output ROUTER_CLIENT_ID string = identities.outputs.routerClientId
