// Alerts. The log alerts read the lines of JSON that the app's timers write every five minutes
// (src/host/functions/timers.ts).
param token string
param location string
param tags object

@description('Address for alerts; empty: they are shown in the portal and not sent.')
param email string

param cosmosId string
param insightsId string
param workspaceId string
param serverless bool

@description('There is a function app, whose timers and requests the alerts of the log read.')
param readsTimers bool

@description('Throttled requests within five minutes before an alert.')
param mostThrottled int = 100

@description('Failed requests of functions within five minutes before an alert.')
param mostFailures int = 10

@description('Hours that a change may be parked before an alert.')
param mostHoursParked int = 24

// Each alert names a heading of this page.
var runbook = 'docs/runbook.md'
// Lines of the timers within the window of the rule. Sampling does not drop them (host.json).
var timerLines = 'AppTraces | where Message has "\\"millrace\\":\\"timer\\"" | extend line = parse_json(Message)'
// The result of `status` for each projection.
var projections = '${timerLines} | where line.operation == "status" | mv-expand projection = line.value.projections'
var logAlerts = [
  {
    name: 'leases'
    says: 'A feed is not read, a lease is stuck, or changes wait too long. `millrace leases list --check` shows which.'
    runbook: 'a-feed-is-behind'
    query: '${timerLines} | where line.actor == "timer:leases-check" and line.ok == false'
    operator: 'GreaterThan'
    threshold: 1
    severity: 1
  }
  {
    name: 'doctor'
    says: 'Something that the app needs is missing, refuses it or does not answer: a container, an event hub, the job store, the storage, or a clock is off. `millrace doctor` shows which.'
    runbook: 'a-part-does-not-work'
    query: '${timerLines} | where line.operation == "doctor" | mv-expand finding = line.value | where finding.verdict == "bad" and finding.check !in ("leases", "verification", "archive")'
    operator: 'GreaterThan'
    threshold: 0
    severity: 1
  }
  {
    name: 'timers'
    says: 'A timer of the app has failed three times in 15 minutes. The lines of the timers have the errors.'
    runbook: 'a-job-has-failed'
    query: '${timerLines} | where isnotempty(tostring(line.error)) or (line.ok == false and line.operation !in ("leases list", "projections verify", "archive sweep", "doctor"))'
    operator: 'GreaterThan'
    threshold: 2
    severity: 2
  }
  {
    name: 'silence'
    says: 'The timers have not run for 15 minutes: the app is down, or its settings are missing.'
    runbook: 'no-host-reads-a-feed'
    query: timerLines
    operator: 'LessThan'
    threshold: 1
    severity: 1
  }
  {
    name: 'dead-letters'
    says: 'Millrace parked changes that it could not apply. `millrace dead-letters list` shows them.'
    runbook: 'changes-are-parked'
    query: '${projections} | where toint(projection.parked) > 0'
    operator: 'GreaterThan'
    threshold: 0
    severity: 2
  }
  {
    name: 'dead-letters-old'
    says: 'A change has been parked for too long. Fix its cause, then run `millrace dead-letters redrive`.'
    runbook: 'a-change-is-parked-for-long'
    query: '${projections} | where todatetime(projection.parkedSince) < ago(${mostHoursParked}h)'
    operator: 'GreaterThan'
    threshold: 0
    severity: 1
  }
  {
    name: 'archive'
    says: 'A sweep of the archive failed.'
    runbook: 'the-archives-sweep-fails'
    query: '${timerLines} | where line.operation == "archive sweep" and line.ok == false'
    operator: 'GreaterThan'
    threshold: 0
    severity: 2
  }
  {
    name: 'verification'
    says: 'A verification by the schedule found documents that differ from their sources or faults of the archive, or failed. `millrace projections verify` and `millrace archive verify` show them.'
    runbook: 'a-verification-found-differences'
    query: '${timerLines} | where line.actor == "timer:verify" and line.ok == false'
    operator: 'GreaterThan'
    threshold: 0
    severity: 1
  }
]

resource people 'Microsoft.Insights/actionGroups@2018-03-01' = if (email != '') {
  name: 'ag-${token}'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: 'millrace'
    enabled: true
    emailReceivers: [
      {
        name: 'mail'
        emailAddress: email
      }
    ]
  }
}

