import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Meter, MeterProvider, TracerProvider } from '@opentelemetry/api';
import type { Events } from '../../base/telemetry/diagnostics.ts';
import { counter, histogram, observed, upDownCounter } from '../../base/telemetry/metrics.ts';
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
  return observed(meter, ['millrace.lease.lag', 'millrace.lease.lag.age'], async (say) => {
    for (const { container, lease, lag } of await lags()) {
      if (!lag.known) continue;
      say('millrace.lease.lag', lag.changes, { container, lease });
      say('millrace.lease.lag.age', lag.ageMs / 1000, { container, lease });
    }
  });
}

const RANGE_METRICS = [
  'millrace.lease.in',
  'millrace.lease.out',
  'millrace.lease.catch_up',
  'millrace.lease.page.age',
  'millrace.lease.page.deliveries',
] as const;

/** A value that isn't known is not reported, nor the time of a lag that doesn't shrink: compare `in` with `out` there. */
function tellRanges(meter: Meter, ranges: () => readonly RangeSpeed[]): () => void {
  return observed(meter, RANGE_METRICS, (say) => {
    for (const { container, lease, inPerSecond, outPerSecond, catchUp, inHand } of ranges()) {
      const of = { container, lease };
      if (inPerSecond !== null) say('millrace.lease.in', inPerSecond, of);
      if (outPerSecond !== null) say('millrace.lease.out', outPerSecond, of);
      if (typeof catchUp === 'number') say('millrace.lease.catch_up', catchUp, of);
      say('millrace.lease.page.age', inHand?.seconds ?? 0, of);
      say('millrace.lease.page.deliveries', inHand?.deliveries ?? 0, of);
    }
  });
}

const ROUTER_METRICS = [
  'millrace.router.mappings',
  'millrace.router.uses',
  'millrace.router.changes',
  'millrace.router.lookups',
  'millrace.router.validations',
  'millrace.router.refusals',
] as const;

function tellRouters(meter: Meter, routers: () => readonly RouterCounters[]): () => void {
  return observed(meter, ROUTER_METRICS, (say) => {
    for (const { map, ...counts } of routers()) {
      say('millrace.router.mappings', counts.mappings, { map });
      say('millrace.router.uses', counts.hits, { map, found: true });
      say('millrace.router.uses', counts.misses, { map, found: false });
      say('millrace.router.changes', counts.added, { map, change: 'added' });
      say('millrace.router.changes', counts.removed, { map, change: 'removed' });
      say('millrace.router.lookups', counts.lookups, { map });
      say('millrace.router.validations', counts.validations, { map });
      say('millrace.router.refusals', counts.refusals, { map });
    }
  });
}
