import { z } from 'zod';
import { flag } from './flags.ts';
import { systemClock } from '../base/clock.ts';
import type { JobState } from '../jobs/jobs.ts';
import type { HostStatus } from '../procedures/status/host-status.ts';
import { expiration } from './leases/inputs.ts';
import { lagText } from '../procedures/leases/lags.ts';
import { sayArchiveVerified } from '../procedures/archive/verified.ts';
import { defineOperation } from './operation.ts';
import { operationsError } from '../procedures/errors.ts';
import { sayBegin } from '../procedures/rebuild/begins.ts';
import { type Verified, sayAgainst } from '../procedures/verify/verified.ts';
import { type Status, readStatus } from '../procedures/status/status.ts';
import { tenantInput } from '../procedures/tenants/tenant-flag.ts';
import { SHOWN_OF_TENANT } from '../procedures/tenants/tenant-table.ts';
import type { WaitingTenant } from '../procedures/tenants/waiting.ts';
import { ageText, agoText, catchUpText, clip, plural, size, textTable } from '../procedures/table.ts';
import { sayFormat } from '../runtime/stored-formats.ts';

export const status = defineOperation({
  name: 'status',
  summary: 'Show the state of the pipeline: projections and versions, hosts, lag, dead letters and jobs',
  examples: [
    'millrace status --env production',
    'millrace status --json',
    'millrace status --watch --every 10s',
    'millrace status --tenant store-1',
  ],
  shards: 'every',
  effect: 'reads',
  lasting: true,
  input: z.object({
    tenant: tenantInput.tenant.describe('dead letters and work of this tenant alone'),
    leaseExpiration: expiration,
    watch: flag('show the state again and again until Ctrl-C; with --json one line of JSON each time'),
    every: z
      .string()
      .regex(/^[1-9]\d{0,4}s?$/, 'must be a number of seconds, such as 2s')
      .default('2s')
      .describe('with --watch: the time between two looks'),
  }),
  run: async ({ leaseExpiration, watch, every, tenant }, context) => {
    if (!watch) return readStatus(context, leaseExpiration, tenant);
    const { show, signal, clock = systemClock } = context;
    if (!show)
      throw operationsError('input-invalid', '--watch works only on the command line, and in one place', {
        hint: 'Name a place with --shard, or ask for the status again and again, without --watch.',
      });
    return watchStatus(
      async () => {
        const value = await readStatus(context, leaseExpiration, tenant);
        show({ value, text: sayStatus(value), line: lineOf(value) });
        return value;
      },
      () => clock.sleep(1_000 * Number.parseInt(every, 10), signal),
      signal,
    );
  },
  format: sayStatus,
});

/** Tenants whose documents are shown. */
const MOST_COUNTED = 10;

/** Looks until the signal is aborted. Only the first look may fail for another reason: later ones are tried again. */
async function watchStatus(
  look: () => Promise<Status>,
  pause: () => Promise<void>,
  signal: AbortSignal,
): Promise<Status> {
  let last = await look();
  while (!signal.aborted) {
    await pause().catch(() => undefined);
    if (!signal.aborted) last = await look().catch(() => last);
  }
  return last;
}

/** One line for a log: the figures that say whether all is well. */
const lineOf = ({ projections, leases, sources, hosts, deferred }: Status): string =>
  [
    `${plural(leases.all, 'lease')}, ${leases.free} free`,
    ...(leases.lost === null ? [] : [leases.lost]),
    plural(hosts.length, 'host'),
    ...sources.map(({ container, lag }) => `${container} lag ${lagText(lag)}`),
    `${projections.reduce((sum, { parked }) => sum + parked, 0)} parked`,
    ...waitingRows(deferred).map(
      ({ tenant, container, changes }) => `${clip(tenant, SHOWN_OF_TENANT)} ${container} ${changes} deferred`,
    ),
  ].join('; ');

