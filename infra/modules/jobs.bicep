// Works on background jobs apart from the function app. Where they are kept is jobs-postgres.bicep or jobs-redis.bicep.
param token string
param location string
param tags object
param zoneRedundant bool

@description('Where jobs are kept: what the code reads as JOBS_URL. It holds no password.')
param url string

@description('Empty until the first deployment of the worker: then one that does nothing.')
param image string

@description('Empty: not in a virtual network.')
param subnetId string

param appIdentityId string
param appPrincipalId string
param settings object
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
  ]
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
