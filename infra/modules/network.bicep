// One virtual network: the app's instances in one subnet, private endpoints in another, containers in a third.
param token string
param location string
param tags object

resource rules 'Microsoft.Network/networkSecurityGroups@2024-07-01' = {
  name: 'nsg-${token}'
  location: location
  tags: tags
  properties: {
    securityRules: [
      {
        name: 'from-the-internet'
        properties: {
          description: 'Nothing in here is for the outside.'
          direction: 'Inbound'
          access: 'Deny'
          priority: 4000
          protocol: '*'
          sourceAddressPrefix: 'Internet'
          sourcePortRange: '*'
          destinationAddressPrefix: '*'
          destinationPortRange: '*'
        }
      }
    ]
  }
}

resource network 'Microsoft.Network/virtualNetworks@2024-07-01' = {
  name: 'vnet-${token}'
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: [
        '10.40.0.0/16'
      ]
    }
    subnets: [
      {
        name: 'app'
        properties: {
          addressPrefix: '10.40.0.0/24'
          networkSecurityGroup: {
            id: rules.id
          }
          delegations: [
            {
              name: 'flex'
              properties: {
                serviceName: 'Microsoft.App/environments'
              }
            }
          ]
        }
      }
      {
        name: 'endpoints'
        properties: {
          addressPrefix: '10.40.1.0/24'
          networkSecurityGroup: {
            id: rules.id
          }
          privateEndpointNetworkPolicies: 'Enabled'
        }
      }
      {
        name: 'jobs'
        properties: {
          addressPrefix: '10.40.2.0/23'
          networkSecurityGroup: {
            id: rules.id
          }
          delegations: [
            {
              name: 'jobs'
              properties: {
                serviceName: 'Microsoft.App/environments'
              }
            }
          ]
        }
      }
    ]
  }
}

output networkId string = network.id
output appSubnetId string = '${network.id}/subnets/app'
output endpointsSubnetId string = '${network.id}/subnets/endpoints'
output containersSubnetId string = '${network.id}/subnets/jobs'
