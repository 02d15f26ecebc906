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
@description('development: serverless, small, no zones. production: autoscale, zones for data, longer retention, an HTTP instance always ready, locks, and what the parameters that may be empty say.')
param profile string = 'development'

@allowed([
  ''
  'true'
  'false'
])
@description('Close the public network of everything except the function app: a virtual network, private endpoints and their DNS. Empty: with the profile production.')
param isolateNetwork string = ''

@description('Spread the function app over the zones of the region. The platform then keeps two instances always ready for each trigger, and bills them.')
param appZones bool = false

@description('Maximum RU/s of one container, even if the model asks for more. Not used while serverless.')
param mostThroughput int = 10000

@description('Maximum RU/s that the containers without RU/s of their own share. Not used while serverless.')
param sharedThroughput int = 1000

@description('A second region for reads and for failover; empty: none. It is never a write region at the same time.')
param secondaryLocation string = ''

@allowed([
  ''
  'true'
  'false'
])
@description('Let `millrace archive hold add` keep blobs: version-level immutability. It can only be chosen when the container is created. Empty: with the profile production.')
param legalHolds string = ''

@allowed([
  ''
  'true'
  'false'
])
@description('Log each request to documents and blobs, with the identity that sent it. Empty: with the profile production.')
param logDataAccess string = ''

@description('Administrator of the PostgreSQL servers: object id and name of an Entra group, with a comma between them. Empty: the app.')
param postgresAdministrator string = ''

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

@description('The percentage of each container that this bucket may take; 0: no bucket is made here.')
param bulkPercentage int = 0

@description('Database of the shard maps, for a pipeline over shards (SHARD_MAPS_DATABASE); empty: none.')
param shardMapsDatabase string = ''

@description('Databases of the shards in this account, with commas: each gets a function app of its own. Empty: none, or `millrace run` works on the shards.')
param shardApps string = ''

@description('on: the function app reads all-versions feeds by its triggers (TRIGGER_ALL_VERSIONS); empty: it refuses such a pipeline.')
@allowed([
  ''
  'on'
])
param triggerAllVersions string = ''

@description('Name of a resource group that exists; empty: a new one.')
param resourceGroupName string = ''

@description('Resource id of a Cosmos DB account of this subscription that exists; empty: a new one. Of one that exists, only the database, its containers and roles on it are made.')
param cosmosAccountId string = ''

@description('Name of a database that exists; empty: a new one with the name of the pipeline.')
param databaseName string = ''

@allowed([
  ''
  'true'
  'false'
])
@description('The account is serverless. Empty: with the profile development.')
param serverlessAccount string = ''

@description('Resource id of a Log Analytics workspace that exists; empty: a new one.')
param workspaceId string = ''

@description('Resource id of an App Service plan for Linux that exists, but not of Flex Consumption; empty: a new Flex Consumption plan.')
param planId string = ''

@description('Resource id of a subnet that exists, for the function app; empty: one of a new network, if that is isolated.')
param appSubnetId string = ''

@description('Resource id of a subnet that exists, for Container Apps: another than that of the app.')
param containersSubnetId string = ''

@description('Resource id of a subnet that exists, for private endpoints. No network is made then, and no DNS zone.')
param endpointsSubnetId string = ''

@description('Deploy the function app.')
param deployApp bool = true

@description('Run hosts (`millrace run`) in Container Apps.')
param deployHost bool = false

@description('Image of the host; azd fills it in at deployment.')
param hostImage string = ''

@minValue(1)
@maxValue(300)
@description('How many hosts run, or at most if KEDA scales them. More than there are ranges of feeds have nothing to do.')
param mostHosts int = 1

@description('KEDA scales hosts by what their leases have left, down to none where nothing else needs one. Only after hosts have made their leases, and once Container Apps has KEDA 2.21.')
param scaleHosts bool = false

@allowed([
  'User'
  'Group'
  'ServicePrincipal'
])
@description('Type of principalId: ServicePrincipal if a workflow deploys.')
param principalType string = 'User'

