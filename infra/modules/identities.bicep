// Three identities, each with the rights of one task: the app works on data, the applier changes the schema, the router
// only reads. None has a password. The modules of the resources assign the roles.
param token string
param location string
param tags object

@description('GitHub repository, as owner/name; empty: only Azure signs in as the applier.')
param githubRepository string

@description('The environment of that repository that signs in as the applier; its environment `plan` signs in as the router.')
param githubEnvironment string

resource app 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: 'id-app-${token}'
  location: location
  tags: tags
}

resource applier 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: 'id-applier-${token}'
  location: location
  tags: tags
}

resource router 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: 'id-router-${token}'
  location: location
  tags: tags
}

resource github 'Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials@2024-11-30' = if (githubRepository != '') {
  parent: applier
  name: 'github'
  properties: {
    issuer: 'https://token.actions.githubusercontent.com'
    subject: 'repo:${githubRepository}:environment:${githubEnvironment}'
    audiences: [
      'api://AzureADTokenExchange'
    ]
  }
}

resource githubPlans 'Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials@2024-11-30' = if (githubRepository != '') {
  parent: router
  name: 'github-plan'
  properties: {
    issuer: 'https://token.actions.githubusercontent.com'
    subject: 'repo:${githubRepository}:environment:plan'
    audiences: [
      'api://AzureADTokenExchange'
    ]
  }
}

output appId string = app.id
output appName string = app.name
output appPrincipalId string = app.properties.principalId
output appClientId string = app.properties.clientId
output applierPrincipalId string = applier.properties.principalId
output applierClientId string = applier.properties.clientId
output routerPrincipalId string = router.properties.principalId
output routerClientId string = router.properties.clientId
