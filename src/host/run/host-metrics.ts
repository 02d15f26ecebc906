// What a host or a job worker reports to OpenTelemetry, read once a collection. What can't be read is not reported. What is
// stored every host reports the same: take the maximum over hosts. What a host counts itself is added over hosts. Each
// function returns the one that ends it.
import type { Container } from '@azure/cosmos';
import { type MeterProvider, metrics } from '@opentelemetry/api';
import { type ObservedName, type SayMetric, observed } from '../../base/telemetry/metrics.ts';
import { SCOPE } from '../../base/telemetry/opentelemetry.ts';
import { countLetters } from '../../engine/dead-letters/dead-letter-counts.ts';
import type { Jobs } from '../../jobs/jobs.ts';
import { feedReaders } from '../../pipeline/pipeline.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { readCounted } from '../../procedures/tenants/tenant-counts.ts';
import { lettersByTenant } from '../../procedures/tenants/tenant-table.ts';
import type { WaitingTenants } from '../../procedures/tenants/waiting.ts';
import { VERIFIED_KINDS, readVerified, verifiedName } from '../../procedures/verify/verified.ts';
import type { WorkedOn } from '../../runtime/hosts/place-host.ts';
import type { App } from '../../runtime/hosts/processor-host.ts';
import type { Problems } from './problems.ts';

export interface MetricsOptions {
  /** Default: the globally registered one. Without one nothing is read. */
  readonly meterProvider?: MeterProvider;
  /** Milliseconds since 1970; default: the current time. */
  readonly now?: () => number;
}

const reported = <const N extends readonly ObservedName[]>(
  { meterProvider = metrics.getMeterProvider() }: MetricsOptions,
  names: N,
  observe: (say: SayMetric<N[number]>) => void | Promise<void>,
): (() => void) => observed(meterProvider.getMeter(SCOPE), names, observe);

const ageIn = ({ now = Date.now }: MetricsOptions, since: string): number =>
  Math.max(0, (now() - Date.parse(since)) / 1_000);
const inShard = (shard: string | undefined) => shard !== undefined && { shard };

/** Stands for all tenants that are not among those that are named. */
const OTHER_TENANTS = '(others)';
/** Tenants whose stored documents and letters are reported by name. */
const MOST_NAMED = 10;

/** What keeps the process from its work, for alerts. */
export const startProblemMetrics = (problems: Problems, options: MetricsOptions = {}): (() => void) =>
  reported(options, ['millrace.problems'], async (say) => {
    for (const { part, code } of await problems()) say('millrace.problems', 1, { part, code });
  });

/** What each projection did on this host since it started, over all shards. Asks no service. */
export const startProjectionMetrics = (app: Pick<App, 'stats'>, options: MetricsOptions = {}): (() => void) =>
  reported(
    options,
    [
      'millrace.projection.changes',
      'millrace.projection.writes',
      'millrace.projection.requests',
      'millrace.projection.charge',
      'millrace.projection.throttled',
    ],
    (say) => {
      for (const { id: projection, changes, meter } of app.stats()) {
        say('millrace.projection.changes', changes, { projection });
        for (const what of ['writes', 'requests', 'charge', 'throttled'] as const)
          say(`millrace.projection.${what}`, meter[what], { projection });
      }
    },
  );

/** The number of dead letters, and seconds since the oldest was parked; 0 without any. */
export const startLetterMetrics = (places: () => readonly WorkedOn[], options: MetricsOptions = {}): (() => void) =>
  reported(options, ['millrace.dead_letters', 'millrace.dead_letters.age'], async (say) => {
    const observeIn = async ({ shard, pipeline, place }: WorkedOn): Promise<void> => {
      const letters = await countLetters(place.state).catch(() => undefined);
      if (!letters) return;
      // Also while they have no dead letter.
      const declared = [...feedReaders(pipeline), ...pipeline.ingests].map(projectionId);
      for (const projection of new Set([...declared, ...letters.map((of) => of.projection)])) {
        const of = letters.find((one) => one.projection === projection);
        const about = { projection, ...inShard(shard) };
        say('millrace.dead_letters', of?.count ?? 0, about);
        say('millrace.dead_letters.age', of ? ageIn(options, of.since) : 0, about);
      }
    };
    await Promise.all(places().map(observeIn));
  });

/**
 * What the ten costliest tenants took on this host since it started, and all others together: changes and RU, and the
 * seconds that the oldest change of the last page had waited. A tenant that leaves the ten stops being reported by name.
 */