@description('Object id of a person or group that gets the rights of the app on data, to work from their machine; azd fills in who runs it. With the profile production, and for a service principal, it gets none.')
param principalId string = ''

var pipeline = loadJsonContent('pipeline.json')
var token = toLower(uniqueString(subscription().id, environmentName, location))
var tags = {
  'azd-env-name': environmentName
  pipeline: pipeline.name
}
var production = profile == 'production'
var serverless = serverlessAccount == '' ? !production : serverlessAccount == 'true'
var groupName = resourceGroupName == '' ? 'rg-${environmentName}' : resourceGroupName
var makesAccount = cosmosAccountId == ''
var account = split(makesAccount ? '${subscription().id}/resourceGroups/${groupName}/providers/Microsoft.DocumentDB/databaseAccounts/cosmos-${token}' : cosmosAccountId, '/')
var accountGroup = account[4]
var accountName = last(account)
var database = databaseName == '' ? pipeline.name : databaseName
var isolated = isolateNetwork == '' ? production : isolateNetwork == 'true'
var holds = legalHolds == '' ? production : legalHolds == 'true'
var logsData = logDataAccess == '' ? production : logDataAccess == 'true'
// Who deploys sees no data, but a person who tries the project.
var developerId = production || principalType == 'ServicePrincipal' ? '' : principalId
var administrator = postgresAdministrator == '' ? [
  identities.outputs.appPrincipalId
  identities.outputs.appName
] : split(postgresAdministrator, ',')
var administratorType = postgresAdministrator == '' ? 'ServicePrincipal' : 'Group'
var makesNetwork = isolated && endpointsSubnetId == ''
var usesContainers = deployJobs || deployHost
var usesEventHubs = length(pipeline.eventHubs) > 0
// Ingests store checkpoints in blobs, and archives store documents in blobs.
var usesStorage = pipeline.archives || usesEventHubs
var keepsInPostgres = deployJobs && jobsStore == 'postgres'
var makesCluster = tablesNodes > 0
var shards = !deployApp || shardApps == '' ? [] : map(split(shardApps, ','), shard => trim(shard))
// Of the names of a shard's app: the Functions host tells apps apart by 32 characters.
var suffixes = map(shards, shard => '-${take(uniqueString(shard), 8)}')
var keepsInRedis = deployJobs && jobsStore == 'redis'

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = if (resourceGroupName == '') {
  name: groupName
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
    workspaceId: workspaceId
    publisherPrincipalId: identities.outputs.appPrincipalId
  }
}

module network 'modules/network.bicep' = if (makesNetwork) {
  name: 'network'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
  }
}

module cosmos 'modules/cosmos.bicep' = if (makesAccount) {
  name: 'cosmos'
  scope: group
  params: {
    name: accountName
    location: location
    tags: tags
    serverless: serverless
    zoneRedundant: production
    secondaryLocation: secondaryLocation
    longBackup: production
    locked: production
    logsData: logsData
    isolated: isolated
    workspaceId: monitoring.outputs.workspaceId
  }
}

module cosmosDatabase 'modules/cosmos-database.bicep' = {
  name: 'cosmos-database'
  scope: resourceGroup(accountGroup)
  params: {
    accountName: accountName
    databaseName: database
    makesDatabase: databaseName == ''
    serverless: serverless
    sharedThroughput: sharedThroughput
    appPrincipalId: identities.outputs.appPrincipalId
    applierPrincipalId: identities.outputs.applierPrincipalId
    routerPrincipalId: identities.outputs.routerPrincipalId
    developerPrincipalId: developerId
  }
  dependsOn: [
    cosmos
  ]
}

module containers 'modules/containers.bicep' = {
  name: 'containers'
  scope: resourceGroup(accountGroup)
  params: {
    accountName: cosmosDatabase.outputs.accountName
    databaseName: cosmosDatabase.outputs.databaseName
    serverless: serverless
    mostThroughput: mostThroughput
    bulkBucket: bulkBucket
    bulkPercentage: bulkPercentage
  }
}

