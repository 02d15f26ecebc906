// PostgreSQL with Citus over several nodes, which has the tables of projections. The app signs in with its
// identity; there are no passwords. A cluster can grow by nodes and storage, and can't shrink.
param token string
param location string
param tags object

@description('Nodes of the cluster.')
param nodes int

param zoneRedundant bool
param isolated bool
param appIdentityName string
param administratorId string
param administratorName string

@allowed([
  'Group'
  'ServicePrincipal'
])
param administratorType string
param workspaceId string

// A cluster has this database and no other.
var databaseName = 'postgres'

resource server 'Microsoft.DBforPostgreSQL/flexibleServers@2025-08-01' = {
  name: 'psql-tables-${token}'
  location: location
  tags: tags
  sku: {
    name: zoneRedundant ? 'Standard_D4ds_v5' : 'Standard_D2ds_v5'
    tier: 'GeneralPurpose'
  }
  properties: {
    version: '17'
    cluster: {
      clusterSize: nodes
      defaultDatabaseName: databaseName
    }
    authConfig: {
      activeDirectoryAuth: 'Enabled'
      passwordAuth: 'Disabled'
      tenantId: tenant().tenantId
    }
    // The storage of a cluster doesn't grow by itself.
    storage: {
      storageSizeGB: zoneRedundant ? 512 : 64
      autoGrow: 'Disabled'
    }
    backup: {
      backupRetentionDays: 7
      geoRedundantBackup: 'Disabled'
    }
    highAvailability: {
      mode: zoneRedundant ? 'ZoneRedundant' : 'Disabled'
    }
    network: {
      publicNetworkAccess: isolated ? 'Disabled' : 'Enabled'
    }
  }
}

// The app only where nobody else was named: docs/deploy.md has the statements that give it a role. `sql migrate` creates
// schemas and tables with the app's identity.
resource role 'Microsoft.DBforPostgreSQL/flexibleServers/administrators@2025-08-01' = {
  parent: server
  name: administratorId
  properties: {
    principalName: administratorName
    principalType: administratorType
    tenantId: tenant().tenantId
  }
}

// Over a public network, Flexible Server has no other way to admit Azure services.
resource fromAzure 'Microsoft.DBforPostgreSQL/flexibleServers/firewallRules@2025-08-01' = if (!isolated) {
  parent: server
  name: 'azure'
  properties: {
    startIpAddress: '0.0.0.0'
    endIpAddress: '0.0.0.0'
  }
  dependsOn: [
    role
  ]
}

resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'needed'
  scope: server
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'PostgreSQLLogs'
        enabled: true
      }
    ]
  }
}

// Port 5432 is the coordinator, the only one that takes DDL; locks are those of one node, so writers use it too. The
// password is a token of the identity; the app gets a new one for each connection.
output url string = 'postgres://${appIdentityName}@${server.properties.fullyQualifiedDomainName}:5432/${databaseName}?sslmode=require'
output serverId string = server.id
