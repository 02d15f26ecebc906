// PostgreSQL, which stores background jobs. The app signs in with its identity; there are no passwords.
param token string
param location string
param tags object
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

var databaseName = 'jobs'

resource server 'Microsoft.DBforPostgreSQL/flexibleServers@2025-08-01' = {
  name: 'psql-${token}'
  location: location
  tags: tags
  sku: {
    name: zoneRedundant ? 'Standard_D2ds_v5' : 'Standard_B1ms'
    tier: zoneRedundant ? 'GeneralPurpose' : 'Burstable'
  }
  properties: {
    version: '17'
    authConfig: {
      activeDirectoryAuth: 'Enabled'
      passwordAuth: 'Disabled'
      tenantId: tenant().tenantId
    }
    storage: {
      storageSizeGB: 32
      autoGrow: 'Enabled'
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

// The app's own administrator only where nobody else was named: docs/deploy.md has the statements that give it a role. The
// first connection creates the tables, so the role must be able to create a schema.
resource role 'Microsoft.DBforPostgreSQL/flexibleServers/administrators@2025-08-01' = {
  parent: server
  name: administratorId
  properties: {
    principalName: administratorName
    principalType: administratorType
    tenantId: tenant().tenantId
  }
}

resource database 'Microsoft.DBforPostgreSQL/flexibleServers/databases@2025-08-01' = {
  parent: server
  name: databaseName
  properties: {
    charset: 'UTF8'
    collation: 'en_US.utf8'
  }
  dependsOn: [
    role
  ]
}

// Over a public network, Flexible Server has no other way to admit Azure services.
resource fromAzure 'Microsoft.DBforPostgreSQL/flexibleServers/firewallRules@2025-08-01' = if (!isolated) {
  parent: server
  name: 'azure'
  properties: {
    startIpAddress: '0.0.0.0'
    endIpAddress: '0.0.0.0'
  }
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

// The password is a token of the identity; the app gets a new one for each connection.
output url string = 'postgres://${appIdentityName}@${server.properties.fullyQualifiedDomainName}:5432/${databaseName}?sslmode=require'
output serverId string = server.id