module hostStorage 'modules/host-storage.bicep' = if (deployApp) {
  name: 'host-storage'
  scope: group
  params: {
    suffixes: suffixes
    token: token
    location: location
    tags: tags
    zoneRedundant: production
    isolated: isolated
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
    locked: production
    logsData: logsData
    tiers: pipeline.tiers
    legalHolds: holds
    isolated: isolated
    appPrincipalId: identities.outputs.appPrincipalId
    developerPrincipalId: developerId
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
    isolated: isolated
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
    isolated: isolated
    appIdentityName: identities.outputs.appName
    administratorId: trim(administrator[0])
    administratorName: trim(administrator[1])
    administratorType: administratorType
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
    isolated: isolated
    appIdentityName: identities.outputs.appName
    administratorId: trim(administrator[0])
    administratorName: trim(administrator[1])
    administratorType: administratorType
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
    isolated: isolated
    appPrincipalId: identities.outputs.appPrincipalId
    workspaceId: monitoring.outputs.workspaceId
  }
}

module containerEnvironment 'modules/container-environment.bicep' = if (usesContainers) {
  name: 'container-environment'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    zoneRedundant: production
    subnetId: containersSubnetId == '' && makesNetwork ? network.outputs.containersSubnetId : containersSubnetId
    appPrincipalId: identities.outputs.appPrincipalId
    workspaceId: monitoring.outputs.workspaceId
  }
}

module jobs 'modules/container-app.bicep' = if (deployJobs) {
  name: 'jobs'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    service: 'jobs'
    arguments: [
      'jobs'
      'work'
      '--probes'
      '8081'
    ]
    image: workerImage
    environmentId: containerEnvironment.outputs.environmentId
    registryHost: containerEnvironment.outputs.registryHost
    appIdentityId: identities.outputs.appId
    settings: union(settings.outputs.shared, {
      JOBS_URL: keepsInRedis ? jobsRedis.outputs.url : jobsPostgres.outputs.url
    })
    least: 1
    most: 1
    rules: []
  }
}

module host 'modules/container-app.bicep' = if (deployHost) {
  name: 'host'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    service: 'host'
    arguments: [
      'run'
      '--probes'
      '8081'
    ]
    image: hostImage
    environmentId: containerEnvironment.outputs.environmentId
    registryHost: containerEnvironment.outputs.registryHost
    appIdentityId: identities.outputs.appId
    settings: settings.outputs.shared
    // KEDA's scaler sees no deletion, no hub and no shard.
    least: !scaleHosts || !containerEnvironment.outputs.scalesByFeed ? mostHosts : (empty(pipeline.awake) ? 0 : 1)
    most: mostHosts
    rules: !scaleHosts || !containerEnvironment.outputs.scalesByFeed ? [] : map(range(0, length(pipeline.feeds)), at => {
      name: 'feed-${at}'
      custom: {
        type: 'azure-cosmosdb'
        identity: identities.outputs.appId
        metadata: {
          endpoint: cosmosDatabase.outputs.endpoint
          databaseId: cosmosDatabase.outputs.databaseName
          containerId: pipeline.feeds[at].container
          leaseDatabaseId: cosmosDatabase.outputs.databaseName
          leaseContainerId: pipeline.leases.container
          processorName: pipeline.feeds[at].leasePrefix
        }
      }
    })
  }
  dependsOn: [
    containers
  ]
}

