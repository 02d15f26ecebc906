// Written by `millrace model infra` from Shop: Azure Cosmos DB NoSQL Data Model; edit the model, not this file.
// In a deployment of infra/main.bicep and, where only the model has changed, in one of its own (docs/deploy.md).
@description('The account that holds the database.')
param accountName string

@description('Also in a deployment of its own this database must be there.')
param databaseName string

@description('An account without provisioned throughput.')
param serverless bool = false

@description('Most RU/s of a container, whatever the model asks for: autoscale maxima are multiples of 1,000.')
param mostThroughput int = 1000000

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-10-15' existing = {
  name: accountName
}

resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-10-15' existing = {
  parent: account
  name: databaseName
}

resource container_Orders 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'Orders'
  properties: {
    resource: {
      id: 'Orders'
      partitionKey: {
        paths: [
          '/storeId'
          '/id'
        ]
        kind: 'MultiHash'
        version: 2
      }
      defaultTtl: -1
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 1000)
      }
    }
  }
}

resource container_Customers 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'Customers'
  properties: {
    resource: {
      id: 'Customers'
      partitionKey: {
        paths: [
          '/storeId'
          '/id'
        ]
        kind: 'MultiHash'
        version: 2
      }
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 1000)
      }
    }
  }
}

resource container_OrderLists 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'OrderLists'
  properties: {
    resource: {
      id: 'OrderLists'
      partitionKey: {
        paths: [
          '/storeId'
        ]
        kind: 'Hash'
        version: 2
      }
      defaultTtl: -1
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 1000)
      }
    }
  }
}

resource container_Days 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'Days'
  properties: {
    resource: {
      id: 'Days'
      partitionKey: {
        paths: [
          '/storeId'
          '/day'
        ]
        kind: 'MultiHash'
        version: 2
      }
      defaultTtl: -1
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 1000)
      }
    }
  }
}

resource container_leases 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'leases'
  properties: {
    resource: {
      id: 'leases'
      partitionKey: {
        paths: [
          '/id'
        ]
        kind: 'Hash'
        version: 2
      }
      defaultTtl: -1
    }
    options: {}
  }
}

resource container_millrace 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'millrace'
  properties: {
    resource: {
      id: 'millrace'
      partitionKey: {
        paths: [
          '/pk'
        ]
        kind: 'Hash'
        version: 2
      }
      defaultTtl: -1
    }
    options: {}
  }
}
