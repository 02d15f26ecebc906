import { messageOf } from '../../base/errors.ts';
import { until } from '../../base/until.ts';
import { FormatUnreadable } from '../../base/format.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import { isProjection } from '../../pipeline/kind-facts.ts';
import { type Pipeline, projectionId } from '../../pipeline/specs.ts';
import { countLetters, letterCountsOf } from '../../engine/dead-letters/dead-letter-counts.ts';
import { isKept } from '../../engine/views/kept.ts';
import { readMembers } from '../../cosmos/budget/split.ts';
import { readStarts } from '../../engine/views/starts.ts';
import { type View, Views } from '../../engine/views/views.ts';
import type { JobState } from '../../jobs/jobs.ts';
import { type HostStatus, readHostStatuses } from './host-status.ts';
import { openLeases, ownGroups } from '../leases/groups.ts';
import { misfitHubs } from '../leases/misfit-hubs.ts';
import { LOST, leasesWereLost } from '../leases/lost.ts';
import { type LeaseRow, leaseRows } from '../leases/lease-rows.ts';
import { controlFormats } from '../../runtime/stored-formats.ts';
import { readInProgress } from './in-progress.ts';
import { selectLetters } from '../dead-letters/select.ts';
import { readArchiveVerified } from '../archive/verified.ts';
import type { Context } from '../context.ts';
import { readAgainst, readVerified, verifiedName } from '../verify/verified.ts';
import { projectionStateOf, stateWithoutVersions } from '../projections/projection-rows.ts';
import { askedTenant } from '../tenants/tenant-flag.ts';
import { readCounted } from '../tenants/tenant-counts.ts';
import { lettersByTenant, tenantsOf } from '../tenants/tenant-table.ts';
import { waitingTenants } from '../tenants/waiting.ts';

/**
 * The projections with their versions, hosts, lags and dead letters, and the jobs. `tenant`: dead letters and work of this
 * tenant alone; everything else is of all tenants. @throws UsageError `tenant-undeclared`, `input-invalid`
 */
export async function readStatus(context: Context, expirationMs: number, tenant?: string) {
  const { workspace, signal } = context;
  const loaded = await workspace.pipeline();
  const { pipeline } = loaded;
  const only = tenant === undefined ? undefined : askedTenant(loaded, tenant).tenant;
  const services = await workspace.services();
  const inventory = await openLeases(context);
  const groups = ownGroups(inventory);
  const [leases, hubs, letters, said, formats] = await Promise.all([
    leaseRows(groups, { expirationMs }),
    misfitHubs(pipeline, services),
    (only === undefined
      ? countLetters(services.place.state)
      : selectLetters(workspace, { tenant }).then(letterCountsOf)
    ).catch(throwMissing(services.place.state)),
    readHostStatuses(services, signal),
    controlFormats(services, signal),
  ]);
  const unreadable = formats.filter(({ readable }) => !readable);
  const views = unreadable.some(({ kind }) => kind === 'views')
    ? undefined
    : await new Views(services.global.state, pipeline.name).read();

  const starts = unreadable.some(({ kind }) => kind === 'starts')
    ? undefined
    : await readStarts(services.place.state, pipeline.name);

  return {
    database: services.place.database.id,
    /** Null: all tenants. */
    tenant: only ?? null,
    /** Formats of later versions, which this version can't read. Its hosts wait. */
    unreadable,
    projections: readersOf(pipeline).map((spec) => {
      const id = projectionId(spec);
      return {
        id,
        state: isProjection(spec) ? projectionStateOf(spec, views) : stateWithoutVersions(spec, views),
        /** Where it begins, once a host has recorded it. */
        start: starts?.[id] ?? null,
        ruPerChange: ruPerChange(said, id),
        parked: letters.find(({ projection }) => projection === id)?.count ?? 0,
        /** The time of the oldest dead letter; null if there is none. */
        parkedSince: letters.find(({ projection }) => projection === id)?.since ?? null,
      };
    }),
    /** They are swept by a timer or a verb, so no host has a rate of them. */
    archives: pipeline.archives.map((spec) => ({
      id: projectionId(spec),
      from: `${spec.from.container}/${spec.from.type}`,
    })),
    views: Object.entries(views ?? {}).flatMap(([name, view]) => notable(name, view)),
    /** What is paused, by whom, since when, and why. */
    paused: Object.entries(views ?? {}).flatMap(([name, { paused }]) =>
      paused ? [{ name, by: paused.by, since: paused.since, reason: paused.reason }] : [],
    ),
    inProgress: await readInProgress(services, views, signal),
    /** Who spends of RU_BUDGET, and which share of it; empty: no process. */
    budget: unreadable.some(({ kind }) => kind === 'budget')
      ? []
      : (await readMembers(services.place.state, services.place.database.id)).map(({ name, share, live, bulk }) => ({
          name,
          share,
          live,
          bulk,
        })),
    /** The last verification of all projections; null: none has ended. `sampled`: of a sample. */
    verified: (await readVerified(services.global.state, verifiedName(pipeline, services.place), 'whole')) ?? null,
    sampled: (await readVerified(services.global.state, verifiedName(pipeline, services.place), 'sample')) ?? null,
    /** The last comparisons with copies that a team keeps by hand. */
    against: await readAgainst(services.global.state, verifiedName(pipeline, services.place), signal),
    /** The last verification of the archives, of all blobs or of a sample; null: none has ended. */
    archiveVerified: (await readArchiveVerified(services.global.state, verifiedName(pipeline, services.place))) ?? null,
    /** What the costliest tenants took since their hosts started, and their dead letters; null: no tenant is known. */
    tenants: await tenantsOf(said, () => lettersByTenant(services.place.state), only),
    /** What `tenants list` counted last; null: it has not run. */
    counted: (await readCounted(services.place.state, pipeline.name)) ?? null,
    /** The tenants whose changes are deferred; null: the pipeline declares no tenant; text: why it can't be read. */
    deferred: await waitingTenants(pipeline, services.place.state, signal, only).catch(unreadableText),
    jobs: await jobCounts(context),
    /** `lost`: why there is none though hosts have run; null: there are some, or no host has run. */
    leases: {
      all: leases.length,
      free: leases.filter(({ owner }) => owner === null).length,
      lost: (await leasesWereLost(inventory, services.place.state, pipeline.name)) ? LOST : null,
    },
    sources: [
      ...[...Map.groupBy(leases, ({ container }) => container ?? '')].map(([container, of]) => ({
        container,
        leases: of.length,
        lag: lagTogether(of),
        troubled: of.filter(({ state }) => TROUBLED.has(state)).map(({ token, why }) => ({ token, why })),
      })),
      // A hub has no leases; it is a source here only if it can't be read.
      ...hubs.map(({ hub, group: token, why }) => ({
        container: `event hub ${hub}`,
        leases: 0,
        lag: { known: false as const, why },
        troubled: [{ token, why }],
      })),
    ],
    hosts: hostsOf(leases, said),
  };
}

