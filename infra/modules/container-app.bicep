// One container app: a host or a job worker.
param token string
param location string
param tags object

@description('The service of azure.yaml whose image the app gets.')
param service string

@description('Of `millrace`. The image has none of its own for a job worker.')
param arguments array

@description('Empty until the first deployment: then an image that does nothing.')
param image string

param environmentId string
param registryHost string
param appIdentityId string
param settings object
param least int
param most int

@description('What KEDA scales it by. Empty: the number is fixed.')
param rules array

resource app 'Microsoft.App/containerApps@2026-01-01' = {
  name: 'ca-${service}-${token}'
  location: location
  // azd deploys to the resource with this tag.
  tags: union(tags, {
    'azd-service-name': service
  })
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${appIdentityId}': {}
    }
  }
  properties: {
    environmentId: environmentId
    workloadProfileName: 'Consumption'
    configuration: {
      activeRevisionsMode: 'Single'
      registries: [
        {
          server: registryHost
          identity: appIdentityId
        }
      ]
    }
    template: {
      // The time in which a stopping host offers its leases, and a worker returns its jobs to the queue.
      terminationGracePeriodSeconds: 60
      containers: [
        {
          name: service
          args: arguments
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
          env: map(items(settings), item => {
            name: item.key
            value: item.value
          })
        }
      ]
      scale: {
        minReplicas: least
        maxReplicas: most
        rules: rules
      }
    }
  }
}
