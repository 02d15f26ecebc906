import { z } from 'zod';
import { messageOf } from '../base/errors.ts';
import { type Pipeline, type ProjectionSpec, projectionId } from '../definition/specs.ts';
import { countLetters } from '../engine/dead-letters/dead-letter-counts.ts';
import { type View, Views } from '../engine/views/views.ts';
import type { JobState } from '../jobs/jobs.ts';
import { orContainerMissing } from '../cosmos/container-missing.ts';
import { type HostStatus, readHostStatuses } from './host-status.ts';
import { chooseGroups, openLeases } from './leases/groups.ts';
import { expiration } from './leases/inputs.ts';
import { lagText } from './leases/lags.ts';
import { type LeaseRow, STUCK_MS, leaseRows } from './leases/lease-rows.ts';
import { type Context, defineOperation } from './operation.ts';
import { stateOf } from './projections/projection-rows.ts';
import { plural, table } from './table.ts';

export const status = defineOperation({
  verb: 'status',
  summary:
    'Show on one screen the projections and their versions, who reads their feeds and how far behind, what is parked, and jobs',
  examples: ['millrace status --env production', 'millrace status --json'],
  effect: 'reads',
  input: z.object({ leaseExpiration: expiration }),
  run: async ({ leaseExpiration }, context: Context) => {
    const { workspace, signal } = context;
    const { pipeline } = await workspace.pipeline();
    const services = await workspace.services();
    const room = await openLeases(context);
    const groups = room.groups.some(({ own }) => own) ? chooseGroups(room) : [];
    const [leases, letters, said] = await Promise.all([
      leaseRows(groups, { expirationMs: leaseExpiration, stuckMs: STUCK_MS }),
      countLetters(services.state).catch((error: unknown) => {
        throw orContainerMissing(error, services.state);
      }),
      readHostStatuses(services, signal),
    ]);
    const views = await new Views(services.state, pipeline.name).read();

    return {
      database: services.database.id,
      projections: readersOf(pipeline).map((spec) => {
        const id = projectionId(spec);
        return {
          id,
          state: isVersioned(spec) ? stateOf(spec, views) : 'declared',
          ruPerChange: ruPerChange(said, id),
          parked: letters.find(({ projection }) => projection === id)?.count ?? 0,
          /** Of the oldest; null without any. */
          parkedSince: letters.find(({ projection }) => projection === id)?.since ?? null,
        };
      }),
      views: Object.entries(views ?? {}).flatMap(([name, view]) => notable(name, view)),
      jobs: await jobCounts(context),
      leases: { all: leases.length, free: leases.filter(({ owner }) => owner === null).length },
      sources: [...Map.groupBy(leases, ({ container }) => container ?? '')].map(([container, of]) => ({
        container,
        leases: of.length,
        lag: lagTogether(of),
        troubled: of.filter(({ state }) => TROUBLED.has(state)).map(({ token, why }) => ({ token, why })),
      })),
      hosts: hostsOf(leases, said),
    };
  },
  format: ({ database, projections, views, jobs, leases, sources, hosts }) =>
    [
      `Database ${database}: ${plural(leases.all, 'lease')}, ${leases.free} of them free.`,
      '',
      table(
        ['projection', 'state', 'RU/change', 'parked', 'since'],
        projections.map(({ id, state, ruPerChange: ru, parked, parkedSince }) => [
          id,
          state,
          ru ?? '',
          parked,
          parkedSince?.slice(0, 19).concat('Z') ?? '',
        ]),
      ),
      ...views,
      ...(jobs === null ? [] : ['', typeof jobs === 'string' ? jobs : sayJobs(jobs)]),
      ...(sources.length === 0
        ? []
        : [
            '',
            table(
              ['source', 'leases', 'lag'],
              sources.map(({ container, leases: count, lag }) => [container, count, lagText(lag)]),
            ),
            ...sources.flatMap(({ container, troubled }) =>
              troubled.map(({ token, why }) => `${container} ${token}: ${why}`),
            ),
          ]),
      '',
      hosts.length === 0
        ? 'No host holds a lease: nothing runs, or it was killed before it took one.'
        : table(
            ['host', 'leases', 'last lease write', 'changes', 'says'],
            hosts.map(({ owner, leases: held, writtenSecondsAgo, status: of }) => [
              owner,
              held,
              writtenSecondsAgo === null ? '' : `${writtenSecondsAgo} s ago`,
              of ? of.projections.reduce((sum, { changes }) => sum + changes, 0) : '',
              of ? saying(of) : '',
            ]),
          ),
    ].join('\n'),
});

/** Everything that may have letters of its own. */
const readersOf = ({ projections, embeds, effects, publishes, ingests }: Pipeline) => [
  ...projections,
  ...embeds,
  ...effects,
  ...publishes,
  ...ingests,
];
const isVersioned = (spec: ReturnType<typeof readersOf>[number]): spec is ProjectionSpec =>
  ['copy', 'aggregate', 'reference'].includes(spec.kind);

/** What somebody should know of a view, one sentence each. */
function notable(name: string, { staged, previous, paused }: View): string[] {
  return [
    ...(paused
      ? [`${name} is paused since ${paused.since} by ${paused.by}${paused.reason === '' ? '' : `: ${paused.reason}`}`]
      : []),
    ...(staged ? [`${name}@${staged.version} is being built since ${staged.since} (${staged.phase})`] : []),
    ...(previous
      ? [`${name}@${previous.version} was replaced and can be dropped from ${previous.readableUntil} on`]
      : []),
  ];
}

/** Of the host that has done most. */
function ruPerChange(said: readonly HostStatus[], id: string): number | null {
  const of = said.flatMap(({ projections }) => projections.filter(({ projection }) => projection === id));
  return of.toSorted((a, b) => b.changes - a.changes)[0]?.ruPerChange ?? null;
}

/** null: there are none; text: why they can't be asked. */
async function jobCounts({ workspace }: Context): Promise<Record<JobState, number> | string | null> {
  if (workspace.settings().jobsUrl === undefined) return null;
  try {
    return await (await workspace.jobs()).counts();
  } catch (error) {
    return messageOf(error);
  }
}

const sayJobs = ({ waiting, active, delayed, failed }: Record<JobState, number>): string =>
  `Jobs: ${active} active, ${waiting} waiting, ${delayed} to be tried again, ${failed} failed.`;

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

/** Who holds leases, and who has said something of himself in the last day. */
function hostsOf(leases: readonly LeaseRow[], said: readonly HostStatus[]) {
  const owned = Map.groupBy(leases, ({ owner }) => owner ?? '');
  owned.delete('');
  return [...new Set([...owned.keys(), ...said.map(({ id }) => id)])].map((owner) => {
    const held = owned.get(owner) ?? [];
    const of = said.find(({ id }) => id === owner);
    const ages = held.flatMap(({ age }) => (age === null ? [] : [age]));
    return {
      owner,
      leases: held.length,
      writtenSecondsAgo: ages.length === 0 ? null : Math.min(...ages),
      ...(of && { status: of }),
    };
  });
}

function saying({ at, startedAt, sources }: HostStatus): string {
  const failure = sources.find((source) => source.failure !== undefined);
  const trouble = failure ? `; ${failure.container}: ${failure.failure}` : '';
  return `up since ${startedAt.slice(0, 19)}Z, last heard ${at.slice(11, 19)}Z${trouble}`;
}
