import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Meter, MeterProvider, TracerProvider } from '@opentelemetry/api';
import type { Events } from '../../base/telemetry/diagnostics.ts';
import { counter, gauge, histogram, observedCounter, observing, upDownCounter } from '../../base/telemetry/metrics.ts';
import { SCOPE, errorTypeOf, loadApi, startTracing } from '../../base/telemetry/opentelemetry.ts';
import type { RouterCounters } from '../../shards/routing/values.ts';
import type { Lag } from './lag-estimator.ts';
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
  const handled = counter(meter, 'millrace.changes.handled');
  const parked = counter(meter, 'millrace.changes.parked');
  const pages = counter(meter, 'millrace.feed.pages');
  const rejected = counter(meter, 'millrace.feed.pages.rejected');
  const charge = counter(meter, 'millrace.feed.charge');
  const failures = counter(meter, 'millrace.failures');
  const duration = histogram(meter, 'millrace.handler.duration');
  const owned = upDownCounter(meter, 'millrace.leases.owned');
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
  const lag = gauge(meter, 'millrace.lease.lag');
  const age = gauge(meter, 'millrace.lease.lag.age');
  return observing(meter, [lag, age], async (result) => {
    for (const { container, lease, lag: of } of await lags()) {
      if (!of.known) continue;
      result.observe(lag, of.changes, { container, lease });
      result.observe(age, of.ageMs / 1000, { container, lease });
    }
  });
}

/** A value that isn't known is not reported, nor the time of a lag that doesn't shrink: compare `in` with `out` there. */
function tellRanges(meter: Meter, ranges: () => readonly RangeSpeed[]): () => void {
  const incoming = gauge(meter, 'millrace.lease.in');
  const passed = gauge(meter, 'millrace.lease.out');
  const catchUp = gauge(meter, 'millrace.lease.catch_up');
  const age = gauge(meter, 'millrace.lease.page.age');
  const deliveries = gauge(meter, 'millrace.lease.page.deliveries');
  return observing(meter, [incoming, passed, catchUp, age, deliveries], (result) => {
    for (const { container, lease, inPerSecond, outPerSecond, catchUp: seconds, inHand } of ranges()) {
      const of = { container, lease };
      if (inPerSecond !== null) result.observe(incoming, inPerSecond, of);
      if (outPerSecond !== null) result.observe(passed, outPerSecond, of);
      if (typeof seconds === 'number') result.observe(catchUp, seconds, of);
      result.observe(age, inHand?.seconds ?? 0, of);
      result.observe(deliveries, inHand?.deliveries ?? 0, of);
    }
  });
}

function tellRouters(meter: Meter, routers: () => readonly RouterCounters[]): () => void {
  const mappings = gauge(meter, 'millrace.router.mappings');
  const uses = observedCounter(meter, 'millrace.router.uses');
  const changes = observedCounter(meter, 'millrace.router.changes');
  const lookups = observedCounter(meter, 'millrace.router.lookups');
  const validations = observedCounter(meter, 'millrace.router.validations');
  const refusals = observedCounter(meter, 'millrace.router.refusals');
  return observing(meter, [mappings, uses, changes, lookups, validations, refusals], (result) => {
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
  });
}