function sayStatus({
  database,
  tenant,
  unreadable,
  projections,
  views,
  inProgress,
  budget,
  verified,
  sampled,
  against,
  archiveVerified,
  tenants,
  counted,
  deferred,
  jobs,
  leases,
  sources,
  hosts,
}: Status): string {
  return [
    `Database ${database}: ${plural(leases.all, 'lease')}, ${leases.free} of them free.`,
    ...(leases.lost === null ? [] : [`No feed is read: ${leases.lost}. \`millrace doctor\` says what to do.`]),
    ...(tenant === null
      ? []
      : [
          `Dead letters and work are those of tenant ${clip(tenant, SHOWN_OF_TENANT)}; everything else is of all tenants.`,
        ]),
    ...unreadable.map((one) => `Hosts of this version wait: ${sayFormat(one)}.`),
    '',
    textTable(
      ['projection', 'state', 'begins', 'RU/change', 'parked', 'since'],
      projections.map(({ id, state, start, ruPerChange: ru, parked, parkedSince }) => [
        id,
        state,
        start ? sayBegin(start) : '',
        ru ?? '',
        parked,
        agoText(parkedSince),
      ]),
    ),
    ...views,
    ...sayInProgress(inProgress),
    verified === null ? 'The projections have not been verified yet.' : sayVerified('Last verified', verified),
    ...(sampled === null ? [] : [sayVerified('Last sample', sampled)]),
    ...against.map(sayAgainst),
    ...(archiveVerified === null ? [] : [sayArchiveVerified(archiveVerified)]),
    ...(jobs === null ? [] : ['', typeof jobs === 'string' ? jobs : sayJobs(jobs)]),
    ...(sources.length === 0
      ? []
      : [
          '',
          textTable(
            ['source', 'leases', 'lag'],
            sources.map(({ container, leases: count, lag }) => [container, count, lagText(lag)]),
          ),
          ...sources.flatMap(({ container, troubled }) =>
            troubled.map(({ token, why }) => `${container} ${token}: ${why}`),
          ),
        ]),
    '',
    hosts.length === 0
      ? 'No host owns a lease: no host runs, or it died before it acquired one.'
      : textTable(
          ['host', 'leases', 'last lease write', 'changes', 'report'],
          hosts.map(({ owner, leases: count, writtenSecondsAgo, status: of }) => [
            owner,
            count,
            writtenSecondsAgo === null ? '' : `${ageText(writtenSecondsAgo)} ago`,
            of ? of.projections.reduce((sum, { changes }) => sum + changes, 0) : '',
            of ? reportOf(of) : '',
          ]),
        ),
    ...sayRanges(hosts),
    ...sayTenants(tenants, tenant),
    ...sayCounted(counted, tenant),
    ...sayDeferred(deferred),
    ...sayBudget(budget),
  ].join('\n');
}

const sayVerified = (what: string, { at, different, compared, left = [] }: Verified): string =>
  [
    `${what} ${agoText(at)}: ${plural(different, 'difference')} in ${plural(compared, 'sink document')}.`,
    ...left.map((each) => `  ${each}.`),
  ].join('\n');

function sayInProgress(inProgress: Status['inProgress']): string[] {
  if (inProgress.length === 0) return [];
  return [
    '',
    textTable(
      ['in progress', 'by', 'since', 'until'],
      inProgress.map(({ what, by, since, until }) => [
        what,
        by ?? '',
        agoText(since),
        until?.slice(0, 19).concat('Z') ?? '',
      ]),
    ),
    '',
  ];
}

function sayBudget(budget: Status['budget']): string[] {
  if (budget.length === 0) return [];
  const percent = (part: number): string => `${Math.round(100 * part)} %`;
  return [
    '',
    textTable(
      ['RU_BUDGET of', 'share', 'live needs', 'bulk work'],
      budget.map(({ name, share, live, bulk }) => [name, percent(share), percent(live), bulk ? 'yes' : '']),
    ),
  ];
}

