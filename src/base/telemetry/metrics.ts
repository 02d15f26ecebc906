// Every metric that Millrace reports to OpenTelemetry. Instruments are made from this list alone, so a name that isn't in it
// doesn't compile. Tests hold docs/observability.md, infra/observability/ and what a host really reports to it.
import type { BatchObservableCallback, Counter, Histogram, Meter, UpDownCounter } from '@opentelemetry/api';

interface Metric {
  readonly kind: 'counter' | 'upDownCounter' | 'histogram' | 'observedCounter' | 'gauge';
  /** In UCUM, as OpenTelemetry has them. */
  readonly unit: string;
  readonly description: string;
  readonly attributes: readonly string[];
}

const of =
  <const Kind extends Metric['kind']>(kind: Kind) =>
  <const Attributes extends readonly string[]>(attributes: Attributes, unit: string, description: string) => ({
    kind,
    attributes,
    unit,
    description,
  });
const counted = of('counter');
const upAndDown = of('upDownCounter');
const spread = of('histogram');
const observable = of('observedCounter');
const gauged = of('gauge');

const LEASE = ['container', 'lease'] as const;
const PROJECTION = ['projection'] as const;
const MAP = ['map'] as const;
const CONTAINER = ['container'] as const;
const TENANT = ['tenant'] as const;

