// Azure Managed Redis, to keep background jobs in. Its one user is the app's identity; there are no access keys.
param token string
param location string
param tags object
param highlyAvailable bool
param isolated bool
param appPrincipalId string
param workspaceId string

resource cluster 'Microsoft.Cache/redisEnterprise@2025-07-01' = {
  name: 'redis-${token}'
  location: location
  tags: tags
  sku: {
    name: highlyAvailable ? 'Balanced_B1' : 'Balanced_B0'
  }
  properties: {
    minimumTlsVersion: '1.2'
    highAvailability: highlyAvailable ? 'Enabled' : 'Disabled'
    publicNetworkAccess: isolated ? 'Disabled' : 'Enabled'
  }
}

resource database 'Microsoft.Cache/redisEnterprise/databases@2025-07-01' = {
  parent: cluster
  name: 'default'
  properties: {
    clientProtocol: 'Encrypted'
    port: 10000
    // A job's keys lie in many slots, and its scripts touch several of them at once.
    clusteringPolicy: 'NoCluster'
    // A job that was evicted would be lost.
    evictionPolicy: 'NoEviction'
    accessKeysAuthentication: 'Disabled'
    persistence: {
      aofEnabled: true
      aofFrequency: '1s'
    }
  }
}

resource user 'Microsoft.Cache/redisEnterprise/databases/accessPolicyAssignments@2025-07-01' = {
  parent: database
  // Letters and digits alone.
  name: replace(appPrincipalId, '-', '')
  properties: {
    accessPolicyName: 'default'
    user: {
      objectId: appPrincipalId
    }
  }
}

resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'needed'
  scope: database
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'ConnectionEvents'
        enabled: true
      }
    ]
  }
}

// The user is the object id of the identity, the password a token of it, renewed while a connection lives.
output url string = 'rediss://${appPrincipalId}@${cluster.properties.hostName}:10000'
output clusterId string = cluster.id