// Settings of the function app, the hosts and the job worker.
module settings 'modules/settings.bicep' = {
  name: 'settings'
  scope: group
  params: {
    appClientId: identities.outputs.appClientId
    cosmosEndpoint: cosmosDatabase.outputs.endpoint
    databaseName: cosmosDatabase.outputs.databaseName
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
  scope: resourceGroup(accountGroup)
  params: {
    accountName: cosmosDatabase.outputs.accountName
    mapsDatabase: shardMapsDatabase
    shards: shards
    appPrincipalId: identities.outputs.appPrincipalId
    routes: usesEventHubs
  }
}

module functionApp 'modules/function-app.bicep' = if (deployApp) {
  name: 'function-app'
  scope: group
  params: {
    token: token
    suffix: ''
    service: 'app'
    place: shardMapsDatabase == '' ? '' : cosmosDatabase.outputs.databaseName
    placeRid: ''
    location: location
    tags: tags
    planId: planId
    identityId: identities.outputs.appId
    identityClientId: identities.outputs.appClientId
    hostStorageName: hostStorage.outputs.accountName
    packagesUrl: hostStorage.outputs.packagesUrl
    insightsConnectionString: monitoring.outputs.connectionString
    settings: settings.outputs.shared
    jobsUrl: keepsInRedis ? jobsRedis.outputs.url : (keepsInPostgres ? jobsPostgres.outputs.url : '')
    entraClientId: entraClientId
    subnetId: appSubnetId == '' && makesNetwork ? network.outputs.appSubnetId : appSubnetId
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
    planId: planId
    identityId: identities.outputs.appId
    identityClientId: identities.outputs.appClientId
    hostStorageName: hostStorage.outputs.accountName
    packagesUrl: '${hostStorage.outputs.packagesUrl}${suffixes[at]}'
    insightsConnectionString: monitoring.outputs.connectionString
    settings: settings.outputs.shared
    jobsUrl: keepsInRedis ? jobsRedis.outputs.url : (keepsInPostgres ? jobsPostgres.outputs.url : '')
    entraClientId: entraClientId
    subnetId: appSubnetId == '' && makesNetwork ? network.outputs.appSubnetId : appSubnetId
    alwaysReady: 0
    zoneRedundant: appZones
    workspaceId: monitoring.outputs.workspaceId
  }
  dependsOn: [
    containers
  ]
}]

module privateAccess 'modules/private-access.bicep' = if (isolated) {
  name: 'private-access'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    networkId: makesNetwork ? network.outputs.networkId : ''
    subnetId: makesNetwork ? network.outputs.endpointsSubnetId : endpointsSubnetId
    cosmosId: makesAccount ? cosmosDatabase.outputs.accountId : ''
    hostStorageId: deployApp ? hostStorage.outputs.accountId : ''
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
    cosmosId: cosmosDatabase.outputs.accountId
    insightsId: monitoring.outputs.insightsId
    workspaceId: monitoring.outputs.workspaceId
    serverless: serverless
    readsTimers: deployApp
  }
}

module workbook 'modules/workbook.bicep' = if (deployApp) {
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
output AZURE_RESOURCE_GROUP string = groupName
output AZURE_CONTAINER_REGISTRY_ENDPOINT string = usesContainers ? containerEnvironment.outputs.registryHost : ''
output COSMOS__accountEndpoint string = cosmosDatabase.outputs.endpoint
output COSMOS_DATABASE string = cosmosDatabase.outputs.databaseName
output LEASES__accountEndpoint string = cosmosDatabase.outputs.endpoint
output LEASES_DATABASE string = cosmosDatabase.outputs.databaseName
output LEASES_CONTAINER string = settings.outputs.shared.LEASES_CONTAINER
output STORAGE__blobServiceUri string = usesStorage ? archive.outputs.blobEndpoint : ''
output EVENTHUBS__fullyQualifiedNamespace string = usesEventHubs ? eventHubs.outputs.host : ''
output HOSTS_SCALE bool = usesContainers && scaleHosts ? containerEnvironment.outputs.scalesByFeed : false
output FUNCTION_APP_NAME string = deployApp ? functionApp.outputs.name : ''
output FUNCTION_APP_URL string = deployApp ? functionApp.outputs.url : ''
output SHARD_FUNCTION_APP_URLS array = [for at in range(0, length(shards)): shardFunctionApps[at].outputs.url]
output COSMOS_ACCOUNT_NAME string = cosmosDatabase.outputs.accountName
output APPLIER_CLIENT_ID string = identities.outputs.applierClientId
output ROUTER_CLIENT_ID string = identities.outputs.routerClientId
