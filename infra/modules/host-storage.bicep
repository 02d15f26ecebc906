// Storage of the Functions host: the package that it runs, its locks and timers.
param token string
param location string
param tags object
param zoneRedundant bool
param isolated bool
param appPrincipalId string

@description('What the names of the apps of shards end with.')
param suffixes array

// Storage Blob Data Owner. Queues and tables are only for triggers and extensions that this app does not use.
var blobDataOwner = 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'

resource account 'Microsoft.Storage/storageAccounts@2025-06-01' = {
  name: 'sthost${token}'
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: zoneRedundant ? 'Standard_ZRS' : 'Standard_LRS'
  }
  properties: {
    allowSharedKeyAccess: false
    allowBlobPublicAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: isolated ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'AzureServices'
      defaultAction: isolated ? 'Deny' : 'Allow'
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' = {
  parent: account
  name: 'default'
  properties: {
    deleteRetentionPolicy: {
      enabled: true
      days: 7
    }
  }
}

resource packages 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' = {
  parent: blobs
  name: 'packages'
}

// An app overwrites the package of its container.
resource packagesOfShards 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' = [for suffix in suffixes: {
  parent: blobs
  name: 'packages${suffix}'
}]

resource access 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(account.id, appPrincipalId, blobDataOwner)
  scope: account
  properties: {
    principalId: appPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', blobDataOwner)
  }
}

output accountId string = account.id
output accountName string = account.name
output packagesUrl string = '${account.properties.primaryEndpoints.blob}${packages.name}'