export const METRICS = {
  'millrace.changes.handled': counted(CONTAINER, '{change}', 'Changes whose handler succeeded'),
  'millrace.changes.parked': counted(['container', 'projection'], '{change}', 'Changes that were parked'),
  'millrace.feed.pages': counted(CONTAINER, '{page}', 'Pages read that held changes'),
  'millrace.feed.pages.rejected': counted(['container', 'error.type'], '{page}', 'Deliveries that will be repeated'),
  'millrace.feed.charge': counted(CONTAINER, '{RU}', 'Request units of reading the feed'),
  'millrace.failures': counted(
    ['container', 'part', 'error.type'],
    '{failure}',
    'Failures that are tried again; `part` is `feed` or `leases`',
  ),
  'millrace.handler.duration': spread(
    ['container', 'outcome'],
    's',
    'Time of a handler call; `outcome` is `handled` or `failed`',
  ),
  'millrace.leases.owned': upAndDown(CONTAINER, '{lease}', 'Leases of this host'),
  'millrace.lease.lag': gauged(LEASE, '{transaction}', 'Transactions behind a lease’s position, at most'),
  'millrace.lease.lag.age': gauged(LEASE, 's', 'Age of the oldest change that a lease has not handled'),
  'millrace.lease.in': gauged(LEASE, '{transaction}/s', 'Transactions that come into a lease’s range'),
  'millrace.lease.out': gauged(LEASE, '{transaction}/s', 'Transactions that a lease’s position passes'),
  'millrace.lease.catch_up': gauged(
    LEASE,
    's',
    'Time until a lease has no lag, at the present rates; absent where the lag doesn’t shrink',
  ),
  'millrace.lease.page.age': gauged(LEASE, 's', 'Time since the page in hand was delivered; 0 without one'),
  'millrace.lease.page.deliveries': gauged(LEASE, '{delivery}', 'Deliveries of the page in hand; 0 without one'),
  'millrace.projection.changes': observable(
    PROJECTION,
    '{change}',
    'Changes that a projection applied or parked on this host since it started',
  ),
  'millrace.projection.writes': observable(
    PROJECTION,
    '{document}',
    'Documents that a projection wrote on this host since it started',
  ),
  'millrace.projection.requests': observable(
    PROJECTION,
    '{request}',
    'Requests of a projection on this host since it started',
  ),
  'millrace.projection.charge': observable(
    PROJECTION,
    '{RU}',
    'Request units of a projection’s requests on this host since it started',
  ),
  'millrace.projection.throttled': observable(
    PROJECTION,
    '{request}',
    'Requests of a projection that were throttled on this host since it started',
  ),
  'millrace.dead_letters': gauged(['projection', 'shard'], '{change}', 'Parked changes'),
  'millrace.dead_letters.age': gauged(
    ['projection', 'shard'],
    's',
    'Time since the oldest parked change was parked; 0 without any',
  ),
  'millrace.deferred.changes': gauged(
    ['tenant', 'container', 'shard'],
    '{change}',
    'Changes of a tenant that are deferred, at most',
  ),
  'millrace.deferred.age': gauged(
    ['tenant', 'container', 'shard'],
    's',
    'Time since the oldest change of a tenant that is deferred was written',
  ),
  'millrace.tenant.changes': gauged(
    TENANT,
    '{change}',
    'Changes of a tenant that this host applied or parked since it started',
  ),
  'millrace.tenant.charge': gauged(TENANT, '{RU}', 'Request units of a tenant’s changes on this host since it started'),
  'millrace.tenant.delay': gauged(
    TENANT,
    's',
    'How long the oldest change of a tenant’s last page had waited when it was applied',
  ),
  'millrace.tenant.documents': gauged(
    ['tenant', 'shard'],
    '{document}',
    'Documents of a tenant, as `tenants list` counted them last',
  ),
  'millrace.tenant.dead_letters': gauged(['tenant', 'shard'], '{change}', 'Parked changes of a tenant'),
  'millrace.verification.differences': gauged(
    ['kind', 'shard'],
    '{document}',
    'Sink documents that the last verification found wrong; `kind` is `sample` or `whole`',
  ),
  'millrace.verification.age': gauged(
    ['kind', 'shard'],
    's',
    'Time since the last verification ended; `kind` is `sample` or `whole`',
  ),
  'millrace.problems': gauged(
    ['part', 'code'],
    '{problem}',
    'What keeps a process from its work, as `/readyz` says it; 1 each',
  ),
  'millrace.jobs': gauged(
    ['state'],
    '{job}',
    'Jobs of the queue; `state` is `waiting`, `active`, `delayed`, `completed` or `failed`',
  ),
  'millrace.router.mappings': gauged(MAP, '{mapping}', 'Mappings that a router has in memory'),
  'millrace.router.uses': observable(['map', 'found'], '{use}', 'Uses of keys; `found`: the mapping was in memory'),
  'millrace.router.changes': observable(
    ['map', 'change'],
    '{mapping}',
    'Mappings `added` to and `removed` from the memory, by `change`',
  ),
  'millrace.router.lookups': observable(MAP, '{request}', 'Requests to the database of the shard maps'),
  'millrace.router.validations': observable(MAP, '{request}', 'Requests to local maps'),
  'millrace.router.refusals': observable(MAP, '{call}', 'Calls that ended with an error of the router'),
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

/** What is asked for whenever metrics are collected. */
export type ObservedName = OfKind<'gauge' | 'observedCounter'>;
export type SayMetric<Of extends ObservedName> = <N extends Of>(name: N, value: number, about: AttributesOf<N>) => void;

/** Calls `observe` with what takes the values of these metrics, whenever they are collected. The returned function ends it. */
export function observed<const Names extends readonly ObservedName[]>(
  meter: Meter,
  names: Names,
  observe: (say: SayMetric<Names[number]>) => void | Promise<void>,
): () => void {
  const made = new Map(
    names.map((name: ObservedName) => [
      name,
      METRICS[name].kind === 'gauge'
        ? meter.createObservableGauge(name, METRICS[name])
        : meter.createObservableCounter(name, METRICS[name]),
    ]),
  );
  const instruments = [...made.values()];
  const callback: BatchObservableCallback = (result) =>
    observe((name, value, about) => result.observe(made.get(name)!, value, about));
  meter.addBatchObservableCallback(callback, instruments);
  return () => meter.removeBatchObservableCallback(callback, instruments);
}
