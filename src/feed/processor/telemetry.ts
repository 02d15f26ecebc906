import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type {
  BatchObservableResult,
  Counter,
  Meter,
  MeterProvider,
  ObservableCounter,
  ObservableGauge,
  TracerProvider,
} from '@opentelemetry/api';
import type { Events } from '../../base/diagnostics.ts';
import { SCOPE, errorTypeOf, loadApi, startTracing } from '../../base/opentelemetry.ts';
import type { RouterCounters } from '../../shards/routing/values.ts';
import type { Lag } from './estimator.ts';
import type { RangeRates } from './rates.ts';

export interface LeaseLag {
  readonly container: string;
  /** The lease's token. */
  readonly lease: string;
  readonly lag: Lag;
}

/** What a host knows of the speed of one of its leases. null: not known, or no page is in hand. */
export interface RangeSpeed extends RangeRates {
  readonly inHand: { readonly seconds: number; readonly deliveries: number } | null;
}

export interface TelemetryOptions {
  /** Default: the globally registered providers. Without any, nothing is measured. */
  readonly meterProvider?: MeterProvider;
  readonly tracerProvider?: TracerProvider;
  /** Called whenever metrics are collected; each lease costs one read of one document. Unknown lags aren't reported. */
  readonly lags?: () => Promise<readonly LeaseLag[]>;
  /** Called whenever metrics are collected. Asks no service. */
  readonly ranges?: () => readonly RangeSpeed[];
  /** The counters of the process's routers: `() => [router.counters()]`. Called whenever metrics are collected. */
  readonly routers?: () => readonly RouterCounters[];
}

/**
 * Passes what Millrace publishes on `node:diagnostics_channel` to OpenTelemetry as metrics, and its spans: one around each
 * handler, and its work within. Spans of clients that a handler calls are children. The returned function ends this.
 */
export function startTelemetry(options: TelemetryOptions = {}): () => void {
  const { meterProvider = loadApi().metrics, tracerProvider, lags, ranges, routers } = options;
  const meter = meterProvider.getMeter(SCOPE);
  const ends = [
    tellEvents(meter),
    startTracing(tracerProvider),
    ...(lags ? [tellLags(meter, lags)] : []),
    ...(ranges ? [tellRanges(meter, ranges)] : []),
    ...(routers ? [tellRouters(meter, routers)] : []),
  ];
  return () => {
    for (const end of ends) end();
  };
}

function tellEvents(meter: Meter): () => void {
  const counter = (name: string, unit: string, description: string): Counter =>
    meter.createCounter(name, { unit, description });
  const handled = counter('millrace.changes.handled', '{change}', 'Changes whose handler succeeded');
  const parked = counter('millrace.changes.parked', '{change}', 'Changes that were parked');
  const misfitting = 'Documents that were stored though they are not of their sink’s type';
  const misfits = counter('millrace.documents.misfit', '{document}', misfitting);
  const pages = counter('millrace.feed.pages', '{page}', 'Pages read that held changes');
  const rejected = counter('millrace.feed.pages.rejected', '{page}', 'Deliveries that will be repeated');
  const charge = counter('millrace.feed.charge', '{RU}', 'Request units of reading the feed');
  const failures = counter('millrace.failures', '{failure}', 'Failures that are tried again');
  const duration = meter.createHistogram('millrace.handler.duration', {
    unit: 's',
    description: 'Time of a handler call',
  });
  const owned = meter.createUpDownCounter('millrace.leases.owned', {
    unit: '{lease}',
    description: 'Leases of this host',
  });
  const listeners: { [N in keyof Events]?: (event: Events[N]) => void } = {
    'lease:acquired': ({ container }) => owned.add(1, { container }),
    'lease:released': ({ container }) => owned.add(-1, { container }),
    'feed:page': ({ container, charge: ru }) => {
      pages.add(1, { container });
      charge.add(ru, { container });
    },
    'handler:ended': ({ container, changes, durationMs, error }) => {
      const outcome = error === undefined ? 'handled' : 'failed';
      if (error === undefined) handled.add(changes, { container });
      duration.record(durationMs / 1000, { container, outcome });
    },
    'feed:rejected': ({ container, error }) => rejected.add(1, { container, 'error.type': errorTypeOf(error) }),
    'feed:failed': ({ container, error }) =>
      failures.add(1, { container, part: 'feed', 'error.type': errorTypeOf(error) }),
    'balancer:failed': ({ container, error }) =>
      failures.add(1, { container, part: 'leases', 'error.type': errorTypeOf(error) }),
    'projection:misfit': ({ container, projection }) => misfits.add(1, { container, projection }),
    'engine:parked': ({ container, projection }) => parked.add(1, { container, projection }),
  };
  const subscribed = Object.entries(listeners).map(([name, listener]) => {
    const channel = `${SCOPE}:${name}`;
    const hear = (event: unknown): void => (listener as (event: unknown) => void)(event);
    subscribe(channel, hear);
    return () => unsubscribe(channel, hear);
  });
  return () => {
    for (const end of subscribed) end();
  };
}

