// The settings of the app, with the names that the bindings of the triggers use. The function app and the job worker get
// the same settings. test/infra compares them with the code.
param appClientId string
param cosmosEndpoint string
param databaseName string
param regions string

@description('Empty: the pipeline has no archive and no ingest.')
param blobEndpoint string

@description('Empty: the pipeline has no hub.')
param eventHubsHost string

@description('Address of the database of the tables, without a password. Empty: no tables.')
param postgresUrl string

param startAnew string

@description('RU/s of each physical partition for all processes together; 0: no limit.')
param ruBudget int

@description('The throughput bucket of bulk work; 0: none.')
param bulkBucket int

@description('When a sample is verified: off, or a cron expression in UTC.')
param verifySample string

@description('When all documents are verified: off, or a cron expression in UTC.')
param verifyFull string

@description('The database of the shard maps. Empty: the pipeline is not over shards.')
param shardMapsDatabase string

@description('on: the triggers read all-versions feeds.')
param triggerAllVersions string

var always = {
  // The identity that DefaultAzureCredential uses.
  AZURE_CLIENT_ID: appClientId
  COSMOS__accountEndpoint: cosmosEndpoint
  COSMOS__credential: 'managedidentity'
  COSMOS__clientId: appClientId
  COSMOS_DATABASE: databaseName
  COSMOS_PREFERRED_REGIONS: regions
  LEASES__accountEndpoint: cosmosEndpoint
  LEASES__credential: 'managedidentity'
  LEASES__clientId: appClientId
  LEASES_DATABASE: databaseName
  LEASES_CONTAINER: 'leases'
  LEASES_START_ANEW: startAnew
  STATE_CONTAINER: 'millrace'
  VERIFY_SAMPLE: verifySample
  VERIFY_FULL: verifyFull
}
var storage = {
  STORAGE__blobServiceUri: blobEndpoint
  STORAGE__credential: 'managedidentity'
  STORAGE__clientId: appClientId
  STORAGE_CONTAINER: 'archive'
  CHECKPOINTS_CONTAINER: 'checkpoints'
}
var hubs = {
  EVENTHUBS__fullyQualifiedNamespace: eventHubsHost
  EVENTHUBS__credential: 'managedidentity'
  EVENTHUBS__clientId: appClientId
}

var tables = {
  POSTGRES_URL: postgresUrl
}

var budget = {
  RU_BUDGET: string(ruBudget)
}
var bucket = {
  BULK_THROUGHPUT_BUCKET: string(bulkBucket)
}

var shards = {
  SHARD_MAPS_DATABASE: shardMapsDatabase
}

var versions = {
  TRIGGER_ALL_VERSIONS: triggerAllVersions
}

output shared object = union(always, blobEndpoint == '' ? {} : storage, eventHubsHost == '' ? {} : hubs, postgresUrl == '' ? {} : tables, ruBudget == 0 ? {} : budget, bulkBucket == 0 ? {} : bucket, shardMapsDatabase == '' ? {} : shards, triggerAllVersions == '' ? {} : versions)
