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

resource container_Stores 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'Stores'
  properties: {
    resource: {
      id: 'Stores'
      partitionKey: {
        paths: [
          '/storeId'
        ]
        kind: 'Hash'
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

resource container_Catalog 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'Catalog'
  properties: {
    resource: {
      id: 'Catalog'
      partitionKey: {
        paths: [
          '/storeId'
          '/productId'
        ]
        kind: 'MultiHash'
        version: 2
      }
      defaultTtl: -1
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 2000)
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
      defaultTtl: -1
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 1000)
      }
    }
  }
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
      indexingPolicy: {
        indexingMode: 'consistent'
        automatic: true
        includedPaths: [
          {
            path: '/type/?'
          }
          {
            path: '/storeId/?'
          }
          {
            path: '/completedAt/?'
          }
          {
            path: '/lines/[]/productId/?'
          }
          {
            path: '/lines/[]/variantId/?'
          }
        ]
        excludedPaths: [
          {
            path: '/*'
          }
        ]
      }
      defaultTtl: -1
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 4000)
      }
    }
  }
}

resource container_Countries 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'Countries'
  properties: {
    resource: {
      id: 'Countries'
      partitionKey: {
        paths: [
          '/id'
        ]
        kind: 'Hash'
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

resource container_StoreCountries 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'StoreCountries'
  properties: {
    resource: {
      id: 'StoreCountries'
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

resource container_Skus 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'Skus'
  properties: {
    resource: {
      id: 'Skus'
      partitionKey: {
        paths: [
          '/storeId'
          '/sku'
        ]
        kind: 'MultiHash'
        version: 2
      }
      indexingPolicy: {
        indexingMode: 'consistent'
        automatic: true
        includedPaths: [
          {
            path: '/type/?'
          }
          {
            path: '/storeId/?'
          }
          {
            path: '/sku/?'
          }
          {
            path: '/_mr/by/?'
          }
          {
            path: '/_mr/joins/product/ref/?'
          }
          {
            path: '/_mr/joins/product/mark/?'
          }
        ]
        excludedPaths: [
          {
            path: '/*'
          }
        ]
      }
      defaultTtl: -1
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 2000)
      }
    }
  }
}

resource container_CustomerOrders 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'CustomerOrders'
  properties: {
    resource: {
      id: 'CustomerOrders'
      partitionKey: {
        paths: [
          '/storeId'
          '/customerId'
        ]
        kind: 'MultiHash'
        version: 2
      }
      indexingPolicy: {
        indexingMode: 'consistent'
        automatic: true
        includedPaths: [
          {
            path: '/type/?'
          }
          {
            path: '/storeId/?'
          }
          {
            path: '/customerId/?'
          }
          {
            path: '/placedAt/?'
          }
          {
            path: '/_mr/by/?'
          }
          {
            path: '/_mr/joins/customer/ref/?'
          }
          {
            path: '/_mr/joins/customer/mark/?'
          }
          {
            path: '/_mr/joins/country/ref/?'
          }
          {
            path: '/_mr/joins/country/mark/?'
          }
          {
            path: '/by/?'
          }
          {
            path: '/of/?'
          }
          {
            path: '/values/m/smallestCents/?'
          }
          {
            path: '/values/m/largestCents/?'
          }
        ]
        excludedPaths: [
          {
            path: '/*'
          }
        ]
        compositeIndexes: [
          [
            {
              path: '/type'
              order: 'ascending'
            }
            {
              path: '/placedAt'
              order: 'descending'
            }
          ]
        ]
      }
      defaultTtl: -1
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 6000)
      }
    }
  }
}

resource container_OrdersByStatus 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'OrdersByStatus'
  properties: {
    resource: {
      id: 'OrdersByStatus'
      partitionKey: {
        paths: [
          '/storeId'
          '/status'
        ]
        kind: 'MultiHash'
        version: 2
      }
      indexingPolicy: {
        indexingMode: 'consistent'
        automatic: true
        includedPaths: [
          {
            path: '/type/?'
          }
          {
            path: '/storeId/?'
          }
          {
            path: '/status/?'
          }
          {
            path: '/placedAt/?'
          }
        ]
        excludedPaths: [
          {
            path: '/*'
          }
        ]
        compositeIndexes: [
          [
            {
              path: '/type'
              order: 'ascending'
            }
            {
              path: '/placedAt'
              order: 'ascending'
            }
          ]
        ]
      }
      defaultTtl: -1
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 6000)
      }
    }
  }
}

resource container_Sales 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'Sales'
  properties: {
    resource: {
      id: 'Sales'
      partitionKey: {
        paths: [
          '/storeId'
          '/day'
        ]
        kind: 'MultiHash'
        version: 2
      }
      indexingPolicy: {
        indexingMode: 'consistent'
        automatic: true
        includedPaths: [
          {
            path: '/type/?'
          }
          {
            path: '/storeId/?'
          }
          {
            path: '/day/?'
          }
          {
            path: '/units/?'
          }
          {
            path: '/by/?'
          }
          {
            path: '/of/?'
          }
          {
            path: '/values/m/largestCents/?'
          }
        ]
        excludedPaths: [
          {
            path: '/*'
          }
        ]
        compositeIndexes: [
          [
            {
              path: '/type'
              order: 'ascending'
            }
            {
              path: '/units'
              order: 'descending'
            }
          ]
        ]
      }
      defaultTtl: -1
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 10000)
      }
    }
  }
}

resource container_Months 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {
  parent: database
  name: 'Months'
  properties: {
    resource: {
      id: 'Months'
      partitionKey: {
        paths: [
          '/storeId'
        ]
        kind: 'Hash'
        version: 2
      }
      indexingPolicy: {
        indexingMode: 'consistent'
        automatic: true
        includedPaths: [
          {
            path: '/storeId/?'
          }
          {
            path: '/by/?'
          }
          {
            path: '/of/?'
          }
          {
            path: '/values/m/largestCents/?'
          }
          {
            path: '/values/m/bestDays/best/?'
          }
        ]
        excludedPaths: [
          {
            path: '/*'
          }
        ]
      }
      defaultTtl: -1
    }
    options: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 4000)
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
    name: 'Stores'
    throughput: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 1000)
      }
    }
  }
  {
    name: 'Catalog'
    throughput: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 2000)
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
    name: 'Orders'
    throughput: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 4000)
      }
    }
  }
  {
    name: 'Countries'
    throughput: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 1000)
      }
    }
  }
  {
    name: 'StoreCountries'
    throughput: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 1000)
      }
    }
  }
  {
    name: 'Skus'
    throughput: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 2000)
      }
    }
  }
  {
    name: 'CustomerOrders'
    throughput: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 6000)
      }
    }
  }
  {
    name: 'OrdersByStatus'
    throughput: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 6000)
      }
    }
  }
  {
    name: 'Sales'
    throughput: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 10000)
      }
    }
  }
  {
    name: 'Months'
    throughput: serverless ? {} : {
      autoscaleSettings: {
        maxThroughput: min(mostThroughput, 4000)
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
    container_Stores
    container_Catalog
    container_Customers
    container_Orders
    container_Countries
    container_StoreCountries
    container_Skus
    container_CustomerOrders
    container_OrdersByStatus
    container_Sales
    container_Months
    container_leases
    container_millrace
  ]
}]
