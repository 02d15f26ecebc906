// Runs background jobs outside the function app. jobs-postgres.bicep or jobs-redis.bicep creates the store of the jobs.
param token string
param location string
param tags object
param zoneRedundant bool

@description('Address of the store of the jobs, the setting JOBS_URL. It holds no password.')
param url string

@description('Image of the worker. Empty until its first deployment: then an image that does nothing.')
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

resource worker 'Microsoft.App/containerApps@2026-01-01' = {
  name: 'ca-jobs-${token}'
  location: location
  // azd deploys to the resource with this tag.
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
      // The time in which a stopping worker can return its jobs to the queue.
      terminationGracePeriodSeconds: 60
      containers: [
        {
          name: 'jobs'
          image: image == '' ? 'mcr.microsoft.com/k8se/quickstart-jobs:latest' : image
          resources: {
            cpu: json('0.5')
            memory: '1Gi'
          }
          // What the image serves by `--probes 8081`. The image before the first deployment serves nothing.
          probes: image == '' ? [] : [
            {
              type: 'Startup'
              httpGet: {
                path: '/livez'
                port: 8081
              }
              periodSeconds: 5
              failureThreshold: 24
            }
            {
              type: 'Liveness'
              httpGet: {
                path: '/livez'
                port: 8081
              }
              periodSeconds: 10
              failureThreshold: 6
            }
            {
              type: 'Readiness'
              httpGet: {
                path: '/readyz'
                port: 8081
              }
              periodSeconds: 10
            }
          ]
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
