// Background jobs apart from the function app: PostgreSQL to keep them, a Container App that works on them. Both sign in
// by identity; the database has no passwords.
param token string
param location string
param tags object
param zoneRedundant bool
param isolated bool

@description('Empty until the first deployment of the worker: then one that does nothing.')
param image string

@description('Empty: not in a virtual network.')
param subnetId string

param appIdentityId string
param appIdentityName string
param appPrincipalId string
param settings object
param workspaceId string

var acrPull = '7f951dda-4ed3-4680-a7ca-43fe172d538d'
var databaseName = 'jobs'
// The password is a token of the identity, asked for at each connection.
var url = 'postgres://${appIdentityName}@${server.properties.fullyQualifiedDomainName}:5432/${databaseName}?sslmode=require'

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

// The tables are made at the first connection, for which the role must be able to make a schema.
resource role 'Microsoft.DBforPostgreSQL/flexibleServers/administrators@2025-08-01' = {
  parent: server
  name: appPrincipalId
  properties: {
    principalName: appIdentityName
    principalType: 'ServicePrincipal'
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

// Flexible Server has no other way to let services of Azure in by public network.
resource fromAzure 'Microsoft.DBforPostgreSQL/flexibleServers/firewallRules@2025-08-01' = if (!isolated) {
  parent: server
  name: 'azure'
  properties: {
    startIpAddress: '0.0.0.0'
    endIpAddress: '0.0.0.0'
  }
}

resource registry 'Microsoft.ContainerRegistry/registries@2025-11-01' = {
  name: 'cr${token}'
  location: location
  tags: tags
  sku: {
    name: 'Basic'
  }
  properties: {
    adminUserEnabled: false
    anonymousPullEnabled: false
  }
}

resource pulls 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(registry.id, appPrincipalId, acrPull)
  scope: registry
  properties: {
    principalId: appPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', acrPull)
  }
}

resource environment 'Microsoft.App/managedEnvironments@2026-01-01' = {
  name: 'cae-${token}'
  location: location
  tags: tags
  properties: {
    // By the diagnostic settings below, so that no key of the workspace is needed.
    appLogsConfiguration: {
      destination: 'azure-monitor'
    }
    workloadProfiles: [
      {
        name: 'Consumption'
        workloadProfileType: 'Consumption'
      }
    ]
    vnetConfiguration: subnetId == '' ? null : {
      infrastructureSubnetId: subnetId
      internal: true
    }
    zoneRedundant: zoneRedundant && subnetId != ''
  }
}

resource worker 'Microsoft.App/containerApps@2026-01-01' = {
  name: 'ca-jobs-${token}'
  location: location
  // azd finds by it where to deploy.
  tags: union(tags, {
    'azd-service-name': 'jobs'
  })
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${appIdentityId}': {}
    }
  }
  properties: {
    environmentId: environment.id
    workloadProfileName: 'Consumption'
    configuration: {
      activeRevisionsMode: 'Single'
      registries: [
        {
          server: registry.properties.loginServer
          identity: appIdentityId
        }
      ]
    }
    template: {
      // A job that is asked to stop gives itself back; this is how long it may take.
      terminationGracePeriodSeconds: 60
      containers: [
        {
          name: 'jobs'
          image: image == '' ? 'mcr.microsoft.com/k8se/quickstart-jobs:latest' : image
          resources: {
            cpu: json('0.5')
            memory: '1Gi'
          }
          env: concat(map(items(settings), item => {
            name: item.key
            value: item.value
          }), [
            {
              name: 'JOBS_URL'
              value: url
            }
          ])
        }
      ]
      scale: {
        minReplicas: 1
        maxReplicas: 1
      }
    }
  }
  dependsOn: [
    pulls
    database
  ]
}

resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'all'
  scope: environment
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        categoryGroup: 'allLogs'
        enabled: true
      }
    ]
  }
}

resource databaseLogs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'all'
  scope: server
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        categoryGroup: 'allLogs'
        enabled: true
      }
    ]
  }
}

output url string = url
output serverId string = server.id
output registryHost string = registry.properties.loginServer
