// A new account: sign-in only by identity, one write region, continuous backup. cosmos-database.bicep has the rest.
param name string
param location string
param tags object

@description('Billed by request, with one region and without throughput settings. It cannot be changed later.')
param serverless bool

param zoneRedundant bool
param secondaryLocation string

@description('Restore to any second of the last 30 days instead of 7.')
param longBackup bool

@description('Nobody deletes the account, its databases or containers before the lock is taken away.')
param locked bool

@description('Log each request to data.')
param logsData bool

param isolated bool
param workspaceId string

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
  name: name
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

// It stops no data plane: documents are deleted as before.
resource lock 'Microsoft.Authorization/locks@2020-05-01' = if (locked) {
  name: 'keep'
  scope: account
  properties: {
    level: 'CanNotDelete'
    notes: 'The data of millrace. Take the lock away before you delete the account.'
  }
}

// A line for each request costs more than the request, but only that says who read a document.
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
      {
        category: 'DataPlaneRequests'
        enabled: logsData
      }
    ]
  }
}
