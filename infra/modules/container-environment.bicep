// Where containers run: hosts and job workers.
param token string
param location string
param tags object
param zoneRedundant bool

@description('Empty: not in a virtual network.')
param subnetId string

param appPrincipalId string
param workspaceId string

var acrPull = '7f951dda-4ed3-4680-a7ca-43fe172d538d'

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
    // Logs go through the diagnostic settings below, which need no key of the workspace.
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

resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'needed'
  scope: environment
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'ContainerAppConsoleLogs'
        enabled: true
      }
      {
        category: 'ContainerAppSystemLogs'
        enabled: true
      }
    ]
  }
}

output registryHost string = registry.properties.loginServer
output environmentId string = environment.id
// '2.18.1'. Its scaler azure-cosmosdb begins with 2.21 (ASM-F30).
var keda = split(contains(environment.properties, 'kedaConfiguration') ? environment.properties.kedaConfiguration.version : '0.0', '.')
output scalesByFeed bool = int(keda[0]) > 2 || int(keda[1]) >= 21
