// Private endpoints of the resources without public network, and the DNS names for them.
param token string
param location string
param tags object

@description('The network that gets the DNS zones. Empty: it exists, and its names are made elsewhere.')
param networkId string

param subnetId string

@description('Empty: the account exists, with endpoints of its own.')
param cosmosId string

@description('Empty: there is none.')
param hostStorageId string

@description('Empty: there is none.')
param archiveId string

@description('Empty: there is none.')
param eventHubsId string

@description('Empty: there is none.')
param postgresId string

@description('Empty: there is none.')
param tablesId string

@description('Empty: there is none.')
param redisId string

var storageSuffix = environment().suffixes.storage
// The resources, each with the part that the endpoint reaches (groupId) and the DNS zone of its names.
var targets = concat(cosmosId == '' ? [] : [
  {
    name: 'cosmos'
    id: cosmosId
    group: 'Sql'
    zone: 'privatelink.documents.azure.com'
  }
], hostStorageId == '' ? [] : [
  {
    name: 'host-blob'
    id: hostStorageId
    group: 'blob'
    zone: 'privatelink.blob.${storageSuffix}'
  }
], archiveId == '' ? [] : [
  {
    name: 'archive'
    id: archiveId
    group: 'blob'
    zone: 'privatelink.blob.${storageSuffix}'
  }
], eventHubsId == '' ? [] : [
  {
    name: 'event-hubs'
    id: eventHubsId
    group: 'namespace'
    zone: 'privatelink.servicebus.windows.net'
  }
], postgresId == '' ? [] : [
  {
    name: 'postgres'
    id: postgresId
    group: 'postgresqlServer'
    zone: 'privatelink.postgres.database.azure.com'
  }
], tablesId == '' ? [] : [
  {
    name: 'tables'
    id: tablesId
    group: 'postgresqlServer'
    zone: 'privatelink.postgres.database.azure.com'
  }
], redisId == '' ? [] : [
  {
    name: 'redis'
    id: redisId
    group: 'redisEnterprise'
    zone: 'privatelink.redis.azure.net'
  }
])
// All zones, also those without an endpoint, so that the index of each is fixed. An unused zone costs almost nothing.
var zones = [
  'privatelink.documents.azure.com'
  'privatelink.blob.${storageSuffix}'
  'privatelink.servicebus.windows.net'
  'privatelink.postgres.database.azure.com'
  'privatelink.redis.azure.net'
]

resource dns 'Microsoft.Network/privateDnsZones@2024-06-01' = [for zone in zones: if (networkId != '') {
  name: zone
  location: 'global'
  tags: tags
}]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [for at in range(0, length(zones)): if (networkId != '') {
  parent: dns[at]
  name: 'link-${token}'
  location: 'global'
  tags: tags
  properties: {
    registrationEnabled: false
    virtualNetwork: {
      id: networkId
    }
  }
}]

resource endpoints 'Microsoft.Network/privateEndpoints@2024-07-01' = [for target in targets: {
  name: 'pe-${target.name}-${token}'
  location: location
  tags: tags
  properties: {
    subnet: {
      id: subnetId
    }
    privateLinkServiceConnections: [
      {
        name: target.name
        properties: {
          privateLinkServiceId: target.id
          groupIds: [
            target.group
          ]
        }
      }
    ]
  }
}]

resource names 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-07-01' = [for at in range(0, length(targets)): if (networkId != '') {
  parent: endpoints[at]
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: targets[at].group
        properties: {
          privateDnsZoneId: dns[indexOf(zones, targets[at].zone)].id
        }
      }
    ]
  }
}]
