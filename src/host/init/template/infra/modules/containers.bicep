// Written by `millrace model infra` from model.ts; edit the model, not this file.
// Deploy it with infra/main.bicep or, if only the model has changed, separately (docs/deploy.md).
@description('The account that holds the database.')
param accountName string

@description('The database must exist already, also in a separate deployment.')
param databaseName string

@description('An account without provisioned throughput.')
param serverless bool = false

@description('Upper limit for the RU/s of each container, even if the model states more. Use a multiple of 1,000 for autoscale.')
param mostThroughput int = 1000000

@description('The throughput bucket of bulk work, 1 to 5; 0: none.')
param bulkBucket int = 0

@description('The percentage of its container that the bucket may take; 0: the bucket is not made here.')
param bulkPercentage int = 0

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

var own = [
  {
    name: 'Orders'
    throughput: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 1000)
      }
    }
  }
  {
    name: 'Customers'
    throughput: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 1000)
      }
    }
  }
  {
    name: 'OrderLists'
    throughput: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 1000)
      }
    }
  }
  {
    name: 'Days'
    throughput: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 1000)
      }
    }
  }
]

// Only previews of the resource manager's API know buckets (ASM-A16).
resource buckets 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers/throughputSettings@2025-11-01-preview' = [for one in own: if (bulkBucket > 0 && bulkPercentage > 0 && !serverless) {
  name: '${accountName}/${databaseName}/${one.name}/default'
  properties: {
    resource: union(one.throughput, {
      throughputBuckets: [
        {
          id: bulkBucket
          maxThroughputPercentage: bulkPercentage
        }
      ]
    })
  }
  dependsOn: [
    container_Orders
    container_Customers
    container_OrderLists
    container_Days
    container_leases
    container_millrace
  ]
}]
