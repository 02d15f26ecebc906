// The hubs that the pipeline publishes to and ingests from.
param token string
param location string
param tags object

@description('Objects with `name` and `consumerGroups`.')
param hubs array

@description('Partitions of a new hub; a standard namespace cannot change them later.')
param partitions int

@description('Throughput units up to which the namespace scales automatically.')
param mostUnits int

param isolated bool
param appPrincipalId string
param workspaceId string

// The app sends and receives; it does not manage hubs.
var roles = [
  '2b629674-e913-4c01-ae53-ef4638d8f975' // Azure Event Hubs Data Sender
  'a638d3c7-ab3a-418d-83e6-5f17a39d4fde' // Azure Event Hubs Data Receiver
]
var hubNames = map(hubs, hub => hub.name)
var groups = flatten(map(hubs, hub => map(hub.consumerGroups, group => {
  hub: hub.name
  name: group
})))

resource namespace 'Microsoft.EventHub/namespaces@2024-01-01' = {
  name: 'evhns-${token}'
  location: location
  tags: tags
  sku: {
    name: 'Standard'
    tier: 'Standard'
    capacity: 1
  }
  properties: {
    disableLocalAuth: true
    minimumTlsVersion: '1.2'
    isAutoInflateEnabled: true
    maximumThroughputUnits: mostUnits
    zoneRedundant: true
    publicNetworkAccess: isolated ? 'Disabled' : 'Enabled'
  }
}

resource eventHubs 'Microsoft.EventHub/namespaces/eventhubs@2024-01-01' = [for hub in hubs: {
  parent: namespace
  name: hub.name
  properties: {
    partitionCount: partitions
    retentionDescription: {
      cleanupPolicy: 'Delete'
      retentionTimeInHours: 168
    }
  }
}]

resource consumerGroups 'Microsoft.EventHub/namespaces/eventhubs/consumergroups@2024-01-01' = [for group in groups: {
  parent: eventHubs[indexOf(hubNames, group.hub)]
  name: group.name
}]

resource access 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for role in roles: {
  name: guid(namespace.id, appPrincipalId, role)
  scope: namespace
  properties: {
    principalId: appPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role)
  }
}]

resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'needed'
  scope: namespace
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'OperationalLogs'
        enabled: true
      }
      {
        category: 'AutoScaleLogs'
        enabled: true
      }
    ]
  }
}

output namespaceId string = namespace.id
output host string = '${namespace.name}.servicebus.windows.net'
