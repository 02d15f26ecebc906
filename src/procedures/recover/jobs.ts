import { UsageError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { JobRow } from '../../jobs/jobs.ts';
import type { Context } from '../context.ts';
import { plural } from '../table.ts';
import type { RecoveryFinding } from './finding.ts';

const about = 'jobs';

/**
 * Jobs that wait or run. A job stores no position: it begins by what is stored when it runs, so nothing is corrected. But
 * what it was asked for may no longer be wanted, a migration above all.
 */
export async function findJobs({ workspace }: Pick<Context, 'workspace'>): Promise<RecoveryFinding[]> {
  if (workspace.settings().jobsUrl === undefined) return [];
  const rows = await rowsOf(workspace);
  if (!rows)
    return [
      {
        about,
        what: 'their datastore can’t be reached. If it is lost, requested operations and retries of reactions are lost with it',
        remedy: 'unknown',
        hint: 'After the recovery, request them again, and run `millrace dead-letters redrive`.',
      },
    ];
  const open = rows.filter(({ state }) => state !== 'completed' && state !== 'failed');
  const running = open.filter(({ state }) => state === 'active').length;
  const names = [...Map.groupBy(open, nameOf)].map(([name, { length }]) => `${name} (${length})`);
  if (open.length === 0) return [];
  return [
    {
      about,
      what: `${plural(open.length, 'job')} of before the recovery: ${names.join(', ')}${running > 0 ? `; ${running} of them running` : ''}`,
      remedy: 'unknown',
      hint: 'Stop `millrace jobs work`, and start it when all else is resolved: each job then begins by what is stored.',
    },
  ];
}

const rowsOf = async (workspace: Context['workspace']): Promise<JobRow[] | undefined> => {
  try {
    return await (await workspace.jobs()).list();
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
};

const nameOf = ({ name, payload }: JobRow): string =>
  isObject(payload) && typeof payload['name'] === 'string' ? payload['name'] : name;
