// The account: sign-in only by identity, one write region, continuous backup.
param token string
param location string
param tags object
param databaseName string

@description('Billed by request, with one region and without throughput settings. It cannot be changed later.')
param serverless bool

param zoneRedundant bool
param secondaryLocation string
param sharedThroughput int

@description('Restore to any second of the last 30 days instead of 7.')
param longBackup bool

param isolated bool
param appPrincipalId string
param applierPrincipalId string
param routerPrincipalId string
param developerPrincipalId string
param workspaceId string

// Built-in roles of the data plane, each assigned on the one database. An Owner of the subscription has none of these rights.
var dataReader = '00000000-0000-0000-0000-000000000001'
var dataContributor = '00000000-0000-0000-0000-000000000002'
// Creates databases and containers, and can read neither data nor keys.
var cosmosOperator = '230815da-be43-4aae-9cb4-875f7bd000aa'

var regions = concat([
  {
    locationName: location
    failoverPriority: 0
    isZoneRedundant: zoneRedundant
  }
], secondaryLocation == '' || serverless ? [] : [
  {
    locationName: secondaryLocation
    failoverPriority: 1
    isZoneRedundant: zoneRedundant
  }
])

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-10-15' = {
  name: 'cosmos-${token}'
  location: location
  tags: tags
  kind: 'GlobalDocumentDB'
  properties: {
    databaseAccountOfferType: 'Standard'
    locations: regions
    capabilities: serverless ? [
      {
        name: 'EnableServerless'
      }
    ] : []
    consistencyPolicy: {
      defaultConsistencyLevel: 'Session'
    }
    // Several write regions would break the order of changes, conditions on ETags and leases.
    enableMultipleWriteLocations: false
    enableAutomaticFailover: length(regions) > 1
    // Bulk work marks its requests Low, so that an account that is short of RU/s throttles them first.
    enablePriorityBasedExecution: !serverless
    disableLocalAuth: true
    disableKeyBasedMetadataWriteAccess: true
    minimalTlsVersion: 'Tls12'
    publicNetworkAccess: isolated ? 'Disabled' : 'Enabled'
    backupPolicy: {
      type: 'Continuous'
      continuousModeProperties: {
        tier: longBackup ? 'Continuous30Days' : 'Continuous7Days'
      }
    }
  }
}

resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-10-15' = {
  parent: account
  name: databaseName
  properties: {
    resource: {
      id: databaseName
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: sharedThroughput
      }
    }
  }
}

resource appWorks 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = {
  parent: account
  name: guid(account.id, appPrincipalId, dataContributor)
  properties: {
    principalId: appPrincipalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataContributor}'
    scope: '${account.id}/dbs/${database.name}'
  }
}

resource developerWorks 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = if (developerPrincipalId != '') {
  parent: account
  name: guid(account.id, developerPrincipalId, dataContributor)
  properties: {
    principalId: developerPrincipalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataContributor}'
    scope: '${account.id}/dbs/${database.name}'
  }
}

resource routerReads 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = {
  parent: account
  name: guid(account.id, routerPrincipalId, dataReader)
  properties: {
    principalId: routerPrincipalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataReader}'
    scope: '${account.id}/dbs/${database.name}'
  }
}

// On the resource group, where the containers module is deployed. The role covers only Cosmos DB.
resource applierShapes 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(resourceGroup().id, applierPrincipalId, cosmosOperator)
  properties: {
    principalId: applierPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', cosmosOperator)
  }
}

// Without DataPlaneRequests and the logs of RU by key: a line for each request would cost more than the requests.
resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'needed'
  scope: account
  properties: {
    workspaceId: workspaceId
    logAnalyticsDestinationType: 'Dedicated'
    logs: [
      {
        category: 'ControlPlaneRequests'
        enabled: true
      }
      {
        category: 'PartitionKeyStatistics'
        enabled: true
      }
    ]
  }
}

output accountId string = account.id
output accountName string = account.name
output databaseName string = database.name
output endpoint string = account.properties.documentEndpoint