function tellLags(meter: Meter, lags: () => Promise<readonly LeaseLag[]>): () => void {
  const gauge = (name: string, unit: string, description: string): ObservableGauge =>
    meter.createObservableGauge(name, { unit, description });
  const lag = gauge('millrace.lease.lag', '{change}', 'Transactions behind a lease’s position, at most');
  const age = gauge('millrace.lease.lag.age', 's', 'Age of the oldest change that a lease has not handled');
  const observe = async (result: BatchObservableResult): Promise<void> => {
    for (const { container, lease, lag: of } of await lags()) {
      if (!of.known) continue;
      result.observe(lag, of.changes, { container, lease });
      result.observe(age, of.ageMs / 1000, { container, lease });
    }
  };
  meter.addBatchObservableCallback(observe, [lag, age]);
  return () => meter.removeBatchObservableCallback(observe, [lag, age]);
}

/** A value that isn't known is not reported, nor the time of a lag that doesn't shrink: compare `in` with `out` there. */
function tellRanges(meter: Meter, ranges: () => readonly RangeSpeed[]): () => void {
  const gauge = (name: string, unit: string, description: string): ObservableGauge =>
    meter.createObservableGauge(name, { unit, description });
  const incoming = gauge('millrace.lease.in', '{transaction}/s', 'Transactions that come into a lease’s range');
  const passed = gauge('millrace.lease.out', '{transaction}/s', 'Transactions that a lease’s position passes');
  const catchUp = gauge('millrace.lease.catch_up', 's', 'Time until a lease has no lag, at the present rates');
  const age = gauge('millrace.lease.page.age', 's', 'Time since the page in hand was delivered; 0 without one');
  const deliveries = gauge('millrace.lease.page.deliveries', '{delivery}', 'Deliveries of the page in hand');
  const all = [incoming, passed, catchUp, age, deliveries];
  const observe = (result: BatchObservableResult): void => {
    for (const { container, lease, inPerSecond, outPerSecond, catchUp: seconds, inHand } of ranges()) {
      const of = { container, lease };
      if (inPerSecond !== null) result.observe(incoming, inPerSecond, of);
      if (outPerSecond !== null) result.observe(passed, outPerSecond, of);
      if (typeof seconds === 'number') result.observe(catchUp, seconds, of);
      result.observe(age, inHand?.seconds ?? 0, of);
      result.observe(deliveries, inHand?.deliveries ?? 0, of);
    }
  };
  meter.addBatchObservableCallback(observe, all);
  return () => meter.removeBatchObservableCallback(observe, all);
}

function tellRouters(meter: Meter, routers: () => readonly RouterCounters[]): () => void {
  const counter = (name: string, unit: string, description: string): ObservableCounter =>
    meter.createObservableCounter(name, { unit, description });
  const mappings = meter.createObservableGauge('millrace.router.mappings', {
    unit: '{mapping}',
    description: 'Mappings that a router has in memory',
  });
  const uses = counter('millrace.router.uses', '{use}', 'Uses of keys, by whether the mapping was in memory');
  const changes = counter('millrace.router.changes', '{mapping}', 'Mappings added to and removed from the memory');
  const lookups = counter('millrace.router.lookups', '{request}', 'Requests to the database of the shard maps');
  const validations = counter('millrace.router.validations', '{request}', 'Requests to local maps');
  const refusals = counter('millrace.router.refusals', '{call}', 'Calls that ended with an error of the router');
  const all = [mappings, uses, changes, lookups, validations, refusals];
  const observe = (result: BatchObservableResult): void => {
    for (const { map, ...counts } of routers()) {
      result.observe(mappings, counts.mappings, { map });
      result.observe(uses, counts.hits, { map, found: true });
      result.observe(uses, counts.misses, { map, found: false });
      result.observe(changes, counts.added, { map, change: 'added' });
      result.observe(changes, counts.removed, { map, change: 'removed' });
      result.observe(lookups, counts.lookups, { map });
      result.observe(validations, counts.validations, { map });
      result.observe(refusals, counts.refusals, { map });
    }
  };
  meter.addBatchObservableCallback(observe, all);
  return () => meter.removeBatchObservableCallback(observe, all);
}
