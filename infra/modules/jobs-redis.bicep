// Azure Managed Redis, which stores background jobs. Its only user is the app's identity; there are no access keys.
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
    // The keys of a job are in many slots, and one script uses several of them.
    clusteringPolicy: 'NoCluster'
    // An evicted job would be lost.
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
  // Only letters and digits are allowed.
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

// The user is the object id of the identity. The password is its token, which is renewed during a connection.
output url string = 'rediss://${appPrincipalId}@${cluster.properties.hostName}:10000'
output clusterId string = cluster.id
