import { isObject } from '../../base/json.ts';
import type { StoredJob } from '../../jobs/jobs.ts';
import type { Count, EraseParts } from './erase-options.ts';
import { isNamed, namesIn } from './names.ts';

/** Whether a job is of an operation for the tenant: by `--tenant T`, or by a value that it writes as the tenant. */
const isFor = (payload: unknown, { tenant }: EraseParts['asked']): boolean => {
  const input = isObject(payload) ? payload['input'] : undefined;
  return isObject(input) && (input['tenant'] === tenant || input['value'] === tenant);
};

/**
 * Removes jobs that work for the tenant, the retries of reactions to its documents, and ended jobs that name it anywhere: of
 * those nothing but the record is left. A job that runs stays until the next round.
 */
export async function removeJobs(
  reactions: ReadonlySet<string>,
  count: Count,
  { jobs, asked }: Pick<EraseParts, 'jobs' | 'asked'>,
): Promise<void> {
  if (!jobs) return;
  const names = namesIn(asked);
  const due: StoredJob[] = [];
  for await (const job of jobs.every()) {
    const { payload, state, stored } = job;
    const ended = state === 'completed' || state === 'failed';
    const reacts = isObject(payload) && reactions.has(reactionOf(String(payload['projection']), String(payload['id'])));
    if (reacts || isFor(payload, asked) || (ended && isNamed(stored, names))) due.push(job);
  }
  for (const job of due) count('jobs', { found: 1, removed: (await job.remove()) ? 1 : 0 });
  await jobs.forgetEvents();
}

export const reactionOf = (projection: string, id: string): string => `${projection}\n${id}`;
