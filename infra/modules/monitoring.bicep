// The store of logs, metrics and traces.
param token string
param location string
param tags object
param retentionDays int

@description('A workspace that exists. Empty: a new one.')
param workspaceId string

@description('The identity that may send telemetry; keys are not accepted.')
param publisherPrincipalId string

var monitoringMetricsPublisher = '3913510d-42f4-4e42-8a64-420c390055eb'

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-02-01' = if (workspaceId == '') {
  name: 'log-${token}'
  location: location
  tags: tags
  properties: {
    sku: {
      name: 'PerGB2018'
    }
    retentionInDays: retentionDays
    features: {
      disableLocalAuth: true
    }
  }
}

var usedWorkspaceId = workspaceId == '' ? workspace.id : workspaceId

resource insights 'Microsoft.Insights/components@2020-02-02' = {
  name: 'appi-${token}'
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: usedWorkspaceId
    DisableLocalAuth: true
  }
}

resource publishes 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(insights.id, publisherPrincipalId, monitoringMetricsPublisher)
  scope: insights
  properties: {
    principalId: publisherPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', monitoringMetricsPublisher)
  }
}

output workspaceId string = usedWorkspaceId
output insightsId string = insights.id
output connectionString string = insights.properties.ConnectionString
