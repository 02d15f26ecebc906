// Every metric that Millrace reports to OpenTelemetry. Instruments are made from this list alone, so a name that isn't in it
// doesn't compile. Tests hold docs/observability.md, infra/observability/ and what a host really reports to it.
import type { Counter, Histogram, Meter, ObservableCounter, ObservableGauge, UpDownCounter } from '@opentelemetry/api';

interface Metric {
  readonly kind: 'counter' | 'upDownCounter' | 'histogram' | 'observedCounter' | 'gauge';
  /** In UCUM, as OpenTelemetry has them. */
  readonly unit: string;
  readonly description: string;
  readonly attributes: readonly string[];
}

export const METRICS = {
  'millrace.changes.handled': {
    kind: 'counter',
    unit: '{change}',
    description: 'Changes whose handler succeeded',
    attributes: ['container'],
  },
  'millrace.changes.parked': {
    kind: 'counter',
    unit: '{change}',
    description: 'Changes that were parked',
    attributes: ['container', 'projection'],
  },
  'millrace.feed.pages': {
    kind: 'counter',
    unit: '{page}',
    description: 'Pages read that held changes',
    attributes: ['container'],
  },
  'millrace.feed.pages.rejected': {
    kind: 'counter',
    unit: '{page}',
    description: 'Deliveries that will be repeated',
    attributes: ['container', 'error.type'],
  },
  'millrace.feed.charge': {
    kind: 'counter',
    unit: '{RU}',
    description: 'Request units of reading the feed',
    attributes: ['container'],
  },
  'millrace.failures': {
    kind: 'counter',
    unit: '{failure}',
    description: 'Failures that are tried again; `part` is `feed` or `leases`',
    attributes: ['container', 'part', 'error.type'],
  },
  'millrace.handler.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'Time of a handler call; `outcome` is `handled` or `failed`',
    attributes: ['container', 'outcome'],
  },
  'millrace.leases.owned': {
    kind: 'upDownCounter',
    unit: '{lease}',
    description: 'Leases of this host',
    attributes: ['container'],
  },
  'millrace.lease.lag': {
    kind: 'gauge',
    unit: '{transaction}',
    description: 'Transactions behind a lease’s position, at most',
    attributes: ['container', 'lease'],
  },
  'millrace.lease.lag.age': {
    kind: 'gauge',
    unit: 's',
    description: 'Age of the oldest change that a lease has not handled',
    attributes: ['container', 'lease'],
  },
  'millrace.lease.in': {
    kind: 'gauge',
    unit: '{transaction}/s',
    description: 'Transactions that come into a lease’s range',
    attributes: ['container', 'lease'],
  },
  'millrace.lease.out': {
    kind: 'gauge',
    unit: '{transaction}/s',
    description: 'Transactions that a lease’s position passes',
    attributes: ['container', 'lease'],
  },
  'millrace.lease.catch_up': {
    kind: 'gauge',
    unit: 's',
    description: 'Time until a lease has no lag, at the present rates; absent where the lag doesn’t shrink',
    attributes: ['container', 'lease'],
  },
  'millrace.lease.page.age': {
    kind: 'gauge',
    unit: 's',
    description: 'Time since the page in hand was delivered; 0 without one',
    attributes: ['container', 'lease'],
  },
  'millrace.lease.page.deliveries': {
    kind: 'gauge',
    unit: '{delivery}',
    description: 'Deliveries of the page in hand; 0 without one',
    attributes: ['container', 'lease'],
  },
  'millrace.projection.changes': {
    kind: 'observedCounter',
    unit: '{change}',
    description: 'Changes that a projection applied or parked on this host since it started',
    attributes: ['projection'],
  },
  'millrace.projection.writes': {
    kind: 'observedCounter',
    unit: '{document}',
    description: 'Documents that a projection wrote on this host since it started',
    attributes: ['projection'],
  },
  'millrace.projection.requests': {
    kind: 'observedCounter',
    unit: '{request}',
    description: 'Requests of a projection on this host since it started',
    attributes: ['projection'],
  },
  'millrace.projection.charge': {
    kind: 'observedCounter',
    unit: '{RU}',
    description: 'Request units of a projection’s requests on this host since it started',
    attributes: ['projection'],
  },
  'millrace.projection.throttled': {
    kind: 'observedCounter',
    unit: '{request}',
    description: 'Requests of a projection that were throttled on this host since it started',
    attributes: ['projection'],
  },
  'millrace.dead_letters': {
    kind: 'gauge',
    unit: '{change}',
    description: 'Parked changes',
    attributes: ['projection', 'shard'],
  },
  'millrace.dead_letters.age': {
    kind: 'gauge',
    unit: 's',
    description: 'Time since the oldest parked change was parked; 0 without any',
    attributes: ['projection', 'shard'],
  },
  'millrace.backlog.changes': {
    kind: 'gauge',
    unit: '{change}',
    description: 'Changes of a tenant that are set aside, at most',
    attributes: ['tenant', 'container', 'shard'],
  },
  'millrace.backlog.age': {
    kind: 'gauge',
    unit: 's',
    description: 'Time since the oldest change of a tenant that is set aside was written',
    attributes: ['tenant', 'container', 'shard'],
  },
  'millrace.tenant.changes': {
    kind: 'gauge',
    unit: '{change}',
    description: 'Changes of a tenant that this host applied or parked since it started',
    attributes: ['tenant'],
  },
  'millrace.tenant.charge': {
    kind: 'gauge',
    unit: '{RU}',
    description: 'Request units of a tenant’s changes on this host since it started',
    attributes: ['tenant'],
  },
  'millrace.tenant.delay': {
    kind: 'gauge',
    unit: 's',
    description: 'How long the oldest change of a tenant’s last page had waited when it was applied',
    attributes: ['tenant'],
  },
  'millrace.tenant.documents': {
    kind: 'gauge',
    unit: '{document}',
    description: 'Documents of a tenant, as `tenants list` counted them last',
    attributes: ['tenant', 'shard'],
  },
  'millrace.tenant.dead_letters': {
    kind: 'gauge',
    unit: '{change}',
    description: 'Parked changes of a tenant',
    attributes: ['tenant', 'shard'],
  },
  'millrace.verification.differences': {
    kind: 'gauge',
    unit: '{document}',
    description: 'Sink documents that the last verification found wrong; `kind` is `sample` or `whole`',
    attributes: ['kind', 'shard'],
  },
  'millrace.verification.age': {
    kind: 'gauge',
    unit: 's',
    description: 'Time since the last verification ended; `kind` is `sample` or `whole`',
    attributes: ['kind', 'shard'],
  },
  'millrace.jobs': {
    kind: 'gauge',
    unit: '{job}',
    description: 'Jobs of the queue; `state` is `waiting`, `active`, `delayed`, `completed` or `failed`',
    attributes: ['state'],
  },
  'millrace.router.mappings': {
    kind: 'gauge',
    unit: '{mapping}',
    description: 'Mappings that a router has in memory',
    attributes: ['map'],
  },
  'millrace.router.uses': {
    kind: 'observedCounter',
    unit: '{use}',
    description: 'Uses of keys; `found`: the mapping was in memory',
    attributes: ['map', 'found'],
  },
  'millrace.router.changes': {
    kind: 'observedCounter',
    unit: '{mapping}',
    description: 'Mappings `added` to and `removed` from the memory, by `change`',
    attributes: ['map', 'change'],
  },
  'millrace.router.lookups': {
    kind: 'observedCounter',
    unit: '{request}',
    description: 'Requests to the database of the shard maps',
    attributes: ['map'],
  },
  'millrace.router.validations': {
    kind: 'observedCounter',
    unit: '{request}',
    description: 'Requests to local maps',
    attributes: ['map'],
  },
  'millrace.router.refusals': {
    kind: 'observedCounter',
    unit: '{call}',
    description: 'Calls that ended with an error of the router',
    attributes: ['map'],
  },
} as const satisfies Readonly<Record<string, Metric>>;

