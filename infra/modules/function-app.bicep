// The function app on Flex Consumption, where each function scales separately and none runs without work, or on an App
// Service plan that exists.
param token string

@description('What the names of a shard\'s app end with; empty: the app of the account\'s own database.')
param suffix string

@description('The service of azure.yaml whose code the app gets.')
param service string

@description('The place of a pipeline over shards that the app works on: a database. Empty: the pipeline is not over shards.')
param place string

@description('The _rid of a shard\'s database. Empty: the app works on no shard.')
param placeRid string
param location string
param tags object

@description('An App Service plan for Linux that exists and is no Flex Consumption plan, which has one app. Empty: a new Flex Consumption plan.')
param planId string

param identityId string
param identityClientId string
param hostStorageName string
param packagesUrl string
param insightsConnectionString string

@description('Settings of the app (settings.bicep).')
param settings object

@description('Empty: no jobs.')
param jobsUrl string

@description('Empty: callers need only the key.')
param entraClientId string

@description('Empty: not in a virtual network.')
param subnetId string

@description('HTTP instances that are always ready; 0: the first request starts one. Triggers scale separately.')
param alwaysReady int

@description('Spread over the zones of the region. The platform then keeps two instances always ready for each trigger, and bills them.')
param zoneRedundant bool
param workspaceId string

var nodeVersion = '24'
var flex = {
  runtime: {
    name: 'node'
    version: nodeVersion
  }
  deployment: {
    storage: {
      type: 'blobContainer'
      value: packagesUrl
      authentication: {
        type: 'UserAssignedIdentity'
        userAssignedIdentityResourceId: identityId
      }
    }
  }
  scaleAndConcurrency: {
    instanceMemoryMB: 2048
    maximumInstanceCount: 100
    alwaysReady: alwaysReady == 0 ? [] : [
      {
        name: 'http'
        instanceCount: alwaysReady
      }
    ]
  }
}

resource plan 'Microsoft.Web/serverfarms@2025-03-01' = if (planId == '') {
  name: 'plan-${token}${suffix}'
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
    zoneRedundant: zoneRedundant
  }
}

resource site 'Microsoft.Web/sites@2025-03-01' = {
  name: 'func-${token}${suffix}'
  location: location
  // azd deploys to the resource with this tag.
  tags: union(tags, {
    'azd-service-name': service
  })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  properties: {
    serverFarmId: planId == '' ? plan.id : planId
    httpsOnly: true
    publicNetworkAccess: 'Enabled'
    virtualNetworkSubnetId: subnetId == '' ? null : subnetId
    siteConfig: {
      minTlsVersion: '1.2'
      http20Enabled: true
      linuxFxVersion: planId == '' ? null : 'NODE|${nodeVersion}'
      alwaysOn: planId == '' ? null : true
    }
    functionAppConfig: planId == '' ? flex : null
  }
}

resource appSettings 'Microsoft.Web/sites/config@2025-03-01' = {
  parent: site
  name: 'appsettings'
  properties: union(settings, {
    AzureWebJobsStorage__accountName: hostStorageName
    AzureWebJobsStorage__credential: 'managedidentity'
    AzureWebJobsStorage__clientId: identityClientId
    APPLICATIONINSIGHTS_CONNECTION_STRING: insightsConnectionString
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
    MILLRACE_AUTH: entraClientId == '' ? 'key' : 'entra'
  }, planId == '' ? {} : {
    // Flex Consumption has these without a setting.
    FUNCTIONS_EXTENSION_VERSION: '~4'
    FUNCTIONS_WORKER_RUNTIME: 'node'
    WEBSITE_RUN_FROM_PACKAGE: '1'
  }, jobsUrl == '' ? {} : {
    JOBS_URL: jobsUrl
  }, place == '' ? {} : {
    SHARD_DATABASE: place
    SHARD_RID: placeRid
  })
}

// The platform puts the signed-in caller into a header, and removes this header from outside requests.
resource authentication 'Microsoft.Web/sites/config@2025-03-01' = if (entraClientId != '') {
  parent: site
  name: 'authsettingsV2'
  properties: {
    globalValidation: {
      requireAuthentication: true
      unauthenticatedClientAction: 'Return401'
      excludedPaths: [
        '/api/millrace/health'
        '/api/millrace/health/*'
      ]
    }
    identityProviders: {
      azureActiveDirectory: {
        enabled: true
        registration: {
          clientId: entraClientId
          openIdIssuer: '${environment().authentication.loginEndpoint}${tenant().tenantId}/v2.0'
        }
        validation: {
          allowedAudiences: [
            entraClientId
            'api://${entraClientId}'
          ]
        }
      }
    }
    platform: {
      enabled: true
    }
  }
}

resource noFtp 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: site
  name: 'ftp'
  properties: {
    allow: false
  }
}

resource noPassword 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: site
  name: 'scm'
  properties: {
    allow: false
  }
}

resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'needed'
  scope: site
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'FunctionAppLogs'
        enabled: true
      }
      {
        category: 'AppServiceAuthenticationLogs'
        enabled: true
      }
    ]
  }
}

output name string = site.name
output url string = 'https://${site.properties.defaultHostName}'