/** The costliest tenants, or the one that was asked for, since their hosts started. */
function sayTenants(shown: Status['tenants'], only: string | null): string[] {
  if (only !== null && (shown?.tenants ?? []).length === 0)
    return ['', `No host names ${clip(only, SHOWN_OF_TENANT)} among the tenants that cost it the most.`];
  if (shown === null) return [];
  const others = shown.others === null ? [] : [{ tenant: '(others)', ...shown.others }];
  return [
    '',
    textTable(
      ['tenant', 'changes', 'RU', 'dead letters', 'delay'],
      [...shown.tenants, ...others].map(({ tenant, changes, charge, deadLetters, delayMs }) => [
        clip(tenant, SHOWN_OF_TENANT),
        changes,
        Math.round(charge),
        deadLetters,
        ageText(delayMs / 1_000),
      ]),
    ),
  ];
}

/** The documents of the largest tenants, or of the one that was asked for. */
function sayCounted(counted: Status['counted'], only: string | null): string[] {
  if (counted === null) return [];
  const named = counted.tenants.filter(({ tenant }, at) => (only === null ? at < MOST_COUNTED : tenant === only));
  const left = counted.documents - named.reduce((sum, { documents }) => sum + documents, 0);
  return [
    '',
    textTable(
      ['largest tenants', 'documents', 'size, about'],
      [
        ...named.map(({ tenant, documents, bytes }) => [clip(tenant, SHOWN_OF_TENANT), documents, size(bytes)]),
        ...(left > 0 && only === null ? [['(others)', left, '']] : []),
      ],
    ),
    `\`millrace tenants list\` counted them ${agoText(counted.at)}.`,
  ];
}

function waitingRows(deferred: Status['deferred']): WaitingTenant[] {
  if (deferred === null || typeof deferred === 'string') return [];
  const { tenants, others } = deferred;
  return [...tenants, ...(others ? [{ ...others, tenant: `(${others.count} others)`, container: '' }] : [])];
}

/** Changes that hosts have deferred, by tenant. */
function sayDeferred(deferred: Status['deferred']): string[] {
  if (typeof deferred === 'string') return ['', `The queues of tenants can't be read: ${deferred}.`];
  const rows = waitingRows(deferred);
  if (rows.length === 0) return [];
  return [
    '',
    textTable(
      ['deferred of tenant', 'source', 'changes, at most', 'oldest', 'drained lately', 'empty in'],
      rows.map(({ tenant, container, changes, since, drained, emptyIn }) => [
        clip(tenant, SHOWN_OF_TENANT),
        container,
        changes,
        agoText(since),
        drained ?? 'unknown',
        emptyIn === null ? 'unknown' : emptyIn === 'never' ? catchUpText(emptyIn) : ageText(emptyIn),
      ]),
    ),
  ];
}

/** The speed of each lease, by the last reports of their hosts. */
function sayRanges(hosts: Status['hosts']): string[] {
  const ranges = hosts.flatMap(({ owner, status: of }) => (of?.ranges ?? []).map((range) => ({ owner, ...range })));
  if (ranges.length === 0) return [];
  return [
    '',
    textTable(
      [
        'host',
        'source',
        'lease',
        'changes/s',
        'in/s',
        'out/s',
        'catches up in',
        'page age',
        'deliveries',
        'last rejection',
      ],
      ranges.map(
        ({ owner, container, lease, handledPerSecond, inPerSecond, outPerSecond, catchUp, inHand, rejection }) => [
          owner,
          container,
          lease,
          handledPerSecond ?? '',
          inPerSecond ?? '',
          outPerSecond ?? '',
          catchUpText(catchUp),
          inHand ? `${inHand.seconds} s` : '',
          inHand?.deliveries ?? '',
          rejection ? `${rejection.at.slice(0, 19)}Z ${rejection.why}` : '',
        ],
      ),
    ),
    'in/s and out/s count transactions of the feed, by lsn; changes/s are what the host handled.',
  ];
}

const sayJobs = ({ waiting, active, delayed, failed }: Record<JobState, number>): string =>
  `Jobs: ${active} active, ${waiting} waiting, ${delayed} waiting for a retry, ${failed} failed.`;

function reportOf({ at, startedAt, sources, version }: HostStatus): string {
  const trouble = sources
    .map(({ container, failure }) => (failure === undefined ? '' : `; ${container}: ${failure}`))
    .join('');
  return `Millrace ${version}, started ${agoText(startedAt)}, last report ${agoText(at)}${trouble}`;
}
