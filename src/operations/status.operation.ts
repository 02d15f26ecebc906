import { z } from 'zod';
import type { JobState } from '../jobs/jobs.ts';
import type { HostStatus } from './host-status.ts';
import { expiration } from './leases/inputs.ts';
import { lagText } from './leases/lags.ts';
import { defineOperation } from './operation.ts';
import { sayBegin } from './projections/begins.ts';
import { readStatus } from './status.ts';
import { plural, table } from './table.ts';
import { sayFormat } from '../runtime/stored-formats.ts';

export const status = defineOperation({
  verb: 'status',
  summary: 'Show the state of the pipeline: projections and versions, hosts, lag, dead letters and jobs',
  examples: ['millrace status --env production', 'millrace status --json'],
  effect: 'reads',
  input: z.object({ leaseExpiration: expiration }),
  run: ({ leaseExpiration }, context) => readStatus(context, leaseExpiration),
  format: ({ database, unreadable, projections, views, jobs, leases, sources, hosts }) =>
    [
      `Database ${database}: ${plural(leases.all, 'lease')}, ${leases.free} of them free.`,
      ...unreadable.map((one) => `Hosts of this version wait: ${sayFormat(one)}.`),
      '',
      table(
        ['projection', 'state', 'begins', 'RU/change', 'parked', 'since'],
        projections.map(({ id, state, start, ruPerChange: ru, parked, parkedSince }) => [
          id,
          state,
          start ? sayBegin(start) : '',
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
        ? 'No host owns a lease: no host runs, or it died before it acquired one.'
        : table(
            ['host', 'leases', 'last lease write', 'changes', 'report'],
            hosts.map(({ owner, leases: count, writtenSecondsAgo, status: of }) => [
              owner,
              count,
              writtenSecondsAgo === null ? '' : `${writtenSecondsAgo} s ago`,
              of ? of.projections.reduce((sum, { changes }) => sum + changes, 0) : '',
              of ? reportOf(of) : '',
            ]),
          ),
    ].join('\n'),
});

const sayJobs = ({ waiting, active, delayed, failed }: Record<JobState, number>): string =>
  `Jobs: ${active} active, ${waiting} waiting, ${delayed} waiting for a retry, ${failed} failed.`;

function reportOf({ at, startedAt, sources, version }: HostStatus): string {
  const failure = sources.find((source) => source.failure !== undefined);
  const trouble = failure ? `; ${failure.container}: ${failure.failure}` : '';
  const running = version === undefined ? '' : `Millrace ${version}, `;
  return `${running}up since ${startedAt.slice(0, 19)}Z, last report ${at.slice(11, 19)}Z${trouble}`;
}