const JOBS_MS = 5_000;

export type Status = Awaited<ReturnType<typeof readStatus>>;

/** Everything that can have dead letters. */
const readersOf = ({ projections, embeds, effects, publishes, ingests }: Pipeline) => [
  ...projections,
  ...embeds,
  ...effects,
  ...publishes,
  ...ingests,
];

/** Notes on a projection's versions, one sentence each. */
function notable(name: string, { previous, paused }: View): string[] {
  return [
    ...(paused
      ? [`${paused.by} paused ${name} at ${paused.since}${paused.reason === '' ? '' : `: ${paused.reason}`}`]
      : []),
    ...(previous && !isKept(previous, Date.now())
      ? [`${name}@${previous.version} was replaced and can be dropped from ${previous.readableUntil} on`]
      : []),
  ];
}

/** The figure of the host that applied the most changes. */
function ruPerChange(said: readonly HostStatus[], id: string): number | null {
  const of = said.flatMap(({ projections }) => projections.filter(({ projection }) => projection === id));
  return of.toSorted((a, b) => b.changes - a.changes)[0]?.ruPerChange ?? null;
}

function unreadableText(error: unknown): string {
  if (error instanceof FormatUnreadable) return error.message;
  throw error;
}

/** null: the pipeline uses no jobs; text: why their datastore can't be read. */
async function jobCounts({ workspace }: Context): Promise<Record<JobState, number> | string | null> {
  if (workspace.settings().jobsUrl === undefined) return null;
  try {
    return await until((async () => (await workspace.jobs()).counts())(), AbortSignal.timeout(JOBS_MS));
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'TimeoutError';
    return isLate ? `The datastore of the background jobs has not answered in ${JOBS_MS / 1_000} s` : messageOf(error);
  }
}

const TROUBLED: ReadonlySet<LeaseRow['state']> = new Set([
  'stuck',
  'expired',
  'unresolved',
  'unexplained',
  'duplicate',
]);

function lagTogether(rows: readonly LeaseRow[]): LeaseRow['lag'] {
  const sum = { known: true as const, changes: 0, ageMs: 0, charge: 0 };
  for (const { lag } of rows) {
    if (!lag.known) return lag;
    sum.changes += lag.changes;
    sum.ageMs = Math.max(sum.ageMs, lag.ageMs);
    sum.charge += lag.charge;
  }
  return sum;
}

/** The hosts that own leases, and those that reported in the last day. */
function hostsOf(leases: readonly LeaseRow[], said: readonly HostStatus[]) {
  const owned = Map.groupBy(leases, ({ owner }) => owner ?? '');
  owned.delete('');
  return [...new Set([...owned.keys(), ...said.map(({ id }) => id)])].map((owner) => {
    const own = owned.get(owner) ?? [];
    const of = said.find(({ id }) => id === owner);
    const ages = own.flatMap(({ age }) => (age === null ? [] : [age]));
    return {
      owner,
      leases: own.length,
      writtenSecondsAgo: ages.length === 0 ? null : Math.min(...ages),
      ...(of && { status: of }),
    };
  });
}