/** The SDK's own boundaries are those of milliseconds. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export type MetricName = keyof typeof METRICS;
type OfKind<K extends Metric['kind']> = {
  [N in MetricName]: (typeof METRICS)[N]['kind'] extends K ? N : never;
}[MetricName];

/** The attributes that a metric may have. */
export type AttributesOf<N extends MetricName> = {
  [A in (typeof METRICS)[N]['attributes'][number]]?: string | number | boolean;
};

export const counter = <N extends OfKind<'counter'>>(meter: Meter, name: N): Counter<AttributesOf<N>> =>
  meter.createCounter(name, METRICS[name]);

export const upDownCounter = <N extends OfKind<'upDownCounter'>>(
  meter: Meter,
  name: N,
): UpDownCounter<AttributesOf<N>> => meter.createUpDownCounter(name, METRICS[name]);

export const histogram = <N extends OfKind<'histogram'>>(meter: Meter, name: N): Histogram<AttributesOf<N>> =>
  meter.createHistogram(name, { ...METRICS[name], advice: { explicitBucketBoundaries: SECONDS } });

export const observedCounter = <N extends OfKind<'observedCounter'>>(
  meter: Meter,
  name: N,
): ObservableCounter<AttributesOf<N>> => meter.createObservableCounter(name, METRICS[name]);

export const gauge = <N extends OfKind<'gauge'>>(meter: Meter, name: N): ObservableGauge<AttributesOf<N>> =>
  meter.createObservableGauge(name, METRICS[name]);
