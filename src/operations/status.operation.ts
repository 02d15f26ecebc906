import { z } from 'zod';
import type { JobState } from '../jobs/jobs.ts';
import type { HostStatus } from './host-status.ts';
import { expiration } from './leases/inputs.ts';
import { lagText } from './leases/lags.ts';
import { defineOperation } from './operation.ts';
import { readStatus } from './status.ts';
import { plural, table } from './table.ts';

export const status = defineOperation({
  verb: 'status',
  summary:
    'Show on one screen the projections and their versions, who reads their feeds and how far behind, what is parked, and jobs',
  examples: ['millrace status --env production', 'millrace status --json'],
  effect: 'reads',
  input: z.object({ leaseExpiration: expiration }),
  run: ({ leaseExpiration }, context) => readStatus(context, leaseExpiration),
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

const sayJobs = ({ waiting, active, delayed, failed }: Record<JobState, number>): string =>
  `Jobs: ${active} active, ${waiting} waiting, ${delayed} to be tried again, ${failed} failed.`;

function saying({ at, startedAt, sources }: HostStatus): string {
  const failure = sources.find((source) => source.failure !== undefined);
  const trouble = failure ? `; ${failure.container}: ${failure.failure}` : '';
  return `up since ${startedAt.slice(0, 19)}Z, last heard ${at.slice(11, 19)}Z${trouble}`;
}
