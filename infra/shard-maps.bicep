// The databases of shard maps, on demand and apart from main.bicep: docs/shards.md. The containers of the application come
// from modules/containers.bicep, deployed once for each shard with its databaseName.
@description('The account of the maps and of these shards. Shards in other accounts: deploy it there with the same shards and no maps.')
param accountName string

@description('Database of the maps; empty: this account has none. It isn’t a shard.')
param mapsDatabase string = 'maps'

@description('Databases of the shards in this account.')
param shards array = []

@description('An account without provisioned throughput.')
param serverless bool = false

@description('Maximum RU/s that the containers of the database of the maps share. Not used while serverless.')
param mapsThroughput int = 1000

@description('Maximum RU/s that the containers of each shard share. Not used while serverless.')
param shardThroughput int = 1000

@description('Object id of the identity that changes maps.')
param administratorPrincipalId string

@description('Object id of the identity of the applications that read maps and route by them.')
param routerPrincipalId string

var dataReader = '00000000-0000-0000-0000-000000000001'
var dataContributor = '00000000-0000-0000-0000-000000000002'
var hasMaps = mapsDatabase != ''

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-10-15' existing = {
  name: accountName
}

resource maps 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-10-15' = if (hasMaps) {
  parent: account
  name: hasMaps ? mapsDatabase : 'none'
  properties: {
    resource: {
      id: mapsDatabase
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: mapsThroughput
      }
    }
  }
}

// shardmaps: the maps. routers: where routers register, the only container here that they write.
resource mapContainers 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = [for name in [
  'shardmaps'
  'routers'
]: if (hasMaps) {
  parent: maps
  name: name
  properties: {
    resource: {
      id: name
      partitionKey: {
        paths: [
          '/pk'
        ]
        kind: 'Hash'
        version: 2
      }
      defaultTtl: -1
    }
    options: {}
  }
}]

resource shardDatabases 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-10-15' = [for shard in shards: {
  parent: account
  name: shard
  properties: {
    resource: {
      id: shard
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: shardThroughput
      }
    }
  }
}]

resource localMaps 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = [for at in range(0, length(shards)): {
  parent: shardDatabases[at]
  name: 'shardmap'
  properties: {
    resource: {
      id: 'shardmap'
      partitionKey: {
        paths: [
          '/pk'
        ]
        kind: 'Hash'
        version: 2
      }
      defaultTtl: -1
    }
    options: {}
  }
}]

resource administratorWritesMaps 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = if (hasMaps) {
  parent: account
  name: guid(account.id, mapsDatabase, administratorPrincipalId, dataContributor)
  properties: {
    principalId: administratorPrincipalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataContributor}'
    scope: '${account.id}/dbs/${mapsDatabase}'
  }
  dependsOn: [
    maps
  ]
}

resource routerReadsMaps 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = if (hasMaps) {
  parent: account
  name: guid(account.id, mapsDatabase, routerPrincipalId, dataReader)
  properties: {
    principalId: routerPrincipalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataReader}'
    scope: '${account.id}/dbs/${mapsDatabase}/colls/shardmaps'
  }
  dependsOn: [
    mapContainers
  ]
}

resource routerRegisters 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = if (hasMaps) {
  parent: account
  name: guid(account.id, mapsDatabase, routerPrincipalId, dataContributor)
  properties: {
    principalId: routerPrincipalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataContributor}'
    scope: '${account.id}/dbs/${mapsDatabase}/colls/routers'
  }
  dependsOn: [
    mapContainers
  ]
}

// To compare a shard with the schema, an administrator reads the definitions of its containers. The narrowest built-in role for that reads documents too.
resource administratorReadsShards 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = [for shard in shards: {
  parent: account
  name: guid(account.id, shard, administratorPrincipalId, dataReader)
  properties: {
    principalId: administratorPrincipalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataReader}'
    scope: '${account.id}/dbs/${shard}'
  }
  dependsOn: [
    shardDatabases
  ]
}]

resource administratorWritesLocalMaps 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = [for shard in shards: {
  parent: account
  name: guid(account.id, shard, administratorPrincipalId, dataContributor)
  properties: {
    principalId: administratorPrincipalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataContributor}'
    scope: '${account.id}/dbs/${shard}/colls/shardmap'
  }
  dependsOn: [
    localMaps
  ]
}]

resource routerReadsLocalMaps 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = [for shard in shards: {
  parent: account
  name: guid(account.id, shard, routerPrincipalId, dataReader)
  properties: {
    principalId: routerPrincipalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataReader}'
    scope: '${account.id}/dbs/${shard}/colls/shardmap'
  }
  dependsOn: [
    localMaps
  ]
}]