var metricActions = email == '' ? [] : [
  {
    actionGroupId: people.id
  }
]

resource throttled 'Microsoft.Insights/metricAlerts@2018-03-01' = {
  name: 'alert-throttled-${token}'
  location: 'global'
  tags: tags
  properties: {
    description: 'Cosmos DB answers 429 too often for retries. Raise the throughput, or look for a hot partition. Runbook: ${runbook}#requests-are-throttled'
    severity: 2
    enabled: true
    scopes: [
      cosmosId
    ]
    evaluationFrequency: 'PT1M'
    windowSize: 'PT5M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          name: 'throttled'
          criterionType: 'StaticThresholdCriterion'
          metricNamespace: 'Microsoft.DocumentDB/databaseAccounts'
          metricName: 'TotalRequests'
          dimensions: [
            {
              name: 'StatusCode'
              operator: 'Include'
              values: [
                '429'
              ]
            }
          ]
          timeAggregation: 'Count'
          operator: 'GreaterThan'
          threshold: mostThrottled
        }
      ]
    }
    actions: metricActions
  }
}

// Each physical partition separately: in an average over the account, idle partitions would hide a hot one.
var eachPartition = map([
  'Region'
  'DatabaseName'
  'CollectionName'
  'PartitionKeyRangeId'
], dimension => {
  name: dimension
  operator: 'Include'
  values: [
    '*'
  ]
})

// A serverless account has no normalised consumption.
resource busy 'Microsoft.Insights/metricAlerts@2018-03-01' = if (!serverless) {
  name: 'alert-busy-${token}'
  location: 'global'
  tags: tags
  properties: {
    description: 'A physical partition has used nearly all of its RU/s for 15 minutes. The alert names region, container and partition. Runbook: ${runbook}#requests-are-throttled'
    severity: 3
    enabled: true
    scopes: [
      cosmosId
    ]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          name: 'busy'
          criterionType: 'StaticThresholdCriterion'
          metricNamespace: 'Microsoft.DocumentDB/databaseAccounts'
          metricName: 'NormalizedRUConsumption'
          dimensions: eachPartition
          timeAggregation: 'Average'
          operator: 'GreaterThan'
          threshold: 90
        }
      ]
    }
    actions: metricActions
  }
}

resource failures 'Microsoft.Insights/metricAlerts@2018-03-01' = if (readsTimers) {
  name: 'alert-failures-${token}'
  location: 'global'
  tags: tags
  properties: {
    description: 'Functions fail. Each batch is retried until it succeeds, so the lag grows meanwhile. Runbook: ${runbook}#functions-fail'
    severity: 2
    enabled: true
    scopes: [
      insightsId
    ]
    evaluationFrequency: 'PT1M'
    windowSize: 'PT5M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          name: 'failures'
          criterionType: 'StaticThresholdCriterion'
          metricNamespace: 'microsoft.insights/components'
          metricName: 'requests/failed'
          timeAggregation: 'Count'
          operator: 'GreaterThan'
          threshold: mostFailures
        }
      ]
    }
    actions: metricActions
  }
}

resource told 'Microsoft.Insights/scheduledQueryRules@2022-06-15' = [for alert in (readsTimers ? logAlerts : []): {
  name: 'alert-${alert.name}-${token}'
  location: location
  tags: tags
  kind: 'LogAlert'
  properties: {
    displayName: 'Millrace: ${alert.name}'
    description: '${alert.says} Runbook: ${runbook}#${alert.runbook}'
    severity: alert.severity
    enabled: true
    scopes: [
      workspaceId
    ]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    // The table does not exist before the app logs for the first time.
    skipQueryValidation: true
    autoMitigate: true
    criteria: {
      allOf: [
        {
          query: alert.query
          timeAggregation: 'Count'
          operator: alert.operator
          threshold: alert.threshold
          failingPeriods: {
            numberOfEvaluationPeriods: 1
            minFailingPeriodsToAlert: 1
          }
        }
      ]
    }
    actions: {
      actionGroups: email == '' ? [] : [
        people.id
      ]
    }
  }
}]
