// What the app needs at the places of a pipeline over shards. shard-maps.bicep makes the databases, before and apart.
param accountName string
param mapsDatabase string

@description('Databases of the shards in this account.')
param shards array
param appPrincipalId string

@description('The app writes documents of events into the shard of their key.')
param routes bool

var dataReader = '00000000-0000-0000-0000-000000000001'
var dataContributor = '00000000-0000-0000-0000-000000000002'

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-10-15' existing = {
  name: accountName
}

resource databases 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-10-15' existing = [for shard in shards: {
  parent: account
  name: shard
}]

resource readsMaps 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = {
  parent: account
  name: guid(account.id, mapsDatabase, appPrincipalId, dataReader)
  properties: {
    principalId: appPrincipalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataReader}'
    scope: '${account.id}/dbs/${mapsDatabase}/colls/shardmaps'
  }
}

resource registers 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = if (routes) {
  parent: account
  name: guid(account.id, mapsDatabase, appPrincipalId, dataContributor)
  properties: {
    principalId: appPrincipalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataContributor}'
    scope: '${account.id}/dbs/${mapsDatabase}/colls/routers'
  }
}

resource writesShards 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = [for shard in shards: {
  parent: account
  name: guid(account.id, shard, appPrincipalId, 'app')
  properties: {
    principalId: appPrincipalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataContributor}'
    scope: '${account.id}/dbs/${shard}'
  }
}]

@description('The _rid of each database. The triggers of a shard name their leases of the global place by it.')
output rids array = [for at in range(0, length(shards)): databases[at].properties.resource._rid]
