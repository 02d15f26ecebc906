# The database, the containers and the roles of a pipeline, from what `millrace model infra` writes: infra/pipeline.json.
# NOT RUN: Terraform evaluated it without the provider, and it was never applied. docs/deploy.md says what it leaves out.
terraform {
  required_version = ">= 1.5"
  required_providers { azapi = { source = "Azure/azapi", version = "~> 2.0" } }
}

variable "account_id" { type = string }                   # resource id of the Cosmos DB account, which exists
variable "principals" { type = map(string) }              # object ids by identity: app, applier, router
variable "scopes" { default = {} }                        # resource ids by what roles are on, other than the database
variable "serverless" { default = false }                 # the account bills requests, and takes no throughput
variable "most_throughput" { default = 10000 }            # of one container, even if the model asks for more
variable "shared_throughput" { default = 1000 }           # of the containers without throughput of their own
variable "pipeline_file" { default = "../pipeline.json" } # from the folder of this file

locals {
  pipeline     = jsondecode(file("${path.module}/${var.pipeline_file}"))
  subscription = regex("^/subscriptions/[^/]+", var.account_id)
  roles        = [for each in local.pipeline.roles : merge(each, { who = try(var.principals[each.identity], "") })]
}

resource "azapi_resource" "database" {
  type      = "Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-10-15"
  name      = local.pipeline.name
  parent_id = var.account_id
  body = { properties = { resource = { id = local.pipeline.name }, options = var.serverless ? null : {
    autoscaleSettings = { maxThroughput = var.shared_throughput }
  } } }
}

resource "azapi_resource" "containers" {
  for_each   = { for each in local.pipeline.containers : each.resource.id => each }
  depends_on = [azapi_resource.database]
  type       = "Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15"
  name       = each.key
  parent_id  = "${var.account_id}/sqlDatabases/${local.pipeline.name}"
  body = { properties = { resource = each.value.resource, options = { for kind, max in {
    autoscaleSettings = try({ maxThroughput = min(var.most_throughput, each.value.throughput.max) }, null)
    throughput        = try(min(var.most_throughput, each.value.throughput.max), null)
  } : kind => max if !var.serverless && (kind == "throughput") == (try(each.value.throughput.kind, "") == "manual") && max != null } } }
}

resource "azapi_resource" "data_roles" {
  for_each   = { for each in local.roles : "${each.identity}: ${each.role}" => each if each.on == "database" && each.who != "" }
  depends_on = [azapi_resource.database]
  type       = "Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15"
  name       = uuidv5("url", "${var.account_id}/${local.pipeline.name}/${each.value.who}/${each.value.id}")
  parent_id  = var.account_id
  body = { properties = { principalId = each.value.who, scope = "${var.account_id}/dbs/${local.pipeline.name}",
  roleDefinitionId = "${var.account_id}/sqlRoleDefinitions/${each.value.id}" } }
}

resource "azapi_resource" "roles" {
  for_each  = { for each in local.roles : "${each.identity}: ${each.role}" => each if can(var.scopes[each.on]) && each.who != "" }
  type      = "Microsoft.Authorization/roleAssignments@2022-04-01"
  name      = uuidv5("url", "${var.scopes[each.value.on]}/${each.value.who}/${each.value.id}")
  parent_id = var.scopes[each.value.on]
  body = { properties = { principalId = each.value.who, principalType = "ServicePrincipal",
  roleDefinitionId = "${local.subscription}/providers/Microsoft.Authorization/roleDefinitions/${each.value.id}" } }
}
