// The database and who may do what with it, in a new account or one that exists. Nothing else of an account that exists is
// changed.
param accountName string
param databaseName string

@description('False: it exists.')
param makesDatabase bool

param serverless bool
param sharedThroughput int
param appPrincipalId string
param applierPrincipalId string
param routerPrincipalId string
param developerPrincipalId string

// Built-in roles of the data plane, each assigned on the one database. An Owner of the subscription has none of these rights.
var dataReader = '00000000-0000-0000-0000-000000000001'
var dataContributor = '00000000-0000-0000-0000-000000000002'
// Creates databases and containers, and can read neither data nor keys.
var cosmosOperator = '230815da-be43-4aae-9cb4-875f7bd000aa'

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-10-15' existing = {
  name: accountName
}

resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-10-15' = if (makesDatabase) {
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
    scope: '${account.id}/dbs/${databaseName}'
  }
  dependsOn: [
    database
  ]
}

resource developerWorks 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = if (developerPrincipalId != '') {
  parent: account
  name: guid(account.id, developerPrincipalId, dataContributor)
  properties: {
    principalId: developerPrincipalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataContributor}'
    scope: '${account.id}/dbs/${databaseName}'
  }
  dependsOn: [
    database
  ]
}

resource routerReads 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = {
  parent: account
  name: guid(account.id, routerPrincipalId, dataReader)
  properties: {
    principalId: routerPrincipalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataReader}'
    scope: '${account.id}/dbs/${databaseName}'
  }
  dependsOn: [
    database
  ]
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

output accountId string = account.id
output accountName string = accountName
output databaseName string = databaseName
output endpoint string = account.properties.documentEndpoint