export const startTenantMetrics = (app: Pick<App, 'tenants'>, options: MetricsOptions = {}): (() => void) =>
  reported(options, ['millrace.tenant.changes', 'millrace.tenant.charge', 'millrace.tenant.delay'], (say) => {
    const { tenants, others } = app.tenants();
    for (const { tenant, ...work } of [...tenants, ...(others ? [{ tenant: OTHER_TENANTS, ...others }] : [])]) {
      say('millrace.tenant.changes', work.changes, { tenant });
      say('millrace.tenant.charge', work.charge, { tenant });
      say('millrace.tenant.delay', work.delayMs / 1_000, { tenant });
    }
  });

/** What is stored of tenants: documents, as `tenants list` counted them last, and dead letters. */
export const startTenantRecordMetrics = (
  places: () => readonly WorkedOn[],
  options: MetricsOptions = {},
): (() => void) =>
  reported(options, ['millrace.tenant.documents', 'millrace.tenant.dead_letters'], async (say) => {
    const observeIn = async ({ shard, pipeline, place: { state } }: WorkedOn): Promise<void> => {
      const sayMost = (
        name: 'millrace.tenant.documents' | 'millrace.tenant.dead_letters',
        all: number,
        of: readonly (readonly [string, number])[],
      ): void => {
        const named = of.toSorted(([, a], [, b]) => b - a).slice(0, MOST_NAMED);
        for (const [tenant, count] of named) say(name, count, { tenant, ...inShard(shard) });
        const others = all - named.reduce((sum, [, count]) => sum + count, 0);
        if (others > 0) say(name, others, { tenant: OTHER_TENANTS, ...inShard(shard) });
      };
      const counted = await readCounted(state, pipeline.name).catch(() => undefined);
      const documents = counted?.tenants.map((of) => [of.tenant, of.documents] as const);
      if (counted) sayMost('millrace.tenant.documents', counted.documents, documents ?? []);
      const parked = await lettersByTenant(state).catch(() => undefined);
      const letters = parked?.values().reduce((sum, count) => sum + count, 0);
      if (parked) sayMost('millrace.tenant.dead_letters', letters ?? 0, [...parked]);
    };
    await Promise.all(places().map(observeIn));
  });

interface WaitingIn {
  readonly shard?: string | undefined;
  readonly waiting: Promise<WaitingTenants | null>;
}

/** Deferred changes by tenant and container, at most, and seconds since the oldest was written. */
export const startDeferredMetrics = (places: () => readonly WaitingIn[], options: MetricsOptions = {}): (() => void) =>
  reported(options, ['millrace.deferred.changes', 'millrace.deferred.age'], async (say) => {
    const observeIn = async ({ shard, waiting }: WaitingIn): Promise<void> => {
      const { tenants = [], others = null } = (await waiting.catch(() => null)) ?? {};
      for (const of of [...tenants, ...(others ? [{ ...others, tenant: OTHER_TENANTS, container: '' }] : [])]) {
        const about = { tenant: of.tenant, container: of.container, ...inShard(shard) };
        say('millrace.deferred.changes', of.changes, about);
        if (of.since !== null) say('millrace.deferred.age', ageIn(options, of.since), about);
      }
    };
    await Promise.all(places().map(observeIn));
  });

/**
 * The last verifications by `kind`, whole or sample: differences, and seconds since it ended. `state`: of the global place.
 */
export const startVerificationMetrics = (
  state: Container,
  places: () => readonly WorkedOn[],
  options: MetricsOptions = {},
): (() => void) =>
  reported(options, ['millrace.verification.differences', 'millrace.verification.age'], async (say) => {
    const observeIn = async ({ shard, pipeline, place }: WorkedOn): Promise<void> => {
      for (const kind of VERIFIED_KINDS) {
        const last = await readVerified(state, verifiedName(pipeline, place), kind).catch(() => undefined);
        if (!last) continue;
        const about = { kind, ...inShard(shard) };
        say('millrace.verification.differences', last.different, about);
        say('millrace.verification.age', ageIn(options, last.at), about);
      }
    };
    await Promise.all(places().map(observeIn));
  });

/** How many jobs the queue has in each state. */
export const startJobMetrics = (jobs: Pick<Jobs, 'counts'>, options: MetricsOptions = {}): (() => void) =>
  reported(options, ['millrace.jobs'], async (say) => {
    const counts = await jobs.counts().catch(() => ({}));
    for (const [state, count] of Object.entries(counts)) say('millrace.jobs', count, { state });
  });
