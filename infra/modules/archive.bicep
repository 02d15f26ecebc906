// Blob Storage for archived documents and the checkpoints of ingests.
param token string
param location string
param tags object

@description('Keep a copy in the paired region.')
param geoRedundant bool

@description('Of each archive whose declaration has tiers: days after which its blobs go to Cool and to Cold; 0: never. Nothing moves them to the Archive tier, where neither blobs nor manifests can be read.')
param tiers array

@description('Version-level immutability for archived blobs, which legal holds need. It can only be chosen when the container is created.')
param legalHolds bool

@description('Nobody deletes the account before the lock is taken away.')
param locked bool

@description('Log each read too.')
param logsData bool

param isolated bool
param appPrincipalId string
param developerPrincipalId string
param developerPrincipalType string
param workspaceId string

var blobDataContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
var containerNames = [
  'archive'
  'checkpoints'
]
var principals = concat([
  {
    id: appPrincipalId
    type: 'ServicePrincipal'
  }
], developerPrincipalId == '' ? [] : [
  {
    id: developerPrincipalId
    type: developerPrincipalType
  }
])

resource account 'Microsoft.Storage/storageAccounts@2025-06-01' = {
  name: 'starch${token}'
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: geoRedundant ? 'Standard_GRS' : 'Standard_LRS'
  }
  properties: {
    accessTier: 'Hot'
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
    isVersioningEnabled: true
    deleteRetentionPolicy: {
      enabled: true
      days: 30
    }
    containerDeleteRetentionPolicy: {
      enabled: true
      days: 30
    }
  }
}

// No immutability policy on account or container: sweeps write manifests again and again. A hold is set on single blobs.
resource containers 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' = [for name in containerNames: {
  parent: blobs
  name: name
  properties: legalHolds && name == 'archive' ? {
    immutableStorageWithVersioning: {
      enabled: true
    }
  } : {}
}]

// Archives without tiers of their own. Where several rules apply to a blob, the cheapest action wins, so these rules stand alone.
var lifecycle = length(tiers) > 0 ? tiers : [
  {
    archive: ''
    cool: 30
    cold: 90
  }
]

var colder = [for rule in lifecycle: {
  name: rule.archive == '' ? 'colder' : 'tiers-${rule.archive}'
  enabled: true
  type: 'Lifecycle'
  definition: {
    filters: {
      blobTypes: [
        'blockBlob'
      ]
      prefixMatch: rule.archive == '' ? [
        'archive/'
      ] : [
        'archive/${rule.archive}@'
      ]
    }
    actions: {
      baseBlob: union(rule.cool == 0 ? {} : {
        tierToCool: {
          daysAfterModificationGreaterThan: rule.cool
        }
      }, rule.cold == 0 ? {} : {
        tierToCold: {
          daysAfterModificationGreaterThan: rule.cold
        }
      })
    }
  }
}]

// Blobs in Cool and Cold are read like those in Hot, but each read costs more.
resource tiering 'Microsoft.Storage/storageAccounts/managementPolicies@2025-06-01' = {
  parent: account
  name: 'default'
  properties: {
    policy: {
      rules: concat(colder, [
        {
          name: 'versions'
          enabled: true
          type: 'Lifecycle'
          definition: {
            filters: {
              blobTypes: [
                'blockBlob'
              ]
              prefixMatch: [
                'archive/'
              ]
            }
            actions: {
              version: {
                delete: {
                  daysAfterCreationGreaterThan: 90
                }
              }
            }
          }
        }
      ])
    }
  }
}

resource access 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for principal in principals: {
  name: guid(account.id, principal.id, blobDataContributor)
  scope: account
  properties: {
    principalId: principal.id
    principalType: principal.type
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', blobDataContributor)
  }
}]

resource lock 'Microsoft.Authorization/locks@2020-05-01' = if (locked) {
  name: 'keep'
  scope: account
  properties: {
    level: 'CanNotDelete'
    notes: 'The archive of millrace. Take the lock away before you delete the account.'
  }
}

// Logs who wrote, deleted or read a blob. An `archive verify` reads every blob.
resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'needed'
  scope: blobs
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'StorageWrite'
        enabled: true
      }
      {
        category: 'StorageDelete'
        enabled: true
      }
      {
        category: 'StorageRead'
        enabled: logsData
      }
    ]
  }
}

output accountId string = account.id
output blobEndpoint string = account.properties.primaryEndpoints.blob
